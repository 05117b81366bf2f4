use compact_str::CompactString;

use super::{LabelSelector, Operator, Requirement};
use crate::labels::{has_name_letters, is_dns_name};
use crate::{is_label_key, is_label_value};

const NAME_FORMAT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const DNS_FORMAT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const NAME_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                         alphanumeric character";

/// Why a label selector can't be parsed, in kube-scheduler's words. Of several faults those of one requirement are told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ParseSelectorError {
    text: String,
}

impl LabelSelector {
    /// Whether all of it can be parsed; if not, what is wrong with its first bad requirement.
    pub fn check(&self) -> Result<(), ParseSelectorError> {
        if self.is_valid() {
            return Ok(());
        }
        let labels = self.match_labels.iter();
        let labels = labels.map(|(key, value)| Requirement::new(key, Operator::In, [value]));
        let mut requirements = labels.chain(self.match_expressions.iter().cloned());
        let text = requirements.find_map(|requirement| fault(&requirement));
        text.map_or(Ok(()), |text| Err(ParseSelectorError { text }))
    }
}

fn fault(requirement: &Requirement) -> Option<String> {
    let unknown = match &requirement.operator {
        Operator::Gt => Some("Gt"),
        Operator::Lt => Some("Lt"),
        Operator::Other(text) => Some(text.as_str()),
        Operator::In | Operator::NotIn | Operator::Exists | Operator::DoesNotExist => None,
    };
    if let Some(operator) = unknown {
        return Some(format!("{operator:?} is not a valid label selector operator"));
    }
    let mut faults = Vec::new();
    if !is_label_key(&requirement.key) {
        faults.push(format!(
            "key: Invalid value: {:?}: {}",
            requirement.key,
            key_faults(&requirement.key).join("; ")
        ));
    }
    faults.extend(count_fault(requirement));
    for (at, value) in requirement.values.iter().enumerate() {
        if !is_label_value(value) {
            let why = value_faults(value).join("; ");
            faults.push(format!(
                "values[{at}][{}]: Invalid value: {value:?}: {why}",
                requirement.key
            ));
        }
    }
    match faults.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

fn count_fault(requirement: &Requirement) -> Option<String> {
    let values = &requirement.values;
    match requirement.operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            Some("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty".to_owned())
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => Some(format!(
            "values: Invalid value: {}: values set must be empty for exists and does not exist",
            json(values)
        )),
        _ => None,
    }
}

fn json(values: &[CompactString]) -> String {
    serde_json::to_string(values).unwrap_or_default()
}

fn key_faults(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            faults.extend(prefix_faults(prefix));
            *name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                name_rule()
            )];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        faults.push("name part must be no more than 63 bytes".to_owned());
    }
    if !has_name_letters(name) {
        faults.push(format!("name part {}", name_rule()));
    }
    faults
}

fn name_rule() -> String {
    format!("{NAME_RULE} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{NAME_FORMAT}')")
}

fn prefix_faults(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let mut faults = Vec::new();
    if prefix.len() > 253 {
        faults.push("prefix part must be no more than 253 bytes".to_owned());
    }
    if !is_dns_name(prefix) {
        faults.push(format!(
            "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
             and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '{DNS_FORMAT}(\\.{DNS_FORMAT})*')"
        ));
    }
    faults
}

fn value_faults(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > 63 {
        faults.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !has_name_letters(value) {
        faults.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start \
             and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
             validation is '({NAME_FORMAT})?')"
        ));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;

    const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                        alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation \
                        is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

    fn text(key: &str, operator: &str, values: &[&str]) -> String {
        let selector = LabelSelector {
            match_expressions: vec![Requirement::new(
                key,
                CompactString::from(operator).into(),
                values.iter().copied(),
            )],
            ..LabelSelector::default()
        };
        selector
            .check()
            .map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn faults_are_told_in_the_words_of_kubernetes() {
        let long = "a".repeat(64);
        let cases: [(&str, &str, &[&str], String); 11] = [
            ("app", "In", &["web"], String::new()),
            (
                "app",
                "Gt",
                &["1"],
                r#""Gt" is not a valid label selector operator"#.into(),
            ),
            ("app", "", &[], r#""" is not a valid label selector operator"#.into()),
            (
                "app",
                "NotIn",
                &[],
                "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty".into(),
            ),
            (
                "app",
                "Exists",
                &["a", "b"],
                r#"values: Invalid value: ["a","b"]: values set must be empty for exists and does not exist"#.into(),
            ),
            (
                "a b",
                "Exists",
                &[],
                format!(r#"key: Invalid value: "a b": name part {NAME}"#),
            ),
            (
                "",
                "Exists",
                &[],
                format!(r#"key: Invalid value: "": name part must be non-empty; name part {NAME}"#),
            ),
            (
                "/a",
                "Exists",
                &[],
                r#"key: Invalid value: "/a": prefix part must be non-empty"#.into(),
            ),
            (
                "a/b/c",
                "Exists",
                &[],
                format!(
                    r#"key: Invalid value: "a/b/c": a valid label key {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"#
                ),
            ),
            (
                "app",
                "In",
                &["ok", &long],
                format!(r#"values[1][app]: Invalid value: "{long}": must be no more than 63 bytes"#),
            ),
            (
                &long,
                "In",
                &["-"],
                format!(
                    r#"[key: Invalid value: "{long}": name part must be no more than 63 bytes, values[0][{long}]: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]"#
                ),
            ),
        ];
        for (key, operator, values, expected) in cases {
            assert_eq!(text(key, operator, values), expected, "{key} {operator} {values:?}");
        }
    }

    #[test]
    fn match_labels_are_checked_first() {
        let selector = LabelSelector {
            match_labels: [("a", "-")].into_iter().collect::<Labels>(),
            match_expressions: vec![Requirement::new("b", Operator::Gt, ["1"])],
        };
        let error = selector.check().unwrap_err().to_string();
        assert!(
            error.starts_with(r#"values[0][a]: Invalid value: "-": a valid label"#),
            "{error}"
        );
    }
}
