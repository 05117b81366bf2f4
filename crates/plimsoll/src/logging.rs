//! Log lines on standard error, as text or as JSON.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What is logged, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Logging {
    /// How a line looks.
    pub format: LogFormat,
    /// `-v`, on klog's scale: 4 adds the steps of each attempt, 6 everything.
    pub verbosity: i32,
}

impl Logging {
    fn level(self) -> &'static str {
        match self.verbosity {
            ..4 => "info",
            4..6 => "debug",
            _ => "trace",
        }
    }

    fn filter(self) -> Result<EnvFilter, ParseError> {
        // `RUST_LOG` wins, for whoever looks into one module.
        std::env::var("RUST_LOG")
            .ok()
            .filter(|directives| !directives.is_empty())
            .unwrap_or_else(|| format!("warn,plimsoll={}", self.level()))
            .parse()
    }
}

/// Starts logging to standard error for the whole process. A second call changes nothing.
///
/// # Errors
/// When `RUST_LOG` is set and cannot be read.
pub fn install(logging: &Logging) -> Result<(), ParseError> {
    let lines = tracing_subscriber::fmt()
        .with_env_filter(logging.filter()?)
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal());
    // An error says that there is a subscriber already.
    let _ = match logging.format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbosity_follows_klogs_scale() {
        for (verbosity, level) in [
            (-1, "info"),
            (0, "info"),
            (3, "info"),
            (4, "debug"),
            (5, "debug"),
            (6, "trace"),
            (10, "trace"),
        ] {
            let logging = Logging {
                verbosity,
                ..Logging::default()
            };
            assert_eq!(logging.level(), level, "-v={verbosity}");
        }
    }
}
