//! Which preemptions were decided lately, so that none is decided again that brought nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use compact_str::CompactString;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use plimsoll_model::{Moment, ObjectName, Pod, Uid};

/// At most so many pods are remembered over all preemptions; the oldest preemptions are forgotten first. That takes some
/// ten megabytes, and only where a profile has a window.
const MOST_PODS: usize = 65_536;

/// Who makes a pod again when it is gone: its controller, or whoever creates pods of its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Origin {
    Controller(CompactString),
    Name(ObjectName),
}

impl Origin {
    fn of(pod: &Pod) -> Self {
        match &pod.controller {
            Some(controller) => Self::Controller(controller.uid.clone()),
            None => Self::Name(pod.name.clone()),
        }
    }
}

/// Preemptions whose window is not over, of profiles that have one.
///
/// **The promise.** Within the window after a preemption, the pod for which it was, and any other pod of its controller,
/// evicts nobody on that node while a replacement of one of the victims is there: a pod of the same controller (for a pod
/// without one: of the same name), of the victim's priority at most, that came to the node after the decision. And when all
/// victims are gone and the pod still finds no place, it evicts nobody there any more, whoever has taken the room.
///
/// The window begins with the decision, not with the end of the victims. What is remembered lives as long as the engine, so
/// with the leader it is lost.
#[derive(Debug)]
pub(crate) struct Recent {
    /// In the order in which they were decided.
    preemptions: BTreeMap<u64, Preemption>,
    by_origin: HashMap<Origin, Vec<u64>, FixedState>,
    last: u64,
    pods: usize,
    most_pods: usize,
}

#[derive(Debug)]
struct Preemption {
    preemptor: Uid,
    origin: Origin,
    node: CompactString,
    until: Moment,
    victims: Vec<Evicted>,
    /// Other pods of the victims' origins that were on the node: they are no replacements.
    beside: Vec<Uid>,
}

#[derive(Debug)]
struct Evicted {
    uid: Uid,
    origin: Origin,
    priority: i32,
}

/// Why a node is no candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bar {
    /// A replacement of a victim is there.
    Replaced,
    /// All victims are gone, and it did not help.
    NoGain,
}

impl Bar {
    /// As the pod's message counts nodes.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Replaced => "Replacements of pods evicted for this pod are back",
            Self::NoGain => "Evictions there did not help this pod",
        }
    }
}

impl Default for Recent {
    fn default() -> Self {
        Self::with_most_pods(MOST_PODS)
    }
}

impl Recent {
    fn with_most_pods(most_pods: usize) -> Self {
        Self {
            preemptions: BTreeMap::new(),
            by_origin: HashMap::with_hasher(FixedState::default()),
            last: 0,
            pods: 0,
            most_pods,
        }
    }

