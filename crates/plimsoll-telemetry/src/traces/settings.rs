use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// How spans are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP over gRPC.
    Grpc,
    /// OTLP over HTTP, in protobuf.
    HttpProtobuf,
}

/// How much waits to be exported, and for how long. The variables are `OTEL_BSP_*`, the defaults OpenTelemetry's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportLimits {
    /// Spans that wait at most; what comes on top is dropped.
    pub queue_size: usize,
    /// Spans in one request at most.
    pub batch_size: usize,
    /// A request is made after this time at the latest, when there is a span.
    pub delay: Duration,
    /// A request is given up after this time, retries included.
    pub timeout: Duration,
}

impl Default for ExportLimits {
    fn default() -> Self {
        Self {
            queue_size: 2048,
            batch_size: 512,
            delay: Duration::from_secs(5),
            timeout: Duration::from_secs(30),
        }
    }
}

/// Where spans go and which are wanted, from the `tracing` block of the configuration and the `OTEL_*` variables of the
/// environment. Headers, compression and the time-out of one request (`OTEL_EXPORTER_OTLP_*`) are read by the exporter itself.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceSettings {
    /// How.
    pub protocol: Protocol,
    /// Where to, if the configuration says so; else the environment does.
    pub endpoint: Option<String>,
    /// The authorities that the collector's certificate may be signed by; the system's unless set.
    pub authorities: Option<PathBuf>,
    /// The client's own certificate and key.
    pub client: Option<(PathBuf, PathBuf)>,
    /// Bounds.
    pub limits: ExportLimits,
    /// The share of pods that are traced though nothing goes wrong with them, unless their profile says another.
    pub ratio: f64,
    /// What traces say of the process: `service.name`.
    pub service_name: Option<String>,
}

/// A setting that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value}: {expected}")]
pub struct TraceSettingsError {
    /// The variable, or the field of the configuration.
    pub variable: &'static str,
    /// What it says.
    pub value: String,
    /// What it may say.
    pub expected: &'static str,
}

impl TraceSettings {
    /// What the configured endpoint and the environment say; nothing when they name no endpoint, or say that nothing is to be
    /// exported.
    ///
    /// A configured endpoint counts before the environment's, and is spoken to over gRPC unless the environment says
    /// otherwise, as by other Kubernetes components: `host:port`, without TLS. It may be a whole URL too.
    pub fn read(
        configured: Option<&str>,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, TraceSettingsError> {
        // An empty variable is as good as none.
        let env = |variable: &str| env(variable).filter(|value| !value.trim().is_empty());
        let first = |variables: [&'static str; 2]| {
            let found = variables
                .into_iter()
                .find_map(|variable| Some((variable, env(variable)?)));
            found.map(|(variable, value)| (variable, value.trim().to_owned()))
        };
        let disabled = env("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let endpoint = first(["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"]);
        let wanted = exporter_is_wanted(env("OTEL_TRACES_EXPORTER"))?;
        if disabled || !wanted || (configured.is_none() && endpoint.is_none()) {
            return Ok(None);
        }
        let protocol = match first(["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"]) {
            None if configured.is_some() => Protocol::Grpc,
            None => Protocol::HttpProtobuf,
            Some((variable, value)) => parse_protocol(variable, value)?,
        };
        let file = |variables| first(variables).map(|(_, value)| PathBuf::from(value));
        let certificate = file([
            "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE",
            "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
        ]);
        let key = file(["OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "OTEL_EXPORTER_OTLP_CLIENT_KEY"]);
        Ok(Some(Self {
            protocol,
            endpoint: configured.map(|text| url_of(text, protocol)),
            authorities: file([
                "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE",
                "OTEL_EXPORTER_OTLP_CERTIFICATE",
            ]),
            client: certificate.zip(key),
            limits: limits(&env)?,
            ratio: ratio(&env)?,
            service_name: env("OTEL_SERVICE_NAME"),
        }))
    }
}

fn exporter_is_wanted(exporters: Option<String>) -> Result<bool, TraceSettingsError> {
    let Some(value) = exporters else { return Ok(true) };
    let names = || value.split(',').map(str::trim);
    if names().any(|name| name == "otlp") {
        return Ok(true);
    }
    if names().all(|name| name == "none") {
        return Ok(false);
    }
    Err(TraceSettingsError {
        variable: "OTEL_TRACES_EXPORTER",
        value,
        expected: "only otlp and none are known",
    })
}

fn parse_protocol(variable: &'static str, value: String) -> Result<Protocol, TraceSettingsError> {
    match value.to_ascii_lowercase().as_str() {
        "grpc" => Ok(Protocol::Grpc),
        "http/protobuf" => Ok(Protocol::HttpProtobuf),
        _ => Err(TraceSettingsError {
            variable,
            value,
            expected: "write grpc or http/protobuf",
        }),
    }
}

/// A configured endpoint as a URL of that protocol.
fn url_of(text: &str, protocol: Protocol) -> String {
    let url = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    match (protocol, path) {
        (Protocol::HttpProtobuf, None | Some((_, ""))) => format!("{}/v1/traces", url.trim_end_matches('/')),
        _ => url,
    }
}

fn limits(env: &impl Fn(&str) -> Option<String>) -> Result<ExportLimits, TraceSettingsError> {
    let default = ExportLimits::default();
    let queue_size = number(env, "OTEL_BSP_MAX_QUEUE_SIZE")?.unwrap_or(default.queue_size);
    let batch_size = number(env, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE")?.unwrap_or(default.batch_size);
    let millis = |variable, default| {
        let given = number::<u64>(env, variable)?;
        Ok::<_, TraceSettingsError>(given.map_or(default, Duration::from_millis))
    };
    Ok(ExportLimits {
        queue_size: queue_size.max(1),
        batch_size: batch_size.clamp(1, queue_size.max(1)),
        delay: millis("OTEL_BSP_SCHEDULE_DELAY", default.delay)?,
        timeout: millis("OTEL_BSP_EXPORT_TIMEOUT", default.timeout)?,
    })
}

fn number<T: FromStr>(
    env: &impl Fn(&str) -> Option<String>,
    variable: &'static str,
) -> Result<Option<T>, TraceSettingsError> {
    let Some(value) = env(variable) else { return Ok(None) };
    let parsed = value.trim().parse();
    parsed.map(Some).map_err(|_| TraceSettingsError {
        variable,
        value,
        expected: "write a whole number, not below zero",
    })
}

/// The standard's default is to trace everything.
fn ratio(env: &impl Fn(&str) -> Option<String>) -> Result<f64, TraceSettingsError> {
    let Some(sampler) = env("OTEL_TRACES_SAMPLER") else {
        return Ok(1.0);
    };
    match sampler.trim().trim_start_matches("parentbased_") {
        "always_on" => Ok(1.0),
        "always_off" => Ok(0.0),
        "traceidratio" => {
            let Some(value) = env("OTEL_TRACES_SAMPLER_ARG") else {
                return Ok(1.0);
            };
            let ratio = value.trim().parse::<f64>().ok();
            ratio
                .filter(|ratio| (0.0..=1.0).contains(ratio))
                .ok_or(TraceSettingsError {
                    variable: "OTEL_TRACES_SAMPLER_ARG",
                    value,
                    expected: "write a number from 0 to 1",
                })
        }
        _ => Err(TraceSettingsError {
            variable: "OTEL_TRACES_SAMPLER",
            value: sampler,
            expected: "write always_on, always_off or traceidratio, or one of these behind parentbased_",
        }),
    }
}

#[cfg(test)]
mod tests;
