//! Files as the commands see them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use plimsoll::config_source::{ConfigSourceError, from_policy};
use plimsoll_config::{
    ConfigError, ConfigKind, FeatureGates, MOST_FAULTS, PolicyError, PolicyErrors, Problem, SchedulerConfig, decode,
    decode_policy, load, plugin_hint,
};
use plimsoll_framework::{ProfileError, Profiles, ProfilesError, Registry};

/// Why a command could not do its work.
#[derive(Debug)]
pub(super) enum Trouble {
    /// A file cannot be read.
    Unreadable(String),
    /// Nobody takes the output.
    Output(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Config(ConfigKind),
    Policy,
}

impl FileKind {
    /// Its kind and version, for people.
    pub(super) fn name(self) -> String {
        match self {
            Self::Config(kind) => {
                let (version, kind) = kind.names();
                format!("{kind} of {version}")
            }
            Self::Policy => "Policy of v1".to_owned(),
        }
    }
}

/// What a file says, or what is wrong with it.
#[derive(Debug)]
pub(super) struct Report {
    /// What it is; none when that cannot be told.
    pub(super) kind: Option<FileKind>,
    /// The configuration that it means, when it is a valid one, even if this program cannot start with it.
    pub(super) config: Option<SchedulerConfig>,
    /// What is wrong.
    pub(super) problems: Vec<Problem>,
    /// What is no fault and still better known.
    pub(super) warnings: Vec<String>,
}

/// Reads files under certain feature gates.
pub(super) struct Files {
    gates: FeatureGates,
    registry: Registry,
}

/// kube-scheduler's defaults as a file.
const NOTHING_SET: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

const STANDARD_INPUT: &str = "-";

/// Larger than any configuration, and small enough for memory: a device may have no end.
const LONGEST: u64 = 16 << 20;

fn text_of(from: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is larger than 16 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

impl Files {
    pub(super) fn new(gates: FeatureGates) -> Self {
        Self {
            gates,
            registry: plimsoll_plugins::registry(),
        }
    }

    /// The configuration that holds without a file.
    pub(super) fn defaults(&self) -> SchedulerConfig {
        load(NOTHING_SET, &self.gates).unwrap_or_default()
    }

    /// Reads a file; `-` is standard input.
    pub(super) fn read(&self, path: &Path) -> Result<Report, Trouble> {
        let read = if path == Path::new(STANDARD_INPUT) {
            text_of(io::stdin().lock())
        } else {
            File::open(path).and_then(text_of)
        };
        read.map(|text| self.report(&text))
            .map_err(|error| Trouble::Unreadable(format!("cannot read {}: {error}", path.display())))
    }

    /// Reads two files, of which only one can be standard input.
    pub(super) fn read_both(&self, one: &Path, other: &Path) -> Result<[Report; 2], Trouble> {
        if [one, other].iter().all(|path| *path == Path::new(STANDARD_INPUT)) {
            let text = "standard input can be only one of the two files";
            return Err(Trouble::Unreadable(text.to_owned()));
        }
        Ok([self.read(one)?, self.read(other)?])
    }

    pub(super) fn report(&self, text: &str) -> Report {
        match decode(text, &self.gates) {
            Ok(loaded) => {
                let kind = FileKind::Config(loaded.kind());
                let warnings = loaded.warnings().to_vec();
                self.complete(kind, loaded.validate(), warnings)
            }
            Err(error @ ConfigError::Kind { .. }) => match decode_policy(text) {
                // It says that it is something else.
                Err(ConfigError::Kind { .. }) => faulty(None, &error),
                Err(error) => faulty(Some(FileKind::Policy), &error),
                Ok(_) => self.policy(text),
            },
            Err(error) => faulty(None, &error),
        }
    }

    fn policy(&self, text: &str) -> Report {
        let known = |name: &str| self.registry.names().any(|plugin| plugin == name);
        match from_policy(&self.defaults(), text, &known) {
            Ok(loaded) => self.complete(FileKind::Policy, Ok(loaded.config), loaded.notes),
            Err(ConfigSourceError::PolicyConversion(errors)) => Report {
                kind: Some(FileKind::Policy),
                config: None,
                problems: refused(&errors),
                warnings: Vec::new(),
            },
            Err(error) => Report {
                kind: Some(FileKind::Policy),
                config: None,
                problems: vec![whole(error.to_string(), None)],
                warnings: Vec::new(),
            },
        }
    }

    /// Sees whether the plugins can be put together too.
    fn complete(
        &self,
        kind: FileKind,
        valid: Result<SchedulerConfig, ConfigError>,
        mut warnings: Vec<String>,
    ) -> Report {
        let config = match valid {
            Ok(config) => config,
            Err(error) => {
                return Report {
                    warnings,
                    ..faulty(Some(kind), &error)
                };
            }
        };
        let share = config.percentage_of_nodes_to_score;
        let assembled = Profiles::assemble(
            &config.profiles,
            share,
            &config.extenders,
            &self.registry,
            &config.feature_gates,
        );
        let mut problems = Vec::new();
        match assembled {
            Ok(profiles) => {
                for missing in plimsoll_plugins::missing() {
                    let lacks = profiles
                        .iter()
                        .any(|profile| profile.not_there_yet.iter().any(|name| name == missing.plugin));
                    if lacks {
                        warnings.push(format!("{} is not there yet: {}", missing.plugin, missing.what));
                    }
                }
            }
            Err(error) => problems.push(self.explain(&error)),
        }
        Report {
            kind: Some(kind),
            config: Some(config),
            problems,
            warnings,
        }
    }

    fn explain(&self, error: &ProfilesError) -> Problem {
        let hint = match error {
            ProfilesError::Profile { cause, .. } => self.hint(cause),
            ProfilesError::QueueSort { .. } | ProfilesError::QueueSortArgs { .. } => {
                "the profiles share one queue: name the same queue sort plugin in all of them, or in none".to_owned()
            }
            _ => "give each profile a name of its own".to_owned(),
        };
        whole(error.to_string(), Some(hint))
    }

    fn hint(&self, cause: &ProfileError) -> String {
        let known: Vec<&str> = self.registry.names().collect();
        match cause {
            ProfileError::UnknownPlugin { plugin, .. } => plugin_hint(plugin, &known).unwrap_or_else(|| {
                format!("{plugin} is none of the plugins of this program; build it into a program of your own")
            }),
            ProfileError::Duplicate { .. } | ProfileError::RepeatedArgs { .. } => "remove one of them".to_owned(),
            ProfileError::DoesNotExtend { plugin, .. } => {
                format!("name {plugin} under multiPoint, or at a point that it takes part in")
            }
            ProfileError::NotThereYet { plugin } => {
                format!("leave {plugin} out; as a default it is kept, and pods that need it wait")
            }
            ProfileError::QueueSortCount { .. } => {
                "enable exactly one queue sort plugin, such as PrioritySort".to_owned()
            }
            ProfileError::NoBind { .. } => "enable a bind plugin, such as DefaultBinder".to_owned(),
            ProfileError::ScoreOverflow => "write weights of 1 or more".to_owned(),
            ProfileError::Construction { plugin, .. } => format!("mend the arguments of {plugin}"),
            _ => "leave some plugins out".to_owned(),
        }
    }
}

fn faulty(kind: Option<FileKind>, error: &ConfigError) -> Report {
    Report {
        kind,
        config: None,
        problems: error.problems(),
        warnings: Vec::new(),
    }
}

/// Hints search all names, so that there are none for what is not told.
fn refused(errors: &PolicyErrors) -> Vec<Problem> {
    let hint = |number, error: &PolicyError| (number < MOST_FAULTS).then(|| error.hint());
    let errors = errors.0.iter().enumerate();
    errors
        .map(|(number, error)| whole(error.to_string(), hint(number, error)))
        .collect()
}

fn whole(text: String, hint: Option<String>) -> Problem {
    Problem {
        path: String::new(),
        at: None,
        text,
        hint,
    }
}
