use std::time::Duration;

use plimsoll_model::{Delta, Moment, Seq};

use super::*;
use crate::{ClaimState, Diagnosis, Failure, FailureReason, Nomination, Placement, ReadResult};

mod choosing;
mod fixture;
mod parking;
mod poison;
mod properties;
mod reconfiguring;
mod resuming;
mod selecting;
mod settling;
mod trials;

use fixture::{Cluster, ProfileBuilder, node, nominated, pod};
