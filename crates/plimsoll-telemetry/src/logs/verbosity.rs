//! Which lines are told: `-v` and `--vmodule`, changed while the process runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use arc_swap::ArcSwap;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use super::vmodule::VModule;

/// Level of `debug!` without a name, and of spans at that level.
const DEBUG: u32 = 4;

/// Level of `trace!` without a name.
const TRACE: u32 = 6;

/// Why a level cannot be set. The words are kube-scheduler's where it has any.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetVerbosityError {
    /// Not a number, or one that is no level.
    #[error("strconv.ParseUint: parsing {text:?}: {}", if *.too_large { "value out of range" } else { "invalid syntax" })]
    NotALevel {
        /// What was asked for.
        text: String,
        /// Whether it is a number all the same.
        too_large: bool,
    },
    /// The environment decides.
    #[error("RUST_LOG decides what is logged; start without it to set a level")]
    Directives,
}

/// The levels of the process: one handle, since there is one log.
#[derive(Debug)]
pub struct Verbosity {
    level: AtomicU32,
    modules: std::sync::LazyLock<ArcSwap<VModule>>,
    directives: AtomicBool,
}

static OF_PROCESS: Verbosity = Verbosity {
    level: AtomicU32::new(0),
    modules: std::sync::LazyLock::new(ArcSwap::default),
    directives: AtomicBool::new(false),
};

/// The levels of the process.
pub fn verbosity() -> &'static Verbosity {
    &OF_PROCESS
}

impl Verbosity {
    /// The level of `-v`, or the one that was set since.
    pub fn level(&self) -> u32 {
        self.level.load(Ordering::Relaxed)
    }

    /// Sets the level to what `/debug/flags/v` was given, and answers in kube-scheduler's words. Levels of single files stay.
    ///
    /// # Errors
    /// When it is no level, or `RUST_LOG` decides what is logged.
    pub fn set(&self, text: &str) -> Result<String, SetVerbosityError> {
        let level = parse_level(text)?;
        if self.directives.load(Ordering::Relaxed) {
            return Err(SetVerbosityError::Directives);
        }
        self.level.store(level, Ordering::Relaxed);
        tracing::callsite::rebuild_interest_cache();
        Ok(format!("successfully set klog.logging.verbosity to {text}"))
    }

    pub(super) fn begin(&self, level: u32, modules: VModule) {
        self.level.store(level, Ordering::Relaxed);
        self.modules.store(Arc::new(modules));
    }

    pub(super) fn give_way_to_directives(&self) {
        self.directives.store(true, Ordering::Relaxed);
    }

    fn tells(&self, place: &Metadata<'_>) -> bool {
        let Some(wanted) = level_of(place) else { return true };
        let ours = is_ours(place.target());
        (ours && wanted <= self.level()) || wanted <= self.modules.load().level_of(place, ours)
    }
}

/// Reads a level of `-v`, as Go reads a number of 31 bits.
///
/// # Errors
/// When it is none.
pub fn parse_level(text: &str) -> Result<u32, SetVerbosityError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let level = text
        .parse::<u32>()
        .ok()
        .filter(|level| digits && i32::try_from(*level).is_ok());
    level.ok_or_else(|| SetVerbosityError::NotALevel {
        text: text.to_owned(),
        too_large: digits,
    })
}

/// Libraries tell warnings and errors alone, unless `--vmodule` names them.
fn is_ours(target: &str) -> bool {
    target.starts_with("plimsoll")
}

/// The level on klog's scale of whatever stands at this place; none for what is always told.
pub(super) fn level_of(place: &Metadata<'_>) -> Option<u32> {
    let named = place.name().strip_prefix('V').and_then(|digits| digits.parse().ok());
    match *place.level() {
        Level::ERROR | Level::WARN => None,
        Level::INFO => named.or(Some(0)),
        Level::DEBUG => named.or(Some(DEBUG)),
        Level::TRACE => named.or(Some(TRACE)),
    }
}

impl<S: Subscriber> Layer<S> for &'static Verbosity {
    fn register_callsite(&self, place: &'static Metadata<'static>) -> Interest {
        // Asked again for every place when a level changes.
        if self.tells(place) {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, place: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.tells(place)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let highest = self.level().max(self.modules.load().highest());
        Some(match highest {
            0..=2 => LevelFilter::INFO,
            3..=4 => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_a_number_as_go_reads_it() {
        for (text, expected) in [("0", Ok(0)), ("10", Ok(10)), ("2147483647", Ok(2_147_483_647))] {
            assert_eq!(parse_level(text), expected, "{text}");
        }
        for (text, words) in [
            ("", "strconv.ParseUint: parsing \"\": invalid syntax"),
            ("x", "strconv.ParseUint: parsing \"x\": invalid syntax"),
            ("+1", "strconv.ParseUint: parsing \"+1\": invalid syntax"),
            ("-1", "strconv.ParseUint: parsing \"-1\": invalid syntax"),
            (
                "2147483648",
                "strconv.ParseUint: parsing \"2147483648\": value out of range",
            ),
        ] {
            assert_eq!(parse_level(text).expect_err(text).to_string(), words);
        }
    }
}
