//! `TaintToleration`: nodes keep away pods that do not tolerate their taints, softly or not.
//!
//! Nodes with the same list of taints share a class, and each class is judged once.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_config::Gate;
use plimsoll_framework::{
    Action, ClusterEvent, Construction, CycleContext, CycleState, EnqueueExtensions, EventObjects, EventResource,
    Extensions, Feasible, Filter, FilterPass, MarkBasis, Normalize, ObjectChange, Plugin, PodsSeen, PreScore,
    PreScoreOutcome, QueueingHint, ReasonCode, Resolvability, Score,
};
use plimsoll_model::columns::{NodeClass, NodeIndex};
use plimsoll_model::{Effect, Node, Pod, Taint, Toleration};
use smallvec::{SmallVec, smallvec};

use crate::marked_by_score::marked_by_score;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "TaintToleration";

/// What users read.
pub const REASON: &str = "node(s) had untolerated taint(s)";

/// Rejects nodes with hard taints and prefers nodes with fewer soft ones, as far as the pod does not tolerate them.
#[derive(Debug, Clone, Copy)]
pub struct TaintToleration {
    /// Whether `Lt` and `Gt` tolerate anything.
    compares: bool,
}

/// Says that the pre-score has run: as in kube-scheduler, a profile without it cannot have the score.
struct PreScored;

/// Makes the plugin.
pub fn construct(with: &Construction<'_>) -> Result<Extensions, String> {
    let plugin = Arc::new(TaintToleration {
        compares: with.gates.enabled(Gate::TaintTolerationComparisonOperators),
    });
    Ok(Extensions::new()
        .enqueue(plugin.clone())
        .filter(plugin.clone())
        .pre_score(plugin.clone())
        .score(plugin))
}

impl TaintToleration {
    fn tolerates(self, toleration: &Toleration, taint: &Taint) -> bool {
        if self.compares {
            toleration.tolerates_with_comparison(taint)
        } else {
            toleration.tolerates(taint)
        }
    }

    fn rejects(self, taints: &[Taint], tolerations: &[Toleration]) -> bool {
        let tolerated = |taint: &Taint| tolerations.iter().any(|toleration| self.tolerates(toleration, taint));
        taints.iter().any(|taint| taint.effect.rules_out() && !tolerated(taint))
    }

    fn count_untolerated_soft_taints(self, taints: &[Taint], tolerations: &[&Toleration]) -> i64 {
        let tolerated = |taint: &Taint| tolerations.iter().any(|toleration| self.tolerates(toleration, taint));
        let untolerated = taints
            .iter()
            .filter(|taint| taint.effect == Effect::PreferNoSchedule && !tolerated(taint));
        i64::try_from(untolerated.count()).unwrap_or(i64::MAX)
    }
}

impl Plugin for TaintToleration {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Filter for TaintToleration {
    fn filter(&self, cycle: CycleContext<'_>, _: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        let tolerations = &cycle.pod.spec.tolerations;
        for (class, taints) in cycle.columns.taint_classes() {
            if self.rejects(taints, tolerations) {
                let nodes = cycle.columns.nodes_of_taint_class(class);
                pass.reject_set(nodes, ReasonCode(0), Resolvability::Unresolvable);
            }
        }
        Ok(())
    }

    fn judges_nodes_alone(&self) -> bool {
        true
    }

    fn follows_rows(&self) -> bool {
        true
    }

    fn pods_seen(&self) -> PodsSeen {
        PodsSeen::Nothing
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        smallvec![Cow::Borrowed(REASON)]
    }

    fn lacking(&self, cycle: CycleContext<'_>, _: &CycleState, node: NodeIndex) -> Vec<String> {
        let taints = cycle.columns.taints(node).iter();
        let in_the_way = taints.filter(|taint| self.rejects(std::slice::from_ref(*taint), &cycle.pod.spec.tolerations));
        in_the_way
            .map(|taint| format!("taint {taint} is not tolerated"))
            .collect()
    }
}

impl EnqueueExtensions for TaintToleration {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        vec![
            ClusterEvent::new(EventResource::Node, Action::ADD | Action::UPDATE_NODE_TAINT),
            ClusterEvent::new(EventResource::Pod, Action::UPDATE_POD_TOLERATION),
        ]
    }

    fn reads_labels(&self) -> bool {
        false
    }

    fn queueing_hint(
        &self,
        registered: ClusterEvent,
        _: ClusterEvent,
        pod: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        let rejects = |node: &Node| self.rejects(&node.spec.taints, &pod.spec.tolerations);
        let lets_in_now = |change: ObjectChange<'_, Node>| {
            change.before().is_none_or(rejects) && change.after().is_some_and(|node| !rejects(node))
        };
        let may_help = if registered.resource == EventResource::Node {
            objects.node().is_none_or(lets_in_now)
        } else {
            objects.pod().is_none_or(|change| change.is_of(&pod.uid))
        };
        Ok(QueueingHint::queue_if(may_help))
    }
}

