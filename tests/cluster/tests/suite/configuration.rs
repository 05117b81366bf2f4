//! The same configuration file means the same: what kube-scheduler itself makes of a file, Plimsoll makes of it too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use plimsoll_cluster::suite;
use plimsoll_config::{ConfigKind, FeatureGates, PluginArgs, SchedulerConfig, load};
use plimsoll_controlplane::{Availability, WorkDir};

/// kube-scheduler wants to know an API server before it writes its configuration, and asks it nothing.
const KUBECONFIG: &str = "apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: 'http://127.0.0.1:1'}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
users: [{name: none, user: {}}]
current-context: none
";

/// kube-scheduler's program and a folder to work in; none when this machine has no kube-scheduler.
fn original() -> anyhow::Result<Option<(PathBuf, WorkDir)>> {
    let found = match Availability::find()? {
        Availability::Ready(programs) => programs.path("kube-scheduler"),
        Availability::Skip(_) => None,
    };
    let Some(program) = found else {
        suite::say("*** no kube-scheduler on this machine: nothing to compare with ***");
        return Ok(None);
    };
    let dir = WorkDir::new("configuration")?;
    fs::write(dir.path().join("kubeconfig"), KUBECONFIG)?;
    Ok(Some((program, dir)))
}

/// What kube-scheduler writes for a file, or the text with which it refuses it.
fn written_by_original(program: &Path, dir: &WorkDir, file: &Path) -> anyhow::Result<Result<String, String>> {
    let written = dir.path().join("written.yaml");
    let output = Command::new(program)
        .arg("--config")
        .arg(file)
        .arg("--kubeconfig")
        .arg(dir.path().join("kubeconfig"))
        .args(["--master=http://127.0.0.1:1", "--secure-port=0", "--write-config-to"])
        .arg(&written)
        .stdin(Stdio::null())
        .output()
        .context("cannot run kube-scheduler")?;
    if output.status.success() {
        return Ok(Ok(fs::read_to_string(&written)?));
    }
    let log = String::from_utf8_lossy(&output.stderr);
    let quoted = log
        .lines()
        .find_map(|line| line.split_once("\"command failed\" err=").map(|(_, quoted)| quoted))
        .with_context(|| format!("kube-scheduler did not say why it ended: {log}"))?;
    Ok(Err(serde_json::from_str(quoted).with_context(|| quoted.to_owned())?))
}

/// The same of ours, with the share of nodes that only kube-scheduler writes when it is unset. The arguments of
/// `NodeResourcesFit` are judged when the plugin is made.
fn written_by_us(text: &str) -> Result<String, String> {
    let gates = FeatureGates::default();
    let config = load(text, &gates).map_err(|error| error.to_string())?;
    match fit_fault(&config, &gates) {
        None => {
            let written = config.to_yaml(ConfigKind::KubeScheduler);
            Ok(match config.percentage_of_nodes_to_score {
                Some(_) => written,
                None => written.replacen(
                    "\npodInitialBackoffSeconds:",
                    "\npercentageOfNodesToScore: 0\npodInitialBackoffSeconds:",
                    1,
                ),
            })
        }
        Some(fault) => Err(fault),
    }
}

fn fit_fault(config: &SchedulerConfig, gates: &FeatureGates) -> Option<String> {
    let profile = config.profiles.first()?;
    let args: &PluginArgs = profile.args_of("NodeResourcesFit")?;
    let error = args.validate(gates).err()?;
    let name = &profile.scheduler_name;
    Some(format!(
        "initializing profiles: creating profile for scheduler name {name}: initializing plugin \"NodeResourcesFit\": {error}"
    ))
}

#[test]
fn every_example_and_every_refused_file_means_the_same_to_both() -> anyhow::Result<()> {
    let Some((program, dir)) = original()? else {
        return Ok(());
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["examples/config", "crates/plimsoll-config/tests/refused"];
    let mut compared = 0;
    for folder in folders {
        for entry in fs::read_dir(root.join(folder))? {
            let file = entry?.path();
            let text = fs::read_to_string(&file)?;
            let is_config = file.extension().is_some_and(|extension| extension == "yaml");
            if !is_config || !text.contains(plimsoll_config::API_VERSION) {
                continue;
            }
            let (theirs, ours) = (written_by_original(&program, &dir, &file)?, written_by_us(&text));
            ensure!(theirs == ours, "{}:\n{theirs:#?}\n{ours:#?}", file.display());
            compared += 1;
        }
    }
    ensure!(compared >= 18, "only {compared} files were compared");
    Ok(())
}
