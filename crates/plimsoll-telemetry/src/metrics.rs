//! Every metric of the process in one place. Names, labels, buckets and help texts are kube-scheduler's where it has the
//! metric; ours begin with `plimsoll_`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::attempt_metrics::AttemptMetrics;
use crate::audit_metrics::AuditMetrics;
use crate::build_metrics::BuildMetrics;
use crate::config_metrics::ConfigMetrics;
use crate::election_metrics::ElectionMetrics;
use crate::framework_metrics::FrameworkMetrics;
use crate::hand_over_metrics::HandOverMetrics;
use crate::health_metrics::HealthMetrics;
use crate::mailbox_depths::MailboxDepths;
use crate::policy::MetricsPolicy;
use crate::preemption_metrics::PreemptionMetrics;
use crate::process_metrics::ProcessMetrics;
use crate::queue_metrics::QueueMetrics;
use crate::registrar::{Registrar, alpha, plain};
use crate::resignation_metrics::ResignationMetrics;
use crate::rest_client_metrics::RestClientMetrics;
use crate::text::{self, Format};
use crate::trace_metrics::TraceMetrics;
use crate::vector::Vector;
use crate::volume_metrics::VolumeMetrics;

/// Handles on every metric.
pub struct Metrics {
    registry: Registry,
    forgetting: Vec<Box<dyn Fn() + Send + Sync>>,
    resets: AtomicU64,
    depths: Arc<MailboxDepths>,
    attempts: AttemptMetrics,
    /// Nodes, pods and assumed pods.
    cache_size: [Gauge; 3],
    framework: FrameworkMetrics,
    queue: QueueMetrics,
    preemption: PreemptionMetrics,
    volumes: VolumeMetrics,
    audit: AuditMetrics,
    resignations: ResignationMetrics,
    election: ElectionMetrics,
    rest_client: Arc<RestClientMetrics>,
    build: BuildMetrics,
    health: HealthMetrics,
    undecodable: Vector<Counter>,
    panics: Counter,
    foreign_binds: Counter,
    bind_answers: Vector<Counter>,
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
    /// Everything, at zero.
    pub fn new() -> Self {
        Self::with(&MetricsPolicy::default())
    }

    /// Everything that the operator wants, at zero.
    pub fn with(policy: &MetricsPolicy) -> Self {
        let mut registrar = Registrar::new(policy);
        let metrics = Self::register(&mut registrar);
        let (registry, forgetting) = registrar.finish();
        Self {
            registry,
            forgetting,
            ..metrics
        }
    }

    fn register(registrar: &mut Registrar<'_>) -> Self {
        let depths = Arc::<MailboxDepths>::default();
        registrar.collector(Arc::clone(&depths));
        registrar.collector(ProcessMetrics);
        Self {
            registry: Registry::default(),
            forgetting: Vec::new(),
            resets: AtomicU64::new(0),
            depths,
            attempts: AttemptMetrics::new(registrar),
            cache_size: registrar.fixed(
                alpha(
                    "scheduler_cache_size",
                    "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
                ),
                &["type"],
                ["nodes", "pods", "assumed_pods"],
                Gauge::default,
            ),
            framework: FrameworkMetrics::new(registrar),
            queue: QueueMetrics::new(registrar),
            preemption: PreemptionMetrics::new(registrar),
            volumes: VolumeMetrics::new(registrar),
            audit: AuditMetrics::new(registrar),
            resignations: ResignationMetrics::new(registrar),
            election: ElectionMetrics::new(registrar),
            rest_client: Arc::new(RestClientMetrics::new(registrar)),
            build: BuildMetrics::new(registrar),
            health: HealthMetrics::new(),
            undecodable: registrar.many(
                plain(
                    "plimsoll_undecodable_objects_total",
                    "Watched objects that could not be decoded.",
                ),
                &["resource"],
                Counter::default,
            ),
            panics: registrar.one(
                plain(
                    "plimsoll_cycle_panics_total",
                    "Scheduling cycles that panicked and were set aside.",
                ),
                Counter::default(),
            ),
            foreign_binds: registrar.one(
                plain(
                    "plimsoll_foreign_binds_total",
                    "Pods that another scheduler bound while a claim of ours was under way.",
                ),
                Counter::default(),
            ),
            bind_answers: registrar.many(
                plain("plimsoll_bind_answers_total", "Answers to binding requests."),
                &["outcome"],
                Counter::default,
            ),
            dropped_events: registrar.one(
                plain("plimsoll_events_dropped_total", "Events that were not written."),
                Counter::default(),
            ),
            config: ConfigMetrics::new(registrar),
            hand_over: HandOverMetrics::new(registrar),
            traces: TraceMetrics::new(registrar),
        }
    }

