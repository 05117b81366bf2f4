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
const SCHEME: &str = "pkg/runtime/scheme.go:111";

/// The version that kube-scheduler's own types have, which no file should name.
const INTERNAL: &str = "__internal";

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

/// An `apiVersion`, parted as Kubernetes parts it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct GroupVersion {
    pub(super) group: String,
    pub(super) version: String,
}

impl GroupVersion {
    /// # Errors
    /// With kube-scheduler's text when there are more than two parts.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (group, version) = match text.split_once('/') {
            None => ("", text),
            Some((_, rest)) if rest.contains('/') => return Err(format!("unexpected GroupVersion string: {text}")),
            Some(parts) => parts,
        };
        Ok(Self {
            group: group.to_owned(),
            version: version.to_owned(),
        })
    }

    /// What is missing, as another one has it.
    pub(super) fn or_of(self, api_version: &str) -> Self {
        let Ok(other) = Self::parse(api_version) else {
            return self;
        };
        if self.version.is_empty() && (self.group.is_empty() || self.group == other.group) {
            return other;
        }
        self
    }

    pub(super) fn is(&self, api_version: &str) -> bool {
        Self::parse(api_version).as_ref() == Ok(self)
    }

    /// What kube-scheduler says of a kind that it does not know.
    pub(super) fn not_registered(&self, kind: &str) -> String {
        let Self { group, version } = self;
        let place = match (version.as_str(), group.as_str()) {
            (INTERNAL, group) => format!("the internal version of group {group:?}"),
            (version, "") => format!("version {version:?}"),
            (version, group) => format!("version {:?}", format!("{group}/{version}")),
        };
        format!("no kind {kind:?} is registered for {place} in scheme {SCHEME:?}")
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
    let (kind, api_version) = (name(root, "kind")?, name(root, "apiVersion")?);
    let version_at = root.get("apiVersion").unwrap_or(root);
    let version = match GroupVersion::parse(&api_version) {
        Ok(version) => version,
        Err(text) => return fail(version_at, text, Some(begin_with())),
    };
    for (field, value) in [("Kind", &kind), ("apiVersion", &version.version)] {
        if value.is_empty() {
            let text = format!("Object '{field}' is missing in '{}'", quoted(text));
            return fail(root, text, Some(begin_with()));
        }
    }
    match kind.as_str() {
        KIND if version.is(API_VERSION) => Ok(ConfigKind::KubeScheduler),
        PLIMSOLL_KIND if version.is(PLIMSOLL_API_VERSION) => Ok(ConfigKind::Plimsoll),
        kind if version.is(API_VERSION) && super::args::is_args_kind(kind) => fail(
            root.get("kind").unwrap_or(root),
            format!("couldn't decode as {KIND}, got {API_VERSION}, Kind={kind}: "),
            Some(begin_with()),
        ),
        kind => {
            let at = match kind {
                KIND | PLIMSOLL_KIND => version_at,
                _ => root.get("kind").unwrap_or(root),
            };
            fail(at, version.not_registered(kind), Some(hint(&api_version, kind)))
        }
    }
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
