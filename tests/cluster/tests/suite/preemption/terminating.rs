//! Victims that take their time, and what is promised meanwhile. There are no kubelets: a victim ends when the test says so.

use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, PodFacts, State, suite};

use super::{LIMIT, asked_to_go, names, nominated, not_nominated, preemption_says, removed};

fn not_bound(cluster: &Cluster<'_>, name: &str) {
    let bound = cluster
        .history()
        .read(|state| state.pod(name)?.node().map(str::to_owned));
    assert_eq!(bound, None, "{name}");
}

#[test]
fn while_its_victim_is_terminating_a_preemptor_evicts_nobody_else() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 2, 100]).await?;
        cluster.create_nodes([node("n1"), node("n2")]).await?;
        cluster
            .create_running_pods([
                pod("first").priority(1).cpu("4").on("n1"),
                pod("second").priority(2).cpu("3").on("n2"),
                pod("small").priority(100).cpu("1").on("n2"),
            ])
            .await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("preemptor").priority(100).cpu("4")]).await?;
        assert_eq!(nominated(cluster, "preemptor").await?, "n1");
        asked_to_go(cluster, "first").await?;
        // Room that does not suffice, but from now on the other node could be emptied too.
        cluster.delete_pod("small").await?;
        preemption_says(
            cluster,
            "preemptor",
            "not eligible due to a terminating pod on the nominated node.",
        )
        .await?;
        assert_eq!(nominated(cluster, "preemptor").await?, "n1", "the promise stands");
        cluster.delete_pod("first").await?;
        assert_eq!(cluster.bound("preemptor").await?, "n1");
        assert_eq!(removed(cluster), names(["first", "small"]));
        Ok(())
    })
}

#[test]
fn a_victim_that_is_terminating_already_costs_no_call_and_no_event() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 100]).await?;
        cluster.create_nodes([node("n1")]).await?;
        cluster
            .create_running_pods([pod("going").priority(1).cpu("4").on("n1")])
            .await?;
        cluster.ask_to_go("going").await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("preemptor").priority(100).cpu("4")]).await?;
        assert_eq!(nominated(cluster, "preemptor").await?, "n1");
        cluster
            .pending_because("preemptor", "0/1 nodes are available: 1 Insufficient cpu.")
            .await?;
        cluster.pod_changes_heard_by_scheduler().await?;
        cluster.delete_pod("going").await?;
        assert_eq!(cluster.bound("preemptor").await?, "n1");
        let asked: Vec<_> = cluster
            .pod_requests()?
            .into_iter()
            .filter(|request| request.pod == "going")
            .collect();
        assert!(asked.is_empty(), "{asked:?}");
        let events = cluster.events("going").await?;
        assert!(events.is_empty(), "{events:?}");
        Ok(())
    })
}

#[test]
fn of_two_victims_only_the_one_that_does_not_go_yet_is_deleted() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 100]).await?;
        cluster.create_nodes([node("n1")]).await?;
        let low = |name: &str| pod(name).priority(1).cpu("2").on("n1");
        cluster.create_running_pods([low("going"), low("staying")]).await?;
        cluster.ask_to_go("going").await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("preemptor").priority(100).cpu("4")]).await?;
        asked_to_go(cluster, "staying").await?;
        cluster.event("staying", "Preempted").await?;
        for name in ["going", "staying"] {
            cluster.delete_pod(name).await?;
        }
        assert_eq!(cluster.bound("preemptor").await?, "n1");
        assert!(cluster.pod_requests()?.iter().all(|request| request.pod != "going"));
        assert!(cluster.events("going").await?.is_empty());
        Ok(())
    })
}

#[test]
fn room_promised_to_a_preemptor_is_closed_to_lower_and_equal_priorities_and_open_to_higher_ones() -> anyhow::Result<()>
{
    suite::run(async |cluster| {
        cluster.create_priorities([1, 10, 100, 1000]).await?;
        // One CPU is free all the time; the preemptor needs that too.
        cluster.create_nodes([node("n1").cpu("5")]).await?;
        cluster
            .create_running_pods([pod("victim").priority(1).cpu("4").on("n1")])
            .await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("preemptor").priority(100).cpu("5")]).await?;
        assert_eq!(nominated(cluster, "preemptor").await?, "n1");
        asked_to_go(cluster, "victim").await?;
        let small = |name: &str, priority| pod(name).priority(priority).cpu("1");
        cluster.create_pods([small("lower", 10), small("equal", 100)]).await?;
        for name in ["lower", "equal"] {
            cluster
                .pending_because(name, "0/1 nodes are available: 1 Insufficient cpu.")
                .await?;
        }
        cluster.create_pods([small("higher", 1000)]).await?;
        assert_eq!(cluster.bound("higher").await?, "n1");
        not_bound(cluster, "lower");
        not_bound(cluster, "equal");

        // The higher one has taken what was promised: the preemptor looks again and finds nobody to evict.
        cluster.delete_pod("victim").await?;
        not_nominated(cluster, "preemptor").await?;
        // Those that it kept out get the room in its place.
        cluster.bound("equal").await?;
        cluster.bound("lower").await?;
        not_bound(cluster, "preemptor");
        assert_eq!(removed(cluster), names(["victim"]));
        Ok(())
    })
}

#[test]
fn a_higher_preemptor_on_the_same_node_ends_the_promise_to_a_lower_one() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 2, 100, 1000]).await?;
        cluster.create_nodes([node("n1")]).await?;
        cluster
            .create_running_pods([
                pod("first").priority(1).cpu("2").on("n1"),
                pod("second").priority(2).cpu("2").on("n1"),
            ])
            .await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("lower").priority(100).cpu("2")]).await?;
        assert_eq!(nominated(cluster, "lower").await?, "n1");
        asked_to_go(cluster, "first").await?;
        assert_eq!(removed(cluster), names(["first"]));

        cluster.create_pods([pod("higher").priority(1000).cpu("4")]).await?;
        assert_eq!(nominated(cluster, "higher").await?, "n1");
        asked_to_go(cluster, "second").await?;
        not_nominated(cluster, "lower").await?;
        for name in ["first", "second"] {
            cluster.delete_pod(name).await?;
        }
        assert_eq!(cluster.bound("higher").await?, "n1");
        preemption_says(
            cluster,
            "lower",
            "0/1 nodes are available: 1 No preemption victims found for incoming pod.",
        )
        .await
    })
}

#[test]
fn when_a_preemptor_is_deleted_its_room_goes_to_whoever_waits() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_priorities([1, 10, 100]).await?;
        cluster.create_nodes([node("n1").cpu("5")]).await?;
        cluster
            .create_running_pods([pod("victim").priority(1).cpu("4").on("n1")])
            .await?;
        cluster.start_scheduler()?;
        cluster.create_pods([pod("preemptor").priority(100).cpu("5")]).await?;
        assert_eq!(nominated(cluster, "preemptor").await?, "n1");
        asked_to_go(cluster, "victim").await?;
        cluster.create_pods([pod("waiting").priority(10).cpu("1")]).await?;
        cluster
            .pending_because("waiting", "0/1 nodes are available: 1 Insufficient cpu.")
            .await?;
        // The victim is still there; what was free before is free again.
        cluster.delete_pod("preemptor").await?;
        assert_eq!(cluster.bound("waiting").await?, "n1");
        let there = |state: &State| state.pod("victim").map(drop);
        cluster.history().until("the victim is there", LIMIT, there).await
    })
}
