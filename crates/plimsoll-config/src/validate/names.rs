//! What is wrong with label text, in the words of Kubernetes.

use plimsoll_model::{is_label_key, is_label_value};

const NAME_FORMAT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const DNS_FORMAT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const MAX_NAME: usize = 63;
const MAX_PREFIX: usize = 253;

/// What keeps a text from being a label key; nothing when it may be one.
pub(super) fn label_key_faults(key: &str) -> Vec<String> {
    if is_label_key(key) {
        return Vec::new();
    }
    let mut faults = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            faults.extend(prefix_faults(prefix));
            *name
        }
        _ => {
            let rule = name_rule();
            return vec![format!(
                "a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > MAX_NAME {
        faults.push(format!("name part must be no more than {MAX_NAME} bytes"));
    }
    if !has_shape_of_name(name) {
        faults.push(format!("name part {}", name_rule()));
    }
    faults
}

/// What keeps a text from being a label value; nothing when it may be one.
pub(super) fn label_value_faults(value: &str) -> Vec<String> {
    if is_label_value(value) {
        return Vec::new();
    }
    let mut faults = Vec::new();
    if value.len() > MAX_NAME {
        faults.push(format!("must be no more than {MAX_NAME} bytes"));
    }
    if !has_shape_of_name(value) {
        faults.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
             validation is '({NAME_FORMAT})?')"
        ));
    }
    faults
}

/// Whether the letters of a name are right, whatever its length.
fn has_shape_of_name(name: &str) -> bool {
    let ends = [name.chars().next(), name.chars().last()];
    ends.iter().all(|end| end.is_some_and(|c| c.is_ascii_alphanumeric()))
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn name_rule() -> String {
    format!(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character \
         (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{NAME_FORMAT}')"
    )
}

fn prefix_faults(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let mut faults = Vec::new();
    if prefix.len() > MAX_PREFIX {
        faults.push(format!("prefix part must be no more than {MAX_PREFIX} bytes"));
    }
    let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let part =
        |part: &str| part.starts_with(lower) && part.ends_with(lower) && part.chars().all(|c| lower(c) || c == '-');
    if !prefix.split('.').all(part) {
        faults.push(format!(
            "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
             and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '{DNS_FORMAT}(\\.{DNS_FORMAT})*')"
        ));
    }
    faults
}
