//! klog's text: `I1129 01:02:03.000004       1 elector.rs:12] "Message" key="value"`.

use std::fmt::Write;

use jiff::tz::TimeZone;

use super::fields::Value;
use super::line::{Line, Severity};
use super::secrets::hidden;

/// Appends the line, with its end, to `to`.
pub(super) fn write(line: &Line<'_>, to: &mut String) {
    let severity = match line.place.severity {
        Severity::Info => 'I',
        Severity::Warning => 'W',
        Severity::Error => 'E',
    };
    let time = line.time.to_zoned(TimeZone::UTC).datetime();
    let micros = time.subsec_nanosecond() / 1000;
    // Writing to a string does not fail.
    let _ = write!(
        to,
        "{severity}{:02}{:02} {:02}:{:02}:{:02}.{micros:06} {:>7} {}:{}] ",
        time.month(),
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
        std::process::id(),
        line.place.name(),
        line.place.line,
    );
    let message = hidden(&line.said.message);
    if message.starts_with("FLAG: ") {
        // kube-scheduler writes these plainly, and they have values in quotes.
        to.push_str(&message);
    } else {
        quote(&message, to);
    }
    for (name, value) in &line.said.values {
        to.push(' ');
        to.push_str(name);
        match value {
            Value::Text(text) => write_text(&hidden(text), to),
            Value::Plain(text) => {
                to.push('=');
                to.push_str(text);
            }
            Value::Real(number) => {
                let _ = write!(to, "={number}");
            }
        }
    }
    to.push('\n');
}

/// A text of several lines stands below, each line behind a tab.
fn write_text(text: &str, to: &mut String) {
    if !text.contains('\n') {
        to.push('=');
        quote(text, to);
        return;
    }
    to.push_str("=<\n");
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        to.push('\t');
        to.push_str(line);
        to.push('\n');
    }
    to.push_str(" >");
}

/// Quotes as Go's `strconv.Quote`.
fn quote(text: &str, to: &mut String) {
    to.push('"');
    for c in text.chars() {
        match c {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            '\t' => to.push_str("\\t"),
            '\u{7}' => to.push_str("\\a"),
            '\u{8}' => to.push_str("\\b"),
            '\u{b}' => to.push_str("\\v"),
            '\u{c}' => to.push_str("\\f"),
            c if c.is_ascii_control() => {
                let _ = write!(to, "\\x{:02x}", u32::from(c));
            }
            c if c.is_control() => {
                let _ = write!(to, "\\u{:04x}", u32::from(c));
            }
            c => to.push(c),
        }
    }
    to.push('"');
}

#[cfg(test)]
mod tests {
    use super::super::fields::Fields;
    use super::super::line::Place;
    use super::*;

    fn written(severity: Severity, values: Vec<(&'static str, Value)>) -> String {
        let said = Fields {
            message: "Some \"thing\"\nhappened".to_owned(),
            values,
        };
        let line = Line {
            place: Place {
                severity,
                level: 0,
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
    fn a_line_looks_as_klog_writes_it() {
        let pid = format!("{:>7}", std::process::id());
        let line = written(
            Severity::Info,
            vec![
                ("pod", Value::Text("default/a".to_owned())),
                ("evaluatedNodes", Value::Plain("3".to_owned())),
                ("seconds", Value::Real(0.25)),
                ("tab", Value::Text("a\tb\u{1}é".to_owned())),
            ],
        );
        let expected = format!(
            "I1129 01:02:03.000004 {pid} terms.rs:12] \"Some \\\"thing\\\"\\nhappened\" pod=\"default/a\" evaluatedNodes=3 seconds=0.25 tab=\"a\\tb\\x01é\"\n"
        );
        assert_eq!(line, expected);
        assert!(written(Severity::Warning, Vec::new()).starts_with('W'));
        assert!(written(Severity::Error, Vec::new()).starts_with('E'));
    }

    #[test]
    fn values_of_several_lines_stand_below_as_klog_writes_them() {
        let line = written(
            Severity::Info,
            vec![
                ("config", Value::Text("a: 1\nb: 2\n".to_owned())),
                ("more", Value::Text("x\ny".to_owned())),
            ],
        );
        assert!(
            line.ends_with(" config=<\n\ta: 1\n\tb: 2\n > more=<\n\tx\n\ty\n >\n"),
            "{line}"
        );
    }
}
