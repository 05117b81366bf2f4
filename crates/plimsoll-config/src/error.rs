use std::fmt;

use crate::listing::{aggregate, shortened};
use crate::{FieldError, Position};

/// Why a configuration file cannot be used. The texts are kube-scheduler's where it has one; it does not tell places.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// Not YAML, not JSON, or more of it than is read.
    #[error("yaml: {at}: {text}")]
    Syntax {
        /// What is wrong.
        text: String,
        /// Where.
        at: Position,
    },
    /// Not a configuration of a scheduler, or of a version that is not read.
    #[error("{text}")]
    Kind {
        /// What is wrong.
        text: String,
        /// Where.
        at: Position,
        /// What to do about it.
        hint: Option<String>,
    },
    /// Fields that do not exist, stand there twice or hold what they cannot hold: all of them.
    #[error("{}", Faults(.0))]
    Decoding(Vec<Fault>),
    /// Values that are not allowed: all of them.
    #[error("{}", Aggregate(.0))]
    Invalid(Vec<Invalid>),
    /// An extender takes resources out of a check that the profile does not make.
    #[error("couldn't build extenders: can't find NodeResourcesFitArgs in plugin config")]
    NoFitArgs,
}

/// What kind of fault a decoding error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// No such field.
    UnknownField,
    /// The field stands there twice.
    DuplicateField,
    /// The field cannot hold this.
    WrongValue,
}

/// One thing that cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What kind of fault.
    pub kind: FaultKind,
    /// What kube-scheduler says ahead of faults in the arguments of a plugin.
    pub context: String,
    /// What is wrong.
    pub text: String,
    /// The field, from the top of the file.
    pub path: String,
    /// Where it stands.
    pub at: Position,
    /// What to do about it.
    pub hint: Option<String>,
}

/// One value that is not allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct Invalid {
    /// What is wrong.
    pub error: FieldError,
    /// Where it stands, or what is nearest above it; none when it did not come from a file.
    pub at: Option<Position>,
    /// What to do about it.
    pub hint: Option<String>,
}

/// One fault of whatever kind, for a list of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The field; empty when the whole file is meant.
    pub path: String,
    /// Where it stands.
    pub at: Option<Position>,
    /// What is wrong.
    pub text: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ConfigError {
    /// The faults one by one, in the order of the file where places are known.
    pub fn problems(&self) -> Vec<Problem> {
        let whole = |at: Option<Position>, hint: Option<String>| Problem {
            path: String::new(),
            at,
            text: self.to_string(),
            hint,
        };
        let mut problems = match self {
            Self::Syntax { text, at } => vec![Problem {
                path: String::new(),
                at: Some(*at),
                text: text.clone(),
                hint: Some(
                    "mind the indentation, and quote texts with characters that mean something in YAML".to_owned(),
                ),
            }],
            Self::Kind { at, hint, .. } => vec![whole(Some(*at), hint.clone())],
            Self::Decoding(faults) => faults.iter().map(Fault::problem).collect(),
            Self::Invalid(errors) => errors.iter().map(Invalid::problem).collect(),
            Self::NoFitArgs => {
                let hint = "leave NodeResourcesFit enabled, or do not set ignoredByScheduler for a managed resource";
                vec![whole(None, Some(hint.to_owned()))]
            }
        };
        problems.sort_by_key(|problem| problem.at);
        problems
    }
}

impl Fault {
    fn problem(&self) -> Problem {
        Problem {
            path: self.path.clone(),
            at: Some(self.at),
            text: self.text.clone(),
            hint: self.hint.clone(),
        }
    }
}

impl Invalid {
    fn problem(&self) -> Problem {
        Problem {
            path: self.error.field.clone(),
            at: self.at,
            text: self.error.to_string(),
            hint: self.hint.clone(),
        }
    }
}

/// Faults in one line: those that stop decoding, then those of strict decoding, the latter as kube-scheduler joins them.
struct Faults<'f>(&'f [Fault]);

impl fmt::Display for Faults<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (wrong, strict): (Vec<&Fault>, Vec<&Fault>) =
            self.0.iter().partition(|fault| fault.kind == FaultKind::WrongValue);
        write_joined(f, &wrong)?;
        if strict.is_empty() {
            return Ok(());
        }
        if !wrong.is_empty() {
            f.write_str(", ")?;
        }
        f.write_str("strict decoding error: ")?;
        write_joined(f, &strict)
    }
}

fn write_joined(f: &mut fmt::Formatter<'_>, faults: &[&Fault]) -> fmt::Result {
    let mut context = "";
    for (number, fault) in faults.iter().enumerate() {
        if number > 0 {
            f.write_str(", ")?;
        }
        if fault.context != context {
            f.write_str(&fault.context)?;
            context = &fault.context;
        }
        write!(f, "{} ({})", shortened(&fault.text), fault.at)?;
    }
    Ok(())
}

/// Errors as Kubernetes aggregates them: one alone, several in brackets, equal ones once.
struct Aggregate<'e>(&'e [Invalid]);

impl fmt::Display for Aggregate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&aggregate(self.0.iter().map(|invalid| &invalid.error)))
    }
}