    /// The Prometheus text format, version 0.0.4.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        text::write(&self.registry, Format::Prometheus)
    }

    /// The `OpenMetrics` text format, version 1.0.0, with exemplars.
    pub fn open_metrics(&self) -> Result<String, std::fmt::Error> {
        text::write(&self.registry, Format::OpenMetrics)
    }

    /// Counters and histograms that have labels begin anew, without any line; those without go on, as kube-scheduler's do.
    /// So do gauges, which show what is.
    pub fn reset(&self) {
        for forget in &self.forgetting {
            forget();
        }
        self.resets.fetch_add(1, Ordering::Release);
    }

    /// How often that was. Handles from before count nothing that is shown.
    pub fn resets(&self) -> u64 {
        self.resets.load(Ordering::Acquire)
    }

    /// What is told of plugins and extension points.
    pub fn framework(&self) -> &FrameworkMetrics {
        &self.framework
    }

    /// What is told of requests to the API server.
    pub fn rest_client(&self) -> &Arc<RestClientMetrics> {
        &self.rest_client
    }

    /// What is told of this build.
    pub fn build(&self) -> &BuildMetrics {
        &self.build
    }

    /// What `/metrics/slis` shows.
    pub fn health(&self) -> &HealthMetrics {
        &self.health
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

    /// What is told of attempts.
    pub fn attempts(&self) -> &AttemptMetrics {
        &self.attempts
    }

    /// What the columns hold.
    pub fn cache_size(&self, nodes: usize, pods: usize, assumed_pods: usize) {
        for (gauge, count) in self.cache_size.iter().zip([nodes, pods, assumed_pods]) {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    /// A watched object could not be decoded.
    pub fn undecodable_object(&self, resource: &str) {
        self.undecodable.with([resource.to_owned().into()]).inc();
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
        self.bind_answers.with([outcome.to_owned().into()]).inc();
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{AttemptResult, TraceId};

    #[test]
    fn families_carry_the_names_labels_and_buckets_of_kube_scheduler() {
        let metrics = Metrics::new();
        metrics.attempts().ended(
            AttemptResult::Scheduled,
            "default-scheduler",
            Duration::from_millis(3),
            None,
        );
        metrics
            .attempts()
            .pod_scheduled(2, Some(Duration::from_secs(1)), true, None);
        metrics
            .attempts()
            .permit_wait("Unschedulable", Duration::from_secs(10), None);
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

    #[test]
    fn families_come_in_the_order_of_their_names_with_help_texts_to_the_letter() {
        let metrics = Metrics::new();
        metrics.attempts().permit_wait("Success", Duration::from_secs(1), None);
        let text = metrics.text().unwrap();
        for help in [
            "# HELP scheduler_permit_wait_duration_seconds [BETA] Duration of waiting on permit.",
            "# HELP scheduler_preemption_victims [STABLE] Number of selected preemption victims",
        ] {
            assert!(text.lines().any(|line| line == help), "{help} in\n{text}");
        }
        let names: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("# TYPE scheduler_"))
            .collect();
        assert!(names.is_sorted(), "{names:#?}");
    }

    #[test]
    fn an_observation_leads_to_its_trace_for_those_who_ask_for_open_metrics() {
        let metrics = Metrics::new();
        let trace = TraceId(0x0f8f_ad5b_d9cb_469f_a165_7086_7728_950e);
        metrics
            .attempts()
            .ended(AttemptResult::Error, "p", Duration::from_millis(3), Some(trace));
        let line = concat!(
            r#"scheduler_scheduling_attempt_duration_seconds_bucket{le="0.004",profile="p",result="error"} 1"#,
            r##" # {trace_id="0f8fad5bd9cb469fa16570867728950e"} 0.003"##
        );
        let open = metrics.open_metrics().unwrap();
        assert!(open.lines().any(|found| found == line), "{open}");
        assert!(open.ends_with("# EOF\n"));
        assert!(!metrics.text().unwrap().contains("trace_id"));
    }

    #[test]
    fn counters_and_histograms_with_labels_begin_anew_and_gauges_go_on() {
        let metrics = Metrics::new();
        let attempts = metrics.attempts().of("p", AttemptResult::Error);
        attempts.ended(Duration::from_millis(3), None);
        metrics.cache_size(3, 2, 1);
        metrics.preemption().attempted();
        metrics.reset();
        let text = metrics.text().unwrap();
        assert!(!text.contains("scheduler_schedule_attempts_total"), "{text}");
        assert!(text.contains("scheduler_cache_size{type=\"nodes\"} 3\n"), "{text}");
        assert!(text.contains("scheduler_preemption_attempts_total 1\n"), "{text}");
        assert_eq!(metrics.resets(), 1);
        metrics
            .attempts()
            .ended(AttemptResult::Error, "p", Duration::ZERO, None);
        let text = metrics.text().unwrap();
        let line = r#"scheduler_schedule_attempts_total{profile="p",result="error"} 1"#;
        assert!(text.lines().any(|found| found == line), "{text}");
    }

    #[test]
    fn what_the_operator_does_not_want_is_not_shown() {
        let labels = ("scheduler_schedule_attempts_total".to_owned(), "profile".to_owned());
        let policy = MetricsPolicy {
            allowed_labels: [(labels, ["known".to_owned()].into())].into(),
            disabled: ["scheduler_cache_size".to_owned()].into(),
        };
        let metrics = Metrics::with(&policy);
        for profile in ["known", "other", "third"] {
            metrics
                .attempts()
                .ended(AttemptResult::Scheduled, profile, Duration::ZERO, None);
        }
        metrics.cache_size(1, 1, 1);
        let text = metrics.text().unwrap();
        for line in [
            r#"scheduler_schedule_attempts_total{profile="known",result="scheduled"} 1"#,
            r#"scheduler_schedule_attempts_total{profile="unexpected",result="scheduled"} 2"#,
            "disabled_metrics_total 1",
            "cardinality_enforcement_unexpected_categorizations_total 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(!text.contains("scheduler_cache_size"), "{text}");
    }
}
