//! What there was of what is hard, so that a campaign shows that it met it.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::Chaos;
use crate::invariants;

/// Counts of one run, or of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Requests that a fault befell.
    pub faults: u64,
    /// Messages between two actors that did not arrive at once.
    pub delayed_messages: u64,
    /// Terms begun after the first of the run.
    pub hand_overs: u64,
    /// Bindings sent.
    pub bindings: u64,
    /// Bindings that the API server did not answer definitely.
    pub unknown_bindings: u64,
    /// Pods bound by the other scheduler.
    pub foreign_binds: u64,
    /// Bindings past the line of a node that somebody else changed inside the delivery window.
    pub excluded: u64,
    /// Processes stopped for a while.
    pub stops: u64,
    /// Machines suspended.
    pub suspensions: u64,
    /// Machines cut off, in one direction or both.
    pub cuts: u64,
    /// Processes killed.
    pub kills: u64,
    /// Electors that got no turn for longer than a lease.
    pub stalls: u64,
    /// Leaders that gave up for lack of progress.
    pub resignations: u64,
    /// Calls that reached an extender.
    pub extender_calls: u64,
    /// Pods that an extender bound within the time of its call.
    pub extender_binds: u64,
    /// Pods that an extender bound after that, or bound and denied. They count as other schedulers' do.
    pub stray_extender_binds: u64,
    /// Claims bound to a volume.
    pub bound_claims: u64,
    /// Volumes made for claims.
    pub provisioned_volumes: u64,
    /// Claims whose node the provisioner gave back.
    pub given_back_claims: u64,
    /// Writes to volumes and claims by replicas.
    pub volume_writes: u64,
    /// Volumes made over to a claim that another one was made over to, by pods that share it.
    pub second_volumes: u64,
    /// Writes to volumes and claims that a fault befell.
    pub faults_of_volume_writes: u64,
    /// Looks at a volume that the volume controller left half done.
    pub half_bound_claims: u64,
    /// Bindings against what claims and volumes say, by others, or after others had taken a claim away or used it.
    pub excluded_by_claims: u64,
    /// Spans that the collector took.
    pub spans: u64,
    /// Spans and records that replicas counted as dropped.
    pub dropped_spans: u64,
    /// Pods placed at the end whose traces came as a whole.
    pub whole_traces: u64,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.faults += other.faults;
        self.delayed_messages += other.delayed_messages;
        self.hand_overs += other.hand_overs;
        self.bindings += other.bindings;
        self.unknown_bindings += other.unknown_bindings;
        self.foreign_binds += other.foreign_binds;
        self.excluded += other.excluded;
        self.stops += other.stops;
        self.suspensions += other.suspensions;
        self.cuts += other.cuts;
        self.kills += other.kills;
        self.stalls += other.stalls;
        self.resignations += other.resignations;
        self.extender_calls += other.extender_calls;
        self.extender_binds += other.extender_binds;
        self.stray_extender_binds += other.stray_extender_binds;
        self.bound_claims += other.bound_claims;
        self.provisioned_volumes += other.provisioned_volumes;
        self.given_back_claims += other.given_back_claims;
        self.volume_writes += other.volume_writes;
        self.second_volumes += other.second_volumes;
        self.faults_of_volume_writes += other.faults_of_volume_writes;
        self.half_bound_claims += other.half_bound_claims;
        self.excluded_by_claims += other.excluded_by_claims;
        self.spans += other.spans;
        self.dropped_spans += other.dropped_spans;
        self.whole_traces += other.whole_traces;
    }
}

impl Chaos {
    /// How many leaders have given up for lack of progress, by what all replicas say that there were.
    pub(super) fn resignations(&self) -> u64 {
        self.world.resignations()
    }

    /// Adds what others have counted.
    pub(super) fn count_the_rest(&mut self) {
        let judged = self.world.judge().counts();
        let machines = self.replicas.iter().chain(&self.leaving);
        self.counters.delayed_messages += machines.map(|(machine, _)| machine.post().delayed()).sum::<u64>();
        self.counters.hand_overs = self.world.terms().begun().saturating_sub(1);
        self.counters.bindings = judged.sent;
        self.counters.unknown_bindings = judged.unknown;
        self.counters.excluded = judged.excluded;
        self.counters.excluded_by_claims = judged.excluded_by_claims;
        self.counters.resignations = self.resignations();
        if let Some(storage) = &self.storage {
            let deeds = storage.deeds();
            self.counters.bound_claims = deeds.bound;
            self.counters.provisioned_volumes = deeds.provisioned;
            self.counters.given_back_claims = deeds.given_back;
            self.counters.half_bound_claims = deeds.half_bound;
            self.counters.volume_writes = invariants::volume_writes(self.world.server());
            self.counters.second_volumes = invariants::second_volumes(&self.world.server().history());
        }
        if let Some(extender) = &self.extender {
            let deeds = extender.deeds();
            self.counters.extender_calls = deeds.calls;
            self.counters.extender_binds = deeds.bound;
            self.counters.stray_extender_binds = deeds.strayed;
        }
    }
}
