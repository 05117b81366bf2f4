//! Workload files in the format of upstream's `scheduler_perf`.
//!
//! ```text
//!  folder ──► topics (a performance-config.yaml each) ──► cases ──► workloads, each with its operations
//!                                                                      parameters filled in, templates read
//! ```
//!
//! Everything is read and checked at once, for all workloads: what nobody knows is an error, what cannot be run here is
//! said with its reason.

mod fields;
mod files;
mod labels;
mod lacking;
mod operation;
mod parameters;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde_json::{Map, Value};

use fields::Fields;
use files::Files;
pub use labels::LabelFilter;
use operation::Reading;
pub use operation::{
    Barrier, ChangeAny, Churn, Collected, CreateNamespaces, CreateNodes, CreatePods, DeletePods, Operation,
    Preparation, UpdateAny, Volume,
};
use parameters::Parameters;

/// What workload files are called.
const FILE: &str = "performance-config.yaml";

/// One workload, ready to be run.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The folder of its file.
    pub topic: String,
    /// What it is a size or variant of.
    pub case: String,
    /// Which one.
    pub name: String,
    /// Those of the case too.
    pub labels: BTreeSet<String>,
    /// The feature gates that it sets.
    pub gates: BTreeMap<String, bool>,
    /// The least average of pods placed per second that upstream expects of its own machines.
    pub threshold: Option<f64>,
    /// The scheduler's configuration, where it is not the default one.
    pub config: Option<String>,
    /// What happens.
    pub operations: Vec<Operation>,
    /// Why it cannot be run here.
    pub lacking: Option<String>,
}

impl Workload {
    /// `topic/case/name`.
    pub fn id(&self) -> String {
        format!("{}/{}/{}", self.topic, self.case, self.name)
    }

    /// The one operation that is measured, if it makes pods, all that is there before is waited for and nothing else
    /// goes on meanwhile: so its pods can be there before the scheduler, or come at a rate.
    pub fn measured_alone(&self) -> Option<usize> {
        let mut measured = None;
        for (index, operation) in self.operations.iter().enumerate() {
            match operation {
                Operation::CreatePods(pods) if pods.collect && pods.steady.is_none() && measured.is_none() => {
                    measured = Some(index);
                }
                Operation::CreatePods(pods) if !pods.wait => return None,
                Operation::Churn(_) | Operation::DeletePods(_) | Operation::StartCollecting(_) => return None,
                operation if operation.collects() => return None,
                _ => {}
            }
        }
        measured
    }

    /// Whether pods stay where they were placed and nodes are what they were then, so that the end shows whether each
    /// was placed rightly.
    pub fn only_grows(&self) -> bool {
        let mut pods = false;
        self.operations.iter().all(|operation| match operation {
            Operation::CreateNodes(_) => !pods,
            Operation::CreatePods(created) => {
                pods = true;
                created.steady.is_none()
            }
            Operation::UpdateAny(_) | Operation::DeletePods(_) | Operation::Churn(_) => false,
            _ => true,
        })
    }
}

/// Reads all workloads below a folder, in the order of their files' paths.
pub fn read_folder(folder: &Path) -> anyhow::Result<Vec<Workload>> {
    let mut paths = Vec::new();
    find(folder, &mut paths).with_context(|| format!("cannot read {}", folder.display()))?;
    paths.sort();
    ensure!(!paths.is_empty(), "there is no {FILE} below {}", folder.display());
    let mut all = Vec::new();
    for path in paths {
        let topic = path.parent().and_then(|parent| parent.strip_prefix(folder).ok());
        let topic = topic.unwrap_or_else(|| Path::new("")).display().to_string();
        let read = std::fs::read_to_string(&path).map_err(anyhow::Error::from);
        let read = read.and_then(|text| read_file(&topic, &text, path.parent().unwrap_or(folder)));
        all.extend(read.with_context(|| path.display().to_string())?);
    }
    Ok(all)
}

/// Our own workload files.
pub fn own_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads")
}

fn find(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, found)?;
        } else if path.file_name().is_some_and(|name| name == FILE) {
            found.push(path);
        }
    }
    Ok(())
}

