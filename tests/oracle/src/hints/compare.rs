use std::collections::{BTreeMap, BTreeSet};

use super::HintAnswer;
use crate::compare::Difference;

/// One thing in which the sides differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HintDifference {
    /// One side has no answer, or another reason for that.
    Error {
        /// Ours.
        ours: Option<String>,
        /// Upstream's.
        upstream: Option<String>,
    },
    /// The change stands for other events.
    Events {
        /// Ours.
        ours: Vec<String>,
        /// Upstream's.
        upstream: Vec<String>,
    },
    /// The plugin is there on one side only.
    Plugin {
        /// The plugin.
        plugin: String,
        /// Whether it is there on ours.
        here: bool,
    },
    /// A plugin hears of an event on one side only.
    Listens {
        /// The plugin.
        plugin: String,
        /// The event's label.
        event: String,
        /// Whether it does on ours.
        here: bool,
    },
    /// The plugin's mind is another one. A plugin that does not hear of an event skips it.
    Hint {
        /// The plugin.
        plugin: String,
        /// The event's label.
        event: String,
        /// Ours.
        ours: String,
        /// Upstream's.
        upstream: String,
    },
}

impl HintDifference {
    /// In words.
    pub fn told(&self) -> Difference {
        let (what, text) = match self {
            Self::Error { ours, upstream } => (
                "error".to_owned(),
                format!("the change: ours {ours:?}, upstream {upstream:?}"),
            ),
            Self::Events { ours, upstream } => (
                "events".to_owned(),
                format!("the change: ours {ours:?}, upstream {upstream:?}"),
            ),
            Self::Plugin { plugin, here } => (format!("{plugin} has a say"), format!("here: {here}, there: {}", !here)),
            Self::Listens { plugin, event, here } => (
                format!("{plugin} hears of {event}"),
                format!("here: {here}, there: {}", !here),
            ),
            Self::Hint {
                plugin,
                event,
                ours,
                upstream,
            } => (
                format!("hint of {plugin} to {event}: {ours} here, {upstream} there"),
                "the change".to_owned(),
            ),
        };
        Difference { what, text }
    }
}

/// Everything in which the answers differ.
pub fn hint_differences(ours: &HintAnswer, upstream: &HintAnswer) -> Vec<HintDifference> {
    if ours.error != upstream.error {
        return vec![HintDifference::Error {
            ours: ours.error.clone(),
            upstream: upstream.error.clone(),
        }];
    }
    let mut found = Vec::new();
    let events = |side: &HintAnswer| side.events.clone().unwrap_or_default();
    if events(ours) != events(upstream) {
        found.push(HintDifference::Events {
            ours: events(ours),
            upstream: events(upstream),
        });
    }
    for plugin in plugins(ours, upstream) {
        // Rows of the table leave them out when they are not about that.
        if !upstream.listens.is_empty() {
            let (Some(here), Some(there)) = (ours.listens.get(plugin), upstream.listens.get(plugin)) else {
                found.push(HintDifference::Plugin {
                    plugin: plugin.clone(),
                    here: ours.listens.contains_key(plugin),
                });
                continue;
            };
            listens(plugin, here, there, &mut found);
        }
        hints(plugin, ours, upstream, &mut found);
    }
    found
}

fn plugins<'a>(ours: &'a HintAnswer, upstream: &'a HintAnswer) -> BTreeSet<&'a String> {
    let asked = ours
        .hints
        .values()
        .chain(upstream.hints.values())
        .flat_map(BTreeMap::keys);
    ours.listens
        .keys()
        .chain(upstream.listens.keys())
        .chain(asked)
        .collect()
}

fn listens(plugin: &str, here: &[String], there: &[String], found: &mut Vec<HintDifference>) {
    let all: BTreeSet<&String> = here.iter().chain(there).collect();
    for event in all {
        let on_ours = here.contains(event);
        if on_ours != there.contains(event) {
            found.push(HintDifference::Listens {
                plugin: plugin.to_owned(),
                event: event.clone(),
                here: on_ours,
            });
        }
    }
}

fn hints(plugin: &str, ours: &HintAnswer, upstream: &HintAnswer, found: &mut Vec<HintDifference>) {
    let events: BTreeSet<&String> = ours.hints.keys().chain(upstream.hints.keys()).collect();
    for event in events {
        let of = |side: &HintAnswer| {
            let hint = side.hints.get(event).and_then(|hints| hints.get(plugin));
            hint.map_or_else(|| "Skip".to_owned(), Clone::clone)
        };
        let (ours, upstream) = (of(ours), of(upstream));
        if ours != upstream {
            found.push(HintDifference::Hint {
                plugin: plugin.to_owned(),
                event: event.clone(),
                ours,
                upstream,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(json: &str) -> HintAnswer {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn events_listening_and_hints_are_compared() {
        let base = r#"{"events":["NodeAdd"],"listens":{"P":["NodeAdd"],"Q":["NodeAdd"]},
            "hints":{"NodeAdd":{"P":"Queue","Q":"Skip"}}}"#;
        let cases = [
            ("[\"NodeAdd\"],\"listens", "[],\"listens", vec!["events"]),
            (
                "\"Q\":[\"NodeAdd\"]",
                "\"Q\":[\"NodeAdd\",\"NodeDelete\"]",
                vec!["Q hears of NodeDelete"],
            ),
            (",\"Q\":[\"NodeAdd\"]", "", vec!["Q has a say"]),
            (
                "\"P\":\"Queue\"",
                "\"P\":\"Error\"",
                vec!["hint of P to NodeAdd: Queue here, Error there"],
            ),
            (",\"Q\":\"Skip\"", "", vec![]),
            ("{\"events", "{\"error\":\"e\",\"events", vec!["error"]),
        ];
        for (from, to, expected) in cases {
            let found = hint_differences(&answer(base), &answer(&base.replacen(from, to, 1)));
            let whats: Vec<String> = found.iter().map(|found| found.told().what).collect();
            assert_eq!(whats, expected, "{from} -> {to}");
        }
    }
}
