use std::io::Write;
use std::path::Path;

use plimsoll_config::Problem;
use serde_json::{Value, json};

use super::input::{Files, Report, Trouble};
use super::{End, Output};

/// Says what is wrong with a file.
pub(super) fn run(files: &Files, path: &Path, output: Output, out: &mut dyn Write) -> Result<End, Trouble> {
    let report = files.read(path)?;
    let name = path.display().to_string();
    match output {
        Output::Text => tell(&name, &report, out)?,
        Output::Json => writeln!(out, "{:#}", as_json(&name, &report))?,
    }
    Ok(if report.problems.is_empty() {
        End::Fine
    } else {
        End::Found
    })
}

/// One line for each problem with a way out below it, then the warnings and the result.
fn tell(name: &str, report: &Report, out: &mut dyn Write) -> Result<(), Trouble> {
    problems(name, report, out)?;
    for warning in &report.warnings {
        writeln!(out, "{name}: warning: {warning}")?;
    }
    let what = report
        .kind
        .map_or_else(|| "file".to_owned(), super::input::FileKind::name);
    match report.problems.len() {
        0 => writeln!(out, "{name}: a valid {what}")?,
        1 => writeln!(out, "{name}: 1 problem in this {what}")?,
        several => writeln!(out, "{name}: {several} problems in this {what}")?,
    }
    Ok(())
}

/// What is wrong with a file, for people.
pub(super) fn problems(name: &str, report: &Report, out: &mut dyn Write) -> Result<(), Trouble> {
    for Problem { at, text, hint, .. } in &report.problems {
        let place = at.map(|at| format!(":{}:{}", at.line, at.column)).unwrap_or_default();
        writeln!(out, "{name}{place}: {text}")?;
        if let Some(hint) = hint {
            writeln!(out, "    try: {hint}")?;
        }
    }
    Ok(())
}

fn as_json(name: &str, report: &Report) -> Value {
    let problem = |problem: &Problem| {
        json!({
            "path": problem.path,
            "line": problem.at.map(|at| at.line),
            "column": problem.at.map(|at| at.column),
            "text": problem.text,
            "hint": problem.hint,
        })
    };
    json!({
        "file": name,
        "valid": report.problems.is_empty(),
        "kind": report.kind.map(super::input::FileKind::name),
        "problems": report.problems.iter().map(problem).collect::<Vec<_>>(),
        "warnings": report.warnings,
    })
}
