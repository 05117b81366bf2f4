//! The page about every field of a configuration file, made from the schemas, which are made from the types.

use std::fmt::Write as _;

use anyhow::Context;
use plimsoll_config::{ConfigKind, schema};
use serde_json::{Map, Value};

/// What stands above the tables.
const BEGINNING: &str = "\
# Every field of a configuration file

Made from the schemas, which are made from the types: `WRITE_DOCUMENTS=1 cargo test --workspace --test documents` writes this page,
and the test fails when it is behind. What the file is, and how it is checked and changed, stands in
[configuration.md](configuration.md).

Fields marked ◆ are Plimsoll's own: they are there in files of the kind `plimsoll.dev/v1alpha1 SchedulerConfiguration`. All others
are in files of both kinds, where kube-scheduler has them. A field without a default is not there unless it is written, or its text
says what that means. A duration is a text such as `15s`, `1m30s` or `500ms`.
";

/// Definitions that have a section, in the order of the page, with their headings.
const SECTIONS: [(&str, &str); 19] = [
    ("Profile", "Profile"),
    ("MatchRule", "Match rule"),
    ("Plugins", "Plugins"),
    ("PluginSet", "Plugin set"),
    ("Plugin", "Plugin"),
    ("PluginConfig", "Plugin config"),
    ("Extender", "Extender"),
    ("DefaultPreemptionArgs", "DefaultPreemptionArgs"),
    ("DynamicResourcesArgs", "DynamicResourcesArgs"),
    ("InterPodAffinityArgs", "InterPodAffinityArgs"),
    ("NodeAffinityArgs", "NodeAffinityArgs"),
    ("NodeLabelArgs", "NodeLabelArgs"),
    (
        "NodeResourcesBalancedAllocationArgs",
        "NodeResourcesBalancedAllocationArgs",
    ),
    ("NodeResourcesFitArgs", "NodeResourcesFitArgs"),
    ("PodTopologySpreadArgs", "PodTopologySpreadArgs"),
    ("ServiceAffinityArgs", "ServiceAffinityArgs"),
    ("VolumeBindingArgs", "VolumeBindingArgs"),
    ("NodeAffinity", "Node affinity"),
    ("NodeSelectorTerm", "Node selector term"),
];

/// Those behind them, which are short.
const LAST: [(&str, &str); 2] = [
    ("LabelSelector", "Label selector"),
    ("TopologySpreadConstraint", "Topology spread constraint"),
];

/// A field of a table.
struct Row {
    name: String,
    own: bool,
    kind: String,
    default: String,
    text: String,
}

/// The page.
///
/// # Errors
/// When a definition of the schemas has no section here.
pub fn configuration_reference() -> anyhow::Result<String> {
    let all: Value = serde_json::from_str(&schema(ConfigKind::Plimsoll))?;
    let shared: Value = serde_json::from_str(&schema(ConfigKind::KubeScheduler))?;
    let mut page = BEGINNING.to_owned();
    section(&mut page, "The file", &all, Some(&shared))?;
    let definitions = all["$defs"].as_object().context("no definitions")?;
    let sections = SECTIONS.iter().chain(&LAST);
    for (name, heading) in sections.clone() {
        let definition = definitions.get(*name).with_context(|| format!("no {name}"))?;
        section(&mut page, heading, definition, shared["$defs"].get(*name))?;
    }
    for name in definitions.keys().filter(|name| *name != "Duration") {
        sections
            .clone()
            .find(|(other, _)| other == name)
            .with_context(|| format!("{name} has no section"))?;
    }
    Ok(page)
}

fn section(page: &mut String, heading: &str, object: &Value, shared: Option<&Value>) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    rows_of(object, shared, "", shared.is_none(), &mut rows);
    write!(page, "\n## {heading}\n\n")?;
    if let Some(text) = object.get("description").and_then(Value::as_str) {
        write!(page, "{text}\n\n")?;
    }
    writeln!(page, "| field | holds | default | what it is |\n|---|---|---|---|")?;
    for row in rows {
        let mark = if row.own { " ◆" } else { "" };
        writeln!(
            page,
            "| `{}`{mark} | {} | {} | {} |",
            row.name, row.kind, row.default, row.text
        )?;
    }
    Ok(())
}

