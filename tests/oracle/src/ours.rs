//! Our side of a case: decoded, configured and judged by the same code as in a running scheduler.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use plimsoll_config::{FeatureGates, Gate};
use plimsoll_engine::{Engine, PluginScores, Trial};
use plimsoll_framework::{Profile, Profiles, Status};
use plimsoll_model::storage::VolumeReservation;
use plimsoll_model::{
    Change, Delta, Moment, ObjectName, Pod, Seq, WorkloadKind, decode_disruption_budget, decode_namespace, decode_node,
    decode_pod, decode_workload_selector,
};
use serde_json::Value;

use crate::answer::{Answer, Score, Verdict, Volumes};
use crate::case::Case;

pub(crate) mod storage;

/// What Plimsoll makes of a case; a panic is an error like any other.
pub(crate) fn judge(case: &Case) -> Answer {
    guarded(
        || try_case(case),
        |error| Answer {
            error: Some(error),
            ..Answer::default()
        },
    )
}

fn try_case(case: &Case) -> anyhow::Result<Answer> {
    let mut cluster = Cluster::of(case, |_| {})?;
    let pod = decoded(&case.pod)?;
    cluster.tell(Delta::PodAdded(Arc::clone(&pod)));
    let trial = cluster
        .engine
        .try_out_reserving(&pod, Moment::ZERO)
        .context("no profile has the pod's scheduler name")?;
    Ok(answer(&trial))
}

/// The profiles of a configuration, put together as at the start of a scheduler.
pub(crate) fn profiles(case: &Case) -> anyhow::Result<Vec<Arc<Profile>>> {
    let gates = gates(case)?;
    let config = plimsoll_config::load(&case.config.to_string(), &gates)?;
    let share = config.percentage_of_nodes_to_score;
    Ok(Profiles::assemble(
        &config.profiles,
        share,
        &config.extenders,
        &plimsoll_plugins::registry(),
        &gates,
    )?)
}

fn gates(case: &Case) -> anyhow::Result<FeatureGates> {
    let mut gates = FeatureGates::default();
    for (name, on) in &case.feature_gates {
        let gate = Gate::by_name(name).with_context(|| format!("no gate {name}"))?;
        gates = gates.with(gate, *on);
    }
    Ok(gates)
}

/// An engine that has been told of a case's objects, all but the pod to place.
pub(crate) struct Cluster {
    pub(crate) engine: Engine,
    seq: Seq,
}

impl Cluster {
    pub(crate) fn of(case: &Case, mut adapt: impl FnMut(&mut Profile)) -> anyhow::Result<Self> {
        let mut profiles = profiles(case)?;
        // Nobody else has them yet.
        profiles.iter_mut().filter_map(Arc::get_mut).for_each(&mut adapt);
        let mut cluster = Self {
            engine: Engine::new(profiles, 0),
            seq: Seq::ZERO,
        };
        for namespace in &case.namespaces {
            let new = Some(Arc::new(decode_namespace(&bytes(namespace))?));
            cluster.tell(Delta::NamespaceChanged { old: None, new });
        }
        for (kind, objects) in [
            (WorkloadKind::Service, &case.services),
            (WorkloadKind::ReplicationController, &case.replication_controllers),
            (WorkloadKind::ReplicaSet, &case.replica_sets),
            (WorkloadKind::StatefulSet, &case.stateful_sets),
        ] {
            for object in objects {
                let new = Some(Arc::new(decode_workload_selector(kind, &bytes(object))?));
                cluster.tell(Delta::WorkloadSelectorChanged { old: None, new });
            }
        }
        for budget in &case.disruption_budgets {
            let new = Some(Arc::new(decode_disruption_budget(&bytes(budget))?));
            cluster.tell(Delta::DisruptionBudgetChanged { old: None, new });
        }
        for (kind, objects) in storage::of_case(case) {
            for object in objects {
                let new = Some(storage::decode(kind, object)?);
                cluster.tell(Delta::StorageChanged { old: None, new });
            }
        }
        for node in &case.nodes {
            cluster.tell(Delta::NodeAdded(Arc::new(decode_node(&bytes(node))?)));
        }
        for pod in &case.pods {
            cluster.tell(Delta::PodAdded(decoded(pod)?));
        }
        Ok(cluster)
    }

