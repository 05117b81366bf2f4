//! Prometheus metrics under kube-scheduler's names, and the HTTPS server for them and for health checks.

mod buckets;
mod config_metrics;
mod health;
mod mailbox_depths;
mod metrics;
mod serve;
mod tls;

pub use config_metrics::ConfigMetrics;
pub use health::{Check, HealthSource};
pub use metrics::{AttemptResult, HandOverStage, Metrics};
pub use serve::{ServeError, Serving, serve};
pub use tls::{TlsError, TlsIdentity};
