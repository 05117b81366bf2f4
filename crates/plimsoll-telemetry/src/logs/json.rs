//! component-base's JSON: `{"ts":1764378123000.004,"caller":"elector/terms.rs:12","msg":"Message","v":2,"key":"value"}`.

use std::fmt::Write;

use super::fields::Value;
use super::line::{Line, Severity};
use super::secrets::hidden;

/// Keys whose values are names of objects, which kube-scheduler writes as objects with name and namespace.
const OBJECTS: [&str; 3] = ["pod", "preemptor", "victim"];

/// Appends the line, with its end, to `to`.
pub(super) fn write(line: &Line<'_>, to: &mut String) {
    let micros = line.time.as_microsecond();
    // Writing to a string does not fail.
    let _ = write!(
        to,
        "{{\"ts\":{}.{:03},\"caller\":\"{}:{}\",\"msg\":",
        micros.div_euclid(1000),
        micros.rem_euclid(1000),
        line.place.with_folder(),
        line.place.line,
    );
    quote(&hidden(&line.said.message), to);
    match line.place.severity {
        Severity::Info => {
            let _ = write!(to, ",\"v\":{}", line.place.level);
        }
        Severity::Warning => to.push_str(",\"v\":0,\"severity\":\"warning\""),
        // An error has no level there, and is known by that.
        Severity::Error => {}
    }
    for (name, value) in &line.said.values {
        to.push(',');
        quote(name, to);
        to.push(':');
        match value {
            Value::Text(text) if OBJECTS.contains(name) => object(text, to),
            Value::Text(text) => quote(&hidden(text), to),
            Value::Plain(text) => to.push_str(text),
            Value::Real(number) if number.is_finite() => {
                let _ = write!(to, "{number}");
            }
            Value::Real(number) => quote(&number.to_string(), to),
        }
    }
    to.push_str("}\n");
}

fn object(text: &str, to: &mut String) {
    match text.split_once('/') {
        Some((namespace, name)) => {
            to.push_str("{\"name\":");
            quote(name, to);
            to.push_str(",\"namespace\":");
            quote(namespace, to);
            to.push('}');
        }
        None => quote(text, to),
    }
}

fn quote(text: &str, to: &mut String) {
    // A text can always be written as JSON.
    to.push_str(&serde_json::to_string(text).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::super::fields::Fields;
    use super::super::line::Place;
    use super::*;

    fn written(severity: Severity) -> String {
        let said = Fields {
            message: "Some \"thing\"".to_owned(),
            values: vec![
                ("pod", Value::Text("default/a".to_owned())),
                ("preemptor", Value::Text("0f8fad5b".to_owned())),
                ("nodes", Value::Plain("3".to_owned())),
                ("seconds", Value::Real(0.25)),
                ("odd", Value::Real(f64::NAN)),
            ],
        };
        let line = Line {
            place: Place {
                severity,
                level: 2,
                file: "crates/plimsoll-actors/src/elector/terms.rs",
                line: 12,
            },
            time: "2026-11-29T01:02:03.000004567Z".parse().expect("a time"),
            said: &said,
        };
        let mut text = String::new();
        write(&line, &mut text);
        text
    }

    #[test]
    fn a_line_has_the_keys_of_component_base_in_its_order() {
        assert_eq!(
            written(Severity::Info),
            "{\"ts\":1795914123000.004,\"caller\":\"elector/terms.rs:12\",\"msg\":\"Some \\\"thing\\\"\",\"v\":2,\
             \"pod\":{\"name\":\"a\",\"namespace\":\"default\"},\"preemptor\":\"0f8fad5b\",\"nodes\":3,\"seconds\":0.25,\"odd\":\"NaN\"}\n"
        );
    }

    #[test]
    fn errors_have_no_level_and_warnings_say_that_they_are_some() {
        let error: serde_json::Value = serde_json::from_str(&written(Severity::Error)).expect("JSON");
        assert_eq!(error.get("v"), None);
        let warning: serde_json::Value = serde_json::from_str(&written(Severity::Warning)).expect("JSON");
        assert_eq!((&warning["v"], &warning["severity"]), (&0.into(), &"warning".into()));
    }
}
