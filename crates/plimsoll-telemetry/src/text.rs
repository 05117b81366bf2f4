use std::fmt::Error;

use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::registry::Registry;

/// How metrics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Prometheus' text format, version 0.0.4.
    Prometheus,
    /// `OpenMetrics`, version 1.0.0.
    OpenMetrics,
}

/// Writes all families. The library ends each help text with a full stop of its own, which is left out here: operators read
/// kube-scheduler's texts to the letter.
pub(crate) fn write(registry: &Registry, format: Format) -> Result<String, Error> {
    let mut text = String::new();
    match format {
        Format::Prometheus => prometheus_text::encode(&mut text, registry)?,
        Format::OpenMetrics => text::encode(&mut text, registry)?,
    }
    let mut written = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.strip_suffix(".\n").filter(|line| line.starts_with("# HELP ")) {
            Some(help) => {
                written.push_str(help);
                written.push('\n');
            }
            None => written.push_str(line),
        }
    }
    Ok(written)
}
