//! What concerns no pod in particular: elections, hand-overs, reloads and relists, each in a trace of its own.

use foldhash::quality::FixedState;
use plimsoll_model::Moment;
use std::hash::BuildHasher;

use super::building::{Building, Span, Whereabouts};

/// Something the process has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// What: the name of its root span.
    pub name: &'static str,
    /// Since when.
    pub begun: Moment,
    /// Until when.
    pub ended: Moment,
    /// What is known of it. It tells apart what begins at one moment, as the lists of several kinds do.
    pub attributes: Vec<(&'static str, String)>,
    /// Whether it is told as a whole; else these steps are added to what was told before, with the same attributes, of the
    /// operation that began then.
    pub whole: bool,
    /// What it was made of, each with its number.
    pub steps: Vec<(usize, OperationStep)>,
    /// What went wrong.
    pub error: Option<String>,
}

/// A part of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationStep {
    /// What.
    pub name: &'static str,
    /// Since when.
    pub begun: Moment,
    /// Until when.
    pub ended: Moment,
}

/// `identity` tells the operations of several replicas apart.
pub(super) fn operation(operation: &Operation, identity: &str, building: &mut Building) {
    // The identity is another in each process, and so is what its clock counts from.
    let seed = (
        identity,
        operation.name,
        operation.begun.as_nanos(),
        &operation.attributes,
    );
    let hash = |number: u64| FixedState::with_seed(number).hash_one(seed).max(1);
    let trace = u128::from(hash(11)) << 64 | u128::from(hash(12));
    let own = Whereabouts {
        trace,
        span: hash(13),
        parent: 0,
    };
    if operation.whole {
        let span = building.span(operation.name, own, (operation.begun, operation.ended));
        span.text("plimsoll.identity", identity);
        describe(operation, span);
    }
    for (number, step) in &operation.steps {
        let whereabouts = Whereabouts {
            trace,
            span: hash(14 + *number as u64),
            parent: own.span,
        };
        building.span(step.name, whereabouts, (step.begun, step.ended));
    }
}

fn describe(operation: &Operation, span: &mut Span) {
    for (key, value) in &operation.attributes {
        span.text(key, value);
    }
    if let Some(error) = &operation.error {
        span.failed(error);
    }
}