impl PreScore for TaintToleration {
    /// Never skips: nodes without untolerated taints get the highest score, and it counts.
    fn pre_score(&self, _: CycleContext<'_>, state: &mut CycleState, _: &Feasible<'_>) -> PreScoreOutcome {
        state.insert(PreScored);
        PreScoreOutcome::Continue
    }
}

impl Score for TaintToleration {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        state: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        if state.get::<PreScored>().is_none() {
            return Err(format!("failed to read \"PreScore{NAME}\" from cycleState: not found"));
        }
        let mut untolerated = self.untolerated_soft_taints(cycle);
        if untolerated.is_empty() {
            return Ok(());
        }
        untolerated.sort_unstable();
        let class_of = cycle.columns.taint_class();
        for (node, score) in feasible.iter().zip(scores) {
            let Some(class) = class_of.get(node.as_usize()) else {
                continue;
            };
            if let Ok(at) = untolerated.binary_search_by_key(class, |(class, _)| *class) {
                *score = untolerated[at].1;
            }
        }
        Ok(())
    }

    fn is_uniform(&self, cycle: CycleContext<'_>, state: &CycleState) -> bool {
        state.get::<PreScored>().is_some() && self.untolerated_soft_taints(cycle).is_empty()
    }

    fn mark_basis(&self, _: CycleContext<'_>, _: &CycleState) -> Option<MarkBasis> {
        Some(MarkBasis::default())
    }

    fn mark(&self, cycle: CycleContext<'_>, state: &CycleState, nodes: &[NodeIndex], marks: &mut [u64]) -> bool {
        marked_by_score(self, cycle, state, nodes, marks)
    }

    fn normalize(&self) -> Normalize {
        Normalize::Default { reverse: true }
    }
}

