//! Which requests faults befall, in a scheduler's words.

use plimsoll_apiserver::fault::Match;

/// Bindings of pods.
pub fn bindings() -> Match {
    Match::verbs(&["create"]).resource("pods").subresource("binding")
}

/// Patches of pods' status.
pub fn status_patches() -> Match {
    Match::verbs(&["patch"]).resource("pods").subresource("status")
}

/// Patches of volumes.
pub fn volume_patches() -> Match {
    Match::verbs(&["patch"]).resource("persistentvolumes").subresource("")
}

/// Patches of claims of volumes.
pub fn claim_patches() -> Match {
    Match::verbs(&["patch"])
        .resource("persistentvolumeclaims")
        .subresource("")
}

/// Deletions of pods.
pub fn deletions() -> Match {
    Match::verbs(&["delete"]).resource("pods").subresource("")
}

/// Evictions of pods.
pub fn evictions() -> Match {
    Match::verbs(&["create"]).resource("pods").subresource("eviction")
}

/// Reads of single pods.
pub fn pod_reads() -> Match {
    Match::verbs(&["get"]).resource("pods")
}

/// Lists of a kind.
pub fn lists(plural: &str) -> Match {
    Match::verbs(&["list"]).resource(plural)
}

/// Watches of a kind.
pub fn watches(plural: &str) -> Match {
    Match::verbs(&["watch"]).resource(plural)
}

/// Every request about the lease.
pub fn lease_requests() -> Match {
    Match::default().resource("leases.coordination.k8s.io")
}

/// Updates of the lease.
pub fn lease_updates() -> Match {
    Match::verbs(&["update"]).resource("leases.coordination.k8s.io")
}
