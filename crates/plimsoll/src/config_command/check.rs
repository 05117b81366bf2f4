use std::io::Write;
use std::path::Path;

use plimsoll_config::{Problem, first_of, shortened};
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
    let (warnings, others) = first_of(&report.warnings);
    for warning in warnings {
        writeln!(out, "{name}: warning: {}", shortened(warning))?;
    }
    if let Some(others) = others {
        writeln!(out, "{name}: warning: {others}")?;
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
    let (told, others) = first_of(&report.problems);
    for Problem { at, text, hint, .. } in told {
        let place = at.map(|at| format!(":{}:{}", at.line, at.column)).unwrap_or_default();
        writeln!(out, "{name}{place}: {}", shortened(text))?;
        if let Some(hint) = hint {
            writeln!(out, "    try: {}", shortened(hint))?;
        }
    }
    if let Some(others) = others {
        writeln!(out, "{name}: {others}")?;
    }
    Ok(())
}

fn as_json(name: &str, report: &Report) -> Value {
    let problem = |problem: &Problem| {
        json!({
            "path": shortened(&problem.path),
            "line": problem.at.map(|at| at.line),
            "column": problem.at.map(|at| at.column),
            "text": shortened(&problem.text),
            "hint": problem.hint.as_deref().map(shortened),
        })
    };
    let (problems, _) = first_of(&report.problems);
    let (warnings, _) = first_of(&report.warnings);
    json!({
        "file": name,
        "valid": report.problems.is_empty(),
        "kind": report.kind.map(super::input::FileKind::name),
        "problems": problems.iter().map(problem).collect::<Vec<_>>(),
        "problemCount": report.problems.len(),
        "warnings": warnings.iter().map(|warning| shortened(warning)).collect::<Vec<_>>(),
    })
}
