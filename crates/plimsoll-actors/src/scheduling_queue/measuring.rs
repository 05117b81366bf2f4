use std::collections::BTreeMap;
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use plimsoll_framework::{Action, ClusterEvent, Code, EventResource, ExtensionPoint};
use plimsoll_model::{Change, Delta, Moment};
use plimsoll_queue::{GateRuns, UpdateEvents, node_update_events, pod_update_events};
use plimsoll_telemetry::{EventHandling, Metrics, PendingPods, TraceId};
use smallvec::smallvec;
use tracing::level_filters::LevelFilter;

use super::{SchedulingQueueState, change_lines};
use crate::trace_context::TraceContext;
use crate::tracer::Tracing;

/// Pods in flight among the events that are kept for them, as kube-scheduler calls them.
const POD_POPPED: &str = "PodPopped";

/// Handles on metrics that are changed often: looking them up would take longer than changing them.
pub(super) struct QueueHandles {
    /// Handles from before a reset count nothing that is shown.
    resets: u64,
    handling: HashMap<ClusterEvent, EventHandling, FixedState>,
}

impl Default for QueueHandles {
    fn default() -> Self {
        Self {
            resets: 0,
            handling: HashMap::with_hasher(FixedState::with_seed(0)),
        }
    }
}

impl QueueHandles {
    fn handling(&mut self, metrics: &Metrics, event: ClusterEvent) -> &EventHandling {
        let resets = metrics.resets();
        if resets != self.resets {
            self.resets = resets;
            self.handling.clear();
        }
        let made = || metrics.queue().handling_of(&event.to_string());
        self.handling.entry(event).or_insert_with(made)
    }
}

