//! The image's layers: assembled without a container engine, held against the Dockerfile, and run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, ensure};
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Scheduler, suite};
use plimsoll_controlplane::{Availability, Process, User, WorkDir};
use plimsoll_image::top;
use serde_json::Value;

fn script(name: &str) -> PathBuf {
    top().join("deploy/image").join(name)
}

/// Assembles an image of a program, and returns the digest that is printed.
fn assemble(program: &Path, folder: &Path) -> anyhow::Result<String> {
    let output = Command::new(script("assemble.sh")).arg(program).arg(folder).output()?;
    told(&output)
}

fn told(output: &Output) -> anyhow::Result<String> {
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn sha256(content: &[u8]) -> String {
    use std::fmt::Write as _;
    let digest = ring::digest::digest(&ring::digest::SHA256, content);
    digest.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A blob of the layout, which must be what its descriptor says.
fn blob(layout: &Path, descriptor: &Value) -> anyhow::Result<Vec<u8>> {
    let digest = descriptor["digest"].as_str().context("no digest")?;
    let digest = digest.strip_prefix("sha256:").context("not SHA-256")?;
    let content = fs::read(layout.join("blobs/sha256").join(digest))?;
    assert_eq!(sha256(&content), digest);
    assert_eq!(descriptor["size"], content.len());
    Ok(content)
}

/// What the Dockerfile says last behind a word.
fn instruction(word: &str) -> anyhow::Result<String> {
    let text = fs::read_to_string(top().join("deploy/Dockerfile"))?;
    let found = text.lines().rev().find_map(|line| line.strip_prefix(word));
    Ok(found.with_context(|| format!("no {word}"))?.trim().to_owned())
}

#[test]
fn the_same_program_gives_the_same_bytes_and_another_gives_others() -> anyhow::Result<()> {
    let dir = WorkDir::new("image")?;
    let digest = |program: &str, folder: &str| assemble(Path::new(program), &dir.path().join(folder));
    let first = digest("/bin/true", "first")?;
    assert_eq!(digest("/bin/true", "second")?, first);
    assert_ne!(digest("/bin/false", "third")?, first);
    Ok(())
}

#[test]
fn the_layout_is_whole_and_says_what_the_dockerfile_says() -> anyhow::Result<()> {
    let dir = WorkDir::new("image")?;
    let digest = assemble(Path::new("/bin/true"), dir.path())?;
    let layout = dir.path().join("oci");
    let version: Value = serde_json::from_slice(&fs::read(layout.join("oci-layout"))?)?;
    assert_eq!(version["imageLayoutVersion"], "1.0.0");
    let index: Value = serde_json::from_slice(&fs::read(layout.join("index.json"))?)?;
    let descriptor = &index["manifests"][0];
    assert_eq!(descriptor["digest"], digest);
    let manifest: Value = serde_json::from_slice(&blob(&layout, descriptor)?)?;
    let config: Value = serde_json::from_slice(&blob(&layout, &manifest["config"])?)?;
    let layers = manifest["layers"].as_array().context("no layers")?;
    let unpacked = config
        .pointer("/rootfs/diff_ids")
        .and_then(Value::as_array)
        .context("no layers")?;
    assert_eq!((layers.len(), unpacked.len()), (2, 2));
    for (layer, unpacked) in layers.iter().zip(unpacked) {
        blob(&layout, layer)?;
        let digest = layer["digest"]
            .as_str()
            .unwrap_or_default()
            .trim_start_matches("sha256:");
        let tar = Command::new("gzip")
            .args(["-dc"])
            .arg(layout.join("blobs/sha256").join(digest))
            .output()?;
        assert_eq!(unpacked, &format!("sha256:{}", sha256(&tar.stdout)));
    }
    assert_eq!(fs::read_dir(layout.join("blobs/sha256"))?.count(), 4);

    assert_eq!(config["config"]["User"], instruction("USER ")?);
    assert_eq!(config["config"]["WorkingDir"], instruction("WORKDIR ")?);
    let entry: Value = serde_json::from_str(&instruction("ENTRYPOINT ")?)?;
    assert_eq!(config["config"]["Entrypoint"], entry);
    ensure!(
        config["config"]["ExposedPorts"]
            .get(format!("{}/tcp", instruction("EXPOSE ")?))
            .is_some()
    );
    let labels: BTreeMap<String, String> = serde_json::from_value(config["config"]["Labels"].clone())?;
    let label = |name: &str| {
        labels
            .get(&format!("org.opencontainers.image.{name}"))
            .map(String::as_str)
    };
    assert_eq!(label("title"), Some("Plimsoll"));
    assert_eq!(label("licenses"), Some("Apache-2.0"));
    assert_eq!(label("version"), Some(env!("CARGO_PKG_VERSION")));
    assert_eq!(config["created"].as_str(), label("created"));
    ensure!(!labels.values().any(|value| value.contains('$')), "{labels:?}");
    Ok(())
}

#[test]
fn the_program_of_the_image_leads_and_places_a_pod_with_nothing_but_the_images_files() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        if Scheduler::under_test() != Scheduler::Plimsoll {
            return Ok(());
        }
        let dir = WorkDir::new("image")?;
        let program = Scheduler::Plimsoll.program(cluster.control_plane())?;
        assemble(&program, dir.path())?;
        // A folder that the image has not: what a pod mounts. Its user must be able to read it.
        let mounted = dir.path().join("mounted");
        fs::create_dir(&mounted)?;
        let kubeconfig = cluster
            .control_plane()
            .server()
            .kubeconfig(&User::scheduler(User::REPLICAS))?;
        fs::write(mounted.join("kubeconfig"), embedded(&fs::read_to_string(kubeconfig)?)?)?;
        let arguments = [
            "--volume".to_owned(),
            format!("{}:/tmp", mounted.display()),
            dir.path().display().to_string(),
            "--kubeconfig=/tmp/kubeconfig".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", plimsoll_controlplane::free_port()?),
        ];
        let log = cluster.control_plane().dir().path().join("image.log");
        let mut process = Process::spawn("image", &script("run.sh"), &arguments, &[], &log)?;
        cluster.create_nodes([node("n1")]).await?;
        cluster.create_pods([pod("a")]).await?;
        let bound = cluster.bound("a").await;
        process.ensure_running()?;
        bound.with_context(|| process.log_tail(20))?;
        // The program, not a shell before it, and as the user of the image.
        let status = fs::read_to_string(format!("/proc/{}/status", process.id()))?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        assert_eq!(field("Name:"), Some("plimsoll"));
        assert_eq!(field("NoNewPrivs:"), Some("1"));
        let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
        if is_root {
            let user = instruction("USER ")?;
            let user = user.split(':').next().unwrap_or_default();
            ensure!(field("Uid:").is_some_and(|uids| uids.starts_with(user)), "{status}");
            assert_eq!(field("CapEff:"), Some("0000000000000000"));
        }
        let ended = process.terminate(std::time::Duration::from_secs(20)).await?;
        assert_eq!(
            ended.and_then(|status| status.code()),
            Some(0),
            "{}",
            process.log_tail(10)
        );
        Ok(())
    })
}