/// The fields of an object and of those in it that have no section of their own.
fn rows_of(object: &Value, shared: Option<&Value>, place: &str, own: bool, rows: &mut Vec<Row>) {
    let none = Map::new();
    let fields = object.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required = object.get("required").and_then(Value::as_array);
    for (name, field) in fields {
        let other = shared.and_then(|shared| shared.pointer(&format!("/properties/{name}")));
        let own = own || other.is_none();
        let path = format!("{place}{name}");
        let must = required.is_some_and(|required| required.iter().any(|other| other == name));
        let default = match field.get("default") {
            Some(Value::String(text)) => format!("`{text}`"),
            Some(value) => format!("`{value}`"),
            None if must => "must be there".to_owned(),
            None => String::new(),
        };
        let text = match (field.get("const"), field.get("description").and_then(Value::as_str)) {
            (_, Some(text)) => text.replace('|', "\\|"),
            // Of the arguments of plugins; the file's own must be there.
            (Some(_), None) if must => "Which kind of file it is.".to_owned(),
            _ => "May be left out.".to_owned(),
        };
        rows.push(Row {
            name: path.clone(),
            own,
            kind: kind(field),
            default,
            text,
        });
        let (inner, other, behind) = match field.get("items") {
            Some(items) => (items, other.and_then(|other| other.get("items")), "[]."),
            None => (field, other, "."),
        };
        rows_of(inner, other, &format!("{path}{behind}"), own, rows);
    }
    for way in object.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
        rows_of(way, Some(way), place, own, rows);
    }
}

/// What a field holds, for people.
fn kind(field: &Value) -> String {
    if let Some(reference) = field.get("$ref").and_then(Value::as_str) {
        return link(reference);
    }
    if let Some(constant) = field.get("const").and_then(Value::as_str) {
        return format!("`{constant}`");
    }
    if let Some(values) = field.get("enum").and_then(Value::as_array) {
        let values: Vec<_> = values.iter().filter_map(Value::as_str).collect();
        return format!("`{}`", values.join("`, `"));
    }
    match field.get("type").and_then(Value::as_str) {
        Some("array") => format!("list of {}", kind(&field["items"])),
        Some("integer" | "number") => number(field),
        Some("boolean") => "`true` or `false`".to_owned(),
        Some("object") if field.get("properties").is_none() => "names with texts".to_owned(),
        Some("object") => "the fields below".to_owned(),
        Some("string") if field.get("contentEncoding").is_some() => "text in base64".to_owned(),
        Some("string") => "text".to_owned(),
        _ if field.get("anyOf").is_some() => "texts or the fields below".to_owned(),
        _ => "anything".to_owned(),
    }
}

fn number(field: &Value) -> String {
    let what = if field["type"] == "integer" {
        "whole number"
    } else {
        "number"
    };
    let limit = |name: &str| field.get(name).and_then(Value::as_i64);
    let bound = |limit: &i64| *limit != i64::from(i32::MAX) && *limit != i64::from(i32::MIN);
    match (limit("minimum").filter(bound), limit("maximum").filter(bound)) {
        (Some(least), Some(most)) => format!("{what}, {least} to {most}"),
        (Some(least), None) => format!("{what}, {least} or more"),
        (None, Some(most)) => format!("{what}, {most} at most"),
        (None, None) => what.to_owned(),
    }
}

fn link(reference: &str) -> String {
    let name = reference.rsplit('/').next().unwrap_or_default();
    let heading = SECTIONS.iter().chain(&LAST).find(|(other, _)| *other == name);
    match heading {
        Some((_, heading)) => {
            let anchor = heading.to_lowercase().replace(' ', "-");
            format!("[{}](#{anchor})", heading.to_lowercase())
        }
        None => "duration".to_owned(),
    }
}
