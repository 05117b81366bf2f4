//! Each test is a wall. When one stands in the way, the design is what has to be changed first.

use plimsoll_architecture::{
    CORE, Member, ROOMS, features, files, forbidden_in_core, members, reachable, workspace_root,
};

/// What no core crate may reach: runtimes, networks, the Kubernetes client, the operating system, randomness. A name
/// that ends in `-` stands for all that start with it.
const OUTSIDE: [&str; 26] = [
    "tokio",
    "tokio-",
    "mio",
    "socket2",
    "async-io",
    "async-std",
    "smol",
    "hyper",
    "hyper-",
    "http",
    "h2",
    "axum",
    "axum-",
    "tower",
    "reqwest",
    "rustls",
    "kube",
    "kube-",
    "k8s-openapi",
    "ractor",
    "rustix",
    "nix",
    "rand",
    "getrandom",
    "chrono",
    "fastrand",
];

fn rooms() -> anyhow::Result<Vec<Member>> {
    let in_crates = |member: &Member| member.dir.parent().is_some_and(|parent| parent.ends_with("crates"));
    Ok(members()?.into_iter().filter(in_crates).collect())
}

fn place(name: &str) -> Option<usize> {
    ROOMS.iter().position(|room| *room == name)
}

#[test]
fn every_crate_has_its_place_and_no_place_is_empty() -> anyhow::Result<()> {
    let rooms = rooms()?;
    for room in &rooms {
        assert!(
            place(&room.name).is_some(),
            "{} is in no list: say where it belongs",
            room.name
        );
    }
    // The binary is built last; once it is there, so must the rest be.
    if rooms.iter().any(|room| room.name == ROOMS[0]) {
        for name in ROOMS {
            assert!(rooms.iter().any(|room| room.name == name), "{name} is missing");
        }
    }
    Ok(())
}

#[test]
fn crates_depend_only_downwards() -> anyhow::Result<()> {
    for room in rooms()? {
        for dependency in &room.dependencies {
            if let (Some(above), Some(below)) = (place(&room.name), place(dependency)) {
                assert!(above < below, "{} may not depend on {dependency}", room.name);
            }
        }
    }
    Ok(())
}

#[test]
fn no_crate_depends_on_the_tests() -> anyhow::Result<()> {
    let members = members()?;
    let rooms = rooms()?;
    let is_test = |name: &str| members.iter().any(|m| m.name == name) && !rooms.iter().any(|m| m.name == name);
    for room in &rooms {
        for dependency in &room.dependencies {
            assert!(!is_test(dependency), "{} may not depend on {dependency}", room.name);
        }
    }
    Ok(())
}

#[test]
fn the_core_reaches_no_runtime_network_or_randomness() -> anyhow::Result<()> {
    let rooms = rooms()?;
    for name in CORE.iter().filter(|name| rooms.iter().any(|room| room.name == **name)) {
        for reached in reachable(name)? {
            let outside = |out: &str| reached == out || (out.ends_with('-') && reached.starts_with(out));
            assert!(
                !OUTSIDE.iter().any(|out| outside(out)),
                "{name} reaches {reached}: see `cargo tree -p {name}`"
            );
        }
    }
    Ok(())
}

#[test]
fn what_is_shipped_has_no_guard_that_can_be_broken() -> anyhow::Result<()> {
    let breakable = |features: Vec<String>| features.iter().any(|name| name == "broken-guards");
    assert!(!breakable(features("plimsoll", "plimsoll-model")?));
    // The feature is still called that, and the simulation has it.
    assert!(breakable(features("plimsoll-simulation", "plimsoll-model")?));
    Ok(())
}

#[test]
fn the_core_names_no_clock_thread_file_or_socket() -> anyhow::Result<()> {
    for room in rooms()?.into_iter().filter(|room| CORE.contains(&room.name.as_str())) {
        for file in files(&room.dir.join("src")) {
            let is_test = file.file_stem().is_some_and(|stem| stem == "tests")
                || file.components().any(|part| part.as_os_str() == "tests");
            if is_test || file.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let found = forbidden_in_core(&std::fs::read_to_string(&file)?);
            assert!(found.is_empty(), "{} names {}", file.display(), found.join(", "));
        }
    }
    Ok(())
}

#[test]
fn files_are_named_for_what_is_in_them() {
    let vague = ["util", "utils", "helper", "helpers", "common", "misc", "mod"];
    for top in ["crates", "tests"] {
        for file in files(&workspace_root().join(top)) {
            let folder = file.parent().and_then(|parent| parent.file_name()).unwrap_or_default();
            let stem = file.file_stem().unwrap_or_default();
            let bad =
                vague.iter().any(|name| stem == *name || folder == *name) && file.extension() == Some("rs".as_ref());
            assert!(!bad, "{} says nothing by its name", file.display());
        }
    }
}
