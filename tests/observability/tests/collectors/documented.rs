//! The picture of a trace in `docs/observability.md`: what was read back from Jaeger, drawn. `WRITE_PICTURE=1` writes it anew.

use std::path::Path;

use anyhow::{Context, ensure};
use plimsoll_observability::{Trace, shape};

/// What stands before the picture, and behind it.
const BEFORE: &str =
    "<!-- drawn from spans that Jaeger had received; `WRITE_PICTURE=1 make traces` draws it anew -->\n```text\n";
const BEHIND: &str = "```\n";

/// Fails unless the documentation shows a trace of this shape.
pub(crate) fn is_drawn(trace: &Trace) -> anyhow::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/observability.md");
    let page = std::fs::read_to_string(&path)?;
    let (before, rest) = page
        .split_once(BEFORE)
        .context("docs/observability.md has no picture")?;
    let (shown, behind) = rest.split_once(BEHIND).context("the picture has no end")?;
    let picture = trace.picture();
    if std::env::var_os("WRITE_PICTURE").is_some_and(|value| !value.is_empty()) {
        std::fs::write(&path, format!("{before}{BEFORE}{picture}{BEHIND}{behind}"))?;
        return Ok(());
    }
    ensure!(
        shape(shown) == shape(&picture),
        "docs/observability.md shows another trace than there is; WRITE_PICTURE=1 writes this one:\n{picture}"
    );
    Ok(())
}
