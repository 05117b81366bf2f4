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

use self::cursor::{Cursor, Faults, Scope};
use crate::document::{self, Node, Value};
use crate::draft::Draft;
use crate::{ConfigError, Fault, FaultKind, FeatureGates, Position, SchedulerConfig};

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
    note_repeated(&root, "", &faults);
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

fn second_document(at: Position) -> String {
    format!("only the first YAML document is read; another one begins at {at}")
}

/// Repeated keys are faults wherever they stand, also in the arguments of plugins that nobody knows.
fn note_repeated(node: &Node, path: &str, faults: &Faults) {
    match &node.value {
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                note_repeated(item, &format!("{path}[{index}]"), faults);
            }
        }
        Value::Map(entries) => {
            for entry in entries {
                let separator = if path.is_empty() { "" } else { "." };
                let path = format!("{path}{separator}{}", entry.key);
                if entry.repeated {
                    faults.note(|| Fault {
                        kind: FaultKind::DuplicateField,
                        context: String::new(),
                        text: format!("duplicate field {path:?}"),
                        path: path.clone(),
                        at: entry.at,
                        hint: Some("remove one of them; the last would count".to_owned()),
                    });
                }
                note_repeated(&entry.value, &path, faults);
            }
        }
        _ => {}
    }
}
