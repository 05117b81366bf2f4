use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::allowed::allowed;
use crate::answer::Answer;
use crate::compare::differences;
use crate::coverage::Verdicts;
use crate::question::{Comparison, Question};

/// A cluster as the API server holds it, and one pod to place; every object in the API's own JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Case {
    /// A `KubeSchedulerConfiguration`. The profile with the pod's scheduler name is used.
    pub config: Value,
    /// Gates that differ from their defaults.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// Nodes.
    pub nodes: Vec<Value>,
    /// Namespaces; their pods may be there without them, as after a watch that is behind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Value>,
    /// Pods on nodes, and pods that are nominated to one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<Value>,
    /// Services.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<Value>,
    /// Replication controllers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replication_controllers: Vec<Value>,
    /// Replica sets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replica_sets: Vec<Value>,
    /// Stateful sets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stateful_sets: Vec<Value>,
    /// Disruption budgets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disruption_budgets: Vec<Value>,
    /// Storage classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub storage_classes: Vec<Value>,
    /// CSI drivers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub csi_drivers: Vec<Value>,
    /// What CSI drivers say of nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub csi_nodes: Vec<Value>,
    /// What room CSI drivers have where.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub csi_storage_capacities: Vec<Value>,
    /// Volumes attached to nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volume_attachments: Vec<Value>,
    /// Volumes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub persistent_volumes: Vec<Value>,
    /// Claims.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub persistent_volume_claims: Vec<Value>,
    /// The pod to place.
    pub pod: Value,
}

impl Case {
    /// Adds an object of storage that tells its kind; others are left out.
    pub(crate) fn add_storage(&mut self, object: Value) {
        let list = match object["kind"].as_str().unwrap_or_default() {
            "StorageClass" => &mut self.storage_classes,
            "CSIDriver" => &mut self.csi_drivers,
            "CSINode" => &mut self.csi_nodes,
            "CSIStorageCapacity" => &mut self.csi_storage_capacities,
            "VolumeAttachment" => &mut self.volume_attachments,
            "PersistentVolume" => &mut self.persistent_volumes,
            "PersistentVolumeClaim" => &mut self.persistent_volume_claims,
            _ => return,
        };
        list.push(object);
    }
}

impl Question for Case {
    type Answer = Answer;
    type Coverage = Verdicts;

    const MODE: &'static [&'static str] = &[];
    const INDEPENDENT: bool = false;
    const TABLE: &'static str = "VERDICTS";

    fn generate(seed: u64, number: u64) -> Self {
        crate::generate::case(seed, number)
    }

    fn judge(&self) -> Answer {
        crate::ours::judge(self)
    }

    fn compare(&self, ours: &Answer, upstream: &Answer) -> Comparison {
        let unlisted = differences(ours, upstream);
        let allowed = allowed(self, upstream).filter(|_| !unlisted.is_empty());
        Comparison::of(unlisted, allowed.map(|allowed| allowed.line))
    }

    fn objects(&self) -> Case {
        self.clone()
    }
}
