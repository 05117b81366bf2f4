use uuid::Uuid;

/// Who this process is.
#[derive(Debug)]
pub(super) struct Identity {
    /// The host's name, or what stands for it.
    pub(super) host: String,
    /// `<hostname>_<uuid>`, the holder in the Lease; no two processes have the same.
    pub(super) lease: String,
    /// Seed of everything random in this process.
    pub(super) seed: u64,
}

impl Identity {
    pub(super) fn new(host: Option<String>) -> Self {
        let host = host.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned());
        let lease = format!("{host}_{}", Uuid::new_v4());
        let (seed, _) = Uuid::new_v4().as_u64_pair();
        Self { host, lease, seed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_processes_of_a_host_are_the_same() {
        let [one, other] = [(); 2].map(|()| Identity::new(Some("host".to_owned())));
        assert_ne!(one.lease, other.lease);
        assert_ne!(one.seed, other.seed);
        let (host, uuid) = one.lease.split_once('_').unwrap();
        assert_eq!(host, "host");
        assert!(Uuid::parse_str(uuid).is_ok());
        assert!(!Identity::new(None).host.is_empty());
    }
}
