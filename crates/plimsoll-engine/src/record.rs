use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plimsoll_framework::{CycleState, Extender, PermitWait, PreBind};
use plimsoll_model::{Moment, Seq};
use smallvec::SmallVec;

use crate::claim_timing::ClaimTiming;
use crate::plan::Plan;
use crate::{Claim, ClaimId};

/// A claim with what is needed to bring it to its end. Parked claims live here and hold no worker.
pub(crate) struct Record {
    pub(crate) claim: Claim,
    pub(crate) plan: Arc<Plan>,
    pub(crate) state: CycleState,
    pub(crate) permits: SmallVec<[PermitWait; 1]>,
    /// The pre-bind plugin to ask next; the one before it may be at work.
    pub(crate) next_pre_bind: usize,
    pub(crate) pre_bind: PreBindWork,
    /// Whether the chosen node has been announced.
    pub(crate) expected: bool,
    pub(crate) bind_plugin: &'static str,
    /// The extender that binds in place of the plugin.
    pub(crate) binder: Option<Arc<Extender>>,
    pub(crate) evaluated_nodes: usize,
    pub(crate) feasible_nodes: usize,
    pub(crate) begun_at: Moment,
    pub(crate) assumed_at: Moment,
    pub(crate) judged_at: Seq,
    pub(crate) timing: ClaimTiming,
    alarm: Option<Moment>,
}

impl Record {
    pub(crate) fn new(claim: Claim, plan: Arc<Plan>, state: CycleState) -> Self {
        Self {
            claim,
            plan,
            state,
            permits: SmallVec::new(),
            next_pre_bind: 0,
            pre_bind: PreBindWork::None,
            expected: false,
            bind_plugin: "",
            binder: None,
            evaluated_nodes: 0,
            feasible_nodes: 0,
            begun_at: Moment::ZERO,
            assumed_at: Moment::ZERO,
            judged_at: Seq::ZERO,
            timing: ClaimTiming::default(),
            alarm: None,
        }
    }

    /// The pre-bind plugin that is at work, or was last.
    pub(crate) fn pre_bind_plugin(&self) -> Option<&Arc<dyn PreBind>> {
        let at = self.next_pre_bind.checked_sub(1)?;
        self.plan.profile.pre_bind.get(at)
    }

    /// The bind plugin that binds, if one has said so.
    pub(crate) fn bind_plugin(&self) -> Option<&'static str> {
        Some(self.bind_plugin).filter(|name| !name.is_empty())
    }

    fn deadline(&self) -> Option<Moment> {
        let permit = self.permits.iter().map(|wait| wait.until).min();
        let pre_bind = match self.pre_bind {
            PreBindWork::Waiting { until } => Some(until),
            _ => None,
        };
        permit.or(pre_bind).or_else(|| self.claim.state().deadline())
    }
}

/// What the pre-bind plugin of a claim is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PreBindWork {
    /// None is at work.
    None,
    /// Somebody performs its effect.
    Effect,
    /// Its next step comes after the cycle that runs.
    Held,
    /// Somebody makes its write.
    Writing,
    /// It waits for something to change, and until then.
    Waiting { until: Moment },
}

/// All claims, and which of them want to be looked at when.
#[derive(Default)]
pub(crate) struct Records {
    by_id: BTreeMap<ClaimId, Record>,
    alarms: BTreeSet<(Moment, ClaimId)>,
    last: u64,
}

impl Records {
    pub(crate) fn next_id(&mut self) -> ClaimId {
        self.last += 1;
        ClaimId::new(self.last)
    }

    pub(crate) fn insert(&mut self, record: Record) {
        self.by_id.insert(record.claim.id(), record);
    }

    pub(crate) fn get(&self, id: ClaimId) -> Option<&Record> {
        self.by_id.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: ClaimId) -> Option<&mut Record> {
        self.by_id.get_mut(&id)
    }

    pub(crate) fn remove(&mut self, id: ClaimId) -> Option<Record> {
        let record = self.by_id.remove(&id)?;
        if let Some(at) = record.alarm {
            self.alarms.remove(&(at, id));
        }
        Some(record)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Record> {
        self.by_id.values()
    }

    /// Takes every claim.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Record> {
        self.alarms.clear();
        std::mem::take(&mut self.by_id).into_values()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Sets the alarm of a claim by what it waits for now.
    pub(crate) fn set_alarm(&mut self, id: ClaimId) {
        let Some(record) = self.by_id.get_mut(&id) else {
            return;
        };
        let deadline = record.deadline();
        let before = std::mem::replace(&mut record.alarm, deadline);
        if before == deadline {
            return;
        }
        if let Some(at) = before {
            self.alarms.remove(&(at, id));
        }
        if let Some(at) = deadline {
            self.alarms.insert((at, id));
        }
    }

    pub(crate) fn next_alarm(&self) -> Option<Moment> {
        self.alarms.first().map(|(at, _)| *at)
    }

    /// Takes the claims whose alarm has gone off; each is to be looked at and its alarm set again.
    pub(crate) fn take_due(&mut self, now: Moment) -> Vec<ClaimId> {
        let mut due = Vec::new();
        while let Some((at, id)) = self.alarms.first().copied().filter(|(at, _)| *at <= now) {
            self.alarms.remove(&(at, id));
            if let Some(record) = self.by_id.get_mut(&id) {
                record.alarm = None;
            }
            due.push(id);
        }
        due
    }
}
