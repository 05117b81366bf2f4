//! A bill of materials in the form of `CycloneDX` 1.6.

use serde_json::{Value, json};

use crate::packages::Package;

/// The bill of a program made of these packages, the one called `plimsoll` first among them. `time` is the second since 1970
/// that it says it was made; none leaves it out, so that the same packages give the same bytes.
///
/// # Errors
/// When `plimsoll` is not among the packages, or there is no such time.
pub fn bill(packages: &[Package], time: Option<i64>) -> anyhow::Result<Value> {
    let (program, libraries): (Vec<&Package>, Vec<&Package>) =
        packages.iter().partition(|package| package.name == "plimsoll");
    let program = program
        .first()
        .ok_or_else(|| anyhow::anyhow!("plimsoll is not made of itself"))?;
    let own = env!("CARGO_PKG_VERSION");
    let mut metadata = json!({
        "tools": { "components": [{ "type": "application", "name": "plimsoll-image sbom", "version": own }] },
        "component": component(program, "application"),
    });
    if let Some(time) = time {
        metadata["timestamp"] = jiff::Timestamp::from_second(time)?.to_string().into();
    }
    let components: Vec<Value> = libraries.iter().map(|package| component(package, "library")).collect();
    let dependencies: Vec<Value> = packages
        .iter()
        .map(|package| {
            let needs: Vec<_> = package
                .needs
                .iter()
                .map(|(name, version)| purl(name, version))
                .collect();
            json!({ "ref": purl(&package.name, &package.version), "dependsOn": needs })
        })
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": metadata,
        "components": components,
        "dependencies": dependencies,
    }))
}

fn component(package: &Package, kind: &str) -> Value {
    let purl = purl(&package.name, &package.version);
    let mut component = json!({
        "type": kind,
        "bom-ref": purl,
        "name": package.name,
        "version": package.version,
        "purl": purl,
        // What has a part in the building alone is not in the program.
        "scope": if package.linked { "required" } else { "excluded" },
    });
    if !package.license.is_empty() {
        component["licenses"] = json!([{ "expression": package.license }]);
    }
    if let Some(checksum) = &package.checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    if !package.repository.is_empty() {
        component["externalReferences"] = json!([{ "type": "vcs", "url": package.repository }]);
    }
    component
}

/// The name of a package that is the same everywhere.
fn purl(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}
