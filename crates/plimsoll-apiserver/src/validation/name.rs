//! Names, labels and their messages.

const LABEL_FORMAT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED_FORMAT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

fn too_long(limit: usize, unit: &str) -> String {
    format!("must be no more than {limit} {unit}")
}

fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inner = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-';
    let outer = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    bytes.iter().all(inner) && outer(bytes.first()) && outer(bytes.last())
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

/// What is wrong with an RFC 1123 subdomain.
pub(super) fn subdomain(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 253 {
        errors.push(too_long(253, "characters"));
    }
    if !is_subdomain(text) {
        errors.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '{LABEL_FORMAT}(\\.{LABEL_FORMAT})*')"
        ));
    }
    errors
}

/// What is wrong with an RFC 1123 label.
pub(super) fn label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63, "characters"));
    }
    if !is_label(text) {
        errors.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            format!(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                 and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                 '{LABEL_FORMAT}')"
            )
        });
    }
    errors
}

/// What is wrong with an RFC 1035 label (names of services).
pub(super) fn label_1035(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63, "characters"));
    }
    if !is_label(text) || text.starts_with(|c: char| c.is_ascii_digit()) {
        errors.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    errors
}

/// What is wrong with a name that is only a path segment (RBAC).
pub(super) fn path_segment(text: &str) -> Vec<String> {
    match text {
        "." | ".." => return vec![format!("may not be '{text}'")],
        _ => {}
    }
    ['/', '%']
        .into_iter()
        .filter(|c| text.contains(*c))
        .map(|c| format!("may not contain '{c}'"))
        .collect()
}

fn is_qualified_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inner = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let outer = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    bytes.iter().all(inner) && outer(bytes.first()) && outer(bytes.last())
}

const QUALIFIED_RULE: &str =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// What is wrong with a label key, or any qualified name.
pub(super) fn qualified(text: &str) -> Vec<String> {
    let regex = format!(
        "{QUALIFIED_RULE} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
         '{QUALIFIED_FORMAT}')"
    );
    let parts: Vec<&str> = text.split('/').collect();
    let (prefix, name) = match parts.as_slice() {
        [name] => (None, *name),
        [prefix, name] => (Some(*prefix), *name),
        _ => {
            return vec![format!(
                "a valid label key {regex} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    let mut errors = Vec::new();
    match prefix {
        Some("") => errors.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => errors.extend(subdomain(prefix).into_iter().map(|e| format!("prefix part {e}"))),
        None => {}
    }
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        errors.push(format!("name part {}", too_long(63, "bytes")));
    }
    if !is_qualified_part(name) {
        errors.push(format!("name part {regex}"));
    }
    errors
}

/// What is wrong with a label value.
pub(super) fn label_value(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63, "bytes"));
    }
    if !text.is_empty() && !is_qualified_part(text) {
        errors.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
             for validation is '({QUALIFIED_FORMAT})?')"
        ));
    }
    errors
}
