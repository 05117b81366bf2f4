//! What a command line said, for the log and for whoever asks a running process.

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use plimsoll_telemetry::logs::V1;

/// All flags with their values, and what is to be said of some.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GivenFlags {
    /// Names (without dashes) and values, defaults included, by name.
    pub values: Vec<(String, String)>,
    /// Flags that were set and have no meaning here, with the reason.
    pub without_meaning: Vec<(&'static str, &'static str)>,
}

/// Flags of kube-scheduler that are accepted whatever they say, and why they mean nothing.
const WITHOUT_MEANING: [(&str, &str); 4] = [
    ("kube-api-content-type", "requests are JSON"),
    ("contention-profiling", "no thread waits for a lock worth measuring"),
    (
        "min-compatibility-version",
        "no behaviour depends on the versions of other components",
    ),
    (
        "permit-address-sharing",
        "an address is taken over in any case from connections that are about to end",
    ),
];

/// Why another version than ours is not emulated.
const ONE_VERSION: (&str, &str) = ("emulated-version", "Plimsoll behaves as kube-scheduler 1.36 alone");

/// What no flag of the command line says.
const NOT_FLAGS: [&str; 3] = ["help", "version", "enable-test-plugins"];

impl GivenFlags {
    pub(super) fn of(command: &Command, matches: &ArgMatches, another_version: bool) -> Self {
        let flags = command
            .get_arguments()
            .filter_map(|flag| Some((flag.get_id().as_str(), flag.get_long()?)));
        let flags: Vec<(&str, &str)> = flags.filter(|(_, name)| !NOT_FLAGS.contains(name)).collect();
        let value = |id: &str| {
            let values = matches.get_raw(id).into_iter().flatten();
            let texts: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
            texts.join(",")
        };
        let mut values: Vec<_> = flags.iter().map(|(id, name)| ((*name).to_owned(), value(id))).collect();
        values.sort_unstable();
        let is_set = |wanted: &str| {
            let flag = flags.iter().find(|(_, name)| *name == wanted);
            flag.is_some_and(|(id, _)| matches.value_source(id) == Some(ValueSource::CommandLine))
        };
        let mut without_meaning: Vec<_> = WITHOUT_MEANING.into_iter().filter(|(name, _)| is_set(name)).collect();
        without_meaning.extend(another_version.then_some(ONE_VERSION));
        Self {
            values,
            without_meaning,
        }
    }

    /// Tells them as kube-scheduler does at its start, and warns of those that mean nothing.
    pub(crate) fn tell(&self) {
        for (name, value) in &self.values {
            tracing::info!(name: V1, "FLAG: --{name}={value:?}");
        }
        for (flag, why) in &self.without_meaning {
            tracing::warn!(flag, why, "This flag is accepted and has no effect here");
        }
    }
}
