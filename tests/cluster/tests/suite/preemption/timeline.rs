//! One victim, one preemptor, step by step.

use anyhow::Context;
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, PodFacts, Record, Scheduler, suite};
use plimsoll_controlplane::PodWrite;

use super::{asked_to_go, names, nominated, removal, removed};

/// The `preemptor` needs all of `n1`, where the `victim` runs. There are no kubelets.
async fn stage(cluster: &mut Cluster<'_>) -> anyhow::Result<()> {
    cluster.create_priorities([1, 100]).await?;
    cluster.create_nodes([node("n1")]).await?;
    cluster
        .create_running_pods([pod("victim").priority(1).cpu("4").on("n1")])
        .await?;
    cluster.start_scheduler()?;
    cluster.create_pods([pod("preemptor").priority(100).cpu("4")]).await
}

#[test]
fn the_preemptor_is_told_that_nothing_fits_and_is_promised_the_node_in_one_patch() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        stage(cluster).await?;
        assert_eq!(nominated(cluster, "preemptor").await?, "n1");
        let first = cluster.history().read_records(|records| {
            records.iter().find_map(|(_, record)| match record {
                Record::Pod(_, pod) if pod.why_pending().is_some() => Some(pod.as_ref().clone()),
                _ => None,
            })
        });
        let first = first.context("nobody was told why it is pending")?;
        assert_eq!(first.metadata.name.as_deref(), Some("preemptor"));
        assert_eq!(first.nominated(), Some("n1"), "condition and nomination come together");
        // Nothing of preemption in it: it has found what it looked for.
        let why = "0/1 nodes are available: 1 Insufficient cpu.";
        assert_eq!(first.why_pending(), Some(why));
        let condition = first.scheduled().context("no condition")?;
        assert_eq!(condition.reason.as_deref(), Some("Unschedulable"));
        let event = cluster.event("preemptor", "FailedScheduling").await?;
        assert_eq!(event.note.as_deref(), Some(why));
        assert_eq!(event.type_.as_deref(), Some("Warning"));
        Ok(())
    })
}

#[test]
fn the_victim_is_marked_before_it_is_deleted_and_an_event_says_for_whom() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        stage(cluster).await?;
        asked_to_go(cluster, "victim").await?;
        let way = removal(cluster, "victim").context("it goes")?;
        assert!(way.marked.is_some() && way.marked < way.asked_to_go, "{way:?}");

        let victim = cluster.pods().get("victim").await?;
        let conditions = victim.status.and_then(|status| status.conditions).unwrap_or_default();
        let condition = conditions
            .iter()
            .find(|condition| condition.type_ == "DisruptionTarget");
        let condition = condition.context("it is marked")?;
        assert_eq!(condition.status, "True");
        assert_eq!(condition.reason.as_deref(), Some("PreemptionByScheduler"));
        assert_eq!(
            condition.message.as_deref(),
            Some("default-scheduler: preempting to accommodate a higher priority pod")
        );
        let ready = conditions.iter().any(|condition| condition.type_ == "Ready");
        assert!(ready, "its other conditions stay");
        assert_eq!(
            victim.metadata.deletion_grace_period_seconds,
            Some(30),
            "its own grace period"
        );

        let event = cluster.event("victim", "Preempted").await?;
        let preemptor = cluster.pods().get("preemptor").await?;
        let note = format!("Preempted by pod {} on node n1", preemptor.uid());
        assert_eq!(event.note, Some(note));
        assert_eq!(event.type_.as_deref(), Some("Normal"));
        assert_eq!(event.action.as_deref(), Some("Preempting"));
        assert_eq!(event.reporting_controller.as_deref(), Some("default-scheduler"));
        // What kube-scheduler 1.36 hands over as the related object is of a type of its own, which no reference can be made
        // of: the event goes without.
        let related = event.related.unwrap_or_default();
        let ours = Scheduler::under_test() == Scheduler::Plimsoll;
        assert_eq!(related.name.as_deref(), ours.then_some("preemptor"));
        assert_eq!(related.uid.as_deref(), ours.then_some(preemptor.uid()));
        Ok(())
    })
}

#[test]
fn the_preemptor_waits_until_its_victim_is_gone_and_is_bound_where_it_was_promised() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        stage(cluster).await?;
        assert_eq!(nominated(cluster, "preemptor").await?, "n1");
        asked_to_go(cluster, "victim").await?;
        cluster.event("victim", "Preempted").await?;
        let counted = cluster.pod_changes_heard_by_scheduler().await?;
        assert_eq!(counted.sum("scheduler_preemption_attempts_total", &[]), 1);
        assert_eq!(counted.sum("scheduler_preemption_victims_count", &[]), 1);
        assert_eq!(counted.sum("scheduler_preemption_victims_sum", &[]), 1);
        assert_eq!(
            cluster
                .history()
                .read(|state| state.pod("preemptor")?.node().map(str::to_owned)),
            None
        );

        cluster.delete_pod("victim").await?;
        assert_eq!(cluster.bound("preemptor").await?, "n1");
        let attempts = cluster.metrics().await?.sum("scheduler_preemption_attempts_total", &[]);
        assert_eq!(attempts, 1, "it came back when there was room, and not before");
        assert_eq!(removed(cluster), names(["victim"]));
        Ok(())
    })
}

#[test]
fn a_deletion_means_the_pod_with_the_victims_uid_and_no_other() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        // kube-scheduler deletes whatever has the name by then.
        if Scheduler::under_test() != Scheduler::Plimsoll {
            return Ok(());
        }
        stage(cluster).await?;
        asked_to_go(cluster, "victim").await?;
        cluster.event("victim", "Preempted").await?;
        let victim = cluster.pods().get("victim").await?;
        let requests = cluster.pod_requests()?;
        let deletions: Vec<_> = requests
            .iter()
            .filter(|request| request.write == PodWrite::Delete)
            .map(|request| (request.pod.as_str(), request.uid.as_str(), request.code))
            .collect();
        assert_eq!(deletions, [("victim", victim.uid(), 200)]);
        Ok(())
    })
}
