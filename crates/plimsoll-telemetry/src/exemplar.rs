use std::fmt::{Error, Write as _};

use prometheus_client::encoding::{EncodeLabelValue, EncodeMetric, LabelValueEncoder, MetricEncoder};
use prometheus_client::metrics::exemplar::HistogramWithExemplars;
use prometheus_client::metrics::{MetricType, TypedMetric};

/// A W3C trace id, by which an observation leads to the trace that it is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId(pub u128);

impl EncodeLabelValue for TraceId {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), Error> {
        write!(encoder, "{:032x}", self.0)
    }
}

/// A histogram of times whose observations may name their traces. Scrapers that ask for `OpenMetrics` see these.
#[derive(Debug, Clone)]
pub struct Latency(HistogramWithExemplars<[(&'static str, TraceId); 1]>);

impl Latency {
    pub(crate) fn new(bounds: impl Iterator<Item = f64>) -> Self {
        Self(HistogramWithExemplars::new(bounds))
    }

    /// Something took so many seconds. `trace` is given only where the trace is kept: one that leads nowhere is of no use.
    pub fn observe(&self, seconds: f64, trace: Option<TraceId>) {
        self.0.observe(seconds, trace.map(|id| [("trace_id", id)]), None);
    }
}

impl TypedMetric for Latency {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Latency {
    fn encode(&self, encoder: MetricEncoder<'_>) -> Result<(), Error> {
        self.0.encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}
