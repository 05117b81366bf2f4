use crate::ConfigError;
use crate::document::{Node, Value};
use crate::suggest::closest;

/// The API version of kube-scheduler's configuration.
pub const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";
/// The kind of kube-scheduler's configuration.
pub const KIND: &str = "KubeSchedulerConfiguration";
/// The API version of Plimsoll's own configuration.
pub const PLIMSOLL_API_VERSION: &str = "plimsoll.dev/v1alpha1";
/// The kind of Plimsoll's own configuration.
pub const PLIMSOLL_KIND: &str = "SchedulerConfiguration";

/// kube-scheduler's registry of kinds goes by this name in its errors.
pub(super) const SCHEME: &str = "pkg/runtime/scheme.go:111";

/// Of a text that is quoted whole in an error, no more than this.
const MAX_QUOTED: usize = 2048;

/// Which configuration a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigKind {
    /// kube-scheduler's `KubeSchedulerConfiguration`.
    KubeScheduler,
    /// Plimsoll's `SchedulerConfiguration`, which can say more of each profile.
    Plimsoll,
}

impl ConfigKind {
    /// Its `apiVersion` and `kind`.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::KubeScheduler => (API_VERSION, KIND),
            Self::Plimsoll => (PLIMSOLL_API_VERSION, PLIMSOLL_KIND),
        }
    }
}

/// The kind of the file, or kube-scheduler's word on why it is none.
pub(super) fn of(root: &Node, text: &str) -> Result<ConfigKind, ConfigError> {
    let fail = |at: &Node, text: String, hint: Option<String>| Err(ConfigError::Kind { text, at: at.at, hint });
    if !matches!(root.value, Value::Null | Value::Map(_)) {
        let text = format!(
            "couldn't get version/kind; json parse error: cannot read {} as object",
            root.kind()
        );
        return fail(root, text, Some(begin_with()));
    }
    let kind = name(root, "kind")?;
    let version = name(root, "apiVersion")?;
    if kind.is_empty() {
        return fail(
            root,
            format!("Object 'Kind' is missing in '{}'", quoted(text)),
            Some(begin_with()),
        );
    }
    if version.is_empty() {
        let text = format!("Object 'apiVersion' is missing in '{}'", quoted(text));
        return fail(root, text, Some(begin_with()));
    }
    let (version, kind) = (version.as_str(), kind.as_str());
    match (version, kind) {
        (API_VERSION, KIND) => Ok(ConfigKind::KubeScheduler),
        (PLIMSOLL_API_VERSION, PLIMSOLL_KIND) => Ok(ConfigKind::Plimsoll),
        (API_VERSION, _) if super::args::is_args_kind(kind) => fail(
            root.get("kind").unwrap_or(root),
            format!("couldn't decode as {KIND}, got {version}, Kind={kind}: "),
            Some(begin_with()),
        ),
        _ if version.matches('/').count() > 1 => fail(
            root.get("apiVersion").unwrap_or(root),
            format!("couldn't get version/kind: unexpected GroupVersion string: {version}"),
            Some(begin_with()),
        ),
        _ => {
            let wrong = if kind == KIND || kind == PLIMSOLL_KIND {
                "apiVersion"
            } else {
                "kind"
            };
            fail(
                root.get(wrong).unwrap_or(root),
                not_registered(kind, version),
                Some(hint(version, kind)),
            )
        }
    }
}

pub(super) fn not_registered(kind: &str, version: &str) -> String {
    format!("no kind {kind:?} is registered for version {version:?} in scheme {SCHEME:?}")
}

fn name(root: &Node, field: &str) -> Result<String, ConfigError> {
    match root.get(field) {
        None => Ok(String::new()),
        Some(node) => match &node.value {
            Value::Null => Ok(String::new()),
            Value::Text(text) => Ok(text.clone()),
            _ => Err(ConfigError::Kind {
                text: format!(
                    "couldn't get version/kind; json parse error: cannot read {} as string in field {field:?}",
                    node.kind()
                ),
                at: node.at,
                hint: Some(begin_with()),
            }),
        },
    }
}

fn begin_with() -> String {
    format!("begin the file with `apiVersion: {API_VERSION}` and `kind: {KIND}`")
}

fn hint(version: &str, kind: &str) -> String {
    if kind == "Policy" {
        return "this is a Policy of Kubernetes 1.22 and earlier: give it to --policy-config-file, or turn it into a \
                configuration with `plimsoll config convert`"
            .to_owned();
    }
    let group = version.split('/').next().unwrap_or_default();
    if group == "kubescheduler.config.k8s.io" && kind == KIND {
        return format!(
            "this version is no longer served: write `apiVersion: {API_VERSION}` and move what it names otherwise"
        );
    }
    match closest(kind, &[KIND, PLIMSOLL_KIND]) {
        Some(PLIMSOLL_KIND) => format!("write `apiVersion: {PLIMSOLL_API_VERSION}` and `kind: {PLIMSOLL_KIND}`"),
        _ => begin_with(),
    }
}

fn quoted(text: &str) -> &str {
    let end = text.floor_char_boundary(MAX_QUOTED);
    &text[..end]
}
