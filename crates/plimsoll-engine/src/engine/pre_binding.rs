//! Work before a binding: effects that others perform, and the steps of plugins that write to objects of storage and wait for
//! what others make of them. A claim whose plugin waits is a record with an alarm, and is found by what it waits for.

use std::sync::Arc;

use compact_str::CompactString;
use plimsoll_framework::{CycleContext, Effect, EffectReply, PreBindInput, PreBindStep, guarded};
use plimsoll_model::storage::VolumeWritten;
use plimsoll_model::{Delta, Moment};

use super::reservations::tell_volume_errors;
use super::settling::error;
use super::{Engine, Held};
use crate::record::PreBindWork;
use crate::{ClaimId, Notice};

impl Engine {
    pub(super) fn perform_pre_bind(&mut self, claim: ClaimId, effect: Effect, out: &mut Vec<Notice>) {
        if let Some(record) = self.records.get_mut(claim) {
            record.pre_bind = PreBindWork::Effect;
            out.push(Notice::PreBind {
                claim,
                pod: Arc::clone(record.claim.pod()),
                node: CompactString::from(record.claim.node()),
                effect,
            });
        }
    }

    pub(super) fn on_pre_bind_reply(&mut self, id: ClaimId, reply: EffectReply, now: Moment, out: &mut Vec<Notice>) {
        let record = self.records.get_mut(id);
        let Some(record) = record.filter(|record| record.pre_bind == PreBindWork::Effect) else {
            return;
        };
        record.pre_bind = PreBindWork::None;
        match reply {
            Ok(_) => self.proceed(id, now, out),
            Err(cause) => self.fail_pre_bind(id, &cause, now, out),
        }
    }

    pub(super) fn on_volume_written(
        &mut self,
        id: ClaimId,
        written: VolumeWritten,
        now: Moment,
        out: &mut Vec<Notice>,
    ) {
        if self.pre_bind_work(id) == Some(PreBindWork::Writing) {
            self.step_in_turn(id, PreBindInput::Written(written), now, out);
        }
    }

    /// Whether the claim's pre-bind plugin has waited for as long as it wanted to.
    pub(super) fn has_waited_for_pre_bind(&self, id: ClaimId, now: Moment) -> bool {
        matches!(self.pre_bind_work(id), Some(PreBindWork::Waiting { until }) if until <= now)
    }

    /// A step gives up room at times, and a cycle that waits must not see its columns change.
    pub(super) fn step_in_turn(&mut self, id: ClaimId, input: PreBindInput, now: Moment, out: &mut Vec<Notice>) {
        if self.cycle.is_none() {
            return self.step(id, input, now, out);
        }
        if let Some(record) = self.records.get_mut(id) {
            record.pre_bind = PreBindWork::Held;
            self.held.push_back(Held::Step(id, input));
        }
    }

    pub(super) fn step_held(&mut self, id: ClaimId, input: PreBindInput, now: Moment, out: &mut Vec<Notice>) {
        if self.pre_bind_work(id) == Some(PreBindWork::Held) {
            self.step(id, input, now, out);
        }
    }

    /// Asks the plugins again that wait for what this change is about, the oldest claim first.
    pub(super) fn wake_pre_bind(&mut self, delta: &Delta, now: Moment, out: &mut Vec<Notice>) {
        for id in self.waits.concerned(delta) {
            if matches!(self.pre_bind_work(id), Some(PreBindWork::Waiting { .. })) {
                self.step(id, PreBindInput::Changed, now, out);
            }
        }
    }

    fn pre_bind_work(&self, id: ClaimId) -> Option<PreBindWork> {
        self.records.get(id).map(|record| record.pre_bind)
    }

    fn step(&mut self, id: ClaimId, input: PreBindInput, now: Moment, out: &mut Vec<Notice>) {
        let Some(record) = self.records.get_mut(id) else { return };
        let Some(plugin) = record.pre_bind_plugin().map(Arc::clone) else {
            return;
        };
        let pod = Arc::clone(record.claim.pod());
        let cycle = CycleContext {
            pod: &pod,
            columns: self.ledger.columns(),
            now,
        };
        let step = guarded(|| plugin.step(cycle, &mut record.state, record.claim.chosen(), input));
        tell_volume_errors(&record.state, out);
        self.verdicts.extend(record.state.take_permit_verdicts());
        record.pre_bind = match step {
            Ok(PreBindStep::Write(_)) => PreBindWork::Writing,
            Ok(PreBindStep::Wait { until }) => PreBindWork::Waiting { until },
            _ => PreBindWork::None,
        };
        self.records.set_alarm(id);
        match step {
            Ok(PreBindStep::Done) => {
                self.waits.remove(id);
                self.proceed(id, now, out);
            }
            Ok(PreBindStep::Write(write)) => out.push(Notice::WriteVolume { claim: id, pod, write }),
            Ok(PreBindStep::Wait { .. }) => self.wait_for_objects(id),
            Ok(PreBindStep::Fail(cause)) => self.fail_pre_bind(id, &cause, now, out),
            Err(panic) => self.fail_pre_bind(id, &format!("panicked: {panic}"), now, out),
        }
    }

    fn wait_for_objects(&mut self, id: ClaimId) {
        let Some(record) = self.records.get(id) else { return };
        let pod = record.claim.pod();
        let volumes = self.ledger.reserved_volumes(&pod.uid);
        self.waits.insert(id, pod, record.claim.chosen(), volumes);
    }

    fn fail_pre_bind(&mut self, id: ClaimId, cause: &str, now: Moment, out: &mut Vec<Notice>) {
        let plugin = self.records.get(id).and_then(|record| record.pre_bind_plugin());
        let name = plugin.map_or("", |plugin| plugin.name());
        let failure = error(format!("running PreBind plugin {name:?}: {cause}"), self.applied);
        self.fail_waiting(id, failure, now, out);
    }
}
