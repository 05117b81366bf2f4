use std::io::Write;
use std::path::Path;

use plimsoll_config::{ConfigKind, diff, first_of, shortened};

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
    let (warnings, others) = first_of(&report.warnings);
    for warning in warnings.iter().chain(&others) {
        writeln!(err, "warning: {}", shortened(warning))?;
    }
    let yaml = config.to_yaml(to);
    let reread = files.report(&yaml);
    let Some(written) = &reread.config else {
        // With all its defaults it can be more than is read of a file.
        let cause = reread.problems.first().map_or("", |problem| &problem.text);
        writeln!(
            err,
            "error: the converted file could not be read again: {}",
            shortened(cause)
        )?;
        return Ok(End::Found);
    };
    write!(out, "{yaml}")?;
    let lost = diff(config, written);
    let (told, others) = first_of(&lost);
    for path in told.iter().map(|difference| &difference.path).chain(&others) {
        writeln!(err, "left out, since this kind cannot say it: {}", shortened(path))?;
    }
    Ok(if lost.is_empty() { End::Fine } else { End::Found })
}
