//! The differences that remain, each with its reason. `docs/embedded-api-server.md` lists the same reasons for readers.

use crate::difference::Difference;

/// A difference that is known and kept.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// The step, or how its name begins when it ends in `*`.
    pub step: &'static str,
    /// How the place begins.
    pub path: &'static str,
    /// Why it is kept: a heading of the documentation.
    pub reason: &'static str,
}

impl Allowed {
    /// Whether this entry covers a difference.
    pub fn covers(&self, difference: &Difference) -> bool {
        let step_matches = match self.step.strip_suffix('*') {
            Some(prefix) => difference.step.starts_with(prefix),
            None => difference.step == self.step,
        };
        step_matches && difference.path.starts_with(self.path)
    }
}

const fn allow(step: &'static str, path: &'static str, reason: &'static str) -> Allowed {
    Allowed { step, path, reason }
}

// The headings of the documentation's list.
const VERSION: &str = "It says what it is";
const MORE_VERSIONS: &str = "More API versions are served";
const GO_WORDING: &str = "Messages of Go's decoders and printers are not imitated";
const UNKNOWN_FIELDS: &str = "Fields are not known by name";
const SCALE: &str = "No scale subresource";
const GARBAGE: &str = "No garbage collector and no default finalizers";
const WORKLOADS: &str = "No bookkeeping of workload controllers";
const ADDRESSES: &str = "Services get no addresses";
const VOLUMES: &str = "Volumes are not protected";
const NAMESPACES: &str = "A deleted namespace is gone at once";
const ACCESS: &str = "Everyone may do everything";
const MEDIA_TYPES: &str = "Fewer media types";
const TIMEOUTS: &str = "A time-out is a whole Status";
const OLD_WATCH: &str = "No /watch/ paths";

/// Every known difference.
pub const ALLOWED: &[Allowed] = &[
    allow("discover /version", "body/", VERSION),
    allow("discover /apis", "body/groups/", MORE_VERSIONS),
    allow("discover aggregated groups", "body/items/", MORE_VERSIONS),
    allow(
        "OpenAPI index",
        "body/paths/apis/resource.k8s.io/v1beta2",
        MORE_VERSIONS,
    ),
    allow("create another kind", "body/message", GO_WORDING),
    allow("create another version", "body/message", GO_WORDING),
    allow(
        "change a pod's node selector",
        "body/details/causes/0/message",
        GO_WORDING,
    ),
    allow("change a pod's node selector", "body/message", GO_WORDING),
    allow("move a bound pod", "body/details/causes/0/message", GO_WORDING),
    allow("move a bound pod", "body/message", GO_WORDING),
    allow("json: no list", "body/message", GO_WORDING),
    allow("merge: no object", "body/message", GO_WORDING),
    allow("merge: broken", "body/message", GO_WORDING),
    allow("strategic: no merge key (5xx)", "body/message", GO_WORDING),
    allow("strategic: an unknown directive (5xx)", "body/message", GO_WORDING),
    allow("strategic: broken", "body/message", GO_WORDING),
    allow("apply: broken", "body/message", GO_WORDING),
    allow("a broken body", "body/message", GO_WORDING),
    allow("invalid: a taint twice", "body/details/causes/0/message", GO_WORDING),
    allow("invalid: a taint twice", "body/message", GO_WORDING),
    allow(
        "claim: name another volume",
        "body/details/causes/0/message",
        GO_WORDING,
    ),
    allow("claim: name another volume", "body/message", GO_WORDING),
    allow("claim: grow unbound", "body/details/causes/0/message", GO_WORDING),
    allow("claim: grow unbound", "body/message", GO_WORDING),
    allow("volume: another source", "body/details/causes/0/message", GO_WORDING),
    allow("volume: another source", "body/message", GO_WORDING),
    allow(
        "CSI node: another identity",
        "body/details/causes/0/message",
        GO_WORDING,
    ),
    allow("CSI node: another identity", "body/message", GO_WORDING),
    allow("attachment: another node", "body/details/causes/0/message", GO_WORDING),
    allow("attachment: another node", "body/message", GO_WORDING),
    allow("a body that is no JSON", "body/message", GO_WORDING),
    allow("an empty body", "body/message", GO_WORDING),
    allow("a bad continue token", "body/message", GO_WORDING),
    allow("a body of an unknown type", "body/message", MEDIA_TYPES),
    allow("an answer of an unknown type", "body/", MEDIA_TYPES),
    allow("an unknown field, strictly", "", UNKNOWN_FIELDS),
    allow("an unknown field, ignored", "body/spec/color", UNKNOWN_FIELDS),
    allow("read its scale", "", SCALE),
    allow("patch its scale", "", SCALE),
    allow("read the scaled set", "body/", SCALE),
    allow("a table of replica sets", "body/rows/0/", SCALE),
    allow("DaemonSet: *", "body/metadata/annotations", WORKLOADS),
    allow("ReplicationController: delete", "body", GARBAGE),
    allow("Service: *", "body/spec/clusterIP", ADDRESSES),
    allow("Service: *", "body/spec/ipFamil", ADDRESSES),
    allow("PersistentVolumeClaim: *", "body/metadata/", VOLUMES),
    allow("PersistentVolume: *", "body/metadata/", VOLUMES),
    allow("volume: *", "body/metadata/finalizers", VOLUMES),
    allow("claim: *", "body/metadata/finalizers", VOLUMES),
    allow("volume: *", "body/items/0/metadata/finalizers", VOLUMES),
    allow("claim: *", "body/items/0/metadata/finalizers", VOLUMES),
    allow("it is terminating #2", "", NAMESPACES),
    allow("create in a terminating namespace", "", NAMESPACES),
    allow("finalize it", "", NAMESPACES),
    allow("may anyone", "body/status/allowed", ACCESS),
    allow("who am I", "body/", ACCESS),
    allow("list from the future (5xx)", "", TIMEOUTS),
    allow("open watch by-path", "", OLD_WATCH),
    allow("drain watch by-path", "body", OLD_WATCH),
];
