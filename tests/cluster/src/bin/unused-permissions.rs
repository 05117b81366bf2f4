//! Names the permissions in `deploy/plimsoll.yaml` that no replica used in all the tests that noted what was asked for in
//! this file. `make cluster` runs it behind the whole suite.

use anyhow::{Context, ensure};
use plimsoll_cluster::{Permissions, noted, suite};

fn main() -> anyhow::Result<()> {
    let path = std::env::args().nth(1).context("name the file of PLIMSOLL_ASKED")?;
    let Ok(text) = std::fs::read_to_string(&path) else {
        suite::say("no test asked for anything: there was no control plane");
        return Ok(());
    };
    let requests = noted(&text)?;
    let permissions = Permissions::of_the_manifest()?;
    let unused = permissions.unused(&requests);
    ensure!(unused.is_empty(), "no test needs these permissions: {unused:#?}");
    suite::say(&format!("each of {} permissions is used", permissions.count()));
    Ok(())
}
