//! The bill of materials says what is in the program, and nothing else.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use plimsoll_image::{bill, packages};
use serde_json::Value;

const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

fn references(bill: &Value) -> BTreeSet<String> {
    let components = bill["components"].as_array().into_iter().flatten();
    let all = components.chain(bill.pointer("/metadata/component"));
    all.filter_map(|component| component["bom-ref"].as_str())
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_package_has_a_name_a_licence_and_the_hash_of_what_was_downloaded() -> anyhow::Result<()> {
    for target in TARGETS {
        let packages = packages(target)?;
        for package in &packages {
            let named = format!("{} {}", package.name, package.version);
            ensure!(!package.license.is_empty(), "{named} has no licence");
            let own = package.name.starts_with("plimsoll");
            ensure!(
                own != package.checksum.is_some(),
                "{named} has the checksum {:?}",
                package.checksum
            );
        }
        let linked = |name: &str| {
            packages
                .iter()
                .find(|package| package.name == name)
                .map(|package| package.linked)
        };
        assert_eq!(linked("rustls"), Some(true));
        assert_eq!(linked("plimsoll-engine"), Some(true));
        // A macro has a part in the building, and none in the program.
        assert_eq!(linked("serde_derive"), Some(false));
        // Of tests alone.
        assert_eq!(linked("proptest"), None);
        assert_eq!(linked("plimsoll-cluster"), None);
    }
    Ok(())
}

#[test]
fn the_bill_is_whole_in_itself_and_the_same_each_time() -> anyhow::Result<()> {
    let packages = packages(TARGETS[0])?;
    let made = bill(&packages, None)?;
    assert_eq!(made["bomFormat"], "CycloneDX");
    assert_eq!(made["specVersion"], "1.6");
    assert_eq!(
        made.pointer("/metadata/component/name").context("no program")?,
        "plimsoll"
    );
    assert_eq!(made.pointer("/metadata/timestamp"), None);
    let references = references(&made);
    assert_eq!(references.len(), packages.len());
    let mut told = BTreeSet::new();
    for entry in made["dependencies"].as_array().context("no dependencies")? {
        told.extend(entry["ref"].as_str().map(str::to_owned));
        for needed in entry["dependsOn"].as_array().into_iter().flatten() {
            let needed = needed.as_str().unwrap_or_default();
            ensure!(
                references.contains(needed),
                "{needed} is needed and not among the components"
            );
        }
    }
    assert_eq!(told, references);
    assert_eq!(made, bill(&plimsoll_image::packages(TARGETS[0])?, None)?);
    let dated = bill(&packages, Some(1_795_000_000))?;
    assert_eq!(
        dated.pointer("/metadata/timestamp").context("no time")?,
        "2026-11-18T11:06:40Z"
    );
    Ok(())
}

#[test]
fn every_package_but_the_program_is_there_because_another_needs_it() -> anyhow::Result<()> {
    let packages = packages(TARGETS[0])?;
    let needed: BTreeSet<_> = packages
        .iter()
        .flat_map(|package| package.needs.iter().cloned())
        .collect();
    for package in &packages {
        let key = (package.name.clone(), package.version.clone());
        ensure!(
            package.name == "plimsoll" || needed.contains(&key),
            "nothing needs {} {}",
            package.name,
            package.version
        );
    }
    Ok(())
}
