//! Prometheus metrics under kube-scheduler's names, and the HTTPS server for them and for health checks.

mod audit_metrics;
mod buckets;
mod config_metrics;
mod election_metrics;
mod hand_over_metrics;
mod health;
mod mailbox_depths;
mod metrics;
mod preemption_metrics;
mod queue_metrics;
mod resignation_metrics;
mod serve;
mod state_source;
mod tls;
mod trace_metrics;
pub mod traces;
mod volume_metrics;

pub use audit_metrics::AuditMetrics;
pub use config_metrics::ConfigMetrics;
pub use election_metrics::ElectionMetrics;
pub use hand_over_metrics::{HandOverMetrics, HandOverStage};
pub use health::Check;
pub use metrics::{AttemptResult, Metrics};
pub use preemption_metrics::PreemptionMetrics;
pub use queue_metrics::{PendingPods, QueueMetrics};
pub use resignation_metrics::ResignationMetrics;
pub use serve::{Endpoints, ServeError, Serving, serve};
pub use state_source::StateSource;
pub use tls::{TlsError, TlsIdentity};
pub use trace_metrics::TraceMetrics;
pub use volume_metrics::VolumeMetrics;
