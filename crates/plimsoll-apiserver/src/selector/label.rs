//! The label selector grammar: `a=b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`, `a>1`, `a<1`.

use serde_json::{Map, Value};

use crate::object::at;

#[derive(Clone, Debug, PartialEq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
    GreaterThan(i64),
    LessThan(i64),
}

#[derive(Clone, Debug, PartialEq)]
struct Requirement {
    key: String,
    operator: Operator,
}

impl Requirement {
    fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        let value = labels.and_then(|l| l.get(&self.key)).and_then(Value::as_str);
        match (&self.operator, value) {
            (Operator::In(set), Some(value)) => set.iter().any(|s| s == value),
            (Operator::NotIn(set), Some(value)) => set.iter().all(|s| s != value),
            (Operator::NotIn(_) | Operator::DoesNotExist, None) | (Operator::Exists, Some(_)) => true,
            (Operator::GreaterThan(bound), Some(value)) => value.parse::<i64>().is_ok_and(|v| v > *bound),
            (Operator::LessThan(bound), Some(value)) => value.parse::<i64>().is_ok_and(|v| v < *bound),
            _ => false,
        }
    }
}

/// A conjunction of requirements on labels; empty selects everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
    /// Selects nothing at all: a `metav1.LabelSelector` that is absent.
    nothing: bool,
}

impl LabelSelector {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser {
            tokens: tokens(text),
            at: 0,
        };
        let mut requirements = Vec::new();
        while parser.peek().is_some() {
            if !requirements.is_empty() {
                parser.expect(",")?;
            }
            requirements.push(parser.requirement()?);
        }
        Ok(Self {
            requirements,
            nothing: false,
        })
    }

    /// Reads a `metav1.LabelSelector` (`matchLabels`, `matchExpressions`). Absent selects nothing, empty everything.
    pub(crate) fn from_object(selector: Option<&Value>) -> Option<Self> {
        let Some(selector) = selector.filter(|s| !s.is_null()) else {
            return Some(Self {
                requirements: Vec::new(),
                nothing: true,
            });
        };
        let mut requirements = Vec::new();
        if let Some(labels) = at(selector, &["matchLabels"]).and_then(Value::as_object) {
            for (key, value) in labels {
                let operator = Operator::In(vec![value.as_str()?.to_owned()]);
                requirements.push(Requirement {
                    key: key.clone(),
                    operator,
                });
            }
        }
        for expression in at(selector, &["matchExpressions"])
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let values = || {
                let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
                values.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
            };
            let operator = match expression.get("operator")?.as_str()? {
                "In" => Operator::In(values()),
                "NotIn" => Operator::NotIn(values()),
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                _ => return None,
            };
            requirements.push(Requirement {
                key: expression.get("key")?.as_str()?.to_owned(),
                operator,
            });
        }
        Some(Self {
            requirements,
            nothing: false,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty() && !self.nothing
    }

    /// Whether the labels of an object satisfy it.
    pub(crate) fn matches(&self, value: &Value) -> bool {
        if self.nothing {
            return false;
        }
        if self.requirements.is_empty() {
            return true;
        }
        let labels = at(value, &["metadata", "labels"]).and_then(Value::as_object);
        self.requirements.iter().all(|r| r.matches(labels))
    }
}

/// Splits into words and the symbols `( ) , ! = == != > <`.
fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => {}
            '=' | '!' => {
                let mut symbol = c.to_string();
                if chars.next_if_eq(&'=').is_some() {
                    symbol.push('=');
                }
                out.push(symbol);
            }
            '(' | ')' | ',' | '>' | '<' => out.push(c.to_string()),
            _ => {
                let mut word = c.to_string();
                while let Some(c) = chars.next_if(|c| !c.is_whitespace() && !"=!(),><".contains(*c)) {
                    word.push(c);
                }
                out.push(word);
            }
        }
    }
    out
}

