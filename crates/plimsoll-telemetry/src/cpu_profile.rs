//! Where the process spends its time, in the format of pprof.

mod proto;

use std::time::Duration;

use pprof::{ProfilerGuard, ProfilerGuardBuilder};

/// How long a profile takes unless said otherwise, as in Go.
const USUAL: u64 = 30;
/// How long a profile takes at most, in seconds.
pub(crate) const MOST: u64 = 300;
/// Samples a second of computing time, as in Go.
const FREQUENCY: i32 = 100;
/// What must not be looked at in the middle: these may hold the very locks that a look takes.
const NOT_LOOKED_AT: [&str; 4] = ["libc", "libgcc", "pthread", "vdso"];

/// Why there is no profile.
#[derive(Debug)]
pub(crate) enum ProfileError {
    /// No number of seconds.
    Seconds(String),
    /// Another is being taken: there is one timer in a process.
    Busy,
    /// Something else.
    Failed(String),
}

impl From<pprof::Error> for ProfileError {
    fn from(error: pprof::Error) -> Self {
        match error {
            pprof::Error::Running => Self::Busy,
            other => Self::Failed(other.to_string()),
        }
    }
}

/// Takes samples for so many seconds. Whoever gives up waiting ends it.
pub(crate) async fn take(seconds: Option<&str>) -> Result<Vec<u8>, ProfileError> {
    let seconds = match seconds {
        None | Some("") => USUAL,
        Some(text) => match text.parse() {
            Ok(seconds @ 1..=MOST) => seconds,
            _ => return Err(ProfileError::Seconds(text.to_owned())),
        },
    };
    let builder = ProfilerGuardBuilder::default().frequency(FREQUENCY);
    let guard = builder.blocklist(&NOT_LOOKED_AT).build()?;
    tracing::info!(seconds, "Taking a CPU profile");
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    // Names of functions are looked up now, which takes a while.
    let encoded = tokio::task::spawn_blocking(move || encode(&guard)).await;
    encoded.unwrap_or_else(|error| Err(ProfileError::Failed(error.to_string())))
}

fn encode(guard: &ProfilerGuard<'_>) -> Result<Vec<u8>, ProfileError> {
    let report = guard.report().build()?;
    Ok(proto::encode(&report, FREQUENCY))
}

/// The functions that a profile names.
#[cfg(test)]
pub(crate) fn functions(profile: &[u8]) -> Vec<String> {
    use prost::Message as _;

    let profile = proto::Profile::decode(profile).expect("a profile");
    assert_eq!(profile.sample_type.len(), 2);
    let named = |function: &proto::Function| profile.string_table[usize::try_from(function.name).unwrap()].clone();
    let known = |sample: &proto::Sample| {
        sample.value.len() == 2
            && sample
                .location_id
                .iter()
                .all(|id| (1..=profile.location.len() as u64).contains(id))
    };
    assert!(profile.sample.iter().all(known));
    profile.function.iter().map(named).collect()
}
