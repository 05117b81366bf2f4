//! The flags of the log.

use std::time::Duration;

use clap::{ArgAction, Args};
use plimsoll_config::{FeatureGates, Gate, parse_go_duration};
use plimsoll_telemetry::logs::{LogFormat, LogOptions, Routing, VModule, parse_buffer_size, parse_level};

use super::{FlagError, aggregate, parse_go_bool};

#[derive(Debug, Args)]
#[command(next_help_heading = "Logs")]
#[expect(clippy::doc_markdown, reason = "it is read on a terminal")]
pub(super) struct LogFlags {
    /// Sets the log format. Permitted formats: "json" (gated by LoggingBetaOptions), "text"
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    logging_format: String,
    /// Maximum number of seconds between log flushes
    #[arg(long, value_name = "DURATION", default_value = "5s", allow_hyphen_values = true)]
    log_flush_frequency: String,
    /// Number for the log level verbosity: 2 adds the outcome of each attempt, 3 and 4 its steps, 6 nearly everything; can be changed by
    /// a PUT to /debug/flags/v
    #[arg(short, long, value_name = "LEVEL", default_value = "0", allow_negative_numbers = true, value_parser = parse_level)]
    v: u32,
    /// Comma-separated list of pattern=N settings for file-filtered logging: a pattern means the name of a source file without
    /// .rs, with a slash its path, with :: a Rust module
    #[arg(long, value_name = "PATTERN=N,...", default_value = "", action = ArgAction::Append)]
    vmodule: Vec<VModule>,
    /// [Alpha] In text format, write error messages to stderr and all others to stdout. The default is to write a single
    /// stream to stderr. Enable the LoggingAlphaOptions feature gate to use this
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", action = ArgAction::Set, value_parser = parse_go_bool)]
    log_text_split_stream: bool,
    /// [Alpha] In text format with split output streams, the info messages can be buffered for a while. The default of zero
    /// bytes disables buffering. The size is a number of bytes (512), multiples of 1000 (1K), multiples of 1024 (2Ki), or powers
    /// of those (3M, 4G, 5Mi, 6Gi). Enable the LoggingAlphaOptions feature gate to use this
    #[arg(long, value_name = "QUANTITY", default_value = "0", value_parser = parse_buffer_size)]
    log_text_info_buffer_size: usize,
    /// [Alpha] As --log-text-split-stream, in JSON format
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", action = ArgAction::Set, value_parser = parse_go_bool)]
    log_json_split_stream: bool,
    /// [Alpha] As --log-text-info-buffer-size, in JSON format
    #[arg(long, value_name = "QUANTITY", default_value = "0", value_parser = parse_buffer_size)]
    log_json_info_buffer_size: usize,
}

impl LogFlags {
    /// What to log and how, with all faults in kube-scheduler's words.
    pub(super) fn options(self, gates: &FeatureGates) -> Result<LogOptions, FlagError> {
        let mut faults = Vec::new();
        let flush_frequency = self.flush_frequency(&mut faults)?;
        let format = match self.logging_format.as_str() {
            "text" | "" => LogFormat::Text,
            "json" => LogFormat::Json,
            other => {
                faults.push(format!("format: Invalid value: {other:?}: Unsupported log format"));
                LogFormat::Text
            }
        };
        if format == LogFormat::Json && !gates.enabled(Gate::LoggingBetaOptions) {
            let words = "format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature";
            faults.push(words.to_owned());
        }
        if !gates.enabled(Gate::LoggingAlphaOptions) {
            let alpha = [
                (self.log_text_split_stream, "text.splitStream"),
                (self.log_text_info_buffer_size != 0, "text.infoBufferSize"),
                (self.log_json_split_stream, "json.splitStream"),
                (self.log_json_info_buffer_size != 0, "json.infoBufferSize"),
            ];
            let set = alpha.iter().filter(|(set, _)| *set);
            faults.extend(
                set.map(|(_, name)| format!("options.{name}: Forbidden: Feature LoggingAlphaOptions is disabled")),
            );
        }
        if let Some(faults) = aggregate(&faults) {
            return Err(FlagError::Usage(faults));
        }
        Ok(LogOptions {
            format,
            verbosity: self.v,
            vmodule: self.vmodule.into_iter().collect(),
            routing: match format {
                LogFormat::Text => Routing {
                    split: self.log_text_split_stream,
                    info_buffer: self.log_text_info_buffer_size,
                },
                LogFormat::Json => Routing {
                    split: self.log_json_split_stream,
                    info_buffer: self.log_json_info_buffer_size,
                },
            },
            flush_frequency,
        })
    }

    fn flush_frequency(&self, faults: &mut Vec<String>) -> Result<Duration, FlagError> {
        let text = self.log_flush_frequency.as_str();
        // A negative one is a fault of another kind than one that cannot be read.
        let read = parse_go_duration(text.strip_prefix('-').unwrap_or(text));
        let duration = read.map_err(|error| {
            FlagError::Usage(format!(
                "invalid value '{text}' for '--log-flush-frequency <DURATION>': {error}"
            ))
        })?;
        if duration.is_zero() || text.starts_with('-') {
            faults.push(format!(
                "flushFrequency: Invalid value: {text:?}: Must be greater than zero"
            ));
        }
        Ok(duration)
    }
}