/// As in kube-scheduler the point ends in success, whether the pod may be tried or not.
fn gates_ran(
    metrics: &Metrics,
    tracing: Option<&Tracing>,
    points: &[(String, GateRuns)],
    plugins: &[(&'static str, Code, Duration)],
) {
    let point = ExtensionPoint::PreEnqueue.as_str();
    for (profile, runs) in points {
        let handle = metrics.framework().point(profile, point, Code::Success.as_str());
        let mut leading = tracing.zip(runs.slowest.as_ref()).and_then(|(tracing, slowest)| {
            let trace = TraceContext::of(&slowest.pod);
            let kept = tracing.is_sampled(trace, slowest.trace_sampling_ratio);
            kept.then_some((slowest.took, TraceId(trace.trace_id())))
        });
        for took in &runs.took {
            let trace = leading.take_if(|(slowest, _)| slowest == took);
            handle.took(*took, trace.map(|(_, trace)| trace));
        }
    }
    for (plugin, code, took) in plugins {
        metrics.framework().plugin(plugin, point, code.as_str()).took(*took);
    }
}

/// What the queue is measured by. It has no clock, so that time is taken around it.
impl SchedulingQueueState {
    /// Applies a change and tells how long that took; returns when it was done.
    pub(super) fn apply(&mut self, change: &Change, begun: Moment) -> Moment {
        change_lines::tell(&change.delta);
        self.queue.apply(change, begun);
        let done = self.clock.now();
        for event in events_of(&change.delta) {
            self.measured.handling(&self.metrics, event).took(done.since(begun));
        }
        done
    }

    /// What came of a message that was taken up at `begun`.
    pub(super) fn report(&mut self, begun: Moment) {
        let counts = self.queue.counts();
        let metrics = self.metrics.queue();
        metrics.pending(PendingPods {
            active: counts.active,
            backoff: counts.backoff + counts.error_backoff,
            unschedulable: counts.unschedulable,
            gated: counts.gated,
        });
        let moved = self.queue.take_metrics();
        for ((queue, event), count) in moved.incoming {
            metrics.incoming(queue, &event, count);
        }
        for ((plugin, profile), difference) in moved.unschedulable {
            metrics.unschedulable(plugin, &profile, difference);
        }
        metrics.wakeups(moved.wakeups.asked, moved.wakeups.useful, moved.wakeups.wasted);
        for moved in &moved.moves {
            change_lines::tell_of_move(moved);
        }
        // Levels change while the process runs. Some line of this level may be told somewhere.
        self.queue.keep_moves(LevelFilter::current() >= LevelFilter::TRACE);
        gates_ran(&self.metrics, self.tracing.as_ref(), &moved.gates, &moved.gate_plugins);
        for error in moved.hint_errors {
            tracing::error!(
                plugin = error.plugin, event = error.event, pod = %error.pod, error = error.error,
                "QueueingHintFn returns error"
            );
        }
        let calls: u64 = moved.hints.iter().map(|(_, calls)| calls).sum();
        if calls > 0 {
            let each = share(self.clock.now().since(begun), calls);
            for ((plugin, event, hint), calls) in moved.hints {
                metrics.hints(&plugin, &event, hint, calls, each);
            }
        }
    }

    /// Everything that is kept for attempts under way. This walks over all of it.
    pub(super) fn in_flight_events(&self) -> BTreeMap<String, u64> {
        let mut events = self.queue.in_flight_events();
        let popped = self.queue.counts().in_flight as u64;
        if popped > 0 {
            events.insert(POD_POPPED.to_owned(), popped);
        }
        events
    }
}

/// What each of so many calls took, of which nobody knows more than what they took together.
fn share(together: Duration, calls: u64) -> Duration {
    together / u32::try_from(calls).unwrap_or(u32::MAX).max(1)
}

/// What kube-scheduler's handlers call a change, by whose names it tells how long they take.
fn events_of(delta: &Delta) -> UpdateEvents {
    let pod = |assigned: bool, action| {
        let resource = if assigned {
            EventResource::AssignedPod
        } else {
            EventResource::UnschedulablePod
        };
        ClusterEvent::new(resource, action)
    };
    let object = |resource, before: bool, after: bool| {
        let action = match (before, after) {
            (false, _) => Action::ADD,
            (true, true) => Action::UPDATE,
            (true, false) => Action::DELETE,
        };
        ClusterEvent::new(resource, action)
    };
    match delta {
        Delta::PodAdded(added) => smallvec![pod(added.node_name().is_some(), Action::ADD)],
        Delta::PodUpdated { old, new } if old.node_name().is_none() && new.node_name().is_some() => {
            smallvec![pod(true, Action::ADD)]
        }
        Delta::PodUpdated { old, new } => {
            let generic = pod(new.node_name().is_some(), Action::UPDATE);
            let mut events = pod_update_events(old, new);
            if !events.contains(&generic) {
                events.push(generic);
            }
            events
        }
        Delta::PodDeleted(gone) => smallvec![pod(gone.node_name().is_some(), Action::DELETE)],
        Delta::NodeAdded(_) => smallvec![ClusterEvent::new(EventResource::Node, Action::ADD)],
        Delta::NodeUpdated { old, new } => node_update_events(old, new),
        Delta::NodeDeleted(_) => smallvec![ClusterEvent::new(EventResource::Node, Action::DELETE)],
        Delta::NamespaceChanged { old, new } => {
            smallvec![object(EventResource::Namespace, old.is_some(), new.is_some())]
        }
        Delta::WorkloadSelectorChanged { old, new } => {
            let workload = new.as_ref().or(old.as_ref());
            let event = |kind| object(EventResource::Workload(kind), old.is_some(), new.is_some());
            workload.map(|workload| event(workload.kind)).into_iter().collect()
        }
        Delta::DisruptionBudgetChanged { .. } => UpdateEvents::new(),
        Delta::StorageChanged { old, new } => {
            let changed = new.as_ref().or(old.as_ref());
            let event = |kind| object(EventResource::from(kind), old.is_some(), new.is_some());
            changed.map(|changed| event(changed.kind())).into_iter().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_model::testing::{node, pod};

    use super::*;

    fn names(delta: &Delta) -> Vec<String> {
        events_of(delta).iter().map(ClusterEvent::to_string).collect()
    }

    #[test]
    fn the_time_of_a_message_is_shared_out_among_the_hints_that_it_asked() {
        let milli = Duration::from_millis;
        assert_eq!([1, 4].map(|calls| share(milli(8), calls)), [milli(8), milli(2)]);
        assert_eq!(share(milli(8), u64::MAX), Duration::ZERO);
    }

    #[test]
    fn changes_are_told_under_the_names_that_kube_scheduler_gives_them() {
        let waiting = Arc::new(pod("p").build());
        let there = Arc::new(pod("p").on("n1").build());
        let labelled = Arc::new(pod("p").label("a", "b").build());
        let updated = |old: &Arc<_>, new: &Arc<_>| Delta::PodUpdated {
            old: Arc::clone(old),
            new: Arc::clone(new),
        };
        assert_eq!(names(&Delta::PodAdded(Arc::clone(&waiting))), ["UnschedulablePodAdd"]);
        assert_eq!(names(&Delta::PodAdded(Arc::clone(&there))), ["AssignedPodAdd"]);
        assert_eq!(names(&updated(&waiting, &there)), ["AssignedPodAdd"]);
        assert_eq!(
            names(&updated(&waiting, &labelled)),
            ["UnschedulablePodUpdatePodLabel", "UnschedulablePodUpdate"]
        );
        assert_eq!(names(&updated(&there, &there)), ["AssignedPodUpdate"]);
        assert_eq!(names(&Delta::PodDeleted(waiting)), ["UnschedulablePodDelete"]);
        assert_eq!(names(&Delta::PodDeleted(there)), ["AssignedPodDelete"]);
        let n1 = Arc::new(node("n1").build());
        let labelled = Arc::new(node("n1").label("zone", "a").build());
        let changed = |new| Delta::NodeUpdated {
            old: Arc::clone(&n1),
            new,
        };
        assert_eq!(names(&Delta::NodeAdded(Arc::clone(&n1))), ["NodeAdd"]);
        assert_eq!(names(&changed(labelled)), ["NodeUpdateNodeLabel"]);
        // A heartbeat is no event.
        assert!(names(&changed(Arc::clone(&n1))).is_empty());
    }
}
