//! Configuration files, from text to defaulted values: strictly, telling every fault.

mod affinity;
mod args;
mod cursor;
mod extender;
mod kind;
mod policy;
mod profile;
mod top;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use self::cursor::{Cursor, Faults, Scope};
use crate::document::{self, Entry, Node, Value};
use crate::draft::Draft;
use crate::{ConfigError, Fault, FaultKind, FeatureGates, Plugins, Position, SchedulerConfig};

pub(crate) use self::args::version_of as args_version;
pub use self::kind::{API_VERSION, ConfigKind, KIND, PLIMSOLL_API_VERSION, PLIMSOLL_KIND};
pub use self::policy::decode_policy;

/// A file that was decoded and defaulted, and is not validated yet.
#[derive(Debug, Clone)]
pub struct Loaded {
    kind: ConfigKind,
    warnings: Vec<String>,
    pub(crate) draft: Draft,
    pub(crate) root: Node,
    gates: FeatureGates,
}

/// Leader-election values that were set on the command line and so go before those of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ElectionOverrides {
    /// `--leader-elect`
    pub leader_elect: Option<bool>,
    /// `--leader-elect-lease-duration`
    pub lease_duration: Option<crate::GoDuration>,
    /// `--leader-elect-renew-deadline`
    pub renew_deadline: Option<crate::GoDuration>,
    /// `--leader-elect-retry-period`
    pub retry_period: Option<crate::GoDuration>,
    /// `--leader-elect-resource-lock`
    pub resource_lock: Option<String>,
    /// `--leader-elect-resource-name`
    pub resource_name: Option<String>,
    /// `--leader-elect-resource-namespace`
    pub resource_namespace: Option<String>,
}

/// Decodes and defaults a file, YAML or JSON, of either kind.
///
/// # Errors
/// With kube-scheduler's texts when the kind or version is another, and with every unknown field, repeated key and
/// value of a wrong type at once.
pub fn decode(text: &str, gates: &FeatureGates) -> Result<Loaded, ConfigError> {
    let (root, second) = document::parse(text).map_err(|error| ConfigError::Syntax {
        text: error.text,
        at: error.at,
    })?;
    let kind = kind::of(&root, text)?;
    let faults = Faults::default();
    note_repeated(&root, &faults);
    let scope = Scope::default();
    let top = Cursor::new(&root, String::new(), &faults, &scope);
    let draft = top::configuration(top, kind, gates);
    let faults = faults.into_list();
    if !faults.is_empty() {
        return Err(ConfigError::Decoding(faults));
    }
    Ok(Loaded {
        kind,
        warnings: second.into_iter().map(second_document).collect(),
        draft,
        root,
        gates: gates.clone(),
    })
}

/// Decodes, defaults and validates a file.
///
/// # Errors
/// As [`decode`] and [`Loaded::validate`].
pub fn load(text: &str, gates: &FeatureGates) -> Result<SchedulerConfig, ConfigError> {
    decode(text, gates)?.validate()
}

impl Loaded {
    /// Which of the two kinds it is.
    pub fn kind(&self) -> ConfigKind {
        self.kind
    }

    /// What is no error and still better known.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Default plugins of which the file says something else than the defaults, or the same once more, in the order of the
    /// defaults and profile by profile.
    pub fn overridden_defaults(&self) -> Vec<String> {
        let defaults = Plugins::default_profile(&self.gates).multi_point.enabled;
        let profiles = self.root.get("profiles").map(Node::items).unwrap_or_default();
        let sets = profiles
            .iter()
            .filter_map(|profile| profile.get("plugins")?.get("multiPoint"));
        let overridden = sets.flat_map(|set| {
            let (enabled, disabled) = (names(set, "enabled"), names(set, "disabled"));
            let kept = defaults
                .iter()
                .filter(move |plugin| !disabled.iter().any(|name| *name == "*" || *name == plugin.name));
            kept.filter(move |plugin| enabled.contains(&plugin.name.as_str()))
        });
        overridden.map(|plugin| plugin.name.clone()).collect()
    }

