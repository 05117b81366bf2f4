use std::io::Write;
use std::path::Path;

use plimsoll_config::{ConfigKind, diff};

use super::End;
use super::check::problems;
use super::input::{Files, Trouble};

/// Prints a file as a configuration of a kind. What gets lost is told beside it.
pub(super) fn run(
    files: &Files,
    path: &Path,
    to: ConfigKind,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<End, Trouble> {
    let report = files.read(path)?;
    problems(&path.display().to_string(), &report, err)?;
    let Some(config) = &report.config else {
        return Ok(End::Found);
    };
    for warning in &report.warnings {
        writeln!(err, "warning: {warning}")?;
    }
    let yaml = config.to_yaml(to);
    write!(out, "{yaml}")?;
    let written = files.report(&yaml).config;
    let lost: Vec<_> = written.iter().flat_map(|written| diff(config, written)).collect();
    for difference in &lost {
        writeln!(err, "left out, since this kind cannot say it: {}", difference.path)?;
    }
    Ok(if lost.is_empty() && written.is_some() {
        End::Fine
    } else {
        End::Found
    })
}
