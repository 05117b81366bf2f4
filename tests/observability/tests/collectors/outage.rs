//! What becomes of pods when the collector is down, hangs or refuses: nothing.

use std::time::Duration;

use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, Election, Scheduler, suite};
use plimsoll_observability::Collector;

const PODS: usize = 60;

/// Places pods, all traced, and tells how many spans were exported and how many dropped.
async fn placed_with(cluster: &mut Cluster<'_>, endpoint: &str) -> anyhow::Result<(f64, f64)> {
    let env = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
        // Small enough that it cannot hold what the pods are told with.
        ("OTEL_BSP_MAX_QUEUE_SIZE", "64"),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ("OTEL_BSP_EXPORT_TIMEOUT", "1000"),
    ];
    cluster.create_nodes([node("n1").cpu("64").pods(200)]).await?;
    let at = cluster.start(Scheduler::Plimsoll, Election::Off, &env)?;
    cluster
        .create_pods((0..PODS).map(|number| pod(&format!("p{number}")).cpu("10m")))
        .await?;
    cluster.bound_count(PODS, Duration::from_mins(1)).await?;
    let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
    loop {
        let metrics = cluster.replicas()[at].metrics().await?;
        let exported = metrics.total("plimsoll_spans_exported_total", &[]);
        let dropped = metrics.total("plimsoll_spans_dropped_total", &[]);
        if dropped > 0.0 || tokio::time::Instant::now() > deadline {
            assert_eq!(
                cluster.replicas()[at].terminate().await?,
                Some(1),
                "it ends in time, without election"
            );
            return Ok((exported, dropped));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[test]
fn pods_are_placed_though_nobody_listens_where_spans_go() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let (exported, dropped) = placed_with(cluster, &Collector::down()?).await?;
        assert!(
            exported == 0.0 && dropped > 0.0,
            "{exported} exported, {dropped} dropped"
        );
        Ok(())
    })
}

#[test]
fn pods_are_placed_though_the_collector_never_answers() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let collector = Collector::hanging().await?;
        let (exported, dropped) = placed_with(cluster, collector.address()).await?;
        assert!(collector.asked() > 0);
        assert!(
            exported == 0.0 && dropped > 0.0,
            "{exported} exported, {dropped} dropped"
        );
        Ok(())
    })
}

#[test]
fn pods_are_placed_though_the_collector_refuses_every_span() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let collector = Collector::refusing().await?;
        let (exported, dropped) = placed_with(cluster, collector.address()).await?;
        assert!(collector.asked() > 0);
        assert!(
            exported == 0.0 && dropped > 0.0,
            "{exported} exported, {dropped} dropped"
        );
        Ok(())
    })
}
