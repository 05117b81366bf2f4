//! A trace as Jaeger's query API tells it.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;

/// The spans of one trace, in the order in which they began.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// The spans.
    pub spans: Vec<Span>,
    /// What they say of the process.
    pub process: BTreeMap<String, String>,
}

/// One span.
#[derive(Debug, Clone)]
pub struct Span {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The span that it is a part of, which may not be in the trace (yet).
    pub parent: Option<String>,
    /// Spans that it is linked to: trace and span.
    pub links: Vec<(String, String)>,
    /// Microseconds since 1970.
    pub start: u64,
    /// In microseconds.
    pub duration: u64,
    /// Its attributes.
    pub tags: BTreeMap<String, String>,
    /// What happened in it.
    pub events: Vec<Event>,
}

/// Something that happened in a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub name: String,
    /// Its attributes.
    pub tags: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct WireTrace {
    spans: Vec<WireSpan>,
    processes: BTreeMap<String, WireProcess>,
}

#[derive(Deserialize)]
struct WireProcess {
    #[serde(rename = "serviceName")]
    service_name: String,
    #[serde(default)]
    tags: Vec<WireTag>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSpan {
    #[serde(rename = "traceID")]
    trace: String,
    #[serde(rename = "spanID")]
    id: String,
    operation_name: String,
    #[serde(default)]
    references: Vec<WireReference>,
    start_time: u64,
    duration: u64,
    #[serde(default)]
    tags: Vec<WireTag>,
    #[serde(default)]
    logs: Vec<WireLog>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireReference {
    ref_type: String,
    #[serde(rename = "traceID")]
    trace: String,
    #[serde(rename = "spanID")]
    span: String,
}

#[derive(Deserialize)]
struct WireTag {
    key: String,
    value: serde_json::Value,
}

#[derive(Deserialize)]
struct WireLog {
    fields: Vec<WireTag>,
}

fn texts(tags: Vec<WireTag>) -> BTreeMap<String, String> {
    let text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    tags.into_iter().map(|tag| (tag.key, text(tag.value))).collect()
}

impl Trace {
    /// Reads one trace of an answer.
    pub(crate) fn of(json: &serde_json::Value) -> anyhow::Result<Self> {
        let wire = WireTrace::deserialize(json).context("not a trace as Jaeger tells it")?;
        let mut spans: Vec<Span> = wire.spans.into_iter().map(Span::of).collect();
        spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.duration)));
        let process = wire.processes.into_values().next();
        let process = process.map(|process| {
            let mut tags = texts(process.tags);
            tags.insert("service.name".to_owned(), process.service_name);
            tags
        });
        Ok(Self {
            spans,
            process: process.unwrap_or_default(),
        })
    }

    /// The first span of this name.
    pub fn span(&self, name: &str) -> Option<&Span> {
        self.spans.iter().find(|span| span.name == name)
    }

    /// All of this name.
    pub fn spans_called(&self, name: &str) -> Vec<&Span> {
        self.spans.iter().filter(|span| span.name == name).collect()
    }

    /// The name of the span that this one is a part of; `…` when that one is not there.
    pub fn parent_name(&self, span: &Span) -> Option<&str> {
        let parent = span.parent.as_ref()?;
        let found = self.spans.iter().find(|other| other.id == *parent);
        Some(found.map_or("…", |found| found.name.as_str()))
    }

    /// Each span in a line of its own below what it is a part of, with its beginning after that of the first and its duration,
    /// in milliseconds.
    pub fn tree(&self) -> Vec<String> {
        let first = self.spans.iter().map(|span| span.start).min().unwrap_or_default();
        let is_there = |id: &String| self.spans.iter().any(|span| span.id == *id);
        let mut lines = Vec::new();
        for root in self
            .spans
            .iter()
            .filter(|span| !span.parent.as_ref().is_some_and(is_there))
        {
            self.draw(root, 0, first, &mut lines);
        }
        lines
    }

    fn draw(&self, span: &Span, depth: usize, first: u64, lines: &mut Vec<String>) {
        let name = format!("{}{}", "  ".repeat(depth), span.name);
        let millis = |micros: u64| format!("{}.{:03}", micros / 1_000, micros % 1_000);
        lines.push(format!(
            "{name:<44}{:>12} ms {:>12} ms",
            millis(span.start - first),
            millis(span.duration)
        ));
        for child in self
            .spans
            .iter()
            .filter(|child| child.parent.as_ref() == Some(&span.id))
        {
            self.draw(child, depth + 1, first, lines);
        }
    }
}

impl Span {
    fn of(wire: WireSpan) -> Self {
        let (own, others): (Vec<_>, Vec<_>) = wire
            .references
            .into_iter()
            .partition(|reference| reference.ref_type == "CHILD_OF" && reference.trace == wire.trace);
        let event = |log: WireLog| {
            let mut tags = texts(log.fields);
            let name = tags.remove("event").unwrap_or_default();
            Event { name, tags }
        };
        Self {
            id: wire.id,
            name: wire.operation_name,
            parent: own.into_iter().next().map(|reference| reference.span),
            links: others
                .into_iter()
                .map(|reference| (reference.trace, reference.span))
                .collect(),
            start: wire.start_time,
            duration: wire.duration,
            tags: texts(wire.tags),
            events: wire.logs.into_iter().map(event).collect(),
        }
    }

    /// One of its attributes; empty when it has none of that name.
    pub fn tag(&self, key: &str) -> &str {
        self.tags.get(key).map(String::as_str).unwrap_or_default()
    }
}