    /// Remembers that `victims` are to be evicted for the pod. `there` are the pods on the node, victims or not.
    pub(crate) fn note<'p>(
        &mut self,
        preemptor: &Pod,
        node: &str,
        victims: impl Iterator<Item = &'p Pod>,
        there: impl Iterator<Item = &'p Pod>,
        (window, now): (Duration, Moment),
    ) {
        self.forget_ended(now);
        let victims: Vec<Evicted> = victims.map(Evicted::of).collect();
        let is_beside = |pod: &&Pod| {
            let origin = Origin::of(pod);
            victims.iter().any(|victim| victim.origin == origin) && victims.iter().all(|victim| victim.uid != pod.uid)
        };
        let beside = there.filter(is_beside).map(|pod| pod.uid.clone()).collect();
        let preemption = Preemption {
            preemptor: preemptor.uid.clone(),
            origin: Origin::of(preemptor),
            node: node.into(),
            until: now + window,
            victims,
            beside,
        };
        self.last += 1;
        self.pods += preemption.pods();
        self.by_origin
            .entry(preemption.origin.clone())
            .or_default()
            .push(self.last);
        self.preemptions.insert(self.last, preemption);
        while self.pods > self.most_pods && self.preemptions.len() > 1 {
            self.forget_oldest();
        }
    }

    /// What speaks against nodes when this pod looks for victims.
    pub(crate) fn against(&self, preemptor: &Pod, now: Moment) -> Barred<'_> {
        if self.preemptions.is_empty() {
            return Barred::default();
        }
        let ids = self
            .by_origin
            .get(&Origin::of(preemptor))
            .map_or(&[][..], Vec::as_slice);
        let preemptions = ids.iter().filter_map(|id| self.preemptions.get(id));
        Barred {
            preemptor: Some(preemptor.uid.clone()),
            preemptions: preemptions.filter(|preemption| preemption.until > now).collect(),
        }
    }

    /// Longer windows than those behind them keep shorter ones a while; they do not speak any more.
    fn forget_ended(&mut self, now: Moment) {
        while self
            .preemptions
            .first_key_value()
            .is_some_and(|(_, preemption)| preemption.until <= now)
        {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((id, preemption)) = self.preemptions.pop_first() else {
            return;
        };
        self.pods -= preemption.pods();
        if let Some(ids) = self.by_origin.get_mut(&preemption.origin) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.by_origin.remove(&preemption.origin);
            }
        }
    }
}

impl Evicted {
    fn of(pod: &Pod) -> Self {
        Self {
            uid: pod.uid.clone(),
            origin: Origin::of(pod),
            priority: pod.priority(),
        }
    }

    fn is_replaced_by(&self, pod: &Pod) -> bool {
        pod.priority() <= self.priority && Origin::of(pod) == self.origin
    }
}

impl Preemption {
    /// How many pods it remembers.
    fn pods(&self) -> usize {
        1 + self.victims.len() + self.beside.len()
    }

    fn knew(&self, uid: &Uid) -> bool {
        self.beside.contains(uid) || self.victims.iter().any(|victim| victim.uid == *uid)
    }

    /// One that goes already need not be evicted.
    fn is_undone_by(&self, pod: &Pod) -> bool {
        !pod.is_terminating() && !self.knew(&pod.uid) && self.victims.iter().any(|victim| victim.is_replaced_by(pod))
    }
}

/// What speaks against nodes in one attempt.
#[derive(Debug, Default)]
pub(crate) struct Barred<'r> {
    preemptor: Option<Uid>,
    preemptions: Vec<&'r Preemption>,
}

impl Barred<'_> {
    /// Whether nothing speaks against any node.
    pub(crate) fn is_empty(&self) -> bool {
        self.preemptions.is_empty()
    }

    /// Why the node is no candidate, if so, and until when. `lower` are the pods on it whose priority is below the
    /// preemptor's.
    pub(crate) fn judge<'p>(
        &self,
        node: &str,
        lower: &(impl Iterator<Item = &'p Pod> + Clone),
    ) -> Option<(Bar, Moment)> {
        let here = self.preemptions.iter().filter(|preemption| preemption.node == node);
        let bars = here.filter_map(|preemption| Some((self.bar(preemption, lower.clone())?, preemption.until)));
        // The node is a candidate again when nothing speaks against it any more.
        bars.reduce(|(bar, until), (_, later)| (bar, until.max(later)))
    }

    fn bar<'p>(&self, preemption: &Preemption, mut lower: impl Iterator<Item = &'p Pod> + Clone) -> Option<Bar> {
        if lower.clone().any(|pod| preemption.is_undone_by(pod)) {
            return Some(Bar::Replaced);
        }
        let own = self.preemptor.as_ref() == Some(&preemption.preemptor);
        let is_victim = |pod: &Pod| preemption.victims.iter().any(|victim| victim.uid == pod.uid);
        (own && !lower.any(is_victim)).then_some(Bar::NoGain)
    }
}

#[cfg(test)]
mod tests;
