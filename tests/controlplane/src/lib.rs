//! A real Kubernetes control plane for tests: etcd and kube-apiserver as released, started on free loopback ports
//! from Rust and gone when the test process is gone, however it ends.
//!
//! ```text
//!  Programs::find ──► ControlPlane::builder ──► etcd ◄── ApiServer (one, or two that share the etcd)
//!   (built by            │                       ▲            ▲
//!    build.sh, or        ├── User: tokens, one per scheduler  │ tokens, audit log of Bindings and evictions
//!    KUBEBUILDER_ASSETS) ├── ControllerManager, with a few controllers where a test needs them
//!                        └── History reads every write ───────┘
//! ```
//!
//! A [`Proxy`] stands between one client and several API servers where connections are to be cut.
//!
//! There are no kubelets: [`FakeKubelet`] marks bound pods Running and Ready and finishes deletions.

mod audit;
mod availability;
mod certificates;
mod control_plane;
mod controller_manager;
mod etcd;
mod guardian;
mod kubelet;
mod loopback;
mod process;
mod proxy;
mod user;
mod written;

pub use audit::{
    AccessRequest, Answered, Asked, AuditTrail, Audited, BindRequest, PodRequest, PodWrite, Request, bind_requests,
    pod_requests,
};
pub use availability::{Availability, Programs};
pub use certificates::{Authority, ServingCertificate};
pub use control_plane::{ApiServer, Builder, ControlPlane, Storage, client_from};
pub use controller_manager::ControllerManager;
pub use etcd::{Change, Etcd, EtcdClient};
pub use guardian::WorkDir;
pub use kubelet::{FakeKubelet, running};
pub use loopback::free_port;
pub use process::Process;
pub use proxy::{Balance, Cut, Proxy};
pub use user::User;
pub use written::written;
