//! Where a process's traces go.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::TracingConfig;
use plimsoll_telemetry::Metrics;
use plimsoll_telemetry::traces::{Exporting, ServiceInstance, SpanSink, TraceSettings};

use super::RunError;

/// How long the last spans may take at the end of the process: as long as nobody who restarts it minds.
const PATIENCE: Duration = Duration::from_secs(2);

/// Spans on their way out.
pub(super) struct Traces {
    pub(super) sink: SpanSink,
    /// The share of pods that are traced though nothing goes wrong with them, unless their profile says another.
    pub(super) ratio: f64,
    exporting: Exporting,
}

impl Traces {
    /// Begins to export, if configuration or environment say where to.
    pub(super) fn start(
        config: &TracingConfig,
        (identity, host, version): (&str, &str, &str),
        metrics: &Arc<Metrics>,
    ) -> Result<Option<Self>, RunError> {
        let env = |variable: &str| std::env::var(variable).ok();
        let settings = TraceSettings::read(config.endpoint.as_deref(), env);
        let Some(settings) = settings.map_err(|error| RunError::Tracing(error.to_string()))? else {
            return Ok(None);
        };
        let instance = ServiceInstance {
            version: version.to_owned(),
            instance: identity.to_owned(),
            host: host.to_owned(),
        };
        let (sink, exporting) =
            Exporting::start(&settings, &instance, metrics).map_err(|error| RunError::Tracing(error.to_string()))?;
        let ratio = config.sampling_ratio().unwrap_or(settings.ratio);
        tracing::info!(protocol = ?settings.protocol, endpoint = ?settings.endpoint, ratio, "Exporting traces");
        Ok(Some(Self { sink, ratio, exporting }))
    }

    /// Exports what has been told so far.
    pub(super) async fn finish(self) {
        drop(self.sink);
        self.exporting.finish(PATIENCE).await;
    }
}
