//! Where two outcomes differ.

use serde_json::Value;

use crate::play::Outcome;

/// One place in which the two servers differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The step.
    pub step: String,
    /// Where: `head/code`, `body/spec/replicas`.
    pub path: String,
    /// The embedded server's value, null when it has none.
    pub embedded: Value,
    /// The real server's value, null when it has none.
    pub real: Value,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "{} at {}\n    embedded: {}\n    real:     {}",
            self.step, self.path, self.embedded, self.real
        )
    }
}

/// All differences between the outcomes of one script on the two servers.
pub fn compare(embedded: &[Outcome], real: &[Outcome]) -> Vec<Difference> {
    let mut found = Vec::new();
    for (ours, theirs) in embedded.iter().zip(real) {
        let mut walk = Walk {
            step: &ours.step,
            contained: false,
            found: &mut found,
        };
        walk.compare("head", &ours.head, &theirs.head);
        if ours.body.get("kind") != theirs.body.get("kind") {
            // Two different things: one difference, not one per field.
            walk.differ("body", &ours.body, &theirs.body);
            continue;
        }
        walk.contained = ours.contained;
        walk.compare("body", &ours.body, &theirs.body);
    }
    found
}

struct Walk<'a> {
    step: &'a str,
    contained: bool,
    found: &'a mut Vec<Difference>,
}

impl Walk<'_> {
    fn compare(&mut self, path: &str, embedded: &Value, real: &Value) {
        match (embedded, real) {
            (Value::Object(ours), Value::Object(theirs)) => {
                for (field, value) in ours {
                    self.compare(
                        &format!("{path}/{field}"),
                        value,
                        theirs.get(field).unwrap_or(&Value::Null),
                    );
                }
                for (field, value) in theirs.iter().filter(|(field, _)| !ours.contains_key(*field)) {
                    if !self.contained {
                        self.differ(&format!("{path}/{field}"), &Value::Null, value);
                    }
                }
            }
            (Value::Array(ours), Value::Array(theirs)) if self.contained => {
                for (at, item) in ours.iter().enumerate() {
                    if !theirs.iter().any(|other| is_contained(item, other)) {
                        let named = theirs.iter().find(|other| other.get("name") == item.get("name"));
                        self.differ(&format!("{path}/{at}"), item, named.unwrap_or(&Value::Null));
                    }
                }
            }
            (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
                for (at, (item, other)) in ours.iter().zip(theirs).enumerate() {
                    self.compare(&format!("{path}/{at}"), item, other);
                }
            }
            _ if embedded == real => {}
            _ => self.differ(path, embedded, real),
        }
    }

    fn differ(&mut self, path: &str, embedded: &Value, real: &Value) {
        self.found.push(Difference {
            step: self.step.to_owned(),
            path: path.to_owned(),
            embedded: embedded.clone(),
            real: real.clone(),
        });
    }
}

fn is_contained(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part
            .iter()
            .all(|(field, value)| whole.get(field).is_some_and(|other| is_contained(value, other))),
        (Value::Array(part), Value::Array(whole)) => part
            .iter()
            .all(|item| whole.iter().any(|other| is_contained(item, other))),
        _ => part == whole,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(body: Value, contained: bool) -> Outcome {
        Outcome {
            step: "s".to_owned(),
            head: json!({"code": 200}),
            body,
            contained,
        }
    }

    #[test]
    fn every_differing_place_is_named() {
        let ours = outcome(json!({"a": 1, "b": [1, 2], "c": {"d": 1}}), false);
        let theirs = outcome(json!({"a": 2, "b": [1, 3], "c": {"e": 1}}), false);
        let paths: Vec<String> = compare(&[ours], &[theirs]).into_iter().map(|d| d.path).collect();
        assert_eq!(paths, ["body/a", "body/b/1", "body/c/d", "body/c/e"]);
    }

    #[test]
    fn a_contained_answer_may_be_smaller() {
        let ours = outcome(json!({"list": [{"name": "b"}]}), true);
        let theirs = outcome(json!({"list": [{"name": "a"}, {"name": "b", "x": 1}], "more": 1}), true);
        assert_eq!(compare(std::slice::from_ref(&ours), std::slice::from_ref(&theirs)), []);
        assert_eq!(compare(&[theirs], &[ours]).len(), 3);
    }
}
