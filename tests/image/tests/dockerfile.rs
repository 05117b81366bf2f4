//! The Dockerfile, which no test builds: it is taken apart, held against the image that is assembled without an engine, and its
//! build is given nothing but what it would be given.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use plimsoll_controlplane::WorkDir;
use plimsoll_image::top;
use serde_json::Value;

/// A `FROM` and what follows until the next: each instruction's word, and what stands behind it.
struct Stage {
    base: String,
    instructions: Vec<(String, String)>,
}

impl Stage {
    fn all<'a>(&'a self, word: &'a str) -> impl Iterator<Item = &'a str> {
        let of_word = move |(name, _): &&(String, String)| name == word;
        self.instructions.iter().filter(of_word).map(|(_, rest)| rest.as_str())
    }

    fn one<'a>(&'a self, word: &'a str) -> anyhow::Result<&'a str> {
        let mut found = self.all(word);
        let first = found.next().with_context(|| format!("no {word}"))?;
        ensure!(found.next().is_none(), "{word} stands twice");
        Ok(first)
    }
}

/// The stages: the one that builds, and the image.
fn stages() -> anyhow::Result<[Stage; 2]> {
    let text = fs::read_to_string(top().join("deploy/Dockerfile"))?.replace("\\\n", " ");
    let mut stages: Vec<Stage> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').with_context(|| format!("what is {line:?}?"))?;
        if word == "FROM" {
            stages.push(Stage {
                base: rest.to_owned(),
                instructions: Vec::new(),
            });
            continue;
        }
        let stage = stages.last_mut().context("something before FROM")?;
        stage.instructions.push((word.to_owned(), rest.trim().to_owned()));
    }
    let count = stages.len();
    stages.try_into().ok().with_context(|| format!("{count} stages"))
}

/// The last stage with nothing in it that the assembling does not know of.
fn image() -> anyhow::Result<Stage> {
    let [_, image] = stages()?;
    let known = ["ARG", "LABEL", "COPY", "USER", "WORKDIR", "EXPOSE", "ENTRYPOINT"];
    for (word, rest) in &image.instructions {
        ensure!(
            known.contains(&word.as_str()),
            "deploy/image/assemble.sh does nothing about {word} {rest}"
        );
    }
    Ok(image)
}

/// An assembled image: its configuration, and its folder.
fn assembled() -> anyhow::Result<(Value, WorkDir)> {
    let dir = WorkDir::new("dockerfile")?;
    let output = Command::new(top().join("deploy/image/assemble.sh"))
        .args([Path::new("/bin/true"), dir.path()])
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let blob = |descriptor: &Value| -> anyhow::Result<Value> {
        let digest = descriptor["digest"].as_str().context("no digest")?.replace(':', "/");
        Ok(serde_json::from_slice(&fs::read(
            dir.path().join("oci/blobs").join(digest),
        )?)?)
    };
    let index: Value = serde_json::from_slice(&fs::read(dir.path().join("oci/index.json"))?)?;
    let manifest = blob(&index["manifests"][0])?;
    let mut config = blob(&manifest["config"])?;
    config["layers"] = manifest["layers"].clone();
    Ok((config, dir))
}

#[test]
fn the_assembled_image_has_every_label_of_the_dockerfile_and_no_other() -> anyhow::Result<()> {
    let (stage, (config, _dir)) = (image()?, assembled()?);
    let arguments: BTreeMap<&str, &str> = stage.all("ARG").filter_map(|text| text.split_once('=')).collect();
    let made: BTreeMap<String, String> = serde_json::from_value(config["config"]["Labels"].clone())?;
    let mut names = BTreeSet::new();
    for label in stage.all("LABEL") {
        let (name, value) = label.split_once('=').with_context(|| label.to_owned())?;
        names.insert(name.to_owned());
        let value = value.trim_matches('"');
        let found = made.get(name).with_context(|| format!("{name} is missing"))?;
        match value.strip_prefix("${").and_then(|name| name.strip_suffix('}')) {
            None => assert_eq!(found, value, "{name}"),
            Some(argument) => {
                let default = arguments.get(argument).with_context(|| format!("no ARG {argument}"))?;
                // These two are known where the tree is a clone.
                let known = ["REVISION", "CREATED"].contains(&argument);
                ensure!(known || found == default, "{name} is {found:?}, not {default:?}");
            }
        }
    }
    assert_eq!(names, made.keys().cloned().collect());
    assert_eq!(arguments["VERSION"], env!("CARGO_PKG_VERSION"));
    Ok(())
}

