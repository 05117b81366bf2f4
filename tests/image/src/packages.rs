//! What the program is made of, as Cargo resolves it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

/// A package that the program is built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence, as an SPDX expression; empty when it does not say.
    pub license: String,
    /// Where its sources are kept; empty when it does not say.
    pub repository: String,
    /// SHA-256 of what was downloaded; none of the workspace's own.
    pub checksum: Option<String>,
    /// Whether its code is in the program. Else it only has a part in the building: build scripts and macros.
    pub linked: bool,
    /// Names and versions of those of these packages that it depends on.
    pub needs: Vec<(String, String)>,
}

/// Every package that the program `plimsoll` is built from on a target such as `x86_64-unknown-linux-gnu`, itself included.
///
/// # Errors
/// When Cargo cannot tell.
pub fn packages(target: &str) -> anyhow::Result<Vec<Package>> {
    let linked = tree(target, "normal,no-proc-macro")?;
    let built = tree(target, "normal,build")?;
    let metadata = cargo(&[
        "metadata",
        "--locked",
        "--format-version",
        "1",
        "--filter-platform",
        target,
    ])?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let checksums = checksums(&fs::read_to_string(crate::top().join("Cargo.lock"))?);
    let all = metadata["packages"].as_array().context("no packages")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let key = |package: &Value| (text(&package["name"]), text(&package["version"]));
    let keys: BTreeMap<&str, _> = all
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, key(package))))
        .collect();
    let nodes = metadata["resolve"]["nodes"].as_array().context("nothing is resolved")?;
    let needs: BTreeMap<_, Vec<_>> = nodes
        .iter()
        .filter_map(|node| {
            let dependencies = node["deps"]
                .as_array()?
                .iter()
                .filter(|dependency| !only_for_tests(dependency));
            let needed = dependencies.filter_map(|dependency| keys.get(dependency["pkg"].as_str()?).cloned());
            Some((keys.get(node["id"].as_str()?)?.clone(), needed.collect()))
        })
        .collect();
    let mut packages = Vec::new();
    for package in all.iter().filter(|package| built.contains(&key(package))) {
        let key = key(package);
        let mut needs: Vec<_> = needs.get(&key).into_iter().flatten().cloned().collect();
        needs.retain(|needed| built.contains(needed));
        needs.sort();
        needs.dedup();
        packages.push(Package {
            license: text(&package["license"]).replace('/', " OR "),
            repository: text(&package["repository"]),
            checksum: checksums.get(&key).cloned(),
            linked: linked.contains(&key),
            needs,
            name: key.0,
            version: key.1,
        });
    }
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    ensure!(
        packages.len() == built.len(),
        "Cargo tells of {} packages and describes {}",
        built.len(),
        packages.len()
    );
    Ok(packages)
}

fn only_for_tests(dependency: &Value) -> bool {
    let kinds = dependency["dep_kinds"].as_array();
    kinds.is_some_and(|kinds| kinds.iter().all(|kind| kind["kind"] == "dev"))
}

/// Names and versions of what `cargo tree` shows with the features that the program alone asks for.
fn tree(target: &str, edges: &str) -> anyhow::Result<BTreeSet<(String, String)>> {
    let arguments = [
        "tree",
        "--locked",
        "--package",
        "plimsoll",
        "--target",
        target,
        "--edges",
        edges,
        "--prefix",
        "none",
        "--format",
        "{p}",
    ];
    let text = cargo(&arguments)?;
    let package = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        Some((name, words.next()?.strip_prefix('v')?.to_owned()))
    };
    Ok(text.lines().filter_map(package).collect())
}

/// The checksums of a lock file by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |entry: &str, name: &str| {
        let line = entry
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    lock.split("[[package]]")
        .filter_map(|entry| {
            let key = (field(entry, "name")?, field(entry, "version")?);
            Some((key, field(entry, "checksum")?))
        })
        .collect()
}

fn cargo(arguments: &[&str]) -> anyhow::Result<String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program)
        .args(arguments)
        .current_dir(crate::top())
        .output()?;
    ensure!(
        output.status.success(),
        "cargo {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_found_by_name_and_version_where_there_are_any() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"s\"\nchecksum = \"ab\"\n\n\
                    [[package]]\nname = \"own\"\nversion = \"0.1.0\"\n";
        let found = checksums(lock);
        assert_eq!(found.len(), 1);
        assert_eq!(found[&("a".to_owned(), "1.0.0".to_owned())], "ab");
    }
}
