/// Where traces go, as other Kubernetes components' `TracingConfiguration`. Only `plimsoll.dev` files can say it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TracingConfig {
    /// The collector: `host:port`, spoken to over gRPC without TLS, or a URL. None leaves it to the environment, and nothing is
    /// exported when that says nothing either.
    pub endpoint: Option<String>,
    /// How many of a million pods are traced though nothing goes wrong with them, unless their profile says a
    /// `samplingRatio`.
    pub sampling_rate_per_million: Option<i32>,
}

/// All of them.
pub(crate) const MILLION: i32 = 1_000_000;

impl TracingConfig {
    /// The share of pods that are traced though nothing goes wrong with them, if it says one.
    pub fn sampling_ratio(&self) -> Option<f64> {
        let rate = self.sampling_rate_per_million?;
        Some(f64::from(rate) / f64::from(MILLION))
    }
}
