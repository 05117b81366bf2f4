//! Every metric of the process in one place. Names, labels and buckets are kube-scheduler's where it has the metric;
//! ours begin with `plimsoll_`.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, prometheus_text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::audit_metrics::AuditMetrics;
use crate::buckets::exponential;
use crate::config_metrics::ConfigMetrics;
use crate::election_metrics::ElectionMetrics;
use crate::hand_over_metrics::HandOverMetrics;
use crate::mailbox_depths::MailboxDepths;
use crate::preemption_metrics::PreemptionMetrics;
use crate::queue_metrics::QueueMetrics;
use crate::resignation_metrics::ResignationMetrics;
use crate::trace_metrics::TraceMetrics;
use crate::volume_metrics::VolumeMetrics;

/// How an attempt to schedule a pod ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptResult {
    /// Bound.
    Scheduled,
    /// Turned away by plugins.
    Unschedulable,
    /// Failed inside.
    Error,
}

impl AttemptResult {
    fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Unschedulable => "unschedulable",
            Self::Error => "error",
        }
    }
}

macro_rules! label_sets {
    ($($name:ident { $($label:ident),+ })+) => {
        $(#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
        struct $name { $($label: String),+ }

        impl $name {
            fn new($($label: &str),+) -> Self {
                Self { $($label: $label.to_owned()),+ }
            }
        })+
    };
}

