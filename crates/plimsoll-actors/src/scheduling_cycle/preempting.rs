//! The cycle's side of preemption: its plans go to the Evictor, and what the columns show of the pods concerned goes after
//! them.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_engine::{Diagnosis, PreemptionPlan};
use plimsoll_model::{Change, Delta, Moment, Pod, Uid};
use plimsoll_queue::{PoppedPod, Release};
use plimsoll_telemetry::logs::V2;

use super::SchedulingCycleState;
use super::recording::planned;
use crate::attempt_record::PlannedPreemption;
use crate::evictor::{EvictorMessage, PAUSE, Sight};
use crate::log_subject::trace_of;
use crate::scheduling_queue::QueueMessage;
use crate::trace_context::TraceContext;

/// A pod whose victims are being deleted before it goes back to the queue.
#[derive(Debug)]
pub(super) struct Awaited {
    popped: PoppedPod,
    diagnosis: Box<Diagnosis>,
    lower: Vec<Arc<Pod>>,
    planned: PlannedPreemption,
}

/// Pods of preemptions under way, and in how many plans each is named: the Evictor hears of these and of no others.
#[derive(Debug, Default)]
pub(super) struct Concerned(BTreeMap<Uid, usize>);

impl Concerned {
    fn name(&mut self, uid: &Uid) {
        *self.0.entry(uid.clone()).or_insert(0) += 1;
    }

    fn forget(&mut self, uid: &Uid) {
        if let Some(plans) = self.0.get_mut(uid) {
            *plans -= 1;
            if *plans == 0 {
                self.0.remove(uid);
            }
        }
    }

    /// What a change shows of a pod that some plan names.
    fn sight(&self, change: &Change) -> Option<Sight> {
        if self.0.is_empty() {
            return None;
        }
        let (old, new) = match &change.delta {
            Delta::PodAdded(new) => (None, new),
            Delta::PodUpdated { old, new } => (Some(old), new),
            Delta::PodDeleted(gone) if self.0.contains_key(&gone.uid) => return Some(Sight::Gone(gone.uid.clone())),
            _ => return None,
        };
        self.0.contains_key(&new.uid).then(|| Sight::There {
            old: old.cloned(),
            new: Arc::clone(new),
        })
    }
}

/// The newest plan of each pod that has one.
///
/// A pod is let go here and not by the Evictor: what that says of a plan may be on its way while the next one for the same pod
/// is made, and must not let go of the pod that is held for the next.
#[derive(Debug, Default)]
pub(super) struct Plans {
    newest: BTreeMap<Uid, u64>,
    made: u64,
}

impl Plans {
    fn begin(&mut self, preemptor: &Uid) -> u64 {
        self.made += 1;
        self.newest.insert(preemptor.clone(), self.made);
        self.made
    }

    fn is_newest(&self, preemptor: &Uid, plan: u64) -> bool {
        self.newest.get(preemptor) == Some(&plan)
    }

    pub(super) fn end(&mut self, preemptor: &Uid, plan: u64) {
        if self.is_newest(preemptor, plan) {
            self.newest.remove(preemptor);
        }
    }
}

impl SchedulingCycleState {
    /// Tells the Evictor what came, after the columns have it or before any other pod is tried.
    pub(super) fn pass_on(&self, changes: &[Change]) {
        let sights: Vec<Sight> = changes
            .iter()
            .filter_map(|change| self.concerned.sight(change))
            .collect();
        if !sights.is_empty() {
            self.evictor.tell(EvictorMessage::Seen(sights));
        }
        self.disown();
    }

    /// Tells the Evictor of pods with a plan that no profile takes any more: nobody goes for them.
    pub(super) fn disown(&self) {
        let preemptors = self.plans.newest.keys();
        let foreign = preemptors.filter(|preemptor| !self.engine.takes(preemptor)).cloned();
        let sights: Vec<Sight> = foreign.map(Sight::Foreign).collect();
        if !sights.is_empty() {
            self.evictor.tell(EvictorMessage::Seen(sights));
        }
    }