    pub(crate) fn tell(&mut self, delta: Delta) {
        self.seq = self.seq.next();
        let change = Change { seq: self.seq, delta };
        self.engine.apply(&change, Moment::ZERO, &mut Vec::new());
    }
}

pub(crate) fn bytes(object: &Value) -> Vec<u8> {
    object.to_string().into_bytes()
}

pub(crate) fn decoded(pod: &Value) -> anyhow::Result<Arc<Pod>> {
    Ok(Arc::new(decode_pod(&bytes(pod))?))
}

/// What a judgement comes to, with its errors and panics told in an answer of their own.
pub(crate) fn guarded<A>(judge: impl FnOnce() -> anyhow::Result<A>, refusal: impl FnOnce(String) -> A) -> A {
    catch_unwind(AssertUnwindSafe(judge))
        .unwrap_or_else(|_| Err(anyhow!("panic, see standard error")))
        .unwrap_or_else(|error| refusal(format!("{error:#}")))
}

fn answer(trial: &Trial) -> Answer {
    let mut answer = Answer {
        failure: trial.failure.clone(),
        pre_filter: trial.rejection.as_ref().map(verdict),
        restricted: trial.restriction.as_ref().map(|names| {
            let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
            names.sort_unstable();
            names
        }),
        ..Answer::default()
    };
    if trial.failure.is_some() {
        return answer;
    }
    for node in &trial.nodes {
        if let Some(status) = &node.rejection {
            answer.verdicts.insert(node.name.to_string(), verdict(status));
        }
    }
    if let Some(diagnosis) = &trial.diagnosis {
        answer.fit_error = Some(diagnosis.message.clone());
        answer.rejectors = diagnosis.plugins.iter().map(ToString::to_string).collect();
    } else {
        let totals = trial.totals().map(|(node, total)| (node.to_owned(), total));
        answer.totals = Some(totals.collect());
        let names: Vec<&str> = trial.feasible().map(|node| node.name.as_str()).collect();
        let scores = trial
            .scores
            .iter()
            .map(|scores| (scores.plugin.to_owned(), by_node(&names, scores)));
        answer.scores = Some(scores.collect());
        let nodes = trial.feasible().map(|node| node.name.to_string());
        let reserved = nodes.zip(trial.reservations.iter().map(volumes));
        answer.volumes = reserved.filter(|(_, volumes)| *volumes != Volumes::default()).collect();
    }
    answer
}

fn volumes(reserved: &Result<VolumeReservation, Status>) -> Volumes {
    let name = |claim: &ObjectName| format!("{}/{}", claim.namespace, claim.name);
    match reserved {
        Ok(reserved) => {
            let mut provisioned: Vec<String> = reserved.provisioned.iter().map(name).collect();
            provisioned.sort_unstable();
            let bound = reserved.volumes.iter();
            Volumes {
                failure: None,
                bound: bound.map(|(volume, claim)| (volume.to_string(), name(claim))).collect(),
                provisioned,
            }
        }
        Err(status) => Volumes {
            failure: Some(status.reasons.join(", ")),
            ..Volumes::default()
        },
    }
}

fn by_node(names: &[&str], scores: &PluginScores) -> BTreeMap<String, Score> {
    let columns = scores.raw.iter().zip(&scores.normalised);
    let scores = columns.map(|(raw, normalised)| Score {
        raw: *raw,
        normalised: *normalised,
        weighted: normalised * scores.weight,
    });
    names.iter().map(|name| (*name).to_owned()).zip(scores).collect()
}

fn verdict(status: &Status) -> Verdict {
    Verdict {
        code: status.code.as_str().to_owned(),
        reasons: status.reasons.clone(),
        plugin: status.plugin.to_owned(),
    }
}
