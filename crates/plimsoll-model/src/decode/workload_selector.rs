use serde::Deserialize;

use super::{WireMeta, or_default};
use crate::{LabelSelector, Labels, WorkloadKind, WorkloadSelector};

/// A service or replication controller: its selector is a plain map of labels.
#[derive(Deserialize)]
pub(super) struct WireLabelled {
    metadata: WireMeta,
    #[serde(default, deserialize_with = "or_default")]
    spec: WireLabels,
}

#[derive(Deserialize, Default)]
struct WireLabels {
    #[serde(default, deserialize_with = "or_default")]
    selector: Labels,
}

/// A replica set or stateful set.
#[derive(Deserialize)]
pub(super) struct WireSelecting {
    metadata: WireMeta,
    #[serde(default, deserialize_with = "or_default")]
    spec: WireSelector,
}

#[derive(Deserialize, Default)]
struct WireSelector {
    #[serde(default)]
    selector: Option<LabelSelector>,
}

impl WireLabelled {
    pub(super) fn into_selector(self, kind: WorkloadKind) -> WorkloadSelector {
        let labels = self.spec.selector;
        let selector = (!labels.is_empty()).then(|| LabelSelector::of_labels(labels));
        of_parts(kind, self.metadata, selector)
    }
}

impl WireSelecting {
    pub(super) fn into_selector(self, kind: WorkloadKind) -> WorkloadSelector {
        of_parts(kind, self.metadata, self.spec.selector)
    }
}

fn of_parts(kind: WorkloadKind, metadata: WireMeta, selector: Option<LabelSelector>) -> WorkloadSelector {
    WorkloadSelector {
        kind,
        name: metadata.object_name(),
        uid: metadata.uid.0,
        resource_version: metadata.resource_version.0,
        selector,
    }
}