    /// A pod fits nowhere, and others are to go for it.
    ///
    /// In the asynchronous mode three messages go out in this order: the queue holds the pod, it gets the pod back, and the
    /// Evictor begins. So nothing that the Evictor does can reach the queue before the hold, and the pod is never tried
    /// beside its own preemption. In the synchronous mode the pod stays here until the Evictor has answered.
    pub(super) fn preempt(&mut self, popped: PoppedPod, mut diagnosis: Diagnosis, plan: PreemptionPlan, now: Moment) {
        tracing::info!(
            name: V2, node = %plan.node, pod = %popped.pod.name, trace_id = %trace_of(&popped.pod),
            "the target node for the preemption is determined"
        );
        self.metrics.preemption().chosen(plan.chosen);
        let lower: Vec<Arc<Pod>> = plan.clear_nominations.clone();
        let planned = planned(&plan);
        let attempt = self.span_of_attempt(&popped.pod.uid);
        if plan.asynchronous {
            self.queue.tell(QueueMessage::Hold(popped.pod.uid.clone()));
            self.conclude_unschedulable(&popped.pod, diagnosis, Some(planned), now);
            self.clear_nominations(&lower);
            self.hand_to_evictor(plan, attempt, now);
        } else {
            diagnosis.preemption = None;
            self.awaited = Some(Awaited {
                popped,
                diagnosis: Box::new(diagnosis),
                lower,
                planned,
            });
            self.hand_to_evictor(plan, attempt, now);
        }
    }

    /// Victims that are no more than claims of ours are turned away here, in the same turn: later they might be bound.
    fn hand_to_evictor(&mut self, plan: PreemptionPlan, attempt: Option<u64>, now: Moment) {
        let mut notices = Vec::new();
        let mut rejected = Vec::new();
        for victim in &plan.victims {
            let claim = victim.claim;
            if claim.is_some_and(|claim| self.engine.reject_for_preemption(claim, now, &mut notices)) {
                rejected.push(victim.pod.uid.clone());
            }
        }
        self.concerned.name(&plan.preemptor.uid);
        let others = plan.victims.iter().map(|victim| &victim.pod.uid);
        for uid in others.filter(|uid| !rejected.contains(uid)) {
            self.concerned.name(uid);
        }
        self.evictor.tell(EvictorMessage::Preempt {
            trace: TraceContext::of(&plan.preemptor),
            attempt,
            number: self.plans.begin(&plan.preemptor.uid),
            plan: Box::new(plan),
            rejected,
        });
        self.act_on(notices, now);
    }

    /// Takes up what earlier terms left half done, before the first pod is tried.
    ///
    /// A pod whose victims are on their way already is held until the Evictor has them in its care: from then on it waits for
    /// them like one whose preemption began in this term.
    pub(super) fn adopt(&mut self) {
        for plan in self.engine.adopt() {
            let preemptor = plan.preemptor.uid.clone();
            self.concerned.name(&preemptor);
            for victim in &plan.victims {
                self.concerned.name(&victim.pod.uid);
            }
            self.queue.tell(QueueMessage::Hold(preemptor.clone()));
            self.evictor.tell(EvictorMessage::Adopt {
                number: self.plans.begin(&preemptor),
                plan: Box::new(plan),
            });
        }
    }

