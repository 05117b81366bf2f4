use std::sync::Arc;

use anyhow::{bail, ensure};
use plimsoll_engine::{Candidate, Diagnosis, Outcome, Step};
use plimsoll_framework::Nomination;
use plimsoll_model::{Delta, Moment};

use super::{PreemptionAnswer, Tried};
use crate::case::Case;
use crate::ours::{Cluster, decoded, guarded};

pub(super) fn judge(case: &Case) -> PreemptionAnswer {
    guarded(
        || try_case(case),
        |error| PreemptionAnswer {
            error: Some(error),
            ..PreemptionAnswer::default()
        },
    )
}

/// Candidates are those of a trial, all else is what a cycle does; they must be of one mind.
fn try_case(case: &Case) -> anyhow::Result<PreemptionAnswer> {
    let mut cluster = Cluster::of(case, |_| {})?;
    let pod = decoded(&case.pod)?;
    cluster.tell(Delta::PodAdded(Arc::clone(&pod)));
    let trial = cluster.engine.preemption_trial(&pod, Moment::ZERO);
    let answer = match cluster.engine.begin(&pod, Moment::ZERO, &mut Vec::new()) {
        Step::Done(Outcome::Placed(_)) => PreemptionAnswer {
            placed: true,
            ..PreemptionAnswer::default()
        },
        Step::Done(Outcome::Failed { message, .. }) => PreemptionAnswer {
            failure: Some(message),
            ..PreemptionAnswer::default()
        },
        Step::Done(Outcome::Unschedulable(diagnosis)) => {
            let message = trial.as_ref().map(|trial| &trial.diagnosis.message);
            // Without nodes there is nothing to try.
            ensure!(
                diagnosis.no_nodes || message == Some(&diagnosis.message),
                "the cycle says {:?} and the trial {message:?}",
                diagnosis.message
            );
            let candidates = trial.map(|trial| trial.candidates).unwrap_or_default();
            return Ok(answer(&candidates, diagnosis));
        }
        other => bail!("the cycle ended with {other:?}"),
    };
    ensure!(
        trial.is_none(),
        "a trial found {trial:?} where a cycle had nothing to do"
    );
    Ok(answer)
}

fn answer(candidates: &[Candidate], diagnosis: Diagnosis) -> PreemptionAnswer {
    let mut answer = PreemptionAnswer {
        fit_error: Some(diagnosis.message),
        tried: candidates.iter().map(tried).collect(),
        ..PreemptionAnswer::default()
    };
    match diagnosis.nominate {
        Nomination::Keep => {}
        Nomination::Clear => answer.nomination = Some(String::new()),
        Nomination::Set(node) => {
            answer.best = vec![node.to_string()];
            answer.nomination = Some(node.to_string());
        }
    }
    if let Some(plan) = diagnosis.preemption {
        answer.best = vec![plan.node.to_string()];
        answer.evicted = plan.victims.iter().map(|victim| victim.pod.uid.to_string()).collect();
        let cleared = plan.clear_nominations.iter();
        answer.cleared = cleared
            .map(|pod| format!("{}/{}", pod.name.namespace, pod.name.name))
            .collect();
    }
    answer
}

fn tried(candidate: &Candidate) -> (String, Tried) {
    let tried = Tried {
        victims: candidate.victims.iter().map(|pod| pod.uid.to_string()).collect(),
        violations: usize::try_from(candidate.violations).unwrap_or_default(),
        code: "Success".to_owned(),
        ..Tried::default()
    };
    (candidate.node.to_string(), tried)
}
