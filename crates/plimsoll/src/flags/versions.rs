//! The flags of the Kubernetes version to behave as. Plimsoll behaves as one version of kube-scheduler alone, so they are
//! checked as kube-scheduler checks them, and what they ask for beyond that is told.

use std::fmt;

use clap::{ArgAction, Args};

use super::{FlagError, aggregate};

/// kube-scheduler's version that Plimsoll behaves as.
const OURS: KubeVersion = KubeVersion { major: 1, minor: 36 };

/// kube-scheduler goes back so far.
const FLOOR: KubeVersion = KubeVersion { major: 1, minor: 33 };

/// Minor releases that components may be apart unless said otherwise.
const SKEW: u64 = 1;

#[derive(Debug, Args)]
#[command(next_help_heading = "Feature gates")]
pub(super) struct VersionFlags {
    /// The version to emulate, as kube=major.minor; kube=1.33..1.36 are accepted, and only 1.36 is behaved as
    #[arg(long, value_name = "VERSIONS", value_delimiter = ',', action = ArgAction::Append)]
    emulated_version: Vec<String>,
    /// The oldest version of other components to get along with, as kube=major.minor; accepted, and without meaning here
    #[arg(long, value_name = "VERSIONS", value_delimiter = ',', action = ArgAction::Append)]
    min_compatibility_version: Vec<String>,
}

/// A minor release of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct KubeVersion {
    major: u64,
    minor: u64,
}

impl fmt::Display for KubeVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl VersionFlags {
    /// Checks the versions in kube-scheduler's words.
    pub(super) fn check(&self) -> Result<(), FlagError> {
        let emulated = read(&self.emulated_version)?.unwrap_or(OURS);
        let by_default = KubeVersion {
            minor: emulated.minor.saturating_sub(SKEW),
            ..emulated
        };
        let compatible = read(&self.min_compatibility_version)?.unwrap_or_else(|| by_default.max(FLOOR));
        let mut faults = Vec::new();
        if !(FLOOR..=OURS).contains(&emulated) {
            faults.push(format!(
                "emulation version {emulated} is not between [{FLOOR}, {OURS}.0]"
            ));
        }
        if compatible > emulated || compatible < FLOOR {
            faults.push(format!(
                "minCompatibilityVersion version {compatible} is not between [{FLOOR}, {emulated}]"
            ));
        }
        aggregate(&faults).map_or(Ok(()), |faults| Err(FlagError::Usage(faults)))
    }

    /// Whether another version is to be behaved as than the one that Plimsoll behaves as.
    pub(super) fn asks_for_another(&self) -> bool {
        !matches!(read(&self.emulated_version), Ok(None | Some(OURS)))
    }
}

/// The version of the one component that there is.
fn read(values: &[String]) -> Result<Option<KubeVersion>, FlagError> {
    let mut found: Option<KubeVersion> = None;
    for value in values {
        let (component, text) = value.split_once('=').unwrap_or(("kube", value));
        let (component, text) = (component.trim(), text.trim());
        let version = parse(component, text).map_err(FlagError::Usage)?;
        if component != "kube" {
            return Err(FlagError::Usage(format!("component not registered: {component}")));
        }
        if let Some(first) = found {
            let words = format!("duplicate version flag, kube={first} and kube={version}");
            return Err(FlagError::Usage(words));
        }
        found = Some(version);
    }
    Ok(found)
}

fn parse(component: &str, text: &str) -> Result<KubeVersion, String> {
    let unreadable = || format!("could not parse {text:?} as version");
    let parts = text.strip_prefix('v').unwrap_or(text).split('.');
    let numbers: Vec<u64> = parts
        .map(|part| {
            part.parse::<u64>()
                .ok()
                .filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()))
        })
        .collect::<Option<_>>()
        .ok_or_else(unreadable)?;
    match numbers[..] {
        [major, minor] | [major, minor, 0] => Ok(KubeVersion { major, minor }),
        [_, _, _] => Err(format!("patch version not allowed, got: {component}={text}")),
        _ => Err(unreadable()),
    }
}
