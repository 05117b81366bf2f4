//! The same configuration file means the same: what kube-scheduler itself makes of a file, Plimsoll makes of it too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use plimsoll_cluster::suite;
use plimsoll_config::{ConfigKind, FeatureGates, PluginArgs, SchedulerConfig, load};
use plimsoll_controlplane::{Availability, WorkDir};

#[path = "../../../../crates/plimsoll-config/tests/odd_values/cases.rs"]
mod odd_values;

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

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

/// What kube-scheduler writes for a file under these gates, or the text with which it refuses it.
fn written_by_original(
    program: &Path,
    dir: &WorkDir,
    file: &Path,
    gates: &[&str],
) -> anyhow::Result<Result<String, String>> {
    let written = dir.path().join("written.yaml");
    let output = Command::new(program)
        .args(gates.iter().map(|gates| format!("--feature-gates={gates}")))
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
fn written_by_us(text: &str, gates: &[&str]) -> Result<String, String> {
    let parsed = FeatureGates::parse(gates.iter().copied()).map_err(|error| error.to_string())?;
    let gates = &parsed.gates;
    let config = load(text, gates).map_err(|error| without_places(&error.to_string()))?;
    match fit_fault(&config, gates) {
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

/// Only Plimsoll tells them.
fn without_places(text: &str) -> String {
    let mut parts = text.split(" (line ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| {
        kept + part.split_once(')').map_or(part, |(_, rest)| rest)
    })
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
            let (theirs, ours) = (
                written_by_original(&program, &dir, &file, &[])?,
                written_by_us(&text, &[]),
            );
            ensure!(theirs == ours, "{}:\n{theirs:#?}\n{ours:#?}", file.display());
            compared += 1;
        }
    }
    ensure!(compared >= 18, "only {compared} files were compared");
    Ok(())
}

#[test]
fn odd_values_mean_the_same_to_both() -> anyhow::Result<()> {
    let Some((program, dir)) = original()? else {
        return Ok(());
    };
    let file = dir.path().join("odd.yaml");
    for odd_values::Case {
        file: text,
        gates,
        outcome,
    } in odd_values::CASES
    {
        let head = if text.starts_with("apiVersion") { "" } else { HEAD };
        fs::write(&file, format!("{head}{text}"))?;
        match (written_by_original(&program, &dir, &file, &[*gates])?, outcome) {
            (Ok(written), Ok(lines)) => ensure!(written.contains(lines), "{text}\n{written}"),
            (Err(said), Err(expected)) => ensure!(said == *expected, "{text}\n{said}\n{expected}"),
            (theirs, _) => anyhow::bail!("{text}\n{theirs:#?}\n{outcome:#?}"),
        }
    }
    Ok(())
}

/// Ways to give `--feature-gates`, each as often as it stands there.
const GATES: [&[&str]; 30] = [
    &[""],
    &[","],
    &[" , "],
    &["TopologyAwareWorkloadScheduling=true,GenericWorkload=true"],
    &[" GenericWorkload = true ", "GangScheduling=T"],
    &["GenericWorkload=TRUE", "GenericWorkload=0,GangScheduling=true"],
    &["GenericWorkload=tRue"],
    &["GenericWorkload="],
    &["GenericWorkload"],
    &["GenericWorkload=true=false"],
    &["GenericWorkload=true;GangScheduling=true"],
    &["genericworkload=true"],
    &["=true"],
    &["AllGA=true"],
    &["AllAlpha=true"],
    &["AllAlpha=true,GenericWorkload=false,GangScheduling=false"],
    &["AllBeta=false"],
    &["AllBeta=true"],
    &["AllAlpha=true,AllBeta=false"],
    &["AllBeta=false,NodeDeclaredFeatures=true"],
    &["AllAlpha=x"],
    &["kube:NodeDeclaredFeatures=false,kube:InPlacePodLevelResourcesVerticalScaling=false"],
    &["kube:"],
    &["kube:,GenericWorkload=true"],
    &[":GenericWorkload=true"],
    &["kube:foo:GenericWorkload=true"],
    &["Kube:GenericWorkload=true"],
    &["SidecarContainers=true,AllowDNSOnlyNodeCSR=true,DRAPrioritizedList=false"],
    &["SidecarContainers=false,PodSchedulingReadiness=false"],
    &["GenericWorkload=true", "kube:GangScheduling=true"],
];

#[test]
fn feature_gates_mean_the_same_to_both() -> anyhow::Result<()> {
    // kube-scheduler tells several faults in any order.
    fn sorted(said: &str) -> Vec<&str> {
        let several = said.strip_prefix('[').and_then(|said| said.strip_suffix(']'));
        let mut parts: Vec<&str> = several.unwrap_or(said).split(", ").collect();
        parts.sort_unstable();
        parts
    }
    /// As often it is asked again: one order in two comes sooner or later.
    const ORDERS: usize = 20;
    fn are_alike<T: PartialEq>(theirs: &Result<T, String>, ours: &Result<T, String>) -> bool {
        match (theirs, ours) {
            (Err(theirs), Err(ours)) => sorted(theirs) == sorted(ours),
            (theirs, ours) => theirs == ours,
        }
    }
    let Some((program, dir)) = original()? else {
        return Ok(());
    };
    let file = dir.path().join("nothing-set.yaml");
    fs::write(&file, HEAD)?;
    for gates in GATES {
        let ours = written_by_us(HEAD, gates);
        // It takes gates in any order too, and tells the first that will not do.
        let mut theirs = written_by_original(&program, &dir, &file, gates)?;
        for _ in 0..ORDERS {
            if are_alike(&theirs, &ours) {
                break;
            }
            theirs = written_by_original(&program, &dir, &file, gates)?;
        }
        ensure!(are_alike(&theirs, &ours), "{gates:?}:\n{theirs:#?}\n{ours:#?}");
    }
    Ok(())
}
