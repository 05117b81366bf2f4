//! A trace drawn as the documentation shows it: what it is made of, how long each part took, and no ids.

use crate::trace::{Event, Span, Trace};

impl Trace {
    /// Each span in a line of its own below what it is a part of, with how long it took and what it says. Plugins that were
    /// timed at a point share a line.
    pub fn picture(&self) -> String {
        let is_there = |id: &String| self.spans.iter().any(|span| span.id == *id);
        let roots = self
            .spans
            .iter()
            .filter(|span| !span.parent.as_ref().is_some_and(is_there));
        let mut lines = Vec::new();
        for root in roots {
            lines.push(line_of("", root));
            self.draw_below(root, "", &mut lines);
        }
        lines.join("\n") + "\n"
    }

    fn draw_below(&self, whole: &Span, indent: &str, lines: &mut Vec<String>) {
        let mut parts: Vec<&Span> = self
            .spans
            .iter()
            .filter(|span| span.parent.as_ref() == Some(&whole.id))
            .collect();
        parts.sort_by_key(|span| (rank(span), span.start));
        let (plugins, parts): (Vec<&Span>, Vec<&Span>) = parts.into_iter().partition(|span| is_of_plugin(span));
        let mut below: Vec<Part<'_>> = whole.events.iter().map(Part::Event).collect();
        if !plugins.is_empty() {
            below.push(Part::Plugins(plugins));
        }
        below.extend(parts.into_iter().map(Part::Span));
        let last = below.len().saturating_sub(1);
        for (at, part) in below.into_iter().enumerate() {
            let (branch, further) = if at == last {
                ("└── ", "    ")
            } else {
                ("├── ", "│   ")
            };
            let branch = format!("{indent}{branch}");
            match part {
                Part::Event(event) => lines.push(format!("{branch}{}", told(event))),
                Part::Plugins(plugins) => lines.push(format!("{branch}{}", names(&plugins))),
                Part::Span(span) => {
                    lines.push(line_of(&branch, span));
                    self.draw_below(span, &format!("{indent}{further}"), lines);
                }
            }
        }
    }
}

