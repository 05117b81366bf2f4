//! The example configuration of a collector.

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Election, Scheduler, suite};
use plimsoll_observability::{Jaeger, OpenTelemetry, Trace, shipped_collector};
use serde_json::Value;

use super::{create, jaeger};

fn keys(value: &Value) -> BTreeSet<String> {
    value
        .as_object()
        .map(|all| all.keys().cloned().collect())
        .unwrap_or_default()
}

/// The numbers behind `collector…:` in a text.
fn ports_of_collectors(text: &str) -> Vec<String> {
    let words = text.split(|c: char| c.is_whitespace() || "\"'`,;)".contains(c));
    let ports = words.filter_map(|word| {
        let (host, port) = word.rsplit_once(':')?;
        let digits: String = port.chars().take_while(char::is_ascii_digit).collect();
        (host.contains("collector.") && !digits.is_empty()).then_some(digits)
    });
    ports.collect()
}

#[test]
fn the_example_names_nothing_that_it_does_not_define_and_defines_nothing_in_vain() -> anyhow::Result<()> {
    let config = shipped_collector()?;
    let pipelines = config["service"]["pipelines"].as_object().cloned().unwrap_or_default();
    assert_eq!(
        pipelines.keys().collect::<Vec<_>>(),
        ["traces"],
        "Plimsoll sends traces alone"
    );
    for kind in ["receivers", "processors", "exporters"] {
        let named = pipelines
            .values()
            .flat_map(|pipeline| pipeline[kind].as_array().into_iter().flatten());
        let named: BTreeSet<String> = named.filter_map(|name| Some(name.as_str()?.to_owned())).collect();
        assert!(!named.is_empty());
        assert_eq!(named, keys(&config[kind]), "{kind}");
    }
    // A batch before the limiter would be memory that it does not see.
    assert_eq!(pipelines["traces"]["processors"][0], "memory_limiter");
    Ok(())
}

#[test]
fn the_example_listens_where_documents_and_chart_send_traces() -> anyhow::Result<()> {
    let config = shipped_collector()?;
    let protocols = &config["receivers"]["otlp"]["protocols"];
    let endpoint = |protocol: &str| protocols[protocol]["endpoint"].as_str().map(str::to_owned);
    assert_eq!(endpoint("grpc").as_deref(), Some("0.0.0.0:4317"));
    // What `http/protobuf` means when the environment names no port.
    assert_eq!(endpoint("http").as_deref(), Some("0.0.0.0:4318"));
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for file in ["docs/observability.md", "tests/chart/cases/extenders-and-traces.yaml"] {
        let ports = ports_of_collectors(&std::fs::read_to_string(top.join(file))?);
        assert!(!ports.is_empty(), "{file}");
        // Each is shown with gRPC.
        assert!(ports.iter().all(|port| port == "4317"), "{file}: {ports:?}");
    }
    Ok(())
}

#[test]
fn a_collector_run_as_the_example_says_hands_traces_on_to_jaeger() -> anyhow::Result<()> {
    let Some(backend) = jaeger()? else { return Ok(()) };
    let program = match OpenTelemetry::program()? {
        Ok(program) => program,
        Err(reason) => {
            suite::say(&format!(
                "*** the example configuration of a collector is not run: {reason} ***"
            ));
            return Ok(());
        }
    };
    OpenTelemetry::validate(&program)?;
    suite::run(async |cluster| {
        let jaeger = Jaeger::start(&backend).await?;
        let backend = jaeger.grpc();
        let backend = backend.trim_start_matches("http://");
        let collector = OpenTelemetry::start(&program, backend).await?;
        cluster.create_nodes([node("n1").cpu("2")]).await?;
        let ways = [("grpc", collector.grpc()), ("http/protobuf", collector.http())];
        for (protocol, endpoint) in ways {
            let env = [
                ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
                ("OTEL_BSP_SCHEDULE_DELAY", "100"),
            ];
            let at = cluster.start(Scheduler::Plimsoll, Election::Off, &env)?;
            let name = protocol.replace('/', "-");
            let id = create(cluster, pod(&name).cpu("100m")).await?;
            cluster.bound(&name).await?;
            let whole = |trace: &Trace| trace.span("schedule pod").map(|_| ());
            jaeger.until(&format!("a life over {protocol}"), &id, whole).await?;
            cluster.replicas()[at].terminate().await?;
        }
        Ok(())
    })
}
