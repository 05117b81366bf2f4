//! A real Kubernetes control plane for tests: etcd and kube-apiserver as released, started on free loopback ports
//! from Rust and gone when the test process is gone, however it ends.
//!
//! ```text
//!  Programs::find ──► ControlPlane::builder ──► etcd ◄── ApiServer (one, or two that share the etcd)
//!   (built by            │                       ▲            ▲
//!    build.sh, or        ├── User: tokens, one per scheduler  │ tokens, audit log of every Binding
//!    KUBEBUILDER_ASSETS) └── History reads every write ───────┘
//! ```
//!
//! There are no kubelets: [`FakeKubelet`] marks bound pods Running and finishes deletions.

mod audit;
mod availability;
mod certificates;
mod control_plane;
mod etcd;
mod guardian;
mod kubelet;
mod loopback;
mod process;
mod user;

pub use audit::{BindRequest, bind_requests};
pub use availability::{Availability, Programs};
pub use certificates::{Authority, ServingCertificate};
pub use control_plane::{ApiServer, Builder, ControlPlane, Storage};
pub use etcd::{Change, Etcd};
pub use guardian::WorkDir;
pub use kubelet::FakeKubelet;
pub use loopback::free_port;
pub use process::Process;
pub use user::User;