    /// The pod that made its cycle wait for its victims goes back. An error is told as kube-scheduler tells one of its
    /// post-filters, the pod is then nominated no more than before, and it is tried again after a pause.
    pub(super) fn take_execution(&mut self, preemptor: &Uid, result: Result<(), String>, now: Moment) {
        let Some(awaited) = self.awaited.take_if(|awaited| awaited.popped.pod.uid == *preemptor) else {
            return;
        };
        let mut diagnosis = *awaited.diagnosis;
        match result {
            Ok(()) => self.clear_nominations(&awaited.lower),
            Err(error) => {
                self.engine.preemption_failed(&awaited.popped.pod);
                diagnosis.message = format!("{} preemption: {error}", diagnosis.message);
                diagnosis.nominate = plimsoll_engine::Nomination::Keep;
                diagnosis.retry_at = Some(now + PAUSE);
            }
        }
        self.conclude_unschedulable(&awaited.popped.pod, diagnosis, Some(awaited.planned), now);
        self.ready();
    }

    /// The Evictor has this to say of a pod that is held for the plan.
    pub(super) fn let_go(&self, pod: &Uid, plan: u64, release: Option<Release>) {
        if let Some(release) = release.filter(|_| self.plans.is_newest(pod, plan)) {
            let pod = pod.clone();
            self.queue.tell(QueueMessage::Release { pod, release });
        }
    }

    /// A preemption is over: these pods are named by one plan less, and who was spared uses up no budget.
    pub(super) fn take_end_of_preemption(&mut self, named: &[Uid], spared: &[Uid]) {
        self.engine.eviction_failed(spared);
        for uid in named {
            self.concerned.forget(uid);
        }
    }

    /// Pods of lower priority are no longer meant for the node. Only those are written to that say so, or are about to.
    fn clear_nominations(&mut self, lower: &[Arc<Pod>]) {
        for pod in lower {
            if pod.status.nominated_node_name.is_some() || self.status_writes.is_under_way(&pod.uid) {
                self.clear_nomination(pod);
            }
        }
    }

    /// The pod of an attempt that waits for its victims, for audits.
    pub(super) fn awaited_pod(&self) -> Option<&PoppedPod> {
        self.awaited.as_ref().map(|awaited| &awaited.popped)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Seq;
    use plimsoll_model::testing::{node, pod};

    use super::*;

    #[test]
    fn what_is_said_of_a_plan_does_not_concern_the_next_one_for_the_same_pod() {
        let (p, q) = (Uid::new("p"), Uid::new("q"));
        let mut plans = Plans::default();
        let first = plans.begin(&p);
        let of_another = plans.begin(&q);
        assert!(plans.is_newest(&p, first));
        let second = plans.begin(&p);
        assert!(!plans.is_newest(&p, first));
        plans.end(&p, first);
        assert!(plans.is_newest(&p, second), "it is held for this one");
        plans.end(&p, second);
        assert!(!plans.is_newest(&p, second));
        assert!(plans.is_newest(&q, of_another));
    }

    #[test]
    fn a_pod_is_told_about_for_as_long_as_a_plan_names_it() {
        let mut concerned = Concerned::default();
        let (victim, other) = (Arc::new(pod("v").on("n").build()), Arc::new(pod("o").on("n").build()));
        let change = |delta| Change {
            seq: Seq::new(1),
            delta,
        };
        let gone = change(Delta::PodDeleted(Arc::clone(&victim)));
        assert!(concerned.sight(&gone).is_none());
        concerned.name(&victim.uid);
        concerned.name(&victim.uid);
        let updated = change(Delta::PodUpdated {
            old: Arc::clone(&victim),
            new: Arc::clone(&victim),
        });
        assert!(matches!(
            concerned.sight(&updated),
            Some(Sight::There { old: Some(_), .. })
        ));
        assert!(concerned.sight(&change(Delta::PodAdded(other))).is_none());
        assert!(
            concerned
                .sight(&change(Delta::NodeAdded(Arc::new(node("v").build()))))
                .is_none()
        );
        concerned.forget(&victim.uid);
        assert!(matches!(concerned.sight(&gone), Some(Sight::Gone(uid)) if uid == victim.uid));
        concerned.forget(&victim.uid);
        concerned.forget(&victim.uid);
        assert!(concerned.sight(&gone).is_none());
    }
}