enum Part<'t> {
    Event(&'t Event),
    Plugins(Vec<&'t Span>),
    Span(&'t Span),
}

/// `Filter/NodeResourcesFit` and the like.
fn is_of_plugin(span: &Span) -> bool {
    span.name.contains('/') && !span.name.contains(' ')
}

/// Where it stands among others below the same span. Points take less time than clocks tell apart, and what outlives its
/// attempt begins with the others at its end.
fn rank(span: &Span) -> usize {
    const IN_TURN: [&str; 13] = [
        "PreFilter",
        "Filter",
        "PostFilter",
        "PreScore",
        "Score",
        "Reserve",
        "Permit",
        "PreBindPreFlight",
        "PreBind",
        "Bind",
        "PostBind",
        "PATCH pods/status",
        "preemption",
    ];
    let at = IN_TURN.iter().position(|name| span.name == *name);
    at.map_or(0, |at| at + 1)
}

/// How many plugins and, of a few, their names.
fn names(plugins: &[&Span]) -> String {
    let mut names: Vec<&str> = plugins.iter().map(|span| span.tag("plimsoll.plugin")).collect();
    names.sort_unstable();
    names.dedup();
    match names.len() {
        1 => format!("plugin {}", names[0]),
        2..=4 => format!("plugins {}", names.join(", ")),
        more => format!("{more} plugins"),
    }
}

const MILLIS: &str = " ms";

/// What of a picture is the same when the same happens. How long things take is not, nor where in the queue the pod waits
/// between two attempts, nor whether the answer or the watch tells first that it is bound.
pub fn shape(picture: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in picture.lines() {
        let line = match line.rsplit_once(MILLIS) {
            Some((before, after)) => {
                let before = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
                format!("{}{after}", before.trim_end())
            }
            None => line.to_owned(),
        };
        let line = match line.split_once("queue ") {
            Some((before, _)) => format!("{before}queue …"),
            None => line.replace("POST pods/binding  seen", "POST pods/binding  created"),
        };
        if !(line.ends_with("queue …") && lines.last() == Some(&line)) {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

fn told(event: &Event) -> String {
    let tag = |key: &str| event.tags.get(key).map(String::as_str).unwrap_or_default();
    let (plugin, nodes, reason) = (tag("plimsoll.plugin"), tag("plimsoll.nodes"), tag("plimsoll.reason"));
    format!("event {}: {plugin}, {nodes} node(s): {reason}", event.name)
}

fn line_of(branch: &str, span: &Span) -> String {
    let mut notes: Vec<String> = Vec::new();
    let mut note = |key: &str, words: &str| {
        let value = span.tag(key);
        if !value.is_empty() {
            notes.push(format!("{words}{value}"));
        }
    };
    note("plimsoll.outcome", "");
    note("plimsoll.call.outcome", "");
    note("plimsoll.preemption.ending", "");
    if span.tag("plimsoll.status") != "Success" {
        note("plimsoll.status", "");
    }
    note("plimsoll.queue.cause", "after ");
    if span.tag("plimsoll.outcome") != "unschedulable" {
        note("k8s.node.name", "on ");
    }
    if !span.links.is_empty() {
        notes.push("linked to the trace of each victim".to_owned());
    }
    let name = format!("{branch}{}", span.name);
    let took = format!("{}.{}", span.duration / 1_000, span.duration % 1_000 / 100);
    // Behind the longest of the usual names.
    let timed = format!("{name:<34} {took:>7}{MILLIS}");
    if notes.is_empty() {
        return timed;
    }
    format!("{timed}  {}", notes.join(", "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn span(id: &str, name: &str, parent: Option<&str>, start: u64, tags: &[(&str, &str)]) -> Span {
        Span {
            id: id.to_owned(),
            name: name.to_owned(),
            parent: parent.map(str::to_owned),
            links: Vec::new(),
            start,
            duration: 12_345,
            tags: tags
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            events: Vec::new(),
        }
    }

    #[test]
    fn a_picture_shows_what_is_below_what_and_how_long_it_took() {
        let plugin = |id, name: &str| span(id, name, Some("4"), 12, &[("plimsoll.plugin", name.split_at(7).1)]);
        let mut attempt = span("2", "attempt", Some("1"), 5, &[("plimsoll.outcome", "unschedulable")]);
        let tags = [
            ("plimsoll.plugin", "Fit"),
            ("plimsoll.nodes", "1"),
            ("plimsoll.reason", "too small"),
        ];
        attempt.events.push(Event {
            name: "rejected".to_owned(),
            tags: BTreeMap::from(tags.map(|(key, value)| (key.to_owned(), value.to_owned()))),
        });
        let trace = Trace {
            spans: vec![
                span("1", "schedule pod", None, 0, &[]),
                attempt,
                span(
                    "5",
                    "preemption",
                    Some("2"),
                    20,
                    &[("plimsoll.preemption.ending", "done")],
                ),
                span("6", "PATCH pods/status", Some("2"), 21, &[]),
                span("3", "scheduling cycle", Some("2"), 10, &[]),
                span("4", "Filter", Some("3"), 11, &[("plimsoll.status", "Unschedulable")]),
                plugin("7", "Filter/B"),
                plugin("8", "Filter/A"),
            ],
            ..Trace::default()
        };
        let expected = "\
schedule pod                          12.3 ms
└── attempt                           12.3 ms  unschedulable
    ├── event rejected: Fit, 1 node(s): too small
    ├── scheduling cycle              12.3 ms
    │   └── Filter                    12.3 ms  Unschedulable
    │       └── plugins A, B
    ├── PATCH pods/status             12.3 ms
    └── preemption                    12.3 ms  done
";
        assert_eq!(trace.picture(), expected);
    }

    #[test]
    fn times_waits_between_attempts_and_who_tells_first_of_the_binding_make_no_other_shape() {
        let shown = "\
schedule pod                          12.3 ms
├── queue active                       0.1 ms  after UnschedulablePodAdd
├── attempt                            0.2 ms  unschedulable
├── queue unschedulable                9.0 ms  after ScheduleAttemptFailure
├── queue backoff                      0.0 ms  after PreemptionFinished
└── attempt                            1.0 ms  scheduled
    └── POST pods/binding              0.8 ms  seen
";
        let other = "\
schedule pod                        4512.3 ms
├── queue active                       0.0 ms  after UnschedulablePodAdd
├── attempt                           10.2 ms  unschedulable
├── queue unschedulable             4400.0 ms  after ScheduleAttemptFailure
└── attempt                          100.0 ms  scheduled
    └── POST pods/binding             90.8 ms  created
";
        assert_eq!(shape(shown), shape(other));
        for (part, instead) in [
            ("  unschedulable", "  error"),
            ("created", "conflict"),
            ("└── POST pods/binding", "└── GET pods"),
        ] {
            assert_ne!(shape(other), shape(&other.replace(part, instead)), "{part}");
        }
    }
}
