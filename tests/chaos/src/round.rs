//! One round: churn, faults, mending, settling, judgement.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

use crate::churn;
use crate::fault::Plan;
use crate::hand_over::{HandOver, hand_overs};
use crate::inflict;
use crate::record::RoundRecord;
use crate::scene::Scene;
use crate::settle::{self, LIMIT};

/// The new leader's own stages of a hand-over, by their label.
const STAGES: [&str; 4] = ["version_read", "caught_up", "queue_built", "first_bind"];

/// For the API servers to answer, in their logs, what they have been asked.
const LOGS: Duration = Duration::from_secs(2);

/// For the recorder to read what etcd has.
const RECORDER: Duration = Duration::from_secs(30);

/// For how long pods and nodes churn in a round, however quickly all is mended: what a fault has spoilt may show only then.
const LEAST: Duration = Duration::from_secs(4);

/// Plays a round. An error means that it could not be played; what is wrong with the scheduler is in the record.
pub(crate) async fn play(scene: &mut Scene, number: u64, plan: Plan) -> anyhow::Result<RoundRecord> {
    let begun = Instant::now();
    scene.ledger.begin_round();
    let leader = scene.led(LIMIT).await?;
    scene.churn.resume();
    tokio::time::sleep(Duration::from_millis(plan.after)).await;
    let blows = Box::pin(inflict::carry_out(scene, &plan)).await?;

    let mut violations = scene.ended_by_itself()?;
    violations.extend(bound_again(scene).await?);
    tokio::time::sleep_until(begun + LEAST).await;
    scene.churn.pause().await;
    churn::restore_nodes(&scene.client, LIMIT).await?;
    let rest = Instant::now();
    let settled = settle::settle(scene).await?;
    let settling = rest.elapsed().as_secs_f64();
    violations.extend(settled.violations);
    violations.extend(settle::audited(scene).await?);

    let etcd = scene.control_plane.etcd().client();
    scene.history.caught_up(etcd.revision().await?, RECORDER).await?;
    let records = scene.history.take_records();
    read_logs_to_the_end(scene).await?;
    let findings = scene.judge.judge(&records, &scene.ledger)?;
    violations.extend(findings.violations);
    let mut hand_overs = hand_overs(&scene.ledger, leader, &blows);
    add_stages(scene, &mut hand_overs).await;
    Ok(RoundRecord {
        round: number,
        lease: scene.lease,
        plan,
        hand_overs,
        bound: findings.bound,
        evicted: findings.evicted,
        fenced: findings.fenced,
        unattributed: findings.unattributed,
        unanswered: scene.ledger.unanswered() as u64,
        seconds: begun.elapsed().as_secs_f64(),
        settling,
        slow: settled.slow,
        violations,
        kept: None,
    })
}

/// Waits until whoever leads has bound a pod since now, when everything is mended.
async fn bound_again(scene: &mut Scene) -> anyhow::Result<Option<String>> {
    let (mended, deadline) = (Timestamp::now().as_microsecond(), Instant::now() + LIMIT);
    loop {
        scene.read_logs()?;
        let group = scene.leader().and_then(|_| scene.holder_group());
        let bound = scene.ledger.bound.iter().rev();
        let since = |bound: &crate::ledger::Bound| bound.at > mended && Some(&bound.group) == group.as_ref();
        if bound.take_while(|bound| bound.at > mended).any(since) {
            return Ok(None);
        }
        if Instant::now() >= deadline {
            let led = group.unwrap_or_else(|| "nobody".to_owned());
            return Ok(Some(format!(
                "{LIMIT:?} after everything was mended {led} leads and has bound nothing"
            )));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A line is written a moment after what it tells of; one that an API server was killed over never comes.
async fn read_logs_to_the_end(scene: &mut Scene) -> anyhow::Result<()> {
    let deadline = Instant::now() + LOGS;
    scene.read_logs()?;
    while scene.ledger.unanswered() > 0 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(100)).await;
        scene.read_logs()?;
    }
    Ok(())
}

/// What the leader says of its own taking over.
async fn add_stages(scene: &Scene, hand_overs: &mut [HandOver]) {
    let Some(last) = hand_overs.last_mut() else { return };
    let replicas = scene.seats.iter().filter_map(|seat| seat.replica.as_ref());
    let Some(leader) = replicas.into_iter().find(|replica| replica.user.group == last.group) else {
        return;
    };
    if let Ok(metrics) = leader.metrics().await {
        last.stages = STAGES
            .into_iter()
            .map(|stage| (stage, metrics.total("plimsoll_hand_over_seconds", &[("stage", stage)])))
            .filter(|(_, seconds)| *seconds > 0.0)
            .map(|(stage, seconds)| (stage.to_owned(), seconds))
            .collect();
    }
}
