use proptest::prelude::*;

use crate::Release;

/// What may happen. Numbers choose among the pods there are.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Add {
        priority: i32,
        gated: bool,
        nominated: bool,
    },
    Relabel(usize),
    Shrink(usize),
    Touch(usize),
    Open(usize),
    Prioritise(usize, i32),
    Assign(usize),
    Delete(usize),
    Return(usize),
    NodeAdded,
    NodeDeleted,
    OthersDeleted,
    Observe,
    Pop,
    /// The attempt was judged this many changes before the last, but never before its pop.
    Reject(usize, u64),
    Fail(usize),
    Place(usize),
    Drop(usize),
    Activate(usize),
    Hold(usize),
    RetryAfter(usize, u64),
    Release(usize, Release),
    Pass(u64),
    Tick,
    ShutBarrier(bool),
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let some = 0usize..1000;
    prop_oneof![
        6 => (0..4i32, prop::bool::weighted(0.2), prop::bool::weighted(0.2))
            .prop_map(|(priority, gated, nominated)| Step::Add { priority, gated, nominated }),
        2 => some.clone().prop_map(Step::Relabel),
        2 => some.clone().prop_map(Step::Shrink),
        2 => some.clone().prop_map(Step::Touch),
        2 => some.clone().prop_map(Step::Open),
        1 => (some.clone(), 0..4i32).prop_map(|(pod, priority)| Step::Prioritise(pod, priority)),
        1 => some.clone().prop_map(Step::Assign),
        1 => some.clone().prop_map(Step::Delete),
        1 => some.clone().prop_map(Step::Return),
        2 => Just(Step::NodeAdded),
        2 => Just(Step::NodeDeleted),
        1 => Just(Step::OthersDeleted),
        1 => Just(Step::Observe),
        8 => Just(Step::Pop),
        8 => (some.clone(), 0..4u64).prop_map(|(pod, behind)| Step::Reject(pod, behind)),
        2 => some.clone().prop_map(Step::Fail),
        2 => some.clone().prop_map(Step::Place),
        1 => some.clone().prop_map(Step::Drop),
        1 => some.clone().prop_map(Step::Activate),
        2 => some.clone().prop_map(Step::Hold),
        1 => (some.clone(), 1..9_000u64).prop_map(|(pod, time)| Step::RetryAfter(pod, time)),
        2 => (some, release()).prop_map(|(pod, release)| Step::Release(pod, release)),
        4 => (0..4_000u64).prop_map(Step::Pass),
        4 => Just(Step::Tick),
        1 => any::<bool>().prop_map(Step::ShutBarrier),
    ]
}

fn release() -> impl Strategy<Value = Release> {
    prop_oneof![
        Just(Release::Quietly),
        Just(Release::AfterBackoff),
        Just(Release::AtOnce)
    ]
}
