//! Field selectors: the few fields each kind can be selected by, and their texts.

use serde_json::Value;

use crate::{
    object::{at, meta_str},
    resource::Resource,
};

#[derive(Clone, Debug, PartialEq)]
struct Term {
    path: &'static str,
    value: String,
    equal: bool,
}

/// A conjunction of `field=value` and `field!=value`; empty selects everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FieldSelector {
    terms: Vec<Term>,
}

const METADATA: &[&str] = &["metadata.name", "metadata.namespace"];
const PODS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
];
const EVENTS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
    "metadata.namespace",
    "metadata.name",
];

/// The name under which core events are selected by a field of `events.k8s.io`.
fn event_field(label: &str) -> Option<&'static str> {
    Some(match label {
        "reason" => "reason",
        "regarding.kind" => "involvedObject.kind",
        "regarding.namespace" => "involvedObject.namespace",
        "regarding.name" => "involvedObject.name",
        "regarding.uid" => "involvedObject.uid",
        "regarding.apiVersion" => "involvedObject.apiVersion",
        "regarding.resourceVersion" => "involvedObject.resourceVersion",
        "regarding.fieldPath" => "involvedObject.fieldPath",
        "reportingController" => "reportingComponent",
        "type" => "type",
        "metadata.namespace" => "metadata.namespace",
        "metadata.name" => "metadata.name",
        _ => return None,
    })
}

/// The stored field that a selector's label stands for.
fn canonical(resource: &Resource, label: &str) -> Option<&'static str> {
    match (resource.group, resource.plural) {
        ("", "pods") if label == "spec.host" => Some("spec.nodeName"),
        ("events.k8s.io", "events") => event_field(label),
        _ => fields(resource).iter().find(|field| **field == label).copied(),
    }
}

/// Kinds with no fields of their own say which there are.
fn unsupported(resource: &Resource, label: &str) -> String {
    if fields(resource) == METADATA {
        return format!("\"{label}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
    }
    format!("field label not supported: {label}")
}

/// The fields that a kind can be selected by.
fn fields(resource: &Resource) -> &'static [&'static str] {
    match (resource.group, resource.plural) {
        ("", "pods") => PODS,
        ("" | "events.k8s.io", "events") => EVENTS,
        ("", "nodes") => &["metadata.name", "spec.unschedulable"],
        ("", "namespaces") => &["metadata.name", "status.phase"],
        ("", "secrets") => &["type", "metadata.name", "metadata.namespace"],
        ("", "services") => &["metadata.namespace", "metadata.name", "spec.clusterIP", "spec.type"],
        ("", "replicationcontrollers") | ("apps", "replicasets") => {
            &["metadata.name", "metadata.namespace", "status.replicas"]
        }
        ("batch", "jobs") => &["metadata.name", "metadata.namespace", "status.successful"],
        ("resource.k8s.io", "resourceslices") => &["metadata.name", "spec.nodeName", "spec.driver"],
        _ => METADATA,
    }
}

impl FieldSelector {
    pub(crate) fn parse(resource: &Resource, text: &str) -> Result<Self, String> {
        let mut terms = Vec::new();
        for part in split_terms(text) {
            if part.is_empty() {
                continue;
            }
            let (label, value, equal) = split_operator(&part)
                .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
            let path = canonical(resource, label).ok_or_else(|| unsupported(resource, label))?;
            terms.push(Term {
                path,
                value: unescape(value)?,
                equal,
            });
        }
        Ok(Self { terms })
    }

