//! `NodeLabel`: nodes must or should have some labels and not have others, whatever the values. A plugin of the legacy
//! Policy (`labelsPresence`, `labelPreference`).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use plimsoll_config::{NodeLabelArgs, PluginArgs, WeightedLabel};
use plimsoll_framework::{
    Action, ClusterEvent, Construction, CycleContext, CycleState, EnqueueExtensions, EventObjects, EventResource,
    Extensions, Filter, FilterPass, MAX_NODE_SCORE, Plugin, PodsSeen, QueueingHint, ReasonCode, Resolvability, Score,
};
use plimsoll_model::columns::{Columns, LabelColumn, NodeIndex, NodeSet};
use plimsoll_model::{Node, Pod};
use smallvec::{SmallVec, smallvec};

/// Name in profiles, metrics and messages.
pub const NAME: &str = "NodeLabel";

/// What users read.
pub const REASON: &str = "node(s) didn't have the requested labels";

/// Holds pods to nodes by the presence of labels.
#[derive(Debug, Clone)]
pub struct NodeLabel {
    args: NodeLabelArgs,
}

/// Makes the plugin with the arguments of a profile.
pub fn construct(with: &Construction<'_>) -> Result<Extensions, String> {
    let args = match with.args {
        None => NodeLabelArgs::default(),
        Some(PluginArgs::NodeLabel(args)) => args.clone(),
        Some(_) => return Err("want args to be of type NodeLabelArgs".to_owned()),
    };
    let wished: Vec<_> = names(&args.present_labels_preference);
    let unwished: Vec<_> = names(&args.absent_labels_preference);
    for (present, absent) in [(&args.present_labels, &args.absent_labels), (&wished, &unwished)] {
        let unwanted: BTreeSet<&String> = absent.iter().collect();
        if let Some(both) = present.iter().find(|label| unwanted.contains(label)) {
            return Err(format!(
                "detecting at least one label (e.g., {both:?}) that exist in both the present([{}]) and absent([{}]) \
                 label list",
                present.join(" "),
                absent.join(" ")
            ));
        }
    }
    let mut weighted = args
        .present_labels_preference
        .iter()
        .chain(&args.absent_labels_preference);
    if let Some(label) = weighted.find(|label| label.weight < 1) {
        return Err(format!("label {:?} should have a positive weight", label.label));
    }
    let plugin = Arc::new(NodeLabel { args });
    Ok(Extensions::new()
        .enqueue(plugin.clone())
        .filter(plugin.clone())
        .score(plugin))
}

fn names(labels: &[WeightedLabel]) -> Vec<String> {
    labels.iter().map(|label| label.label.clone()).collect()
}

impl Plugin for NodeLabel {
    fn name(&self) -> &'static str {
        NAME
    }
}

fn nodes_with<'a>(label: &str, columns: &'a Columns) -> Option<&'a NodeSet> {
    columns.label_key(label).map(LabelColumn::nodes)
}

impl Filter for NodeLabel {
    fn filter(&self, cycle: CycleContext<'_>, _: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        let (code, resolvability) = (ReasonCode(0), Resolvability::Unresolvable);
        let none = NodeSet::new();
        for label in &self.args.present_labels {
            pass.keep_only(nodes_with(label, cycle.columns).unwrap_or(&none), code, resolvability);
        }
        for label in &self.args.absent_labels {
            if let Some(nodes) = nodes_with(label, cycle.columns) {
                pass.reject_set(nodes, code, resolvability);
            }
        }
        Ok(())
    }

    fn judges_nodes_alone(&self) -> bool {
        true
    }

    fn pods_seen(&self) -> PodsSeen {
        PodsSeen::Nothing
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        smallvec![Cow::Borrowed(REASON)]
    }
}

impl NodeLabel {
    fn allows(&self, node: &Node) -> bool {
        let has = |label: &String| node.labels.contains_key(label);
        self.args.present_labels.iter().all(has) && !self.args.absent_labels.iter().any(has)
    }
}

impl EnqueueExtensions for NodeLabel {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        let node = Action::ADD | Action::UPDATE_NODE_LABEL;
        vec![ClusterEvent::new(EventResource::Node, node)]
    }

    fn reads_labels(&self) -> bool {
        false
    }

    fn queueing_hint(
        &self,
        _: ClusterEvent,
        _: ClusterEvent,
        _: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        let may_help = objects.node().is_none_or(|change| {
            change.after().is_some_and(|node| self.allows(node))
                && !change.before().is_some_and(|node| self.allows(node))
        });
        Ok(QueueingHint::queue_if(may_help))
    }
}

