//! What Plimsoll tells about itself: Prometheus metrics under kube-scheduler's names, the HTTPS server for them and for health
//! checks, and the log.

mod api_status;
mod attempt_metrics;
mod audit_metrics;
mod authentication;
mod authorization;
mod buckets;
mod build_metrics;
#[cfg(test)]
mod certificate_authority;
mod config_metrics;
mod cpu_profile;
mod election_metrics;
mod endpoints;
mod exemplar;
mod expiring_cache;
mod followed;
mod framework_metrics;
mod hand_over_metrics;
mod health;
mod health_metrics;
pub mod logs;
mod mailbox_depths;
mod metrics;
mod page;
mod policy;
mod preemption_metrics;
mod process_metrics;
mod query;
mod queue_metrics;
mod registrar;
mod resignation_metrics;
mod resource_page;
mod rest_client_metrics;
mod reviewers;
mod serve;
mod state_source;
mod text;
mod tls;
mod trace_metrics;
pub mod traces;
mod user;
mod vector;
mod volume_metrics;

pub use attempt_metrics::{AttemptMetrics, AttemptResult, Attempts};
pub use audit_metrics::AuditMetrics;
pub use authentication::{AuthenticationError, AuthenticationOptions, Authenticator, RequestHeaderOptions};
pub use authorization::{AuthorizationOptions, Authorizer, PathError};
pub use build_metrics::{Build, BuildMetrics};
pub use config_metrics::ConfigMetrics;
pub use election_metrics::ElectionMetrics;
pub use endpoints::{About, Asked, Endpoints};
pub use exemplar::{Latency, TraceId};
pub use framework_metrics::{Evaluated, FrameworkMetrics, PluginDuration, PointDuration};
pub use hand_over_metrics::{HandOverMetrics, HandOverStage};
pub use health::Check;
pub use health_metrics::HealthMetrics;
pub use metrics::Metrics;
pub use page::Page;
pub use policy::MetricsPolicy;
pub use preemption_metrics::PreemptionMetrics;
pub use query::Query;
pub use queue_metrics::{EventHandling, PendingPods, QueueMetrics};
pub use resignation_metrics::ResignationMetrics;
pub use resource_page::{PodResource, ResourcePage};
pub use rest_client_metrics::RestClientMetrics;
pub use reviewers::{Access, AccessReviewer, AuthenticationLookup, TokenReviewer, Verdict};
pub use serve::{Guard, ServeError, Serving, ServingOptions, serve};
pub use state_source::{DebugView, Document, PageOf, StateSource};
pub use tls::{
    CipherSuites, CurvePreferences, NamedCertificate, NamedCertificateError, TlsAlgorithmError, TlsError, TlsIdentity,
    TlsOptions, TlsVersion,
};
pub use trace_metrics::{SpanCounts, TraceMetrics};
pub use user::User;
pub use volume_metrics::VolumeMetrics;