impl TaintToleration {
    /// The classes of nodes that have any, and how many.
    fn untolerated_soft_taints(self, cycle: CycleContext<'_>) -> SmallVec<[(NodeClass, i64); 8]> {
        let tolerations = tolerations_of_soft_taints(cycle.pod);
        let classes = cycle.columns.taint_classes();
        classes
            .map(|(class, taints)| (class, self.count_untolerated_soft_taints(taints, &tolerations)))
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}

fn tolerations_of_soft_taints(pod: &Pod) -> SmallVec<[&Toleration; 8]> {
    let tolerations = pod.spec.tolerations.iter();
    let soft = |toleration: &&Toleration| {
        toleration
            .effect
            .as_ref()
            .is_none_or(|effect| *effect == Effect::PreferNoSchedule)
    };
    tolerations.filter(soft).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_config::FeatureGates;

    use crate::fixture::{Cluster, Listener, made, made_with, pod, unresolvable};

    const CLEAN: &str = "{}";

    fn tainted(taints: &str) -> String {
        format!(r#"{{"spec":{{"taints":{taints}}}}}"#)
    }

    #[test]
    fn untolerated_hard_taints_reject() {
        let no_schedule = r#"[{"key":"k","value":"v","effect":"NoSchedule"}]"#;
        let no_execute = r#"[{"key":"k","value":"v","effect":"NoExecute"}]"#;
        let soft = r#"[{"key":"k","value":"v","effect":"PreferNoSchedule"}]"#;
        let both = r#"[{"key":"k","value":"v","effect":"NoSchedule"},{"key":"l","effect":"NoExecute"}]"#;
        let cases = [
            (no_schedule, "[]", true),
            (no_execute, "[]", true),
            (soft, "[]", false),
            (no_schedule, r#"[{"key":"k","operator":"Equal","value":"v"}]"#, false),
            (no_schedule, r#"[{"key":"k","value":"v"}]"#, false),
            (no_schedule, r#"[{"key":"k","value":"w"}]"#, true),
            (no_schedule, r#"[{"key":"k","operator":"Exists"}]"#, false),
            (no_schedule, r#"[{"operator":"Exists"}]"#, false),
            (
                no_schedule,
                r#"[{"key":"k","operator":"Exists","effect":"NoExecute"}]"#,
                true,
            ),
            (no_schedule, r#"[{"key":"k","operator":"Gt","value":"1"}]"#, true),
            (no_schedule, r#"[{"operator":"Equal","value":"v"}]"#, false),
            (both, r#"[{"key":"k","operator":"Exists"}]"#, true),
            (
                both,
                r#"[{"key":"k","operator":"Exists"},{"key":"l","operator":"Exists"}]"#,
                false,
            ),
        ];
        for (taints, tolerations, rejected) in cases {
            let cluster = Cluster::of_nodes([("clean", CLEAN), ("tainted", &tainted(taints))]);
            let verdicts = cluster.filter(&made(construct), &pod(&format!(r#"{{"tolerations":{tolerations}}}"#)));
            assert_eq!(verdicts.of("clean"), None);
            let expected = rejected.then(|| unresolvable(["node(s) had untolerated taint(s)"]));
            assert_eq!(verdicts.of("tainted"), expected, "{taints} {tolerations}");
        }
    }

    #[test]
    fn fewer_untolerated_soft_taints_score_higher() {
        let soft = |key: &str| format!(r#"{{"key":"{key}","effect":"PreferNoSchedule"}}"#);
        let one = tainted(&format!("[{}]", soft("a")));
        let three = tainted(&format!("[{},{},{}]", soft("a"), soft("b"), soft("c")));
        let hard = tainted(r#"[{"key":"a","effect":"NoSchedule"}]"#);
        let cluster = Cluster::of_nodes([("clean", CLEAN), ("one", &one), ("three", &three), ("hard", &hard)]);
        let cases = [
            // Hard taints do not count, and an unused maximum of 0 gives everyone 100.
            ("[]", [0, 1, 3, 0], [100, 67, 0, 100]),
            (r#"[{"key":"a","operator":"Exists"}]"#, [0, 0, 2, 0], [100, 100, 0, 100]),
            (
                r#"[{"key":"a","operator":"Exists","effect":"NoSchedule"}]"#,
                [0, 1, 3, 0],
                [100, 67, 0, 100],
            ),
            (
                r#"[{"key":"a","operator":"Exists","effect":"PreferNoSchedule"}]"#,
                [0, 0, 2, 0],
                [100, 100, 0, 100],
            ),
            (r#"[{"operator":"Exists"}]"#, [0, 0, 0, 0], [100, 100, 100, 100]),
        ];
        for (tolerations, raw, normalised) in cases {
            let scores = cluster
                .score(&made(construct), &pod(&format!(r#"{{"tolerations":{tolerations}}}"#)))
                .unwrap();
            let names = ["clean", "one", "three", "hard"];
            assert_eq!(names.map(|name| scores.raw(name)), raw, "{tolerations}");
            assert_eq!(names.map(|name| scores.normalised(name)), normalised, "{tolerations}");
        }
    }

    #[test]
    fn a_node_whose_taints_are_tolerated_now_brings_pods_back() {
        let listener = Listener::of(&made(construct));
        let node = |taints: &str| crate::fixture::node("n", &tainted(taints));
        let hard = |key: &str| node(&format!(r#"[{{"key":"{key}","effect":"NoSchedule"}}]"#));
        let (k, l, clean) = (hard("k"), hard("l"), node("[]"));
        let soft = node(r#"[{"key":"m","effect":"PreferNoSchedule"}]"#);
        let waiting = pod(r#"{"tolerations":[{"key":"k","operator":"Exists"}]}"#);
        let cases = [
            (None, &k, true),
            (None, &l, false),
            (None, &soft, true),
            (Some(&l), &k, true),
            (Some(&l), &clean, true),
            (Some(&k), &clean, false),
            (Some(&k), &l, false),
            (Some(&soft), &clean, false),
        ];
        for (old, new, expected) in cases {
            let action = old.map_or(Action::ADD, |_| Action::UPDATE_NODE_TAINT);
            let wakes = listener.wakes_on_node(action, &waiting, old, Some(new));
            assert_eq!(wakes, expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_toleration_of_its_own_brings_a_pod_back() {
        let listener = Listener::of(&made(construct));
        let waiting = pod("{}");
        let tolerating = pod(r#"{"tolerations":[{"operator":"Exists"}]}"#);
        let wakes = |pod| listener.wakes_on_pod(Action::UPDATE_POD_TOLERATION, pod, Some(&waiting), Some(&tolerating));
        assert!(wakes(&tolerating));
        let other = Pod {
            uid: "other".into(),
            ..waiting.clone()
        };
        assert!(!wakes(&other));
    }

    #[test]
    fn numbers_are_compared_only_behind_the_gate() {
        let gate = Gate::TaintTolerationComparisonOperators;
        let comparing = made_with(construct, None, &FeatureGates::default().with(gate, true)).unwrap();
        let hard = tainted(r#"[{"key":"k","value":"5","effect":"NoSchedule"}]"#);
        let soft = tainted(r#"[{"key":"k","value":"5","effect":"PreferNoSchedule"}]"#);
        let cluster = Cluster::of_nodes([("hard", hard.as_str()), ("soft", soft.as_str())]);
        for (operator, value, tolerated) in [
            ("Gt", "4", true),
            ("Lt", "6", true),
            ("Gt", "5", false),
            ("Lt", "x", false),
        ] {
            let pod = pod(&format!(
                r#"{{"tolerations":[{{"key":"k","operator":"{operator}","value":"{value}"}}]}}"#
            ));
            let cases = [(&comparing, tolerated), (&made(construct), false)];
            for (plugin, tolerated) in cases {
                let rejected = cluster.filter(plugin, &pod).of("hard").is_some();
                assert_eq!(rejected, !tolerated, "{operator} {value}");
                let untolerated = cluster.score(plugin, &pod).unwrap().raw("soft");
                assert_eq!(untolerated, i64::from(!tolerated), "{operator} {value}");
            }
        }
    }
}
