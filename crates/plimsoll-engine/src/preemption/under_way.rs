//! Evictions of ours that the status of disruption budgets need not show yet.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_model::{DisruptionBudget, Moment, Pod, Uid};
use smallvec::SmallVec;

/// So long an eviction counts at most, as long as the disruption controller waits for a pod whose eviction was granted.
const LONGEST: Duration = Duration::from_mins(2);

/// Pods whose eviction was decided here.
///
/// The status of a budget lags behind: first until the eviction is sent and granted, which takes it off
/// `disruptionsAllowed` and puts the pod into `disruptedPods`; and for a plain deletion until the disruption controller has
/// counted anew. Meanwhile the eviction is taken off what the budget allows. It counts until
///
/// - the budget has shown the pod among its `disruptedPods`, or
/// - the budget has changed after the pod was seen to go, or
/// - the eviction failed, or
/// - two minutes are over.
///
/// Each of these can err by a moment. That costs at most an eviction that the API server refuses, or a pod that waits for a
/// change more: that no budget is violated is for the API server to see to, which has the last word.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    evictions: BTreeMap<Uid, Eviction>,
    /// In the order in which they were decided, some that are over among them.
    decided: VecDeque<(Moment, Uid)>,
}

#[derive(Debug)]
struct Eviction {
    pod: Arc<Pod>,
    decided: Moment,
    /// Whether the pod was seen to go.
    going: bool,
    /// Budgets that show it.
    shown: SmallVec<[Uid; 1]>,
}

impl UnderWay {
    /// The eviction of a pod is decided.
    pub(crate) fn begin(&mut self, pod: &Arc<Pod>, now: Moment) {
        self.forget_old(now);
        if self.evictions.contains_key(&pod.uid) {
            return;
        }
        let eviction = Eviction {
            pod: Arc::clone(pod),
            decided: now,
            going: pod.is_terminating(),
            shown: SmallVec::new(),
        };
        self.evictions.insert(pod.uid.clone(), eviction);
        self.decided.push_back((now, pod.uid.clone()));
    }

    fn forget_old(&mut self, now: Moment) {
        let is_old = |(decided, _): &mut (Moment, Uid)| now.since(*decided) >= LONGEST;
        while let Some((decided, uid)) = self.decided.pop_front_if(is_old) {
            // One that failed may have been decided on once more since.
            if self
                .evictions
                .get(&uid)
                .is_some_and(|eviction| eviction.decided == decided)
            {
                self.evictions.remove(&uid);
            }
        }
    }

    /// The pod is not evicted after all.
    pub(crate) fn failed(&mut self, uid: &Uid) {
        self.evictions.remove(uid);
    }

    /// The pod was seen terminating or is gone.
    pub(crate) fn goes(&mut self, uid: &Uid) {
        if let Some(eviction) = self.evictions.get_mut(uid) {
            eviction.going = true;
        }
    }

    /// Something about a budget has changed.
    pub(crate) fn budget_changed(&mut self, budget: &DisruptionBudget) {
        for eviction in self.evictions.values_mut() {
            let shows = eviction.going || budget.has_granted(&eviction.pod);
            if shows && budget.guards(&eviction.pod) && !eviction.shown.contains(&budget.uid) {
                eviction.shown.push(budget.uid.clone());
            }
        }
    }

    /// How many evictions are to be taken off what the budget allows.
    pub(crate) fn hidden_from(&self, budget: &DisruptionBudget, now: Moment) -> i32 {
        let hidden = self.evictions.values().filter(|eviction| {
            now.since(eviction.decided) < LONGEST
                && budget.guards(&eviction.pod)
                && !eviction.shown.contains(&budget.uid)
        });
        i32::try_from(hidden.count()).unwrap_or(i32::MAX)
    }
}

#[cfg(test)]
mod tests;
