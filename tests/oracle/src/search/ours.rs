use std::sync::{Arc, Mutex, PoisonError};

use anyhow::bail;
use plimsoll_engine::{Outcome, Placement, Step};
use plimsoll_framework::{CycleContext, CycleState, Plugin, Profile, Score, WeightedScore};
use plimsoll_model::columns::NodeIndex;
use plimsoll_model::{Delta, Moment};

use super::{Search, SearchAnswer, SearchCase};
use crate::ours::{Cluster, decoded, guarded};

pub(super) fn judge(case: &SearchCase) -> SearchAnswer {
    guarded(
        || try_case(case),
        |error| SearchAnswer {
            error: Some(error),
            ..SearchAnswer::default()
        },
    )
}

fn try_case(case: &SearchCase) -> anyhow::Result<SearchAnswer> {
    let seen = Witness::default();
    let mut cluster = Cluster::of(&case.cluster, |profile| {
        seen.watch(profile);
        // A search is over before they are asked.
        profile.post_filter.clear();
    })?;
    let mut searches = Vec::new();
    for pod in &case.pods {
        searches.push(search(&mut cluster, decoded(pod)?, &seen)?);
    }
    Ok(SearchAnswer {
        error: None,
        searches: Some(searches),
    })
}

/// Places a pod and takes it away again.
fn search(cluster: &mut Cluster, pod: Arc<plimsoll_model::Pod>, seen: &Witness) -> anyhow::Result<Search> {
    cluster.tell(Delta::PodAdded(Arc::clone(&pod)));
    let step = cluster.engine.begin(&pod, Moment::ZERO, &mut Vec::new());
    let search = match step {
        Step::Done(Outcome::Placed(placement)) => placed(&placement, seen),
        Step::Done(Outcome::Unschedulable(diagnosis)) => Search {
            fit_error: Some(diagnosis.message),
            ..nothing_found()
        },
        Step::Done(Outcome::Failed { message, .. }) => Search {
            failure: Some(message),
            ..nothing_found()
        },
        other => bail!("the cycle ended with {other:?}"),
    };
    cluster.tell(Delta::PodDeleted(pod));
    Ok(search)
}

fn nothing_found() -> Search {
    Search {
        feasible: Some(Vec::new()),
        best: Some(Vec::new()),
        ..Search::default()
    }
}

fn placed(placement: &Placement, seen: &Witness) -> Search {
    let chosen = vec![placement.node.to_string()];
    let mut feasible = if placement.feasible_nodes == 1 {
        chosen.clone()
    } else {
        seen.scored()
    };
    feasible.sort_unstable();
    Search {
        evaluated: placement.evaluated_nodes,
        feasible: Some(feasible),
        best: Some(chosen),
        ..Search::default()
    }
}

/// Notes which nodes are scored, and finds them all alike.
#[derive(Clone, Default)]
struct Witness(Arc<Mutex<Vec<String>>>);

impl Witness {
    /// A profile without scores looks for one node: it stays so.
    fn watch(&self, profile: &mut Profile) {
        if !profile.score.is_empty() {
            profile.score.push(WeightedScore {
                plugin: Arc::new(self.clone()),
                weight: 1,
            });
        }
    }

    fn scored(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Plugin for Witness {
    fn name(&self) -> &'static str {
        "Witness"
    }
}

impl Score for Witness {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        _: &CycleState,
        feasible: &[NodeIndex],
        _: &mut [i64],
    ) -> Result<(), String> {
        let names = feasible.iter().map(|node| cycle.columns.name(*node).to_owned());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = names.collect();
        Ok(())
    }
}
