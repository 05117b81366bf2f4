use std::time::Duration;

use plimsoll_model::{Delta, Moment, Seq};

use super::*;
use crate::{ClaimState, Diagnosis, Failure, FailureReason, Nomination, Placement, ReadResult};

mod activating;
mod adopting;
mod choosing;
mod codes;
mod extending;
mod fixture;
mod matching;
mod parking;
mod permits;
mod poison;
mod post_filtering;
mod preempting;
mod properties;
mod reconfiguring;
mod reserving;
mod resuming;
mod sampling;
mod selecting;
mod settling;
mod stepping;
mod timing;
mod trials;

use fixture::{Cluster, ProfileBuilder, node, nominated, pod};
