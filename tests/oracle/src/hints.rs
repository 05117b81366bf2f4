//! What changes of objects mean to a pod that waits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::allowed::allowed_hint;
use crate::case::Case;
use crate::compare::Difference;
use crate::question::{Comparison, Question};

mod compare;
mod coverage;
mod generate;
mod ours;

pub use compare::{HintDifference, hint_differences};
pub use coverage::Hints;

/// A change of one object while a pod waits: of a pod, of a node, or of one of the kinds of storage. There is no old one when it is new and no new
/// one when it is gone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct HintCase {
    /// The pod that waits, the configuration and what plugins list.
    pub cluster: Case,
    /// The pod as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_pod: Option<Value>,
    /// The pod as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_pod: Option<Value>,
    /// The node as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_node: Option<Value>,
    /// The node as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_node: Option<Value>,
    /// The object of storage as it was; it tells its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_storage: Option<Value>,
    /// The object of storage as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_storage: Option<Value>,
}

/// What a side makes of a change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HintAnswer {
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The labels of the events that the change stands for.
    pub events: Option<Vec<String>>,
    /// By plugin that may turn a pod away: the events that it hears of, of all that kube-scheduler has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub listens: BTreeMap<String, Vec<String>>,
    /// By event and plugin that hears of it: `Queue`, `Skip` or `Error`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hints: BTreeMap<String, BTreeMap<String, String>>,
}

impl Question for HintCase {
    type Answer = HintAnswer;
    type Coverage = Hints;

    const MODE: &'static [&'static str] = &["--hints"];
    const INDEPENDENT: bool = true;
    const TABLE: &'static str = "HINTS";

    fn generate(seed: u64, number: u64) -> Self {
        generate::case(seed, number)
    }

    fn judge(&self) -> HintAnswer {
        ours::judge(self)
    }

    fn compare(&self, ours: &HintAnswer, upstream: &HintAnswer) -> Comparison {
        let mut comparison = Comparison::default();
        for difference in hint_differences(ours, upstream) {
            match allowed_hint(self, &difference) {
                Some(allowed) if comparison.intended.contains(&allowed.line) => {}
                Some(allowed) => comparison.intended.push(allowed.line),
                None => comparison.unlisted.push(difference.told()),
            }
        }
        comparison
    }

    fn abridge(mut answer: Value, differences: &[Difference]) -> Value {
        let about_listening = differences
            .iter()
            .any(|found| found.what.contains(" hears of ") || found.what.ends_with(" has a say"));
        if let Some(fields) = answer.as_object_mut().filter(|_| !about_listening) {
            fields.remove("listens");
        }
        answer
    }

    fn objects(&self) -> Case {
        let mut all = self.cluster.clone();
        all.pods.extend(self.old_pod.iter().chain(&self.new_pod).cloned());
        all.nodes.extend(self.old_node.iter().chain(&self.new_node).cloned());
        for object in self.old_storage.iter().chain(&self.new_storage) {
            all.add_storage(object.clone());
        }
        all
    }
}
