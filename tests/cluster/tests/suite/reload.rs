//! The configuration file: of kube-scheduler's shape, with two profiles, and changed while the scheduler runs.

use std::time::Duration;

use anyhow::{Context, ensure};
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, PodFacts, Scheduler, suite};

const LIMIT: Duration = Duration::from_mins(1);

/// A configuration of kube-scheduler's kind with these profiles.
fn config(profiles: &str) -> String {
    format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\n\
         kind: KubeSchedulerConfiguration\n\
         leaderElection:\n  leaderElect: false\n\
         clientConnection:\n  kubeconfig: KUBECONFIG\n  qps: 5000\n  burst: 5000\n\
         profiles:\n{profiles}"
    )
}

const DEFAULT: &str = "- schedulerName: default-scheduler\n";
const BATCH: &str = "- schedulerName: batch\n  plugins:\n    score:\n      disabled:\n      - name: '*'\n";

/// Waits until the only replica has logged a text.
async fn logged(cluster: &mut Cluster<'_>, text: &str) -> anyhow::Result<()> {
    let replica = cluster.replicas().first_mut().context("a replica")?;
    for _ in 0..300 {
        replica.process.ensure_running()?;
        if replica.process.log_text().contains(text) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    anyhow::bail!("{text:?} is not in the log:\n{}", replica.process.log_tail(20))
}

#[test]
fn a_file_of_kube_schedulers_shape_with_two_profiles_places_the_pods_of_both() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1"), node("n2")]).await?;
        cluster.start_configured(&config(&[DEFAULT, BATCH].concat()))?;
        let pods = (0..10).flat_map(|number| {
            [
                pod(&format!("d{number}")),
                pod(&format!("b{number}")).scheduler("batch"),
            ]
        });
        cluster.create_pods(pods).await?;
        cluster.bound_count(20, LIMIT).await
    })
}

#[test]
fn a_changed_file_counts_without_a_restart_and_no_pod_is_lost() -> anyhow::Result<()> {
    if Scheduler::under_test() != Scheduler::Plimsoll {
        return Ok(());
    }
    suite::run(async |cluster| {
        let nodes = (0..4).map(|number| node(&format!("n{number}")).cpu("32"));
        cluster.create_nodes(nodes).await?;
        cluster.start_kubelets();
        let file = cluster.start_configured(&config(DEFAULT))?;
        let process = cluster.replicas().first().context("a replica")?.process.id();
        let create = async |cluster: &Cluster<'_>, round: usize| {
            for number in 0..20 {
                let names = [format!("d{round}-{number}"), format!("b{round}-{number}")];
                cluster
                    .create_pods([pod(&names[0]), pod(&names[1]).scheduler("batch")])
                    .await?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            anyhow::Ok(())
        };
        create(cluster, 0).await?;
        cluster.bound_count(20, LIMIT).await?;

        // Pods keep coming while the file changes.
        file.write(&config(&[BATCH, DEFAULT].concat()))?;
        for round in 1..6 {
            create(cluster, round).await?;
        }
        logged(cluster, "with the profiles batch,default-scheduler").await?;
        cluster.bound_count(240, LIMIT).await?;

        file.write(&config("- schedulerName: ''\n- schedulerName: x\n"))?;
        logged(cluster, "the last one stays in use").await?;
        create(cluster, 6).await?;
        cluster.bound_count(280, LIMIT).await?;

        let replica = cluster.replicas().first_mut().context("a replica")?;
        replica.process.ensure_running()?;
        ensure!(replica.process.id() == process, "the process was started anew");
        Ok(())
    })
}

#[test]
fn pods_parked_by_a_plugin_that_the_changed_file_leaves_out_are_placed() -> anyhow::Result<()> {
    if Scheduler::under_test() != Scheduler::Plimsoll {
        return Ok(());
    }
    suite::run(async |cluster| {
        let kept = |name| node(name).cpu("2").taint("dedicated", "batch", "NoSchedule");
        cluster.create_nodes([kept("n1"), kept("n2")]).await?;
        let file = cluster.start_configured(&config(DEFAULT))?;
        let process = cluster.replicas().first().context("a replica")?.process.id();
        cluster.nodes_known_to_scheduler().await?;
        cluster
            .create_pods((0..6).map(|number| pod(&format!("p{number}")).cpu("1")))
            .await?;
        let parked = cluster.at_rest(6, LIMIT).await?;
        assert_eq!(parked.rejected_by("TaintToleration"), 6);

        let without = "  plugins:\n    multiPoint:\n      disabled:\n      - name: TaintToleration\n";
        file.write(&config(&[DEFAULT, without].concat()))?;
        cluster.bound_count(4, LIMIT).await?;
        // What is left is there for another reason.
        let parked = cluster.at_rest(2, LIMIT).await?;
        assert_eq!(parked.rejected_by("TaintToleration"), 0);
        assert_eq!(parked.rejected_by("NodeResourcesFit"), 2);
        assert_eq!(cluster.replicas().first().context("a replica")?.process.id(), process);
        Ok(())
    })
}

#[test]
fn pods_of_a_profile_that_the_changed_file_leaves_out_are_let_go_and_taken_up_when_it_is_back() -> anyhow::Result<()> {
    if Scheduler::under_test() != Scheduler::Plimsoll {
        return Ok(());
    }
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1").cpu("1")]).await?;
        let both = config(&[DEFAULT, BATCH].concat());
        let file = cluster.start_configured(&both)?;
        cluster.nodes_known_to_scheduler().await?;
        let large = |name: &str| pod(name).cpu("2");
        cluster
            .create_pods([
                large("stays"),
                large("left").scheduler("batch"),
                pod("gated").scheduler("batch").gate("example.com/later"),
            ])
            .await?;
        cluster.at_rest(3, LIMIT).await?;

        file.write(&config(DEFAULT))?;
        let parked = cluster.at_rest(1, LIMIT).await?;
        let of_batch = [("profile", "batch")];
        assert_eq!(parked.sum("scheduler_unschedulable_pods", &of_batch), 0);
        logged(cluster, "no profile takes them any more").await?;
        cluster.create_nodes([node("n2").cpu("8")]).await?;
        cluster.bound("stays").await?;
        let left = cluster.pods().get("left").await?;
        assert_eq!(left.node(), None, "it is nobody's");

        file.write(&both)?;
        assert_eq!(cluster.bound("left").await?, "n2");
        cluster.at_rest(1, LIMIT).await?;
        Ok(())
    })
}
