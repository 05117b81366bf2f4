//! Where finished spans go: through a bounded queue to a task that exports them over OTLP.
//!
//! Whoever has spans gives them to a [`SpanSink`] and goes on. What the queue has no room for is dropped and counted; a
//! collector that has failed again and again is left alone for a while, and what would be told meanwhile is counted instead of
//! being made. So a collector that is down, slow or refuses costs spans, and nothing else.

mod exporter;
mod exporting;
mod rest;
mod settings;
mod sink;

pub use opentelemetry;
pub use opentelemetry_sdk::error::{OTelSdkError as ExportError, OTelSdkResult as ExportResult};
pub use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter, SpanLinks};

pub use self::exporter::{ExporterError, ServiceInstance};
pub use self::exporting::Exporting;
pub use self::settings::{ExportLimits, Protocol, TraceSettings, TraceSettingsError};
pub use self::sink::{SpanSink, Unwanted};
