use std::io::Write;
use std::path::Path;

use plimsoll_config::{Difference, diff};
use serde_json::{Value, json};

use super::check::problems;
use super::input::{Files, Trouble};
use super::{End, Output};

/// Says what changes from one file to another.
pub(super) fn run(
    files: &Files,
    from: &Path,
    to: &Path,
    output: Output,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<End, Trouble> {
    let reports = files.read_both(from, to)?;
    for (path, report) in [from, to].iter().zip(&reports) {
        problems(&path.display().to_string(), report, err)?;
    }
    let [before, after] = &reports;
    let (Some(before), Some(after)) = (&before.config, &after.config) else {
        return Ok(End::Found);
    };
    let differences = diff(before, after);
    match output {
        Output::Text => {
            for difference in &differences {
                writeln!(out, "{}", line(difference))?;
            }
        }
        Output::Json => {
            let differences: Vec<Value> = differences.iter().map(as_json).collect();
            writeln!(out, "{:#}", json!({ "differences": differences }))?;
        }
    }
    Ok(if differences.is_empty() { End::Fine } else { End::Found })
}

fn line(difference: &Difference) -> String {
    let path = &difference.path;
    match (&difference.from, &difference.to) {
        (None, Some(to)) => format!("+ {path}: {to}"),
        (Some(from), None) => format!("- {path}: {from}"),
        (from, to) => {
            let text = |value: &Option<String>| value.clone().unwrap_or_default();
            format!("~ {path}: {} -> {}", text(from), text(to))
        }
    }
}

fn as_json(difference: &Difference) -> Value {
    let value = |text: &Option<String>| {
        text.as_deref()
            .and_then(|text| serde_json::from_str::<Value>(text).ok())
    };
    json!({
        "path": difference.path,
        "from": value(&difference.from),
        "to": value(&difference.to),
    })
}
