//! Writes the bill of materials of the program: `sbom FILE [TARGET]`. `SOURCE_DATE_EPOCH` is the time that it says.

use std::io::Write;

use anyhow::Context;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: sbom FILE [TARGET]";
    let file = arguments.next().context(usage)?;
    let target = arguments
        .next()
        .unwrap_or_else(|| format!("{}-unknown-linux-gnu", std::env::consts::ARCH));
    let time = std::env::var("SOURCE_DATE_EPOCH").ok();
    let time = time.map(|time| time.parse()).transpose().context("SOURCE_DATE_EPOCH")?;
    let packages = plimsoll_image::packages(&target)?;
    let bill = plimsoll_image::bill(&packages, time)?;
    std::fs::write(&file, format!("{bill:#}\n")).with_context(|| file.clone())?;
    let linked = packages.iter().filter(|package| package.linked).count();
    writeln!(
        std::io::stdout(),
        "{file}: {linked} packages in the program for {target}, {} that only help to build it",
        packages.len() - linked
    )?;
    Ok(())
}