    /// Puts what was set on the command line in the place of what the file says.
    pub fn override_election(&mut self, overrides: &ElectionOverrides) {
        fn set<T: Clone>(value: &mut T, given: Option<&T>) {
            if let Some(given) = given {
                value.clone_from(given);
            }
        }
        let election = &mut self.draft.election;
        set(&mut election.leader_elect, overrides.leader_elect.as_ref());
        set(&mut election.lease_duration, overrides.lease_duration.as_ref());
        set(&mut election.renew_deadline, overrides.renew_deadline.as_ref());
        set(&mut election.retry_period, overrides.retry_period.as_ref());
        set(&mut election.resource_lock, overrides.resource_lock.as_ref());
        set(&mut election.resource_name, overrides.resource_name.as_ref());
        set(&mut election.resource_namespace, overrides.resource_namespace.as_ref());
    }

    /// Checks the values as kube-scheduler does, and lets extenders take their resources out of the fit check.
    ///
    /// # Errors
    /// With everything that is not allowed.
    pub fn validate(self) -> Result<SchedulerConfig, ConfigError> {
        let errors = crate::validate::draft(&self.draft, self.kind, &self.gates);
        if !errors.is_empty() {
            let invalid = errors
                .into_iter()
                .map(|error| crate::hints::explain(error, Some(&self.root)));
            return Err(ConfigError::Invalid(invalid.collect()));
        }
        let mut config = self.draft.into_config(self.gates);
        config.ignore_managed_resources()?;
        Ok(config)
    }
}

/// The names of the plugins on a list of a set.
fn names<'t>(set: &'t Node, list: &str) -> Vec<&'t str> {
    let plugins = set.get(list).map(Node::items).unwrap_or_default();
    let name = |plugin: &'t Node| match &plugin.get("name")?.value {
        Value::Text(name) => Some(name.as_str()),
        _ => None,
    };
    plugins.iter().filter_map(name).collect()
}

fn second_document(at: Position) -> String {
    format!("only the first YAML document is read; another one begins at {at}")
}

/// A step on the way to a value.
enum Step<'t> {
    Key(&'t str),
    Item(usize),
}

/// Repeated keys are faults wherever they stand, also in the arguments of plugins that nobody knows.
fn note_repeated(root: &Node, faults: &Faults) {
    walk_repeated(root, &mut Vec::new(), faults);
}

/// The path is put together for faults alone: with keys of any length, to do so for every value would take for ever.
fn walk_repeated<'t>(node: &'t Node, steps: &mut Vec<Step<'t>>, faults: &Faults) {
    match &node.value {
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                steps.push(Step::Item(index));
                walk_repeated(item, steps, faults);
                steps.pop();
            }
        }
        Value::Map(entries) => {
            for entry in entries {
                steps.push(Step::Key(&entry.key));
                if entry.repeated {
                    faults.note(|| repeated(&path_of(steps), entry));
                }
                walk_repeated(&entry.value, steps, faults);
                steps.pop();
            }
        }
        _ => {}
    }
}

fn repeated(path: &str, entry: &Entry) -> Fault {
    Fault {
        kind: FaultKind::DuplicateField,
        context: String::new(),
        text: format!("duplicate field {path:?}"),
        path: path.to_owned(),
        at: entry.at,
        hint: Some("remove one of them; the last would count".to_owned()),
    }
}

/// Of a key in a path no more than this is shown.
const MAX_KEY: usize = 256;

fn shortened(key: &str) -> Cow<'_, str> {
    if key.len() <= MAX_KEY {
        return key.into();
    }
    format!("{}\u{2026}", &key[..key.floor_char_boundary(MAX_KEY)]).into()
}

fn path_of(steps: &[Step<'_>]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Key(key) if path.is_empty() => path.push_str(&shortened(key)),
            Step::Key(key) => path.extend([".", &shortened(key)]),
            Step::Item(index) => path.extend(["[", &index.to_string(), "]"]),
        }
    }
    path
}
