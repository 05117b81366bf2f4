//! What a scraper reads of kube-scheduler and of Plimsoll after the same work: dashboards and alerts that were made for the
//! one must do for the other.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, ensure};
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, Election, Exposition, Family, Scheduler, suite};

const LIMIT: Duration = Duration::from_secs(30);

/// Families of kube-scheduler that Plimsoll does not show, by the beginning of their names; why not is in
/// `docs/differences.md`.
const ABSENT: &[&str] = &[
    "aggregator_",
    "apiserver_",
    "authenticated_user_requests",
    "authentication_",
    "authorization_",
    "go_",
    "rest_client_exec_plugin_",
    "rest_client_transport_",
    "scheduler_batch_",
    "scheduler_get_node_hint_duration_seconds",
    "scheduler_store_schedule_results_duration_seconds",
    "workqueue_",
];

/// Shown here while there is something to tell, and there from then on.
const AT_TIMES: &[&str] = &["scheduler_inflight_events"];

/// Families of Plimsoll that kube-scheduler does not show after this work.
const MORE: &[&str] = &["plimsoll_"];

/// Places pods, turns one away, holds one back and lets one take the place of another.
async fn work(cluster: &Cluster<'_>) -> anyhow::Result<()> {
    cluster.create_nodes([node("n1").cpu("2"), node("n2").cpu("2")]).await?;
    cluster.nodes_known_to_scheduler().await?;
    let spread = |name: &str| pod(name).label("app", "spread").spread("app", "spread");
    cluster
        .create_pods([spread("p1").cpu("1"), spread("p2").cpu("1"), pod("p3").cpu("1")])
        .await?;
    cluster.bound_count(3, LIMIT).await?;
    cluster
        .create_pods([
            pod("held").gate("example.com/held"),
            pod("large").cpu("64"),
            pod("urgent").cpu("2").priority(1000),
        ])
        .await?;
    cluster.bound("urgent").await?;
    cluster.why_pending("large").await?;
    // One that helps nobody, so that hints are asked for.
    cluster.create_nodes([node("n3").cpu("1")]).await?;
    cluster.nodes_known_to_scheduler().await?;
    cluster.all_at_rest(LIMIT).await?;
    Ok(())
}

/// The pages of a scheduler that has done the work.
struct Pages {
    metrics: Exposition,
    slis: Exposition,
    resources: Exposition,
}

async fn scraped(cluster: &mut Cluster<'_>, scheduler: Scheduler) -> anyhow::Result<Pages> {
    let at = cluster.start(scheduler, Election::Quick, &[])?;
    work(cluster).await?;
    // Plugins are timed in one cycle of ten, and told of a second later there.
    let timed = |metrics: &plimsoll_cluster::Metrics| metrics.has("scheduler_plugin_execution_duration_seconds_count");
    for round in 0..100 {
        if timed(&cluster.metrics().await?) {
            break;
        }
        let names: Vec<String> = (0..10).map(|number| format!("more-{round}-{number}")).collect();
        cluster
            .create_pods(names.iter().map(|name| pod(name).cpu("1m")))
            .await?;
        for name in &names {
            cluster.bound(name).await?;
            cluster.delete_pod(name).await?;
        }
    }
    cluster.until_metrics("plugins have been timed", LIMIT, timed).await?;
    let replica = &cluster.replicas()[at];
    for path in ["/healthz", "/livez", "/readyz"] {
        replica.reads(path).await?;
    }
    let pages = Pages {
        metrics: Exposition::parse(&replica.reads("/metrics").await?)?,
        slis: Exposition::parse(&replica.reads("/metrics/slis").await?)?,
        resources: Exposition::parse(&replica.reads("/metrics/resources").await?)?,
    };
    cluster.clear().await?;
    cluster.replicas()[at].terminate().await?;
    Ok(pages)
}

fn begins_with_one_of(name: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| name.starts_with(beginning))
}

