//! Pages that are made from the code.

use std::fs;

use anyhow::ensure;
use plimsoll_documents::{configuration_reference, top};

#[test]
fn the_configuration_reference_is_what_the_types_say() -> anyhow::Result<()> {
    let path = top().join("docs/configuration-reference.md");
    let made = configuration_reference()?;
    if std::env::var_os("WRITE_DOCUMENTS").is_some() {
        fs::write(&path, &made)?;
    }
    ensure!(
        fs::read_to_string(&path)? == made,
        "run this test with WRITE_DOCUMENTS=1 to bring docs/configuration-reference.md up to date"
    );
    Ok(())
}
