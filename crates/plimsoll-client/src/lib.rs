//! Everything that talks to the API server: watches decoded straight into the model, bindings, status patches, events
//! and leases.
//!
//! Three things hold throughout. Nothing is repeated behind the caller's back: what an unknown outcome means is for the
//! owner of the state to decide. Every write of a term passes the fence of its [`TermToken`]. And time and chance come
//! from outside ([`Clock`], tokio's timers, a seeded generator), so that all of it runs in process on paused time over
//! `kube::Client::new(service, namespace)`.

mod api_client;
mod api_status;
mod barrier;
mod clock;
mod config_map;
mod connect;
mod event_writer;
mod fence;
mod lease;
mod lease_candidate;
mod measured;
mod pulse;
mod rate_limit;
mod removal;
mod review;
mod term_token;
mod user_client;
mod volume_write;
mod watch;
mod wire;
mod write;

#[cfg(test)]
mod scripted;

pub use api_client::{ApiClient, NotSent};
pub use barrier::{Account, BarrierError, consistent_account, consistent_version, force_progress};
pub use clock::{Clock, SystemClock, VirtualClock, micros_text, seconds_text};
pub use config_map::read_config_map;
pub use connect::{Access, ConnectError, Connections, connect, connect_for_reviews, load_config, separate};
pub use event_writer::{EventCount, EventRecord, EventReply, EventSeries, EventType, EventWriter, ObjectReference};
pub use fence::{Fence, FenceClosed, Fenced, FencedBody, fenced};
pub use lease::{LEADER_ADDRESS, LEADER_ADDRESS_OF, LeaseClient, LeaseRecord, LeaseReply, StoredLease};
pub use lease_candidate::{CandidateReply, LeaseCandidateClient, StoredCandidate};
pub use pulse::{Pulse, WatchPulse};
pub use rate_limit::RateLimit;
pub use removal::RemovalReply;
pub use review::{AccessQuestion, AccessReply, ReviewedUser, review_access, review_token};
pub use term_token::{TermToken, WriteUnderWay};
pub use user_client::{AskError, ServingTrust, UserAccess, UserAnswer, UserClient};
pub use volume_write::VolumeReply;
pub use watch::{
    CsiDrivers, CsiNodes, CsiStorageCapacities, DisruptionBudgets, Listing, ListingTeller, Namespaces, Nodes,
    PersistentVolumeClaims, PersistentVolumes, Pods, RawDemand, RawPolicies, ReplicaSets, ReplicationControllers,
    Services, StatefulSets, StorageClasses, UndecodableObject, VolumeAttachments, Watch, WatchBatch, WatchEvent,
    WatchedKind, consistent_list, watch_lease,
};
pub use write::{BindReply, ConditionPatch, NominationPatch, PatchReply, PodRead, PodStatusPatch};
