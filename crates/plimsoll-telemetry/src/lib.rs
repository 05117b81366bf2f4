//! What Plimsoll tells about itself: Prometheus metrics under kube-scheduler's names, the HTTPS server for them and for health
//! checks, and the log.

mod api_status;
mod audit_metrics;
mod authentication;
mod authorization;
mod buckets;
#[cfg(test)]
mod certificate_authority;
mod config_metrics;
mod cpu_profile;
mod election_metrics;
mod endpoints;
mod expiring_cache;
mod followed;
mod hand_over_metrics;
mod health;
pub mod logs;
mod mailbox_depths;
mod metrics;
mod page;
mod preemption_metrics;
mod query;
mod queue_metrics;
mod resignation_metrics;
mod reviewers;
mod serve;
mod state_source;
mod tls;
mod user;
mod volume_metrics;

pub use audit_metrics::AuditMetrics;
pub use authentication::{AuthenticationError, AuthenticationOptions, Authenticator, RequestHeaderOptions};
pub use authorization::{AuthorizationOptions, Authorizer, PathError};
pub use config_metrics::ConfigMetrics;
pub use election_metrics::ElectionMetrics;
pub use endpoints::{About, Asked, Endpoints};
pub use hand_over_metrics::{HandOverMetrics, HandOverStage};
pub use health::Check;
pub use metrics::{AttemptResult, Metrics};
pub use page::Page;
pub use preemption_metrics::PreemptionMetrics;
pub use query::Query;
pub use queue_metrics::{PendingPods, QueueMetrics};
pub use resignation_metrics::ResignationMetrics;
pub use reviewers::{Access, AccessReviewer, AuthenticationLookup, TokenReviewer, Verdict};
pub use serve::{Guard, ServeError, Serving, ServingOptions, serve};
pub use state_source::{DebugView, PageOf, StateSource};
pub use tls::{
    CipherSuites, CurvePreferences, NamedCertificate, NamedCertificateError, TlsAlgorithmError, TlsError, TlsIdentity,
    TlsOptions, TlsVersion,
};
pub use user::User;
pub use volume_metrics::VolumeMetrics;
