use std::sync::Mutex;

use plimsoll_framework::{
    CycleContext, CycleState, Feasible, Filter, FilterPass, Plugin, PreScore, PreScoreOutcome, ReasonCode, Reasons,
    Score, WeightedScore,
};
use plimsoll_model::columns::NodeIndex;
use proptest::prelude::*;

use super::*;

/// Notes which nodes it was to score.
#[derive(Clone, Default)]
struct Noting(Arc<Mutex<Vec<String>>>);

impl Plugin for Noting {
    fn name(&self) -> &'static str {
        "Noting"
    }
}

impl Score for Noting {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        _: &CycleState,
        feasible: &[NodeIndex],
        _: &mut [i64],
    ) -> Result<(), String> {
        let names = feasible.iter().map(|node| cycle.columns.name(*node).to_owned());
        *self.0.lock().unwrap() = names.collect();
        Ok(())
    }
}

/// Fails whenever it is asked.
struct Sour;

impl Plugin for Sour {
    fn name(&self) -> &'static str {
        "Sour"
    }
}

impl PreScore for Sour {
    fn pre_score(&self, _: CycleContext<'_>, _: &mut CycleState, _: &Feasible<'_>) -> PreScoreOutcome {
        PreScoreOutcome::Error("nobody is to be scored".to_owned())
    }
}

/// A cluster whose profile looks for this share of the nodes, and what was scored in its last cycle.
fn sampling(percentage: Option<i32>) -> (Cluster, Noting) {
    let noting = Noting::default();
    let score = noting.clone();
    let profile = ProfileBuilder::new().with(|profile| {
        profile.percentage_of_nodes_to_score = percentage;
        profile.score = vec![WeightedScore {
            plugin: Arc::new(score),
            weight: 1,
        }];
    });
    (Cluster::new(profile.build()), noting)
}

/// kube-scheduler with one worker, over nodes in order: those it finds, and how many it has looked at.
fn find(fits: &[bool], start: usize, wanted: usize) -> (Vec<usize>, usize) {
    let mut found = Vec::new();
    for step in 0..fits.len() {
        let node = (start + step) % fits.len();
        if !fits[node] {
            continue;
        }
        if found.len() == wanted {
            return (found, step);
        }
        found.push(node);
    }
    (found, fits.len())
}

fn name(number: usize) -> String {
    format!("n{number:04}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_nodes_found_are_those_of_kube_scheduler_with_one_worker(
        fits in proptest::collection::vec(proptest::bool::weighted(0.8), 90..400),
        percentage in 0_i32..=100,
    ) {
        let (mut cluster, noting) = sampling(Some(percentage));
        for (number, fits) in fits.iter().enumerate() {
            cluster.add_node(&name(number), if *fits { 1_000_000 } else { 0 });
        }
        let wanted = crate::sampling::nodes_to_find(percentage, fits.len());
        let mut start = 0;
        for number in 0..6 {
            let (found, examined) = find(&fits, start, wanted);
            let placement = cluster.place(&pod(&format!("p{number}"), 1));
            prop_assert_eq!(placement.feasible_nodes, found.len());
            prop_assert_eq!(placement.evaluated_nodes, examined);
            let mut scored: Vec<String> = found.into_iter().map(name).collect();
            scored.sort_unstable();
            prop_assert_eq!(&*noting.0.lock().unwrap(), &scored);
            start = (start + examined) % fits.len();
        }
    }
}

#[test]
fn without_a_share_all_nodes_are_scored_however_many() {
    let (mut cluster, noting) = sampling(None);
    for number in 0..300 {
        cluster.add_node(&name(number), 1000);
    }
    let placement = cluster.place(&pod("a", 1));
    assert_eq!((placement.evaluated_nodes, placement.feasible_nodes), (300, 300));
    assert_eq!(noting.0.lock().unwrap().len(), 300);
}

#[test]
fn without_scores_the_first_node_that_fits_will_do() {
    let unscored = |percentage| {
        ProfileBuilder::new().with(|profile| {
            profile.percentage_of_nodes_to_score = percentage;
            profile.score.clear();
            profile.pre_score.push(Arc::new(Sour));
        })
    };
    let mut cluster = Cluster::new(unscored(Some(50)).build());
    for (number, cpu) in [0, 1000, 1000, 0, 1000].into_iter().enumerate() {
        cluster.add_node(&name(number), cpu);
    }
    // Each search goes on where the last one found that there was more than it needed.
    let nodes = ["a", "b", "c", "d"].map(|name| {
        let placement = cluster.place(&pod(name, 1));
        (placement.node.to_string(), placement.evaluated_nodes)
    });
    let expected = [(1, 2), (2, 2), (4, 2), (1, 1)].map(|(node, evaluated)| (name(node), evaluated));
    assert_eq!(nodes, expected);
    let mut cluster = Cluster::new(unscored(None).build());
    cluster.add_node("n1", 1000);
    cluster.add_node("n2", 1000);
    assert_eq!(cluster.place(&pod("a", 1)).feasible_nodes, 2);
}

