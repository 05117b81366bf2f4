use super::*;

fn read(configured: Option<&str>, env: &[(&str, &str)]) -> Result<Option<TraceSettings>, TraceSettingsError> {
    TraceSettings::read(configured, |variable| {
        let found = env.iter().find(|(name, _)| *name == variable);
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn settings(configured: Option<&str>, env: &[(&str, &str)]) -> TraceSettings {
    read(configured, env).unwrap().expect("an endpoint is named")
}

const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");

#[test]
fn without_an_endpoint_nothing_is_exported() {
    assert_eq!(read(None, &[]), Ok(None));
    assert_eq!(read(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), Ok(None));
    assert_eq!(read(None, &[ENDPOINT, ("OTEL_SDK_DISABLED", "True")]), Ok(None));
    assert_eq!(read(Some("c:4317"), &[("OTEL_TRACES_EXPORTER", "none")]), Ok(None));
}

#[test]
fn what_the_environment_leaves_out_is_as_opentelemetry_says() {
    let plain = settings(None, &[ENDPOINT]);
    assert_eq!((plain.protocol, plain.endpoint), (Protocol::HttpProtobuf, None));
    assert_eq!((plain.limits, plain.ratio), (ExportLimits::default(), 1.0));
    let traces = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc");
    let general = ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf");
    assert_eq!(settings(None, &[ENDPOINT, general, traces]).protocol, Protocol::Grpc);
}

#[test]
fn a_configured_endpoint_is_a_grpc_address_as_elsewhere_in_kubernetes_or_a_url() {
    let endpoint = |configured, env: &[_]| {
        let read = settings(Some(configured), env);
        (read.protocol, read.endpoint.unwrap())
    };
    let grpc = |url: &str| (Protocol::Grpc, url.to_owned());
    let http = |url: &str| (Protocol::HttpProtobuf, url.to_owned());
    let over_http = [("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")];
    assert_eq!(endpoint("c:4317", &[ENDPOINT]), grpc("http://c:4317"));
    assert_eq!(endpoint("https://c:4317", &[]), grpc("https://c:4317"));
    assert_eq!(endpoint("c:4318", &over_http), http("http://c:4318/v1/traces"));
    assert_eq!(
        endpoint("https://c:4318/", &over_http),
        http("https://c:4318/v1/traces")
    );
    assert_eq!(endpoint("https://c/otlp/in", &over_http), http("https://c/otlp/in"));
}

#[test]
#[expect(clippy::float_cmp, reason = "as they were read")]
fn the_sampler_is_a_share_of_all_traces() {
    let ratio = |env: &[_]| settings(None, &[&[ENDPOINT], env].concat()).ratio;
    let sampler = |name| ("OTEL_TRACES_SAMPLER", name);
    assert_eq!(ratio(&[sampler("parentbased_always_on")]), 1.0);
    assert_eq!(ratio(&[sampler("always_off")]), 0.0);
    let argument = ("OTEL_TRACES_SAMPLER_ARG", "0.25");
    assert_eq!(ratio(&[sampler("parentbased_traceidratio"), argument]), 0.25);
    assert_eq!(ratio(&[sampler("traceidratio")]), 1.0);
}

#[test]
fn bounds_are_those_of_the_batch_processor() {
    let env = [
        ENDPOINT,
        ("OTEL_BSP_MAX_QUEUE_SIZE", "100"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "500"),
        ("OTEL_BSP_SCHEDULE_DELAY", "250"),
        ("OTEL_BSP_EXPORT_TIMEOUT", "1000"),
    ];
    let limits = settings(None, &env).limits;
    assert_eq!(
        (limits.queue_size, limits.batch_size),
        (100, 100),
        "a batch fits into the queue"
    );
    assert_eq!((limits.delay.as_millis(), limits.timeout.as_secs()), (250, 1));
}

#[test]
fn what_cannot_be_meant_is_refused_and_says_what_can() {
    for (variable, value, expected) in [
        ("OTEL_TRACES_EXPORTER", "zipkin", "only otlp and none"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "grpc or http/protobuf"),
        ("OTEL_TRACES_SAMPLER", "xray", "always_on"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "-1", "a whole number"),
    ] {
        let error = read(None, &[ENDPOINT, (variable, value)]).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{variable}={value}: ")) && error.contains(expected),
            "{error}"
        );
    }
    let ratio = [
        ENDPOINT,
        ("OTEL_TRACES_SAMPLER", "traceidratio"),
        ("OTEL_TRACES_SAMPLER_ARG", "25"),
    ];
    assert!(read(None, &ratio).unwrap_err().to_string().contains("from 0 to 1"));
}
