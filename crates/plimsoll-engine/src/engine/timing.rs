//! How long attempts take. Nothing here has a say in a decision.

use std::sync::Arc;

use plimsoll_framework::{Code, ExtensionPoint, Stopwatch};
use plimsoll_model::Moment;

use super::Engine;
use crate::cycle::{Cycle, Look};
use crate::{Evaluations, Timeline};

impl Engine {
    /// Takes the time of attempts by this from now on; an engine without one measures nothing.
    #[must_use]
    pub fn timed_by(mut self, watch: Arc<dyn Stopwatch>) -> Self {
        self.watch = watch;
        self
    }

    /// Has the next attempt take the time of each plugin, as one in ten attempts does anyway.
    pub fn time_plugins(&mut self) {
        self.detail_next = true;
    }

    /// What the attempt that ended last did, and when. Empty after one that was not begun, or panicked.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// What its plugins had to look at.
    pub fn evaluations(&self) -> &Evaluations {
        &self.evaluations
    }

    pub(super) fn forget_times(&mut self) {
        self.timeline = Timeline::default();
        self.evaluations = Evaluations::default();
    }

    /// The cycle's attempt is timed from here on.
    pub(super) fn start_timing(&mut self, cycle: &mut Cycle) {
        let sampled = self.sampler.takes_next();
        let detailed = std::mem::take(&mut self.detail_next);
        let profile = &cycle.plan.profile;
        cycle.timing.restart(&self.watch, profile, sampled, detailed);
    }
}

impl Cycle {
    /// The pre-filters, begun then, have said this.
    pub(super) fn time_look(&mut self, begun: Moment, look: &Look) {
        let code = match look {
            Look::Candidates => Code::Success,
            Look::Rejected(status) => status.code,
            Look::Failed(_) => Code::Error,
        };
        self.timing.point(ExtensionPoint::PreFilter, begun, code);
    }
}