#[test]
fn a_nominated_node_that_will_not_do_counts_as_looked_at() {
    let (mut cluster, _) = sampling(Some(1));
    for number in 0..150 {
        cluster.add_node(&name(number), if number == 149 { 0 } else { 1000 });
    }
    let placement = cluster.place(&nominated("a", 1, 0, &name(149)));
    assert_eq!((placement.evaluated_nodes, placement.feasible_nodes), (101, 100));
    // The next search begins at 101: 48 nodes to the end that fit, one that does not, and 52 more.
    let placement = cluster.place(&pod("b", 1));
    assert_eq!((placement.evaluated_nodes, placement.feasible_nodes), (101, 100));
}

#[test]
fn what_an_effect_filter_turns_down_is_told_of_the_nodes_looked_at_only() {
    let profile = ProfileBuilder::new()
        .oracle()
        .with(|profile| profile.percentage_of_nodes_to_score = Some(1));
    let mut cluster = Cluster::new(profile.build());
    let names: Vec<&'static str> = (0..150).map(|number| &*name(number).leak()).collect();
    for name in &names {
        cluster.add_node(name, 1000);
    }
    let a = pod("a", 1);
    cluster.add(&a);
    let Step::Needs(effect) = cluster.begin(&a) else {
        panic!("asked nobody")
    };
    assert_eq!(effect.request.downcast_ref::<usize>(), Some(&100));
    let Step::Done(Outcome::Unschedulable(diagnosis)) = cluster.resume(Ok(Box::new(names))) else {
        panic!("placed")
    };
    assert_eq!(diagnosis.message, "0/150 nodes are available: 100 the oracle said no.");
}

/// Has nothing to prepare, so that its score is not wanted.
struct Idle(Noting);

impl Plugin for Idle {
    fn name(&self) -> &'static str {
        self.0.name()
    }
}

impl PreScore for Idle {
    fn pre_score(&self, _: CycleContext<'_>, _: &mut CycleState, _: &Feasible<'_>) -> PreScoreOutcome {
        PreScoreOutcome::Skip
    }
}

#[test]
fn a_pre_score_that_skips_switches_its_score_off() {
    let noting = Noting::default();
    let profile = ProfileBuilder::new().with(|profile| {
        profile.pre_score.push(Arc::new(Idle(noting.clone())));
        profile.score.push(WeightedScore {
            plugin: Arc::new(noting.clone()),
            weight: 1,
        });
    });
    let mut cluster = Cluster::new(profile.build());
    cluster.add_node("n1", 1000);
    cluster.add_node("n2", 1000);
    assert_eq!(cluster.place(&pod("a", 1)).node, "n2");
    assert!(noting.0.lock().unwrap().is_empty());
}

/// Fails at the last of 150 nodes for the pod `bad`.
struct Failing;

impl Plugin for Failing {
    fn name(&self) -> &'static str {
        "Failing"
    }
}

impl Filter for Failing {
    fn filter(&self, cycle: CycleContext<'_>, _: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        let last = cycle.columns.index_of(&name(149));
        let meets_it = last.is_some_and(|last| pass.feasible().contains(last));
        if meets_it && cycle.pod.name.name == "bad" {
            return Err("no idea".to_owned());
        }
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> Reasons {
        Reasons::new()
    }
}

#[test]
fn a_filter_that_fails_beyond_the_share_fails_the_attempt_and_the_next_search_begins_where_that_one_would_have() {
    let noting = Noting::default();
    let profile = ProfileBuilder::new().with(|profile| {
        profile.percentage_of_nodes_to_score = Some(1);
        profile.filter.push(Arc::new(Failing));
        profile.score = vec![WeightedScore {
            plugin: Arc::new(noting.clone()),
            weight: 1,
        }];
    });
    let mut cluster = Cluster::new(profile.build());
    for number in 0..150 {
        cluster.add_node(&name(number), 1000);
    }
    let Outcome::Failed { message, .. } = cluster.try_new(&pod("bad", 1)) else {
        panic!("placed")
    };
    assert_eq!(message, r#"running "Failing" filter plugin: no idea"#);
    cluster.place(&pod("a", 1));
    let first: Vec<String> = (0..100).map(name).collect();
    assert_eq!(*noting.0.lock().unwrap(), first);
}