// Labels in alphabetical order, as kube-scheduler prints them.
label_sets! {
    ProfileResult { profile, result }
    Kind { r#type }
    ResultOnly { result }
    Attempts { attempts }
    Resource { resource }
    Outcome { outcome }
}

/// Handles on every metric.
pub struct Metrics {
    registry: Registry,
    depths: Arc<MailboxDepths>,
    attempts: Family<ProfileResult, Counter>,
    attempt_duration: Family<ProfileResult, Histogram>,
    algorithm_duration: Histogram,
    sli_duration: Family<Attempts, Histogram>,
    pod_attempts: Histogram,
    scheduled_after_flush: Counter,
    permit_wait: Family<ResultOnly, Histogram>,
    queue: QueueMetrics,
    preemption: PreemptionMetrics,
    volumes: VolumeMetrics,
    audit: AuditMetrics,
    resignations: ResignationMetrics,
    cache_size: Family<Kind, Gauge>,
    election: ElectionMetrics,
    undecodable: Family<Resource, Counter>,
    panics: Counter,
    foreign_binds: Counter,
    bind_answers: Family<Outcome, Counter>,
    dropped_events: Counter,
    config: ConfigMetrics,
    hand_over: HandOverMetrics,
    traces: TraceMetrics,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Registers everything, at zero.
    pub fn new() -> Self {
        let millis = || Histogram::new(exponential(0.001, 2.0, 15));
        let metrics = Self {
            registry: Registry::default(),
            depths: Arc::default(),
            attempts: Family::default(),
            attempt_duration: Family::new_with_constructor(millis as fn() -> Histogram),
            algorithm_duration: millis(),
            sli_duration: Family::new_with_constructor(|| Histogram::new(exponential(0.01, 2.0, 20))),
            pod_attempts: Histogram::new(exponential(1.0, 2.0, 5)),
            scheduled_after_flush: Counter::default(),
            permit_wait: Family::new_with_constructor(millis as fn() -> Histogram),
            queue: QueueMetrics::default(),
            preemption: PreemptionMetrics::default(),
            volumes: VolumeMetrics::default(),
            audit: AuditMetrics::default(),
            resignations: ResignationMetrics::default(),
            cache_size: Family::default(),
            election: ElectionMetrics::default(),
            undecodable: Family::default(),
            panics: Counter::default(),
            foreign_binds: Counter::default(),
            bind_answers: Family::default(),
            dropped_events: Counter::default(),
            config: ConfigMetrics::default(),
            hand_over: HandOverMetrics::default(),
            traces: TraceMetrics::default(),
        };
        metrics.registered()
    }

    fn registered(mut self) -> Self {
        let registry = &mut self.registry;
        let scheduler = registry.sub_registry_with_prefix("scheduler");
        scheduler.register("schedule_attempts", "[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler problem", self.attempts.clone());
        scheduler.register(
            "scheduling_attempt_duration_seconds",
            "[STABLE] Scheduling attempt latency in seconds (scheduling algorithm + binding)",
            self.attempt_duration.clone(),
        );
        scheduler.register(
            "scheduling_algorithm_duration_seconds",
            "[ALPHA] Scheduling algorithm latency in seconds",
            self.algorithm_duration.clone(),
        );
        scheduler.register("pod_scheduling_sli_duration_seconds", "[BETA] E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue, by the number of attempts", self.sli_duration.clone());
        scheduler.register(
            "pod_scheduling_attempts",
            "[STABLE] Number of attempts to successfully schedule a pod",
            self.pod_attempts.clone(),
        );
        scheduler.register("pod_scheduled_after_flush", "[ALPHA] Pods that were scheduled after the longest wait had flushed them back; each one is a missed wake-up", self.scheduled_after_flush.clone());
        scheduler.register(
            "permit_wait_duration_seconds",
            "[BETA] How long pods waited on permit, by the status with which the wait ended",
            self.permit_wait.clone(),
        );
        self.queue.register(scheduler);
        self.preemption.register(scheduler);
        self.volumes.register(scheduler);
        scheduler.register(
            "cache_size",
            "[ALPHA] Number of nodes, pods and assumed pods in the scheduler cache",
            self.cache_size.clone(),
        );
        self.election.register(registry);
        let own = registry.sub_registry_with_prefix("plimsoll");
        own.register(
            "undecodable_objects",
            "Watched objects that could not be decoded",
            self.undecodable.clone(),
        );
        own.register(
            "cycle_panics",
            "Scheduling cycles that panicked and were set aside",
            self.panics.clone(),
        );
        own.register(
            "foreign_binds",
            "Pods that another scheduler bound while a claim of ours was under way",
            self.foreign_binds.clone(),
        );
        own.register("bind_answers", "Answers to binding requests", self.bind_answers.clone());
        own.register(
            "events_dropped",
            "Events that were not written",
            self.dropped_events.clone(),
        );
        self.hand_over.register(own);
        self.traces.register(own);
        self.config.register(own);
        self.queue.register_own(own);
        self.preemption.register_own(own);
        self.audit.register(own);
        self.resignations.register(own);
        registry.register_collector(Box::new(Arc::clone(&self.depths)));
        self
    }

    /// The Prometheus text format, version 0.0.4.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.registry)?;
        Ok(text)
    }

    /// What is told of the configuration file.
    pub fn config(&self) -> &ConfigMetrics {
        &self.config
    }

    /// What is told of the pods that wait.
    pub fn queue(&self) -> &QueueMetrics {
        &self.queue
    }

    /// What is told of preemption.
    pub fn preemption(&self) -> &PreemptionMetrics {
        &self.preemption
    }

    /// What is told of volumes.
    pub fn volumes(&self) -> &VolumeMetrics {
        &self.volumes
    }

    /// What is told of leader election.
    pub fn election(&self) -> &ElectionMetrics {
        &self.election
    }

    /// What is told of spans that got out or were lost.
    pub fn traces(&self) -> &TraceMetrics {
        &self.traces
    }

    /// What is told of taking the lead over.
    pub fn hand_over(&self) -> &HandOverMetrics {
        &self.hand_over
    }

    /// What is told of audits.
    pub fn audit(&self) -> &AuditMetrics {
        &self.audit
    }

    /// What is told of leadership that was given up.
    pub fn resignations(&self) -> &ResignationMetrics {
        &self.resignations
    }

    /// An attempt ended.
    pub fn scheduling_attempt(&self, result: AttemptResult, profile: &str, took: Duration) {
        let labels = ProfileResult::new(profile, result.as_str());
        self.attempts.get_or_create(&labels).inc();
        self.attempt_duration.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// The search for a node ended.
    pub fn scheduling_algorithm(&self, took: Duration) {
        self.algorithm_duration.observe(took.as_secs_f64());
    }

    /// A pod was bound.
    pub fn pod_scheduled(&self, attempts: u32, since_first_try: Option<Duration>, flushed: bool) {
        self.pod_attempts.observe(f64::from(attempts));
        if let Some(took) = since_first_try {
            let label = if attempts >= 15 {
                "15+".to_owned()
            } else {
                attempts.to_string()
            };
            self.sli_duration
                .get_or_create(&Attempts::new(&label))
                .observe(took.as_secs_f64());
        }
        if flushed {
            self.scheduled_after_flush.inc();
        }
    }

    /// A pod waits on permit no longer.
    pub fn permit_wait(&self, result: &str, waited: Duration) {
        self.permit_wait
            .get_or_create(&ResultOnly::new(result))
            .observe(waited.as_secs_f64());
    }

    /// What the columns hold.
    pub fn cache_size(&self, nodes: usize, pods: usize, assumed_pods: usize) {
        for (kind, count) in [("nodes", nodes), ("pods", pods), ("assumed_pods", assumed_pods)] {
            self.cache_size.get_or_create(&Kind::new(kind)).set(gauge(count));
        }
    }

    /// A watched object could not be decoded.
    pub fn undecodable_object(&self, resource: &str) {
        self.undecodable.get_or_create(&Resource::new(resource)).inc();
    }

    /// A cycle panicked.
    pub fn cycle_panicked(&self) {
        self.panics.inc();
    }

    /// Another scheduler bound a pod that we had a claim for.
    pub fn foreign_bind(&self) {
        self.foreign_binds.inc();
    }

    /// A binding request was answered.
    pub fn bind_answered(&self, outcome: &str) {
        self.bind_answers.get_or_create(&Outcome::new(outcome)).inc();
    }

    /// An event was dropped.
    pub fn event_dropped(&self) {
        self.dropped_events.inc();
    }

    /// Shows the depth of an actor's mailbox from now on.
    pub fn watch_mailbox(&self, actor: &'static str, depth: impl Fn() -> i64 + Send + Sync + 'static) {
        self.depths.watch(actor, Box::new(depth));
    }
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_carry_the_names_labels_and_buckets_of_kube_scheduler() {
        let metrics = Metrics::new();
        metrics.scheduling_attempt(AttemptResult::Scheduled, "default-scheduler", Duration::from_millis(3));
        metrics.pod_scheduled(2, Some(Duration::from_secs(1)), true);
        metrics.permit_wait("Unschedulable", Duration::from_secs(10));
        metrics.election().leading(true);
        metrics.election().slow_paths(2);
        metrics.preemption().attempted();
        metrics.preemption().chosen(3);
        metrics.volumes().stage_failed("bind", 2);
        metrics.preemption().executed(false, Duration::from_millis(30));
        metrics.watch_mailbox("SchedulingCycle", || 7);
        let text = metrics.text().unwrap();
        for line in [
            r#"scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1"#,
            r#"scheduler_scheduling_attempt_duration_seconds_bucket{profile="default-scheduler",result="scheduled",le="0.004"} 1"#,
            r#"scheduler_pod_scheduling_sli_duration_seconds_count{attempts="2"} 1"#,
            "scheduler_pod_scheduled_after_flush_total 1",
            r#"scheduler_permit_wait_duration_seconds_bucket{result="Unschedulable",le="16.384"} 1"#,
            r#"leader_election_master_status{name="kube-scheduler"} 1"#,
            r#"leader_election_slowpath_total{name="kube-scheduler"} 2"#,
            "scheduler_preemption_attempts_total 1",
            r#"scheduler_preemption_victims_bucket{le="4"} 1"#,
            r#"scheduler_preemption_goroutines_execution_total{result="error"} 1"#,
            r#"scheduler_preemption_goroutines_duration_seconds_bucket{result="error",le="0.04"} 1"#,
            r#"scheduler_volume_scheduling_stage_error_total{operation="bind"} 2"#,
            r#"plimsoll_mailbox_depth{actor="SchedulingCycle"} 7"#,
        ] {
            assert!(text.lines().any(|found| found == line), "missing {line} in\n{text}");
        }
    }
}
