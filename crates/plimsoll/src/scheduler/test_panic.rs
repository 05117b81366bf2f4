//! `TestPanic`: a filter that panics on pods with a certain label, or never returns from those whose label says so. It exists to
//! show that the first harm no other pod, and what becomes of a process that meets the second.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_framework::{CycleContext, CycleState, Extensions, Filter, FilterPass, Plugin, ReasonCode};
use smallvec::SmallVec;

pub(super) const NAME: &str = "TestPanic";

/// Value of the label of pods from which the filter does not return.
const HANG: &str = "hang";

struct TestPanic {
    label: String,
}

pub(super) fn extensions(label: String) -> Extensions {
    Extensions::new().filter(Arc::new(TestPanic { label }))
}

impl Plugin for TestPanic {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Filter for TestPanic {
    fn filter(&self, cycle: CycleContext<'_>, _: &CycleState, _: &mut FilterPass<'_>) -> Result<(), String> {
        while cycle.pod.labels.get(&self.label) == Some(HANG) {
            std::thread::park();
        }
        let poison = cycle.pod.labels.contains_key(&self.label);
        assert!(!poison, "pod {:?} is labelled {}", cycle.pod.name, self.label);
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        SmallVec::new()
    }
}
