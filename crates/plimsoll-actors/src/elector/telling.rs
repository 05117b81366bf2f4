//! What is told of elections and terms, each in a trace of its own.

use plimsoll_model::Moment;

use crate::tracer::{Operation, OperationStep, TracerMessage, Tracing};

/// Tells of elections won and of terms that are over.
#[derive(Debug)]
pub(super) struct Telling {
    tracing: Option<Tracing>,
    /// When the present term was won.
    won: Option<Moment>,
}

impl Telling {
    pub(super) fn to(tracing: Option<Tracing>) -> Self {
        Self { tracing, won: None }
    }

    /// The lease of this name, that nobody held since a moment if one is known, was asked for and is ours now. Without
    /// election there is no lease, and nothing to tell but the term's end.
    pub(super) fn won(
        &mut self,
        term: u64,
        lease: Option<String>,
        (vacant_since, asked): (Option<Moment>, Moment),
        now: Moment,
    ) {
        self.won = Some(now);
        let (Some(tracing), Some(lease)) = (&self.tracing, lease) else {
            return;
        };
        let vacant = vacant_since.map(|since| OperationStep {
            name: "lease vacant",
            begun: since.min(asked),
            ended: asked,
        });
        let written = OperationStep {
            name: "lease written",
            begun: asked,
            ended: now,
        };
        tracing.tell(TracerMessage::Operation(Box::new(Operation {
            name: "election",
            begun: vacant.map_or(asked, |step| step.begun),
            ended: now,
            attributes: vec![("plimsoll.term", term.to_string()), ("plimsoll.lease", lease)],
            whole: true,
            steps: vacant.into_iter().chain([written]).enumerate().collect(),
            error: None,
        })));
    }

    /// The term is over.
    pub(super) fn over(&mut self, term: u64, reason: &str, now: Moment) {
        let (Some(tracing), Some(won)) = (&self.tracing, self.won.take()) else {
            return;
        };
        tracing.tell(TracerMessage::Operation(Box::new(Operation {
            name: "term",
            begun: won,
            ended: now,
            attributes: vec![
                ("plimsoll.term", term.to_string()),
                ("plimsoll.reason", reason.to_owned()),
            ],
            whole: true,
            steps: Vec::new(),
            error: None,
        })));
    }
}