/// Where upstream's own workload files are on this machine, which Go fetches with the modules of the control plane;
/// `None` without Go.
pub fn upstream_folder() -> anyhow::Result<Option<PathBuf>> {
    if !plimsoll_go_programs::has_go() {
        return Ok(None);
    }
    let module = "k8s.io/kubernetes";
    let go = |arguments: &[&str]| {
        let output = Command::new("go")
            .args(arguments)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../cluster/controlplane"))
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        ensure!(output.status.success(), "go {} failed", arguments.join(" "));
        anyhow::Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    go(&["mod", "download", module])?;
    let root = go(&["list", "-m", "-f", "{{.Dir}}", module])?;
    Ok(Some(Path::new(&root).join("test/integration/scheduler_perf")))
}

fn read_file(topic: &str, text: &str, folder: &Path) -> anyhow::Result<Vec<Workload>> {
    let cases: Vec<Value> = serde_saphyr::from_str(text)?;
    ensure!(!cases.is_empty(), "no cases");
    let mut files = Files::new(folder);
    let mut all: Vec<Workload> = Vec::new();
    for case in cases {
        let name = case
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or("a case without a name");
        let name = name.to_owned();
        ensure!(
            all.iter().all(|known| known.case != name),
            "two cases are called {name}"
        );
        all.extend(read_case(topic, case, &mut files).with_context(|| name)?);
    }
    Ok(all)
}

fn read_case(topic: &str, case: Value, files: &mut Files) -> anyhow::Result<Vec<Workload>> {
    let mut fields = Fields::of("the case", case)?;
    let name = fields.required("name")?;
    let gates = gates(&mut fields)?;
    let labels = fields.texts("labels")?;
    let operations = fields.list("workloadTemplate")?;
    let workloads = fields.list("workloads")?;
    let config = fields.text("schedulerConfigPath")?;
    let config = config.map(|path| files.text(&path)).transpose()?;
    let default_pod = fields.text("defaultPodTemplatePath")?;
    let by_default = of_throughput(&mut fields, "defaultThresholdMetricSelector")?;
    // What upstream's own process counts of itself.
    fields.value("metricsCollectorConfig");
    fields.finish()?;
    ensure!(!operations.is_empty(), "no operations");
    ensure!(!workloads.is_empty(), "no workloads");

    let mut all: Vec<Workload> = Vec::new();
    for workload in workloads {
        let mut fields = Fields::of("a workload", workload)?;
        let variant = fields.required("name")?;
        ensure!(
            all.iter().all(|known| known.name != variant),
            "two workloads are called {variant}"
        );
        let params = match fields.value("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(other) => bail!("{variant}: params must be a map, not {other}"),
        };
        let mut parameters = Parameters::new(params);
        let mut gates = gates.clone();
        gates.extend(self::gates(&mut fields)?);
        let is_of_throughput = of_throughput(&mut fields, "thresholdMetricSelector")?
            .or(by_default)
            .unwrap_or(true);
        let threshold = threshold(&mut fields, topic)?.filter(|_| is_of_throughput);
        let of_workload = fields.texts("labels")?;
        fields.finish()?;

        let mut read = Vec::new();
        for (number, operation) in operations.iter().enumerate() {
            let at = format!("{variant}: operation {number}");
            let mut reading = Reading {
                parameters: &mut parameters,
                files,
                default_pod: default_pod.as_deref(),
            };
            read.extend(Operation::read(&at, operation.clone(), &mut reading)?);
        }
        ensure!(read.iter().any(Operation::collects), "no operation collects metrics");
        let lacking = lacking::lacking(&gates, &read, &mut parameters);
        parameters.finish().with_context(|| variant.clone())?;
        all.push(Workload {
            topic: topic.to_owned(),
            case: name.clone(),
            name: variant,
            labels: labels.iter().chain(&of_workload).cloned().collect(),
            gates,
            threshold,
            config: config.clone(),
            operations: read,
            lacking,
        });
    }
    Ok(all)
}

fn gates(fields: &mut Fields) -> anyhow::Result<BTreeMap<String, bool>> {
    fields.map("featureGates", Value::as_bool)
}

/// Whether a selector of the value that is held against the threshold selects the average of pods per second; `None`
/// without a selector.
fn of_throughput(fields: &mut Fields, name: &str) -> anyhow::Result<Option<bool>> {
    let Some(value) = fields.value(name) else {
        return Ok(None);
    };
    let mut selector = Fields::of(name, value)?;
    let metric = selector.required("name")?;
    let bucket = selector.required("dataBucket")?;
    selector.text_map("labels")?;
    selector.flag("expectLower")?;
    selector.finish()?;
    Ok(Some(metric == "SchedulingThroughput" && bucket == "Average"))
}

/// One number, or one for each topic that the case is used in.
fn threshold(fields: &mut Fields, topic: &str) -> anyhow::Result<Option<f64>> {
    let number = match fields.value("threshold") {
        None => return Ok(None),
        Some(Value::Object(topics)) => topics.get(topic).map_or(Some(0.0), Value::as_f64),
        Some(number) => number.as_f64(),
    };
    let number = number
        .filter(|number| *number >= 0.0)
        .context("threshold must be a number, at least 0")?;
    Ok(Some(number).filter(|number| *number > 0.0))
}

#[cfg(test)]
mod tests;