/// A kubeconfig with the authority in it instead of the path of a file.
fn embedded(kubeconfig: &str) -> anyhow::Result<String> {
    let mut config: Value = serde_json::from_str(kubeconfig)?;
    let cluster = config.pointer_mut("/clusters/0/cluster").context("no cluster")?;
    let file = cluster["certificate-authority"].take();
    let authority = Command::new("base64")
        .args(["--wrap=0", file.as_str().unwrap_or_default()])
        .output()?;
    cluster["certificate-authority-data"] = told(&authority)?.into();
    if let Some(fields) = cluster.as_object_mut() {
        fields.remove("certificate-authority");
    }
    Ok(config.to_string())
}

#[test]
fn the_image_writes_nothing_into_its_own_files() -> anyhow::Result<()> {
    let Availability::Ready(programs) = Availability::find()? else {
        return Ok(());
    };
    let dir = WorkDir::new("image")?;
    assemble(&Scheduler::Plimsoll.among(&programs)?, dir.path())?;
    let run = |arguments: &[&str]| Command::new(script("run.sh")).arg(dir.path()).args(arguments).output();
    let version = told(&run(&["--version"])?)?;
    ensure!(
        version.starts_with(&format!("Plimsoll v{}", env!("CARGO_PKG_VERSION"))),
        "{version}"
    );
    let refused = run(&["--write-config-to=/config.yaml"])?;
    ensure!(!refused.status.success());
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(told.to_lowercase().contains("read-only file system"), "{told}");
    Ok(())
}
