//! `TestPanic`: a filter that panics on pods with a certain label. It exists to show that such a pod harms no other.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_framework::{CycleContext, CycleState, Extensions, Filter, FilterPass, Plugin, ReasonCode};
use smallvec::SmallVec;

pub(super) const NAME: &str = "TestPanic";

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
        let poison = cycle.pod.labels.contains_key(&self.label);
        assert!(!poison, "pod {:?} is labelled {}", cycle.pod.name, self.label);
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        SmallVec::new()
    }
}
