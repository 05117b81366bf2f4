use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use plimsoll_framework::{
    Code, CycleContext, ExtensionPoint, PermitOutcome, PermitVerdict, PermitWait, Status, Stopwatch, guarded,
};
use plimsoll_model::Moment;

use super::Engine;
use super::attempt::{Choice, failed};
use super::reservations::tell_volume_errors;
use crate::claim_timing::ClaimTiming;
use crate::cycle::Cycle;
use crate::fit_error::chosen_node_message;
use crate::record::Record;
use crate::timeline::Timing;
use crate::{Claim, ClaimId, Diagnosis, Nomination, Notice, Outcome, Placement, PointRun};

/// However long a permit plugin wants to wait, it gets no more.
const MAX_PERMIT_WAIT: Duration = Duration::from_mins(15);

impl Engine {
    /// Assumes the pod on the node, reserves, asks for permits and sets the claim on its way.
    pub(super) fn claim_node(
        &mut self,
        cycle: &mut Cycle,
        choice: Choice,
        now: Moment,
        out: &mut Vec<Notice>,
    ) -> Outcome {
        let node = CompactString::from(self.ledger.columns().name(choice.node));
        let id = self.assume(cycle, choice, node.clone(), now);
        // Nobody else has a turn before its plugins reserve anew.
        self.adoptions.end(&cycle.pod.uid);
        let begun = cycle.timing.now();
        let mut granted = self.reserve(id, now, &cycle.timing);
        let reserved = cycle.timing.point(ExtensionPoint::Reserve, begun, code_of(&granted));
        if granted.is_ok() {
            granted = self.permit(id, now, &cycle.timing);
            let waits = self.records.get(id).is_some_and(|record| !record.permits.is_empty());
            let code = if granted.is_ok() && waits {
                Code::Wait
            } else {
                code_of(&granted)
            };
            cycle.timing.point(ExtensionPoint::Permit, reserved, code);
        }
        if let Some(record) = self.records.get(id) {
            tell_volume_errors(&record.state, out);
        }
        if let Err((point, status)) = granted {
            self.tentative = None;
            if let Some(run) = self.withdraw(id) {
                cycle.timing.add(run);
            }
            return turned_away(cycle, point, &status);
        }
        let mut waits_on_permit = false;
        if let Some(record) = self.records.get_mut(id) {
            waits_on_permit = !record.permits.is_empty();
            self.verdicts.extend(record.state.take_permit_verdicts());
            let pods = record.state.take_pods_to_activate();
            if !pods.is_empty() {
                out.push(Notice::Activate { pods });
            }
        }
        self.show_waiting(id);
        self.proceed(id, now, out);
        self.tentative = None;
        Outcome::Placed(Placement {
            claim: id,
            pod: Arc::clone(&cycle.pod),
            node,
            evaluated_nodes: choice.evaluated,
            feasible_nodes: choice.feasible,
            waits_on_permit,
        })
    }

    fn assume(&mut self, cycle: &mut Cycle, choice: Choice, node: CompactString, now: Moment) -> ClaimId {
        let id = self.records.next_id();
        self.tentative = Some(id);
        let claim = Claim::new(id, Arc::clone(&cycle.pod), node.clone());
        self.nominations.placed(&cycle.pod.uid, &node);
        let mut record = Record::new(claim, Arc::clone(&cycle.plan), mem::take(&mut cycle.state));
        record.evaluated_nodes = choice.evaluated;
        record.feasible_nodes = choice.feasible;
        record.begun_at = cycle.begun_at;
        record.assumed_at = now;
        record.judged_at = cycle.judged_at;
        record.timing = ClaimTiming::new(cycle.timing.is_sampled(), cycle.timing.is_detailed());
        self.records.insert(record);
        self.ledger.hold(&cycle.pod, id, node);
        self.ledger.recount(&cycle.pod.uid);
        id
    }

