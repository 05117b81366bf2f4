//! A small cluster for tests: nodes and pods written as JSON, one plugin run over it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use plimsoll_config::{FeatureGates, PluginArgs, ProfileExtras};
use plimsoll_framework::{
    Construction, CycleContext, CycleState, Extensions, Feasible, PreFilterOutcome, PreScoreOutcome, Resolvability,
    Status, Verdicts,
};
use plimsoll_model::columns::{Columns, NodeIndex};
use plimsoll_model::{Footprint, Moment, Node, Pod, decode_node, decode_pod};

mod listener;
mod storage;

pub(crate) use listener::Listener;

/// Makes plugins.
pub(crate) type Construct = fn(&Construction<'_>) -> Result<Extensions, String>;

/// A plugin as a profile without arguments for it has it.
pub(crate) fn made(construct: Construct) -> Extensions {
    made_with(construct, None, &FeatureGates::default()).unwrap()
}

/// A plugin with these arguments.
pub(crate) fn made_of(construct: Construct, args: &PluginArgs) -> Extensions {
    made_with(construct, Some(args), &FeatureGates::default()).unwrap()
}

/// What a constructor says to these arguments under these gates.
pub(crate) fn made_with(
    construct: Construct,
    args: Option<&PluginArgs>,
    gates: &FeatureGates,
) -> Result<Extensions, String> {
    construct(&Construction {
        args,
        gates,
        scheduler_name: "mine",
        extras: &ProfileExtras::default(),
    })
}

/// A pod with this spec.
pub(crate) fn pod(spec: &str) -> Pod {
    let metadata = r#"{"namespace":"default","name":"pod","uid":"pod","resourceVersion":"1"}"#;
    decode_pod(format!(r#"{{"metadata":{metadata},"spec":{spec}}}"#).as_bytes()).unwrap()
}

/// A pod of a namespace with these labels and this spec.
pub(crate) fn named_pod(namespace: &str, labels: &str, spec: &str) -> Pod {
    let metadata =
        format!(r#"{{"namespace":"{namespace}","name":"pod","uid":"pod","resourceVersion":"1","labels":{labels}}}"#);
    decode_pod(format!(r#"{{"metadata":{metadata},"spec":{spec}}}"#).as_bytes()).unwrap()
}

/// A pod that a controller manages.
pub(crate) fn controlled_pod(api_version: &str, kind: &str, name: &str, labels: &str) -> Pod {
    let owner =
        format!(r#"{{"apiVersion":"{api_version}","kind":"{kind}","name":"{name}","uid":"{name}","controller":true}}"#);
    let metadata = format!(
        r#"{{"namespace":"default","name":"pod","uid":"pod","resourceVersion":"1","labels":{labels},
            "ownerReferences":[{owner}]}}"#
    );
    decode_pod(format!(r#"{{"metadata":{metadata},"spec":{{}}}}"#).as_bytes()).unwrap()
}

/// The pod once it has been told to go.
pub(crate) fn terminating(pod: &Pod) -> Pod {
    let metadata =
        r#"{"namespace":"n","name":"p","uid":"u","resourceVersion":"1","deletionTimestamp":"2030-01-01T00:00:00Z"}"#;
    let gone = decode_pod(format!(r#"{{"metadata":{metadata},"spec":{{}}}}"#).as_bytes()).unwrap();
    Pod {
        deletion_timestamp: gone.deletion_timestamp,
        ..pod.clone()
    }
}

/// A node with this name; `parts` is an object that may have `labels`, `spec` and `status`.
pub(crate) fn node(name: &str, parts: &str) -> Node {
    let parts: BTreeMap<String, serde_json::Value> = serde_json::from_str(parts).unwrap();
    let part = |name: &str| parts.get(name).cloned().unwrap_or_else(|| serde_json::json!({}));
    let object = serde_json::json!({
        "metadata": {"name": name, "uid": name, "resourceVersion": "1", "labels": part("labels")},
        "spec": part("spec"),
        "status": part("status"),
    });
    decode_node(object.to_string().as_bytes()).unwrap()
}

/// Why a node was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) reasons: Vec<String>,
    pub(crate) resolvability: Resolvability,
}

pub(crate) fn resolvable<const N: usize>(reasons: [&str; N]) -> Rejection {
    Rejection {
        reasons: reasons.map(str::to_owned).to_vec(),
        resolvability: Resolvability::Resolvable,
    }
}

pub(crate) fn unresolvable<const N: usize>(reasons: [&str; N]) -> Rejection {
    Rejection {
        reasons: reasons.map(str::to_owned).to_vec(),
        resolvability: Resolvability::Unresolvable,
    }
}

/// Nodes with the pods on them.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    pub(crate) columns: Columns,
}

impl Cluster {
    pub(crate) fn of_nodes<'a>(nodes: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut cluster = Self::default();
        for (name, parts) in nodes {
            cluster.columns.set_node(&node(name, parts));
        }
        cluster
    }

    pub(crate) fn add_pod(&mut self, node: &str, pod: &Pod) {
        self.columns.add_pod(node, &Footprint::of(pod));
    }

    /// What a plugin's pre-filter says of the pod as a whole, if it turns it away.
    pub(crate) fn stopped(&self, plugin: &Extensions, pod: &Pod) -> Option<Status> {
        let cycle = CycleContext {
            pod,
            columns: &self.columns,
            now: Moment::ZERO,
        };
        let pre_filter = plugin.pre_filter.as_ref()?;
        match pre_filter.pre_filter(cycle, &mut CycleState::new()) {
            PreFilterOutcome::Stop(status) => Some(status),
            _ => None,
        }
    }

    /// Why a plugin's filter fails, if it does.
    pub(crate) fn failure(&self, plugin: &Extensions, pod: &Pod) -> Option<String> {
        let cycle = CycleContext {
            pod,
            columns: &self.columns,
            now: Moment::ZERO,
        };
        let mut verdicts = Verdicts::default();
        verdicts.begin(self.columns.nodes(), self.columns.capacity());
        let filter = plugin.filter.as_ref()?;
        filter.filter(cycle, &CycleState::new(), &mut verdicts.pass(0)).err()
    }

    /// The columns with the counts that a plugin asks for.
    fn prepared(&self, plugin: &Extensions, pod: &Pod) -> Columns {
        let mut columns = self.columns.clone();
        if let Some(prepare) = &plugin.prepare {
            prepare.prepare(pod, &mut columns);
        }
        columns
    }

    /// Runs a plugin's pre-filter and filter over all nodes.
    pub(crate) fn filter(&self, plugin: &Extensions, pod: &Pod) -> Filtered {
        let columns = self.prepared(plugin, pod);
        let cycle = CycleContext {
            pod,
            columns: &columns,
            now: Moment::ZERO,
        };
        let mut state = CycleState::new();
        let mut filtered = Filtered::default();
        if let Some(pre_filter) = &plugin.pre_filter {
            match pre_filter.pre_filter(cycle, &mut state) {
                PreFilterOutcome::Continue => {}
                PreFilterOutcome::Skip => {
                    filtered.skipped = true;
                    return filtered;
                }
                PreFilterOutcome::Restrict(nodes) => {
                    filtered.restricted_to =
                        Some(nodes.iter().map(|node| self.columns.name(node).to_owned()).collect());
                }
                PreFilterOutcome::Stop(status) => panic!("{status:?}"),
            }
        }
        let filter = plugin.filter.as_ref().unwrap();
        let mut verdicts = Verdicts::default();
        verdicts.begin(self.columns.nodes(), self.columns.capacity());
        filter.filter(cycle, &state, &mut verdicts.pass(0)).unwrap();
        for node in self.columns.nodes() {
            let verdict = verdicts.of(node);
            assert_eq!(verdict.filter().is_none(), verdicts.feasible().contains(node));
            if verdict.filter().is_some() {
                let reasons = filter.reasons(cycle, &state, verdict.code());
                let reasons = reasons.into_iter().map(std::borrow::Cow::into_owned).collect();
                let rejection = Rejection {
                    reasons,
                    resolvability: verdict.resolvability(),
                };
                filtered
                    .rejections
                    .insert(self.columns.name(node).to_owned(), rejection);
            }
        }
        filtered
    }

    /// What a plugin says that a node lacks which it rejects, and how far the node is from taking the pod.
    pub(crate) fn lacking(&self, plugin: &Extensions, pod: &Pod, node: &str) -> (Vec<String>, u32) {
        let columns = self.prepared(plugin, pod);
        let cycle = CycleContext {
            pod,
            columns: &columns,
            now: Moment::ZERO,
        };
        let mut state = CycleState::new();
        if let Some(pre_filter) = &plugin.pre_filter {
            let outcome = pre_filter.pre_filter(cycle, &mut state);
            assert!(matches!(outcome, PreFilterOutcome::Continue), "{outcome:?}");
        }
        let filter = plugin.filter.as_ref().unwrap();
        let mut verdicts = Verdicts::default();
        verdicts.begin(columns.nodes(), columns.capacity());
        filter.filter(cycle, &state, &mut verdicts.pass(0)).unwrap();
        let index = columns.index_of(node).unwrap();
        assert!(!verdicts.feasible().contains(index), "{node} is not rejected");
        (
            filter.lacking(cycle, &state, index),
            filter.distance(cycle, &state, index),
        )
    }

    /// Runs a plugin's pre-score, score and normalisation over all nodes; none when it skips.
    pub(crate) fn score(&self, plugin: &Extensions, pod: &Pod) -> Option<Scored> {
        let columns = self.prepared(plugin, pod);
        let cycle = CycleContext {
            pod,
            columns: &columns,
            now: Moment::ZERO,
        };
        let feasible: Vec<NodeIndex> = self.columns.nodes().iter().collect();
        let mut state = CycleState::new();
        if let Some(pre_score) = &plugin.pre_score {
            let list = OnceLock::new();
            match pre_score.pre_score(cycle, &mut state, &Feasible::new(self.columns.nodes(), &list)) {
                PreScoreOutcome::Continue => {}
                PreScoreOutcome::Skip => return None,
                PreScoreOutcome::Error(error) => panic!("{error}"),
            }
        }
        let score = plugin.score.as_ref().unwrap();
        let mut raw = vec![0; feasible.len()];
        score.score(cycle, &state, &feasible, &mut raw).unwrap();
        let mut normalised = raw.clone();
        score
            .normalize_scores(cycle, &state, &feasible, &mut normalised)
            .unwrap();
        let name = |at: usize| self.columns.name(feasible[at]).to_owned();
        Some(Scored {
            scores: (0..raw.len()).map(|at| (name(at), (raw[at], normalised[at]))).collect(),
        })
    }
}

/// What a filter said.
#[derive(Debug, Default)]
pub(crate) struct Filtered {
    skipped: bool,
    restricted_to: Option<Vec<String>>,
    rejections: BTreeMap<String, Rejection>,
}

impl Filtered {
    pub(crate) fn skipped(&self) -> bool {
        self.skipped
    }

    /// Names of the nodes that the pre-filter allows, if it restricts them.
    pub(crate) fn restricted_to(&self) -> Option<&[String]> {
        self.restricted_to.as_deref()
    }

    pub(crate) fn of(&self, node: &str) -> Option<Rejection> {
        self.rejections.get(node).cloned()
    }
}

/// What a score said.
#[derive(Debug)]
pub(crate) struct Scored {
    scores: BTreeMap<String, (i64, i64)>,
}

impl Scored {
    pub(crate) fn raw(&self, node: &str) -> i64 {
        self.scores[node].0
    }

    pub(crate) fn normalised(&self, node: &str) -> i64 {
        self.scores[node].1
    }
}
