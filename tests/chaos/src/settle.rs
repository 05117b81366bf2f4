//! Once everything is mended, everything that fits must be placed, and the rest explained.

use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};
use plimsoll_cluster::invariants::{has_room, unexplained};
use plimsoll_cluster::{PodFacts, State};

use crate::scene::Scene;

/// For whatever must come about by itself once nothing is broken any more: generous, for a machine that does other things.
pub(crate) const LIMIT: Duration = Duration::from_secs(90);

/// For one answer of a replica.
const ANSWER: Duration = Duration::from_secs(10);

/// The scheduler name that the replicas serve.
const SERVED: &[&str] = &["default-scheduler"];

/// What is still open after this is worth a look, though nothing is broken yet: backoff alone takes ten seconds.
const SLOW: Duration = Duration::from_secs(15);

/// How everything came to rest.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// What was open after a while.
    pub(crate) slow: Vec<String>,
    /// What was open in the end.
    pub(crate) violations: Vec<String>,
}

/// Waits until every pending pod that fits is bound and every other one is explained, or for as long as that may take.
pub(crate) async fn settle(scene: &Scene) -> anyhow::Result<Settled> {
    let settled = |state: &State| open_questions(state).is_empty().then_some(());
    if scene
        .history
        .until("everything is settled", SLOW, settled)
        .await
        .is_ok()
    {
        return Ok(Settled::default());
    }
    let slow = scene.history.read(open_questions);
    let waited = scene.history.until("everything is settled", LIMIT, settled).await;
    let violations = match waited {
        Ok(()) => Vec::new(),
        Err(error) => {
            let open = scene.history.read(open_questions);
            if open.is_empty() {
                // Not the scheduler but the recorder failed, or it was settled a moment later.
                return Err(error);
            }
            open
        }
    };
    Ok(Settled { slow, violations })
}

/// What is not as it should be in the end.
fn open_questions(state: &State) -> Vec<String> {
    let mut open = Vec::new();
    for pod in state.pods.values() {
        let key = pod.key();
        if pod.metadata.deletion_timestamp.is_some() {
            open.push(format!("{key} was asked to go and is still there"));
        } else if pod.node().is_none() && !pod.finished() {
            let room = state
                .nodes
                .values()
                .find(|node| fits(pod, node, state).unwrap_or(false));
            if let Some(node) = room {
                let node = node.metadata.name.as_deref().unwrap_or_default();
                open.push(format!("{key} would fit on {node} and is not placed"));
            }
        }
    }
    let unexplained = unexplained(state, SERVED);
    open.extend(
        unexplained
            .iter()
            .map(|pod| format!("{} is pending and nothing says why", pod.key())),
    );
    open
}

/// Whether the node takes the pod, by the few rules that pods and nodes here make use of.
fn fits(pod: &Pod, node: &Node, state: &State) -> anyhow::Result<bool> {
    let spec = node.spec.as_ref().context("a node without a spec")?;
    let wanted = pod.spec.as_ref().context("a pod without a spec")?;
    let labels = node.metadata.labels.as_ref();
    let has = |(key, value): (&String, &String)| labels.and_then(|labels| labels.get(key)) == Some(value);
    let tolerates = |taint: &Taint| {
        let by = |toleration: &Toleration| {
            toleration.key.as_ref() == Some(&taint.key)
                && (toleration.operator.as_deref() == Some("Exists") || toleration.value == taint.value)
        };
        wanted.tolerations.iter().flatten().any(by)
    };
    Ok(spec.unschedulable != Some(true)
        && wanted.node_selector.iter().flatten().all(has)
        && spec.taints.iter().flatten().all(tolerates)
        && has_room(pod, node, state)?)
}

/// What audits of themselves find wrong with the replicas.
pub(crate) async fn audited(scene: &Scene) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for replica in scene.seats.iter().filter_map(|seat| seat.replica.as_ref()) {
        let group = &replica.user.group;
        // It may have been started a moment ago.
        let Ok(Ok(metrics)) = tokio::time::timeout(ANSWER, replica.metrics()).await else {
            continue;
        };
        let before = metrics.sum("plimsoll_audit_discrepancies_total", &[]);
        if before > 0 {
            found.push(format!("{group}: audits found {before} discrepancies"));
        }
        let now = tokio::time::timeout(ANSWER, replica.audit()).await;
        let report = now.with_context(|| format!("{group} does not answer an audit"))??;
        let wrong = report.filter(|report| !report.contains("nothing wrong"));
        found.extend(wrong.map(|report| format!("{group}: an audit says {report}")));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use plimsoll_cluster::Record;
    use plimsoll_cluster::fixtures::{PodFixture, node, pod};
    use serde_json::json;

    use super::*;
    use crate::churn::fixture;

    fn state(pods: impl IntoIterator<Item = Pod>, nodes: impl IntoIterator<Item = Node>) -> State {
        let mut state = State::default();
        for mut pod in pods {
            pod.metadata.namespace = Some("n".to_owned());
            pod.metadata.uid = pod.metadata.name.clone();
            pod.spec.as_mut().unwrap().scheduler_name = Some("default-scheduler".to_owned());
            state.apply(&Record::Pod(pod.key(), Box::new(pod)));
        }
        for node in nodes {
            let name = node.metadata.name.clone().unwrap();
            state.apply(&Record::Node(name, Box::new(node)));
        }
        state
    }

    fn explained(fixture: PodFixture) -> Pod {
        let mut pod = fixture.build();
        let condition = json!([{ "type": "PodScheduled", "status": "False", "message": "no room" }]);
        pod.status = serde_json::from_value(json!({ "conditions": condition })).unwrap();
        pod
    }

    #[test]
    fn a_pod_that_fits_is_an_open_question_and_one_that_does_not_needs_a_reason() {
        let small = || node("a").cpu("1").build();
        let fits = state([explained(pod("p").cpu("1"))], [small()]);
        assert_eq!(open_questions(&fits), ["n/p would fit on a and is not placed"]);
        let too_large = state([explained(pod("p").cpu("2"))], [small()]);
        assert!(open_questions(&too_large).is_empty());
        let silent = state([pod("p").cpu("2").build()], [small()]);
        assert_eq!(open_questions(&silent), ["n/p is pending and nothing says why"]);
        let full = state(
            [explained(pod("p").cpu("1")), pod("q").cpu("1").on("a").build()],
            [small()],
        );
        assert!(open_questions(&full).is_empty());
        let cordoned = state([explained(pod("p"))], [node("a").unschedulable().build()]);
        assert!(open_questions(&cordoned).is_empty());
    }

    #[test]
    fn tainted_nodes_are_for_those_that_tolerate_and_select_them() {
        let batch = || fixture(0).build();
        let stranger = state([explained(pod("p"))], [batch()]);
        assert!(open_questions(&stranger).is_empty());
        let welcome = pod("p").node_selector("pool", "batch").toleration("dedicated", "batch");
        assert_eq!(open_questions(&state([explained(welcome.clone())], [batch()])).len(), 1);
        assert!(open_questions(&state([explained(welcome)], [node("a").build()])).is_empty());
    }
}