    fn reserve(&mut self, id: ClaimId, now: Moment, timing: &Timing) -> Result<(), (&'static str, Status)> {
        let Some(record) = self.records.get_mut(id) else {
            return Ok(());
        };
        let (pod, plan) = (Arc::clone(record.claim.pod()), Arc::clone(&record.plan));
        for plugin in &plan.profile.reserve {
            let context = CycleContext {
                pod: &pod,
                columns: self.ledger.columns(),
                now,
            };
            let begun = timing.plugin_begins();
            let reserved = plugin.reserve(context, &mut record.state, record.claim.node());
            let code = reserved.as_ref().map_or_else(|status| status.code, |()| Code::Success);
            timing.plugin_ended(begun, plugin.name(), ExtensionPoint::Reserve, code, 1);
            if let Some(volumes) = record.state.take_reservation() {
                self.ledger.reserve_volumes(&pod.uid, volumes);
                self.ledger.recount(&pod.uid);
            }
            reserved.map_err(|status| {
                (
                    "Reserve",
                    Status {
                        plugin: plugin.name(),
                        ..status
                    },
                )
            })?;
        }
        Ok(())
    }

    fn permit(&mut self, id: ClaimId, now: Moment, timing: &Timing) -> Result<(), (&'static str, Status)> {
        let Some(record) = self.records.get_mut(id) else {
            return Ok(());
        };
        let (pod, plan) = (Arc::clone(record.claim.pod()), Arc::clone(&record.plan));
        let context = CycleContext {
            pod: &pod,
            columns: self.ledger.columns(),
            now,
        };
        for plugin in &plan.profile.permit {
            let begun = timing.plugin_begins();
            let outcome = plugin.permit(context, &mut record.state, record.claim.node(), &self.waiting);
            let code = match &outcome {
                PermitOutcome::Allow => Code::Success,
                PermitOutcome::Wait(_) => Code::Wait,
                PermitOutcome::Stop(status) => status.code,
            };
            timing.plugin_ended(begun, plugin.name(), ExtensionPoint::Permit, code, 1);
            match outcome {
                PermitOutcome::Allow => {}
                PermitOutcome::Wait(timeout) => {
                    let timeout = timeout.min(MAX_PERMIT_WAIT);
                    record.permits.push(PermitWait {
                        plugin: plugin.name(),
                        timeout,
                        until: now + timeout,
                    });
                }
                PermitOutcome::Stop(status) => {
                    return Err((
                        "Permit",
                        Status {
                            plugin: plugin.name(),
                            ..status
                        },
                    ));
                }
            }
        }
        Ok(())
    }

    /// Undoes a claim of the running cycle as if it had never been; says how long plugins took for that.
    pub(super) fn withdraw(&mut self, id: ClaimId) -> Option<PointRun> {
        let mut record = self.records.remove(id)?;
        let pod = Arc::clone(record.claim.pod());
        self.waits.remove(id);
        self.ledger.release(&pod.uid);
        self.ledger.recount(&pod.uid);
        unreserve(&mut record, &mut self.verdicts, self.watch.as_ref());
        record.timing.take().points.pop()
    }
}

/// In reverse order, every plugin, also one whose reserve did not run. One that panics keeps no other from taking back what
/// it reserved; the panic hook has told of it. What plugins say of waiting pods meanwhile, or have said and nobody has heard
/// of, is not lost.
pub(super) fn unreserve(record: &mut Record, verdicts: &mut VecDeque<PermitVerdict>, watch: &dyn Stopwatch) {
    let plan = Arc::clone(&record.plan);
    let begun = watch.now();
    for plugin in plan.profile.reserve.iter().rev() {
        let _ = guarded(|| plugin.unreserve(record.claim.pod(), &mut record.state, record.claim.chosen()));
    }
    verdicts.extend(record.state.take_permit_verdicts());
    record.timing.point(ExtensionPoint::Unreserve, begun, watch);
}

fn code_of(granted: &Result<(), (&'static str, Status)>) -> Code {
    granted
        .as_ref()
        .map_or_else(|(_, status)| status.code, |()| Code::Success)
}

fn turned_away(cycle: &Cycle, point: &str, status: &Status) -> Outcome {
    if !status.code.is_rejection() {
        return failed(
            cycle,
            format!("running {point} plugin {:?}: {}", status.plugin, status.message()),
        );
    }
    let plugins = vec![status.plugin];
    Outcome::Unschedulable(Diagnosis {
        message: chosen_node_message(status),
        pending_plugins: if status.code == Code::Pending {
            plugins.clone()
        } else {
            Vec::new()
        },
        preemption_plugins: Vec::new(),
        plugins,
        rejections: Vec::new(),
        nominate: Nomination::Clear,
        judged_at: cycle.judged_at,
        no_nodes: false,
        preemption_tried: false,
        preemption: None,
        retry_at: None,
    })
}
