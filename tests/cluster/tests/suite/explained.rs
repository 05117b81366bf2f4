//! `plimsoll explain` and `/debug/explain`: the built program asked of schedulers on a real control plane, by an
//! administrator with a kubeconfig.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, Election, PodFacts, Scheduler, State, suite};
use plimsoll_controlplane::{User, WorkDir};
use serde_json::Value;

use crate::failover::until_led;

const LIMIT: Duration = Duration::from_secs(30);

/// Explaining is Plimsoll's own.
fn without_plimsoll() -> bool {
    let other = Scheduler::under_test() != Scheduler::Plimsoll;
    if other {
        suite::say("*** kube-scheduler explains nothing: skipped ***");
    }
    other
}

/// What `plimsoll explain pod` says with these arguments.
async fn explain(cluster: &mut Cluster<'_>, arguments: &[&str]) -> anyhow::Result<Output> {
    let program = Scheduler::Plimsoll.program(cluster.control_plane())?;
    explain_through(&program, cluster, arguments).await
}

/// The same, called by the name by which kubectl finds it.
async fn as_kubectl_plugin(cluster: &mut Cluster<'_>, arguments: &[&str]) -> anyhow::Result<Output> {
    let folder = WorkDir::new("kubectl-plugin")?;
    let link = folder.path().join("kubectl-plimsoll");
    let program = std::fs::canonicalize(Scheduler::Plimsoll.program(cluster.control_plane())?)?;
    std::os::unix::fs::symlink(program, &link)?;
    explain_through(&link, cluster, arguments).await
}

async fn explain_through(program: &Path, cluster: &mut Cluster<'_>, arguments: &[&str]) -> anyhow::Result<Output> {
    let control_plane = cluster.control_plane();
    let kubeconfig = control_plane.server().kubeconfig(&User::admin())?;
    let mut command = tokio::process::Command::new(program);
    command.args(["explain", "pod", "--kubeconfig"]).arg(kubeconfig);
    command.args(arguments).kill_on_drop(true);
    tokio::time::timeout(LIMIT, command.output())
        .await
        .context("plimsoll explain does not end")?
        .context("plimsoll explain does not start")
}

/// The same as JSON, where it is explained.
async fn explained(cluster: &mut Cluster<'_>, name: &str, more: &[&str]) -> anyhow::Result<Value> {
    let pod = format!("{}/{name}", cluster.namespace());
    let arguments: Vec<&str> = [&pod, "-o", "json"].into_iter().chain(more.iter().copied()).collect();
    let output = explain(cluster, &arguments).await?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn address(cluster: &mut Cluster<'_>, replica: usize) -> String {
    format!("https://127.0.0.1:{}", cluster.replicas()[replica].port)
}

#[test]
fn a_pending_a_preempting_and_a_bound_pod_are_explained() -> anyhow::Result<()> {
    if without_plimsoll() {
        return Ok(());
    }
    suite::run(async |cluster| {
        cluster.create_priorities([1, 100]).await?;
        cluster.create_nodes([node("n1").cpu("4"), node("n2").cpu("2")]).await?;
        cluster
            .create_running_pods([
                pod("low").priority(1).cpu("3").on("n1"),
                pod("beside").priority(100).cpu("1").on("n2"),
            ])
            .await?;
        cluster.start_scheduler()?;
        let scheduler = address(cluster, 0);
        let through = ["--scheduler", scheduler.as_str(), "--insecure-skip-tls-verify"];

        cluster.create_pods([pod("large").priority(1).cpu("3")]).await?;
        cluster
            .pending_because("large", "0/2 nodes are available: 2 Insufficient cpu.")
            .await?;
        let large = explained(cluster, "large", &through).await?;
        assert_eq!(large["state"], "Unschedulable", "{large:#}");
        assert_eq!(large["queue"]["place"], "unschedulable");
        assert_eq!(large["attempts"][0]["rejections"][0]["plugin"], "NodeResourcesFit");
        assert_eq!(large["attempts"][0]["rejections"][0]["nodes"], 2);
        let nearest = &large["wouldHelp"]["nearest"];
        assert_eq!(nearest[0]["node"], "n1");
        assert_eq!(nearest[0]["lacks"][0]["what"], "cpu: needs 3, free 1");
        assert_eq!(nearest[1]["lacks"][0]["what"], "cpu: needs 3, the whole node has 2");

        // There are no kubelets: the victim stays until the test ends it.
        cluster.create_pods([pod("preemptor").priority(100).cpu("3")]).await?;
        let nominated = |state: &State| state.pod("preemptor")?.nominated().map(str::to_owned);
        let on = cluster
            .history()
            .until("preemptor is nominated", LIMIT, nominated)
            .await?;
        assert_eq!(on, "n1");
        let going = |state: &State| state.pod("low")?.metadata.deletion_timestamp.as_ref().map(drop);
        cluster.history().until("low is asked to go", LIMIT, going).await?;
        let preemptor = explained(cluster, "preemptor", &through).await?;
        assert_eq!(preemptor["nominatedNode"], "n1", "{preemptor:#}");
        let waits = preemptor["waitsFor"].as_array().context("waits for nobody")?;
        let victims = waits.iter().find(|wait| wait["kind"] == "Victims");
        let victims = victims.with_context(|| format!("waits for no victims: {preemptor:#}"))?;
        let low = format!("{}/low is going", cluster.namespace());
        assert_eq!(victims["pods"], serde_json::json!([low]));
        cluster.delete_pod("low").await?;
        assert_eq!(cluster.bound("preemptor").await?, "n1");

        let bound = explained(cluster, "beside", &through).await?;
        assert_eq!((&bound["state"], &bound["node"]), (&"Bound".into(), &"n2".into()));
        cluster.delete_pod("large").await
    })
}

#[test]
fn the_table_is_readable_and_an_unknown_pod_has_an_exit_code_of_its_own() -> anyhow::Result<()> {
    if without_plimsoll() {
        return Ok(());
    }
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1").cpu("1")]).await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("large").cpu("2")]).await?;
        cluster
            .pending_because("large", "0/1 nodes are available: 1 Insufficient cpu.")
            .await?;
        let scheduler = address(cluster, 0);
        let namespace = cluster.namespace().to_owned();
        let through = [
            "-n",
            &namespace,
            "--scheduler",
            &scheduler,
            "--insecure-skip-tls-verify",
        ];
        let ask = |pod| std::iter::once(pod).chain(through).collect::<Vec<_>>();
        let output = explain(cluster, &ask("large")).await?;
        let table = String::from_utf8(output.stdout)?;
        suite::say(&table);
        for expected in [
            "State:        Unschedulable: no node would do",
            "What would help: the nearest of 1 nodes",
            "n1    NodeResourcesFit  cpu: needs 2, the whole node has 1",
            "NodeResourcesFit      1  n1           Insufficient cpu",
        ] {
            ensure!(table.contains(expected), "{expected:?} is not in\n{table}");
        }
        // As kubectl calls its plugins.
        let plugin = as_kubectl_plugin(cluster, &ask("large")).await?;
        assert_eq!(plugin.status.code(), Some(0));
        let told = String::from_utf8(plugin.stdout)?;
        let first = |text: &str| text.lines().next().map(str::to_owned);
        assert_eq!(first(&told), first(&table));
        let output = explain(cluster, &ask("nobody")).await?;
        assert_eq!(output.status.code(), Some(1));
        // The certificate is the scheduler's own work, and is looked at unless one says otherwise.
        let wary = ["large", "-n", namespace.as_str(), "--scheduler", scheduler.as_str()];
        let output = explain(cluster, &wary).await?;
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr)?;
        ensure!(said.contains("--insecure-skip-tls-verify"), "{said}");
        cluster.delete_pod("large").await
    })
}

