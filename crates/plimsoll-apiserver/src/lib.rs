//! An embedded Kubernetes API server in memory, for demos, tests, fault injection and benchmarks.
//!
//! It answers as kube-apiserver 1.36 does for the kinds in [`resource::RESOURCES`]. It keeps nothing on disk, checks
//! no permissions and admits anyone: it is a test and demo server, never a control plane.

pub mod resource;
