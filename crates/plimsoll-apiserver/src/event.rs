//! Core events shown as `events.k8s.io` events and back: one storage, two forms.

use serde_json::{Map, Value};

/// Core name, `events.k8s.io` name. What is not listed has the same name in both.
const RENAMED: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The `events.k8s.io/v1` form of a core event.
pub(crate) fn to_events_v1(core: &Value) -> Value {
    let mut event = convert(core, "events.k8s.io/v1", |name| {
        RENAMED.iter().find(|(old, _)| *old == name).map(|(_, new)| *new)
    });
    // Core events write these two even when they are empty.
    if let Some(fields) = event.as_object_mut() {
        fields.retain(|name, field| {
            !(matches!(name.as_str(), "reportingController" | "reportingInstance") && field == "")
        });
    }
    event
}

/// The core form of an `events.k8s.io/v1` event.
pub(crate) fn to_core(event: &Value) -> Value {
    convert(event, "v1", |name| {
        RENAMED.iter().find(|(_, new)| *new == name).map(|(old, _)| *old)
    })
}

fn convert(event: &Value, api_version: &str, rename: impl Fn(&str) -> Option<&'static str>) -> Value {
    let Value::Object(fields) = event else {
        return event.clone();
    };
    let mut out: Map<String, Value> = fields
        .iter()
        .map(|(name, field)| (rename(name).unwrap_or(name).to_owned(), field.clone()))
        .collect();
    out.insert("apiVersion".to_owned(), api_version.into());
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_survives_the_way_there_and_back() {
        let core = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": { "name": "e" },
            "involvedObject": { "name": "p" }, "reason": "Scheduled", "message": "m", "type": "Normal",
            "source": { "component": "s" }, "firstTimestamp": null, "lastTimestamp": "t", "count": 2,
            "reportingComponent": "s", "reportingInstance": "s-0", "action": "Binding", "eventTime": "t",
            "related": { "name": "n" }, "series": { "count": 3 },
        });
        let new = to_events_v1(&core);
        assert_eq!(new["regarding"]["name"], "p");
        assert_eq!(new["note"], "m");
        assert_eq!(new["deprecatedCount"], 2);
        assert_eq!(new["reportingController"], "s");
        assert_eq!(new["apiVersion"], "events.k8s.io/v1");
        assert_eq!(to_core(&new), core);
    }
}
