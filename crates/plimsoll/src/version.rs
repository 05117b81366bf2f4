//! Which build this is, and which kube-scheduler it stands in for.

/// The version of this build, such as `v0.1.0`.
pub const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));
/// The minor version of Kubernetes whose scheduler this is in place of.
pub const KUBE_SCHEDULER: &str = "1.36";

/// The line of `--version`.
pub fn line() -> String {
    format!("Plimsoll {VERSION} (in place of kube-scheduler {KUBE_SCHEDULER})")
}

/// The line of `--version=raw`, with all there is to know.
pub fn raw() -> String {
    format!(
        "plimsoll.Version{{Version:{VERSION:?}, KubeScheduler:{KUBE_SCHEDULER:?}, Platform:\"{}/{}\"}}",
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}

/// Operating system and architecture by the names that Go has for them, such as `linux/amd64`.
pub fn platform() -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}/{arch}", std::env::consts::OS)
}