    /// The selector a path with a name stands for.
    pub(crate) fn name(name: &str) -> Self {
        Self {
            terms: vec![Term {
                path: "metadata.name",
                value: name.to_owned(),
                equal: true,
            }],
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The value that `path` must have, when one is demanded.
    pub(crate) fn required(&self, path: &str) -> Option<&str> {
        self.terms
            .iter()
            .find(|t| t.equal && t.path == path)
            .map(|t| t.value.as_str())
    }

    pub(crate) fn matches(&self, value: &Value) -> bool {
        self.terms.iter().all(|t| has(value, t.path, &t.value) == t.equal)
    }
}

/// Whether the field of a stored object reads `wanted`; absent fields read as their zero value's text.
fn has(value: &Value, path: &str, wanted: &str) -> bool {
    match path {
        "metadata.name" => return meta_str(value, "name") == wanted,
        "metadata.namespace" => return meta_str(value, "namespace") == wanted,
        "source" => return event_source(value) == wanted,
        _ => {}
    }
    let keys: Vec<&str> = path.split('.').collect();
    match at(value, &keys) {
        Some(Value::String(text)) => text == wanted,
        Some(Value::Bool(flag)) => wanted == if *flag { "true" } else { "false" },
        Some(Value::Number(number)) => number.to_string() == wanted,
        Some(_) => false,
        None => match path {
            "spec.unschedulable" | "spec.hostNetwork" => wanted == "false",
            "status.replicas" | "status.successful" => wanted == "0",
            _ => wanted.is_empty(),
        },
    }
}

fn event_source(value: &Value) -> &str {
    let component = at(value, &["source", "component"])
        .and_then(Value::as_str)
        .unwrap_or_default();
    if component.is_empty() {
        return at(value, &["reportingComponent"])
            .and_then(Value::as_str)
            .unwrap_or_default();
    }
    component
}

/// Splits at commas that no backslash escapes.
fn split_terms(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let Some(part) = parts.last_mut() else { break };
        match c {
            '\\' => {
                part.push(c);
                part.extend(chars.next());
            }
            ',' => parts.push(String::new()),
            _ => part.push(c),
        }
    }
    parts
}

fn split_operator(part: &str) -> Option<(&str, &str, bool)> {
    let at = part.find(['=', '!'])?;
    let (label, rest) = part.split_at(at);
    for (operator, equal) in [("!=", false), ("==", true), ("=", true)] {
        if let Some(value) = rest.strip_prefix(operator) {
            return Some((label, value, equal));
        }
    }
    None
}

fn unescape(value: &str) -> Result<String, String> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => out.push(escaped),
                other => {
                    let sequence: String = std::iter::once('\\').chain(other).collect();
                    return Err(format!("invalid field selector: invalid escape sequence: {sequence}"));
                }
            },
            ',' | '=' => return Err(format!("invalid field selector: unescaped character in value: {c}")),
            _ => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::find;

    fn pods(selector: &str) -> Result<FieldSelector, String> {
        FieldSelector::parse(find("", "v1", "pods").expect("pods"), selector)
    }

    #[test]
    fn absent_fields_read_as_empty() {
        let pod = json!({ "metadata": { "name": "a", "namespace": "n" }, "spec": { "schedulerName": "s" } });
        for (selector, expected) in [
            ("spec.nodeName=", true),
            ("spec.nodeName!=", false),
            ("spec.host=", true),
            ("spec.schedulerName=s,metadata.name=a", true),
            ("status.phase!=Running", true),
            ("metadata.namespace==m", false),
            ("spec.hostNetwork=false", true),
        ] {
            assert_eq!(pods(selector).expect(selector).matches(&pod), expected, "{selector}");
        }
    }

    #[test]
    fn unsupported_and_broken_fields_are_refused_with_upstreams_texts() {
        assert_eq!(pods("spec.foo=1"), Err("field label not supported: spec.foo".into()));
        assert_eq!(
            pods("spec"),
            Err("invalid selector: 'spec'; can't understand 'spec'".into())
        );
    }

    #[test]
    fn the_event_groups_name_the_same_fields_differently() {
        let event = json!({ "involvedObject": { "name": "a" }, "reportingComponent": "s" });
        for (group, selector) in [
            ("", "involvedObject.name=a"),
            ("events.k8s.io", "regarding.name=a,reportingController=s"),
            ("", "source=s"),
        ] {
            let events = find(group, "v1", "events").expect("events");
            assert!(
                FieldSelector::parse(events, selector).expect(selector).matches(&event),
                "{selector}"
            );
        }
        let new = find("events.k8s.io", "v1", "events").expect("events");
        assert!(FieldSelector::parse(new, "involvedObject.name=a").is_err());
    }

    #[test]
    fn escaped_values_are_read() {
        assert_eq!(
            pods(r"metadata.name=a\,b").expect("valid").required("metadata.name"),
            Some("a,b")
        );
    }
}
