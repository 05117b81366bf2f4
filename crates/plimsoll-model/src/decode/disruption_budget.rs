use std::collections::BTreeMap;

use compact_str::CompactString;
use serde::Deserialize;
use serde::de::Deserializer;

use super::{WireMeta, or_default};
use crate::{DisruptionBudget, LabelSelector, Timestamp};

impl<'de> Deserialize<'de> for DisruptionBudget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WireBudget { metadata, spec, status } = WireBudget::deserialize(deserializer)?;
        Ok(Self {
            name: metadata.object_name(),
            uid: metadata.uid.0,
            resource_version: metadata.resource_version.0,
            selector: spec.selector,
            disruptions_allowed: status.disruptions_allowed,
            disrupted_pods: status.disrupted_pods.into_keys().collect(),
        })
    }
}

#[derive(Deserialize)]
struct WireBudget {
    metadata: WireMeta,
    #[serde(default, deserialize_with = "or_default")]
    spec: WireSpec,
    #[serde(default, deserialize_with = "or_default")]
    status: WireStatus,
}

#[derive(Deserialize, Default)]
struct WireSpec {
    #[serde(default)]
    selector: Option<LabelSelector>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WireStatus {
    #[serde(default, deserialize_with = "or_default")]
    disruptions_allowed: i32,
    #[serde(default, deserialize_with = "or_default")]
    disrupted_pods: BTreeMap<CompactString, Option<Timestamp>>,
}