struct Parser {
    tokens: Vec<String>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(String::as_str)
    }

    fn next(&mut self) -> String {
        let token = self.tokens.get(self.at).cloned().unwrap_or_default();
        self.at += 1;
        token
    }

    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        let found = self.next();
        if found == symbol {
            Ok(())
        } else {
            Err(format!("found '{found}', expected: '{symbol}'"))
        }
    }

    fn word(&mut self) -> Result<String, String> {
        let found = self.next();
        if found.is_empty() || found.chars().all(|c| "=!(),><".contains(c)) {
            return Err(format!("found '{found}', expected: identifier"));
        }
        Ok(found)
    }

    /// The value after `=` or `!=`, which may be empty.
    fn value(&mut self) -> Result<String, String> {
        match self.peek() {
            None | Some(",") => Ok(String::new()),
            Some(_) => self.word(),
        }
    }

    fn number(&mut self) -> Result<i64, String> {
        let word = self.word()?;
        word.parse().map_err(|_| {
            format!("values[0][]: Invalid value: \"{word}\": for 'Gt', 'Lt' operators, the value must be an integer")
        })
    }

    fn set(&mut self) -> Result<Vec<String>, String> {
        self.expect("(")?;
        let mut values = Vec::new();
        loop {
            match self.peek() {
                Some(")") => {
                    self.at += 1;
                    return Ok(values);
                }
                Some(",") => self.at += 1,
                Some(_) => values.push(self.word()?),
                None => return Err("found '', expected: ',' or ')'".to_owned()),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        if self.peek() == Some("!") {
            self.at += 1;
            return Ok(Requirement {
                key: self.word()?,
                operator: Operator::DoesNotExist,
            });
        }
        let key = self.word()?;
        if matches!(self.peek(), None | Some(",")) {
            return Ok(Requirement {
                key,
                operator: Operator::Exists,
            });
        }
        let operator = match self.next().as_str() {
            "=" | "==" => Operator::In(vec![self.value()?]),
            "!=" => Operator::NotIn(vec![self.value()?]),
            "in" => Operator::In(self.set()?),
            "notin" => Operator::NotIn(self.set()?),
            ">" => Operator::GreaterThan(self.number()?),
            "<" => Operator::LessThan(self.number()?),
            found => {
                return Err(format!("found '{found}', expected: in, notin, =, ==, !=, gt, lt"));
            }
        };
        Ok(Requirement { key, operator })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selects(selector: &str, labels: &Value) -> bool {
        let object = json!({ "metadata": { "labels": labels } });
        LabelSelector::parse(selector).expect(selector).matches(&object)
    }

    #[test]
    fn each_operator_selects_as_documented() {
        for (selector, labels, expected) in [
            ("", json!({}), true),
            ("a=b", json!({ "a": "b" }), true),
            ("a==b", json!({ "a": "c" }), false),
            ("a!=b", json!({}), true),
            ("a!=b", json!({ "a": "b" }), false),
            ("a in (b, c)", json!({ "a": "c" }), true),
            ("a in (b,c)", json!({}), false),
            ("a notin (b)", json!({}), true),
            ("a", json!({ "a": "" }), true),
            ("!a", json!({ "a": "" }), false),
            ("a>3", json!({ "a": "4" }), true),
            ("a<3", json!({ "a": "x" }), false),
            ("a=,b", json!({ "a": "", "b": "1" }), true),
            ("a=b,c=d", json!({ "a": "b" }), false),
            ("x.y/z=1", json!({ "x.y/z": "1" }), true),
        ] {
            assert_eq!(selects(selector, &labels), expected, "{selector} on {labels}");
        }
    }

    #[test]
    fn broken_selectors_are_refused() {
        for selector in ["=a", "a in b", "a in (b", "a b", ",", "a=b,,"] {
            assert!(LabelSelector::parse(selector).is_err(), "{selector}");
        }
    }

    #[test]
    fn an_absent_selector_object_selects_nothing_and_an_empty_one_everything() {
        let pod = json!({ "metadata": { "labels": { "a": "b" } } });
        assert!(!LabelSelector::from_object(None).expect("valid").matches(&pod));
        assert!(
            LabelSelector::from_object(Some(&json!({})))
                .expect("valid")
                .matches(&pod)
        );
        let by_expression = json!({ "matchExpressions": [{ "key": "a", "operator": "NotIn", "values": ["b"] }] });
        assert!(
            !LabelSelector::from_object(Some(&by_expression))
                .expect("valid")
                .matches(&pod)
        );
        assert!(LabelSelector::from_object(Some(&json!({ "matchExpressions": [{ "key": "a" }] }))).is_none());
    }
}
