use std::sync::Arc;
use std::time::Duration;

use plimsoll_framework::{Action, ClusterEvent, Code, EventObjects, EventResource};
use plimsoll_model::testing::{node, pod};
use plimsoll_model::{Delta, Moment, Node, Pod, Seq, Toleration, Uid};

use super::fixture::{Fixture, PLACES, ROOM, Rejector, always, rejected_at, rejected_by, shrink};
use crate::{Outcome, Place, QueueConfig, QueueError};

mod accounts;
mod attempts;
mod audited;
mod handlers;
mod holding;
mod listed;
mod many;
mod matching;
mod reconfigured;
mod retrying;
mod telling;
mod waiting;
mod waking;
mod without_early_pops;

const SECOND: Duration = Duration::from_secs(1);

fn node_event(action: Action) -> ClusterEvent {
    ClusterEvent::new(EventResource::Node, action)
}