impl Score for NodeLabel {
    /// The weight of the preferences that a node meets, out of all, in percent.
    fn score(
        &self,
        cycle: CycleContext<'_>,
        _: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        let present = self.args.present_labels_preference.iter().map(|label| (label, true));
        let absent = self.args.absent_labels_preference.iter().map(|label| (label, false));
        let mut weights = 0;
        for (label, wanted) in present.chain(absent) {
            let weight = i64::from(label.weight);
            weights += weight;
            let nodes = nodes_with(&label.label, cycle.columns);
            for (node, score) in feasible.iter().zip(scores.iter_mut()) {
                let is_there = nodes.is_some_and(|nodes| nodes.contains(*node));
                *score += if is_there == wanted { weight * MAX_NODE_SCORE } else { 0 };
            }
        }
        if weights > 0 {
            for score in scores {
                *score /= weights;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Cluster, Listener, made_of, made_with, node, pod, unresolvable};

    #[test]
    fn a_node_that_comes_to_have_the_right_labels_brings_pods_back() {
        let listener = Listener::of(&made_of(construct, &args(&["zone"], &["retiring"], &[], &[])));
        let with = |labels: &str| node("n", &format!(r#"{{"labels":{labels}}}"#));
        let right = with(r#"{"zone":"x"}"#);
        let same = with(r#"{"zone":"y"}"#);
        let wrong = with(r#"{"zone":"x","retiring":""}"#);
        let bare = with("{}");
        let wakes = |action, old, new| listener.wakes_on_node(action, &pod("{}"), old, Some(new));
        for (old, new, expected) in [
            (None, &right, true),
            (None, &wrong, false),
            (None, &bare, false),
            (Some(&wrong), &right, true),
            (Some(&bare), &right, true),
            (Some(&right), &same, false),
            (Some(&right), &wrong, false),
        ] {
            let action = old.map_or(Action::ADD, |_| Action::UPDATE_NODE_LABEL);
            assert_eq!(wakes(action, old, new), expected, "{:?}", new.labels);
        }
    }

    fn args(present: &[&str], absent: &[&str], wished: &[(&str, i32)], unwished: &[(&str, i32)]) -> PluginArgs {
        let owned = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect();
        let weighted = |labels: &[(&str, i32)]| {
            let labels = labels.iter();
            labels
                .map(|(label, weight)| WeightedLabel::new(*label, *weight))
                .collect()
        };
        PluginArgs::NodeLabel(NodeLabelArgs {
            present_labels: owned(present),
            absent_labels: owned(absent),
            present_labels_preference: weighted(wished),
            absent_labels_preference: weighted(unwished),
        })
    }

    fn cluster() -> Cluster {
        Cluster::of_nodes([
            ("a", r#"{"labels":{"zone":"x","retiring":"2030"}}"#),
            ("b", r#"{"labels":{"zone":"","rack":"1"}}"#),
            ("bare", "{}"),
        ])
    }

    #[test]
    fn labels_must_be_present_or_absent_whatever_their_values() {
        let cases: [(&[&str], &[&str], &[&str]); 7] = [
            (&[], &[], &["a", "b", "bare"]),
            (&["zone"], &[], &["a", "b"]),
            (&["zone", "rack"], &[], &["b"]),
            (&["zone", "unknown"], &[], &[]),
            (&[], &["retiring"], &["b", "bare"]),
            (&[], &["unknown"], &["a", "b", "bare"]),
            (&["zone"], &["retiring"], &["b"]),
        ];
        for (present, absent, expected) in cases {
            let verdicts = cluster().filter(&made_of(construct, &args(present, absent, &[], &[])), &pod("{}"));
            let mut passing = Vec::new();
            for name in ["a", "b", "bare"] {
                match verdicts.of(name) {
                    None => passing.push(name),
                    Some(rejection) => assert_eq!(rejection, unresolvable([REASON])),
                }
            }
            assert_eq!(passing, expected, "{present:?} {absent:?}");
        }
    }

    #[test]
    fn preferences_count_by_their_weights() {
        type Case<'a> = (&'a [(&'a str, i32)], &'a [(&'a str, i32)], [i64; 3]);
        let cases: [Case<'_>; 6] = [
            (&[("zone", 1)], &[], [100, 100, 0]),
            (&[], &[("retiring", 1)], [0, 100, 100]),
            (&[("zone", 1), ("rack", 1)], &[], [50, 100, 0]),
            (&[("zone", 1)], &[("retiring", 2)], [33, 100, 66]),
            (&[("unknown", 5)], &[("unseen", 5)], [50, 50, 50]),
            (&[], &[], [0, 0, 0]),
        ];
        for (wished, unwished, expected) in cases {
            let plugin = made_of(construct, &args(&[], &[], wished, unwished));
            let scores = cluster().score(&plugin, &pod("{}")).unwrap();
            let raw = ["a", "b", "bare"].map(|name| scores.raw(name));
            assert_eq!(raw, expected, "{wished:?} {unwished:?}");
        }
    }

    #[test]
    fn many_labels_are_not_compared_each_with_all() {
        let [present, absent] = ["p", "a"].map(|of| (0..50_000).map(move |at| format!("{of}{at}")).collect());
        let labels = PluginArgs::NodeLabel(NodeLabelArgs {
            present_labels: present,
            absent_labels: absent,
            ..NodeLabelArgs::default()
        });
        let gates = plimsoll_config::FeatureGates::default();
        assert!(made_with(construct, Some(&labels), &gates).is_ok());
    }

    #[test]
    fn a_label_cannot_be_both_wanted_and_unwanted() {
        let gates = plimsoll_config::FeatureGates::default();
        let refusal = |args: &PluginArgs| made_with(construct, Some(args), &gates).unwrap_err();
        assert_eq!(
            refusal(&args(&["a", "b"], &["b"], &[], &[])),
            "detecting at least one label (e.g., \"b\") that exist in both the present([a b]) and absent([b]) label list"
        );
        assert!(refusal(&args(&[], &[], &[("a", 1)], &[("a", 1)])).contains("(e.g., \"a\")"));
        assert_eq!(
            refusal(&args(&[], &[], &[("a", 0)], &[])),
            "label \"a\" should have a positive weight"
        );
    }
}