#[test]
fn a_standby_sends_on_to_the_leader_whose_address_the_lease_tells() -> anyhow::Result<()> {
    if without_plimsoll() {
        return Ok(());
    }
    suite::run(async |cluster| {
        cluster.create_nodes([node("n1").cpu("1")]).await?;
        let leader = cluster.start(Scheduler::Plimsoll, Election::Quick, &[])?;
        until_led(cluster, 1).await?;
        let standby = cluster.start(Scheduler::Plimsoll, Election::Quick, &[])?;
        cluster.create_pods([pod("large").cpu("2")]).await?;
        cluster
            .pending_because("large", "0/1 nodes are available: 1 Insufficient cpu.")
            .await?;
        let (leader, standby) = (address(cluster, leader), address(cluster, standby));
        let leases: Api<Lease> = Api::namespaced(cluster.client().clone(), "kube-system");
        let lease = leases.get("kube-scheduler").await?;
        let annotations = lease.metadata.annotations.unwrap_or_default();
        assert_eq!(annotations.get("plimsoll.dev/leader-address"), Some(&leader));
        assert_eq!(
            annotations.get("plimsoll.dev/leader-address-of"),
            lease.spec.and_then(|spec| spec.holder_identity).as_ref()
        );

        // From the lease.
        let large = explained(cluster, "large", &["--insecure-skip-tls-verify"]).await?;
        assert_eq!(large["state"], "Unschedulable");
        // From a standby, once it has started and seen the lease.
        let pod = format!("{}/large", cluster.namespace());
        let arguments = [
            &pod,
            "--scheduler",
            &standby,
            "--insecure-skip-tls-verify",
            "-o",
            "json",
        ];
        let deadline = tokio::time::Instant::now() + LIMIT;
        let output = loop {
            let output = explain(cluster, &arguments).await?;
            if output.status.success() || tokio::time::Instant::now() >= deadline {
                break output;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        };
        let said = String::from_utf8(output.stderr)?;
        ensure!(output.status.success(), "{said}");
        assert_eq!(
            said.trim(),
            format!("{standby} does not lead; asking the leader at {leader}")
        );
        assert_eq!(
            serde_json::from_slice::<Value>(&output.stdout)?["state"],
            "Unschedulable"
        );
        cluster.delete_pod("large").await
    })
}
