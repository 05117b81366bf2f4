use compact_str::CompactString;

use super::{LabelSelector, Operator, Requirement};
use crate::{is_label_key, is_label_value, label_key_faults, label_value_faults};

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
            label_key_faults(&requirement.key).join("; ")
        ));
    }
    faults.extend(count_fault(requirement));
    for (at, value) in requirement.values.iter().enumerate() {
        if !is_label_value(value) {
            let why = label_value_faults(value).join("; ");
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