/// How ours differs from theirs in what dashboards rely on.
fn differences(name: &str, ours: &Family, theirs: &Family) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: &str, ours: String, theirs: String| {
        if ours != theirs {
            found.push(format!("{name}: {what} {ours} here and {theirs} there"));
        }
    };
    compare("type", ours.kind.clone(), theirs.kind.clone());
    compare("help", ours.help.clone(), theirs.help.clone());
    compare("labels", format!("{:?}", ours.labels), format!("{:?}", theirs.labels));
    compare(
        "buckets",
        format!("{:?}", ours.buckets),
        format!("{:?}", theirs.buckets),
    );
    found
}

fn compared(ours: &Exposition, theirs: &Exposition) -> Vec<String> {
    let mut found = Vec::new();
    for (name, family) in &theirs.families {
        match ours.families.get(name) {
            Some(own) => found.extend(differences(name, own, family)),
            None if begins_with_one_of(name, ABSENT) || begins_with_one_of(name, AT_TIMES) => {}
            None => found.push(format!("{name} is not shown here: {}", family.help)),
        }
    }
    for (name, family) in &ours.families {
        let known = theirs.families.contains_key(name) || begins_with_one_of(name, MORE);
        if !known {
            found.push(format!("{name} is shown here only: {}", family.help));
        }
    }
    found
}

/// Values of series; those of pods and resources are the same whoever tells them. Which of two nodes alike a pod is on, and
/// which of two pods alike had to go, is up to chance.
fn values(page: &Exposition) -> BTreeMap<String, f64> {
    let alike = |series: &str| series.replace("\"n2\"", "\"n1\"").replace("\"p2\"", "\"p1\"");
    page.families
        .values()
        .flat_map(|family| family.series.iter().map(|(series, value)| (alike(series), *value)))
        .collect()
}

/// Series with a label that says what users name: there could be any number of them.
fn named_by_users(page: &Exposition, namespace: &str) -> Vec<String> {
    let names = ["p1", "p2", "p3", "held", "large", "urgent", "n1", "n2", "n3", namespace];
    let series = page.families.values().flat_map(|family| family.series.keys());
    let has_one = |series: &&String| names.iter().any(|name| series.contains(&format!("=\"{name}\"")));
    series.filter(has_one).cloned().collect()
}

#[test]
fn a_scraper_finds_the_families_labels_and_buckets_of_kube_scheduler() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        if cluster.control_plane().programs().path("kube-scheduler").is_none() {
            suite::say("*** no kube-scheduler on this machine: nothing to compare with ***");
            return Ok(());
        }
        cluster.create_priorities([1000]).await?;
        cluster.start_kubelets();
        let theirs = scraped(cluster, Scheduler::KubeScheduler).await?;
        let ours = scraped(cluster, Scheduler::Plimsoll).await?;
        let mut found = compared(&ours.metrics, &theirs.metrics);
        // Only the page about pods names them, as kube-scheduler's does.
        let namespace = cluster.namespace();
        ensure!(
            !named_by_users(&ours.resources, namespace).is_empty(),
            "the names are those of the work"
        );
        found.extend(named_by_users(&ours.metrics, namespace));
        for beginning in ABSENT {
            let shows = |page: &Exposition| page.families.keys().any(|name| name.starts_with(beginning));
            if shows(&ours.metrics) || !shows(&theirs.metrics) {
                found.push(format!("{beginning} is not absent here and shown there"));
            }
        }
        found.extend(compared(&ours.slis, &theirs.slis));
        found.extend(compared(&ours.resources, &theirs.resources));
        if values(&ours.resources) != values(&theirs.resources) {
            found.push(format!(
                "/metrics/resources tells {:#?} here and {:#?} there",
                values(&ours.resources),
                values(&theirs.resources)
            ));
        }
        ensure!(found.is_empty(), "{}", found.join("\n"));
        let same = ours.metrics.families.keys();
        let same = same.filter(|name| theirs.metrics.families.contains_key(*name)).count();
        suite::say(&format!("    {same} families are the same"));
        ensure!(same > 40, "only {same} families are the same");
        Ok(())
    })
}

#[test]
fn families_that_are_not_shown_are_listed_with_the_reason() -> anyhow::Result<()> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/differences.md");
    let page = std::fs::read_to_string(page).context("docs/differences.md")?;
    for beginning in ABSENT {
        let listed = format!("`{beginning}");
        ensure!(page.contains(&listed), "{beginning} is not in docs/differences.md");
    }
    Ok(())
}