#[test]
fn the_assembled_image_has_the_files_that_the_dockerfile_copies_and_no_others_on_its_base() -> anyhow::Result<()> {
    let ([compiling, _], stage, (config, dir)) = (stages()?, image()?, assembled()?);
    // Where a file comes to lie: from where, and whether the build leaves it there.
    let mut copied = BTreeMap::new();
    let mut links = BTreeMap::new();
    for copy in stage.all("COPY") {
        let words: Vec<&str> = copy.split_whitespace().filter(|word| *word != "--from=build").collect();
        let [from, to] = words[..] else {
            anyhow::bail!("COPY {copy}");
        };
        let built = copy.starts_with("--from=build ");
        if from.ends_with('/') {
            for (target, name) in compiling.all("RUN").filter_map(|run| link_in(run, from)) {
                copied.insert(format!("{to}{name}"), (from.to_owned(), built));
                links.insert(format!("{to}{name}"), target.to_owned());
            }
        } else {
            copied.insert(to.to_owned(), (from.to_owned(), built));
        }
    }
    ensure!(!links.is_empty(), "kubeadm's manifests do not find the program");
    let digest = config["layers"][1]["digest"].as_str().context("no second layer")?;
    let output = Command::new("tar")
        .args(["--list", "--gzip", "--file"])
        .arg(dir.path().join("oci/blobs").join(digest.replace(':', "/")))
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout)?;
    let files = listed.lines().filter(|line| !line.ends_with('/'));
    let files: BTreeSet<String> = files.map(|line| line.trim_start_matches('.').to_owned()).collect();
    assert_eq!(files, copied.keys().cloned().collect());

    for (to, (from, built)) in &copied {
        let file = dir.path().join("rootfs").join(to.trim_start_matches('/'));
        if let Some(target) = links.get(to) {
            assert_eq!(fs::read_link(&file)?, Path::new(target));
            ensure!(
                copied.contains_key(target),
                "{to} leads to {target}, which is not there"
            );
        } else if *built {
            // What the build leaves there is the program, which the entry point begins.
            let left = format!("cp target/release/plimsoll {from}");
            ensure!(
                compiling.all("RUN").any(|run| run.ends_with(&left)),
                "nothing leaves {from}"
            );
            assert_eq!(stage.one("ENTRYPOINT")?, format!("[\"{to}\"]"));
            assert_eq!(fs::read(&file)?, fs::read("/bin/true")?);
        } else {
            assert_eq!(fs::read(&file)?, fs::read(top().join(from))?, "{from}");
        }
    }
    Ok(())
}

/// The link that a command makes in a folder: where it leads, and its name.
fn link_in<'a>(run: &'a str, folder: &str) -> Option<(&'a str, &'a str)> {
    let (_, link) = run.split_once("ln -s ")?;
    let (target, path) = link.split_once(' ')?;
    Some((target, path.strip_prefix(folder)?))
}

#[test]
fn user_and_debian_of_the_dockerfile_are_those_of_its_base() -> anyhow::Result<()> {
    let ([build, _], stage, (_, dir)) = (stages()?, image()?, assembled()?);
    // Debian 12 is bookworm: what is linked in the one is found in the other.
    ensure!(build.base.ends_with("-bookworm AS build"), "{}", build.base);
    assert_eq!(stage.base, "gcr.io/distroless/cc-debian12:nonroot");
    // The base's own user, by number: kubelets can tell that it is not root.
    let (user, group) = stage.one("USER")?.split_once(':').context("no group")?;
    let of = |file: &str| fs::read_to_string(dir.path().join("rootfs/etc").join(file));
    ensure!(of("passwd")?.contains(&format!("nonroot:x:{user}:{group}:")));
    ensure!(of("group")?.contains(&format!("nonroot:x:{group}:")));
    Ok(())
}

/// What `deploy/Dockerfile.dockerignore` lets through at the top of the tree. It takes all away first.
fn context() -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(top().join("deploy/Dockerfile.dockerignore"))?;
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    assert_eq!(lines.next(), Some("*"));
    let mut kept = Vec::new();
    for line in lines {
        match line.strip_prefix('!') {
            Some(name) => kept.push(name.to_owned()),
            // What builds leave has no part in it.
            None => assert_eq!(line, "**/target"),
        }
    }
    Ok(kept)
}

#[test]
fn the_build_is_given_all_that_cargo_and_the_dockerfile_ask_for() -> anyhow::Result<()> {
    let [build, image] = stages()?;
    assert_eq!(build.one("COPY")?, ". .");
    let dir = WorkDir::new("context")?;
    for name in context()? {
        ensure!(top().join(&name).exists(), "{name} is not there");
        symlink(top().canonicalize()?.join(&name), dir.path().join(&name))?;
    }
    for copy in image.all("COPY").filter(|copy| !copy.starts_with("--from=")) {
        let from = copy.split_whitespace().next().unwrap_or_default();
        ensure!(dir.path().join(from).exists(), "{from} is not in the context");
    }
    // Whatever a manifest names is there, and the lock file fits.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--locked", "--format-version", "1"])
        .current_dir(dir.path())
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(
        metadata["workspace_root"].as_str(),
        dir.path().to_str(),
        "Cargo looked elsewhere"
    );
    let own = metadata["packages"].as_array().context("no packages")?;
    let own = own.iter().filter(|package| package["source"].is_null());
    let mut targets = 0;
    for target in own.flat_map(|package| package["targets"].as_array().into_iter().flatten()) {
        let path = target["src_path"].as_str().context("no path")?;
        ensure!(
            path.starts_with(dir.path().to_string_lossy().as_ref()),
            "{path} is not in the context"
        );
        ensure!(Path::new(path).exists(), "{path} is not there");
        targets += 1;
    }
    ensure!(targets > 20, "only {targets} targets were looked at");
    Ok(())
}
