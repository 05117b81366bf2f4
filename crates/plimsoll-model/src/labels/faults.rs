use super::{has_name_letters, is_dns_name};

const NAME_FORMAT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const DNS_FORMAT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const NAME_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                         alphanumeric character";

/// What keeps a text from being a label key, in the words of Kubernetes; nothing when it may be one.
pub fn label_key_faults(key: &str) -> Vec<String> {
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

/// What keeps a text from being a label value, in the words of Kubernetes; nothing when it may be one.
pub fn label_value_faults(value: &str) -> Vec<String> {
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
