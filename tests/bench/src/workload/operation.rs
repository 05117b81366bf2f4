//! The operations of which workloads are made, with every parameter filled in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::fields::Fields;
use super::files::Files;
use super::parameters::Parameters;
use crate::template::Template;

/// A step of a workload. Steps follow each other; what one leaves running goes on beside those that follow.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Makes nodes.
    CreateNodes(CreateNodes),
    /// Makes namespaces `<prefix>-0` and so on.
    CreateNamespaces(CreateNamespaces),
    /// Makes pods, and waits until they are placed unless told otherwise.
    CreatePods(CreatePods),
    /// Makes objects of any kind.
    CreateAny(ChangeAny),
    /// Replaces objects of any kind, and their status.
    UpdateAny(UpdateAny),
    /// Deletes pods.
    DeletePods(DeletePods),
    /// Makes objects, and perhaps deletes them again, until the workload ends.
    Churn(Churn),
    /// Waits for pods.
    Barrier(Barrier),
    /// Waits.
    Sleep(Duration),
    /// From here on it is measured.
    StartCollecting(Collected),
    /// Up to here it is measured.
    StopCollecting,
    /// Makes devices for dynamic resource allocation.
    CreateResourceDriver,
    /// Makes claims to such devices.
    CreateResourceClaims,
    /// Gives such devices to claims.
    AllocResourceClaims,
}

/// See [`Operation::CreateNodes`].
#[derive(Clone, Debug)]
pub struct CreateNodes {
    /// How many.
    pub count: usize,
    /// A node of them; the plain one unless given.
    pub template: Option<Arc<Template>>,
    /// What each gets beside.
    pub preparation: Preparation,
}

/// What nodes get beside their template.
#[derive(Clone, Debug, PartialEq)]
pub enum Preparation {
    /// Nothing.
    None,
    /// A label with these values in turn.
    Label {
        /// Its key.
        key: String,
        /// Its values.
        values: Vec<String>,
    },
    /// A label with a value of its own.
    UniqueLabel {
        /// Its key.
        key: String,
    },
    /// More of its status, and a `CSINode`.
    Allocatable {
        /// By name of the resource.
        resources: BTreeMap<String, String>,
        /// How many volumes fit, by driver.
        drivers: BTreeMap<String, Option<usize>>,
        /// Plug-ins whose volumes are their CSI drivers'.
        migrated: Vec<String>,
    },
}

/// See [`Operation::CreateNamespaces`].
#[derive(Clone, Debug)]
pub struct CreateNamespaces {
    /// What their names begin with.
    pub prefix: String,
    /// How many.
    pub count: usize,
    /// One of them.
    pub template: Option<Arc<Template>>,
}

/// See [`Operation::CreatePods`].
#[derive(Clone, Debug)]
pub struct CreatePods {
    /// How many.
    pub count: usize,
    /// Where; a namespace of the operation's own unless given.
    pub namespace: Option<String>,
    /// One of them; the plain one unless given.
    pub template: Option<Arc<Template>>,
    /// The volume and the claim that each has.
    pub volume: Option<Volume>,
    /// Whether it is measured.
    pub collect: bool,
    /// Whether to wait until all are placed.
    pub wait: bool,
    /// For how long pods that were placed are replaced by new ones.
    pub steady: Option<Duration>,
}

/// See [`CreatePods::volume`].
#[derive(Clone, Debug)]
pub struct Volume {
    /// The volume.
    pub volume: Arc<Template>,
    /// The claim.
    pub claim: Arc<Template>,
}

/// Objects from a template.
#[derive(Clone, Debug)]
pub struct ChangeAny {
    /// Where; nowhere for kinds without namespaces.
    pub namespace: Option<String>,
    /// One of them.
    pub template: Arc<Template>,
    /// How many.
    pub count: usize,
}

/// See [`Operation::UpdateAny`].
#[derive(Clone, Debug)]
pub struct UpdateAny {
    /// What they become.
    pub change: ChangeAny,
    /// How many a second; 0 for one after the other without a pause.
    pub per_second: usize,
    /// The part of the object that is written; the object itself unless given.
    pub subresources: Vec<String>,
}

/// See [`Operation::DeletePods`].
#[derive(Clone, Debug)]
pub struct DeletePods {
    /// Where.
    pub namespace: String,
    /// Which, by labels; all when empty.
    pub labels: BTreeMap<String, String>,
    /// Whether to wait until all have been told to go.
    pub wait: bool,
    /// How many a second; 0 for all in one request.
    pub per_second: usize,
}

/// See [`Operation::Churn`].
#[derive(Clone, Debug)]
pub struct Churn {
    /// Whether objects are deleted again.
    pub recreate: bool,
    /// How often, or how many live at a time; 0 for no end.
    pub number: usize,
    /// The time between rounds.
    pub interval: Duration,
    /// Where; a namespace of the operation's own unless given.
    pub namespace: Option<String>,
    /// One object of each in a round.
    pub templates: Vec<Arc<Template>>,
}

/// See [`Operation::Barrier`].
#[derive(Clone, Debug)]
pub struct Barrier {
    /// Where; everywhere when empty.
    pub namespaces: Vec<String>,
    /// Which, by labels; all when empty.
    pub labels: BTreeMap<String, String>,
    /// Whether it is enough that they were tried.
    pub attempted: bool,
}

/// Which pods are measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collected {
    /// What the measurement is called beside the workload.
    pub name: String,
    /// Where.
    pub namespaces: Vec<String>,
    /// Which, by labels; all when empty.
    pub labels: BTreeMap<String, String>,
}

/// What reading operations needs beside the operation.
pub(crate) struct Reading<'a> {
    pub(crate) parameters: &'a mut Parameters,
    pub(crate) files: &'a mut Files,
    pub(crate) default_pod: Option<&'a str>,
}

impl Operation {
    /// Reads one; several when it stands for the same in several namespaces.
    pub(crate) fn read(at: &str, value: Value, reading: &mut Reading<'_>) -> anyhow::Result<Vec<Self>> {
        let mut fields = Fields::of(at, value)?;
        let opcode = fields.required("opcode")?;
        let operation = match opcode.as_str() {
            "createNodes" => Self::CreateNodes(create_nodes(&mut fields, reading)?),
            "createNamespaces" => Self::CreateNamespaces(CreateNamespaces {
                prefix: fields.required("prefix")?,
                count: reading.parameters.count(&mut fields, "count")?.unwrap_or(0),
                template: reading.template(&mut fields, "namespaceTemplatePath")?,
            }),
            "createPods" => Self::CreatePods(create_pods(&mut fields, reading)?),
            "createPodSets" => {
                let sets = create_pod_sets(&mut fields, reading)?;
                fields.finish()?;
                return Ok(sets);
            }
            "createAny" => Self::CreateAny(change_any(&mut fields, reading)?),
            "updateAny" => Self::UpdateAny(UpdateAny {
                change: change_any(&mut fields, reading)?,
                per_second: fields.count("updatePerSecond")?.unwrap_or(0),
                subresources: fields.texts("subresources")?,
            }),
            "deletePods" => Self::DeletePods(DeletePods {
                namespace: fields.required("namespace")?,
                labels: fields.text_map("labelSelector")?,
                wait: !fields.flag("skipWaitToCompletion")?.unwrap_or(false),
                per_second: fields.count("deletePodsPerSecond")?.unwrap_or(0),
            }),
            "churn" => Self::Churn(churn(&mut fields, reading)?),
            "barrier" => Self::Barrier(barrier(&mut fields)?),
            "sleep" => Self::Sleep(reading.parameters.duration(&mut fields, "duration")?),
            "startCollectingMetrics" => Self::StartCollecting(collected(&mut fields)?),
            "stopCollectingMetrics" => Self::StopCollecting,
            "createResourceDriver" => {
                fields.required("driverName")?;
                fields.required("nodes")?;
                reading.parameters.count(&mut fields, "maxClaimsPerNode")?;
                Self::CreateResourceDriver
            }
            "createResourceClaims" => {
                fields.required("namespace")?;
                reading.required_template(&mut fields, "templatePath")?;
                reading.parameters.count(&mut fields, "count")?;
                Self::CreateResourceClaims
            }
            "allocResourceClaims" => {
                fields.text("namespace")?;
                Self::AllocResourceClaims
            }
            other => bail!("{at}: unknown opcode {other:?}"),
        };
        fields.finish()?;
        Ok(vec![operation])
    }

    /// Whether it ends a measurement.
    pub fn collects(&self) -> bool {
        match self {
            Self::CreatePods(pods) => pods.collect,
            Self::StopCollecting => true,
            _ => false,
        }
    }
}

impl Reading<'_> {
    fn template(&mut self, fields: &mut Fields, name: &str) -> anyhow::Result<Option<Arc<Template>>> {
        let path = fields.text(name)?;
        path.map(|path| self.files.template(&path)).transpose()
    }

    fn required_template(&mut self, fields: &mut Fields, name: &str) -> anyhow::Result<Arc<Template>> {
        let path = fields.required(name)?;
        self.files.template(&path)
    }
}

fn create_nodes(fields: &mut Fields, reading: &mut Reading<'_>) -> anyhow::Result<CreateNodes> {
    let mut preparations = Vec::new();
    if let Some(value) = fields.value("labelNodePrepareStrategy") {
        let mut label = Fields::of(&format!("{}: labelNodePrepareStrategy", fields.at()), value)?;
        let (key, values) = (label.required("labelKey")?, label.texts("labelValues")?);
        ensure!(!values.is_empty(), "{}: labelValues must not be empty", label.at());
        label.finish()?;
        preparations.push(Preparation::Label { key, values });
    }
    if let Some(value) = fields.value("uniqueNodeLabelStrategy") {
        let mut label = Fields::of(&format!("{}: uniqueNodeLabelStrategy", fields.at()), value)?;
        let key = label.required("labelKey")?;
        label.finish()?;
        preparations.push(Preparation::UniqueLabel { key });
    }
    if let Some(value) = fields.value("nodeAllocatableStrategy") {
        let mut more = Fields::of(&format!("{}: nodeAllocatableStrategy", fields.at()), value)?;
        let count = |driver: &Value| match driver.get("count") {
            None => Some(None),
            Some(count) => count.as_u64().and_then(|count| usize::try_from(count).ok()).map(Some),
        };
        let preparation = Preparation::Allocatable {
            resources: more.text_map("nodeAllocatable")?,
            drivers: more.map("csiNodeAllocatable", count)?,
            migrated: more.texts("migratedPlugins")?,
        };
        more.finish()?;
        preparations.push(preparation);
    }
    ensure!(preparations.len() < 2, "{}: more than one strategy", fields.at());
    Ok(CreateNodes {
        count: reading.parameters.count(fields, "count")?.unwrap_or(0),
        template: reading.template(fields, "nodeTemplatePath")?,
        preparation: preparations.pop().unwrap_or(Preparation::None),
    })
}

fn create_pods(fields: &mut Fields, reading: &mut Reading<'_>) -> anyhow::Result<CreatePods> {
    let count = reading.parameters.count(fields, "count")?.unwrap_or(0);
    let is_steady = reading.parameters.flag(fields, "steadyState")?;
    let duration = reading.parameters.duration(fields, "duration")?;
    let template = match reading.template(fields, "podTemplatePath")? {
        Some(template) => Some(template),
        None => reading
            .default_pod
            .map(|path| reading.files.template(path))
            .transpose()?,
    };
    let claim = reading.template(fields, "persistentVolumeClaimTemplatePath")?;
    let volume = reading.template(fields, "persistentVolumeTemplatePath")?;
    let volume = match (volume, claim) {
        (Some(volume), Some(claim)) => Some(Volume { volume, claim }),
        (None, None) => None,
        _ => bail!("{}: a volume needs a claim, and a claim a volume", fields.at()),
    };
    let pods = CreatePods {
        count,
        namespace: fields.text("namespace")?,
        template,
        volume,
        collect: fields.flag("collectMetrics")?.unwrap_or(false),
        wait: !fields.flag("skipWaitToCompletion")?.unwrap_or(false),
        steady: is_steady.then_some(duration),
    };
    let at = fields.at();
    ensure!(
        pods.wait || !pods.collect,
        "{at}: who collects metrics must wait for completion"
    );
    ensure!(
        pods.wait || pods.steady.is_none(),
        "{at}: a steady state must be waited for"
    );
    ensure!(pods.steady != Some(Duration::ZERO), "{at}: a steady state must last");
    Ok(pods)
}

fn create_pod_sets(fields: &mut Fields, reading: &mut Reading<'_>) -> anyhow::Result<Vec<Operation>> {
    let prefix = fields.required("namespacePrefix")?;
    let count = reading.parameters.count(fields, "count")?.unwrap_or(0);
    let inner = format!("{}: createPodsOp", fields.at());
    let value = fields.value("createPodsOp");
    let mut inner = Fields::of(&inner, value.with_context(|| format!("{inner} must be set"))?)?;
    let opcode = inner.text("opcode")?;
    let known = opcode.as_deref().is_none_or(|opcode| opcode == "createPods");
    ensure!(known, "{}: the opcode is {opcode:?}", inner.at());
    let pods = create_pods(&mut inner, reading)?;
    inner.finish()?;
    let set = |number| {
        Operation::CreatePods(CreatePods {
            namespace: Some(format!("{prefix}-{number}")),
            ..pods.clone()
        })
    };
    Ok((0..count).map(set).collect())
}

fn change_any(fields: &mut Fields, reading: &mut Reading<'_>) -> anyhow::Result<ChangeAny> {
    Ok(ChangeAny {
        namespace: fields.text("namespace")?.filter(|namespace| !namespace.is_empty()),
        template: reading.required_template(fields, "templatePath")?,
        count: reading.parameters.count(fields, "count")?.unwrap_or(1),
    })
}

fn churn(fields: &mut Fields, reading: &mut Reading<'_>) -> anyhow::Result<Churn> {
    let mode = fields.required("mode")?;
    let recreate = match mode.as_str() {
        "recreate" => true,
        "create" => false,
        other => bail!("{}: mode must be recreate or create, not {other:?}", fields.at()),
    };
    let number = fields.count("number")?.unwrap_or(0);
    ensure!(
        !recreate || number > 0,
        "{}: to recreate, number must be set",
        fields.at()
    );
    let paths = fields.texts("templatePaths")?;
    ensure!(!paths.is_empty(), "{}: templatePaths must be set", fields.at());
    let milliseconds = fields.count("intervalMilliseconds")?.filter(|interval| *interval > 0);
    Ok(Churn {
        recreate,
        number,
        interval: Duration::from_millis(u64::try_from(milliseconds.unwrap_or(500))?),
        namespace: fields.text("namespace")?,
        templates: paths
            .iter()
            .map(|path| reading.files.template(path))
            .collect::<anyhow::Result<_>>()?,
    })
}

fn barrier(fields: &mut Fields) -> anyhow::Result<Barrier> {
    let attempted = match fields.text("stageRequirement")?.as_deref() {
        None | Some("" | "Scheduled") => false,
        Some("Attempted") => true,
        Some(other) => bail!(
            "{}: stageRequirement must be Scheduled or Attempted, not {other:?}",
            fields.at()
        ),
    };
    Ok(Barrier {
        namespaces: fields.texts("namespaces")?,
        labels: fields.text_map("labelSelector")?,
        attempted,
    })
}

fn collected(fields: &mut Fields) -> anyhow::Result<Collected> {
    let namespaces = fields.texts("namespaces")?;
    ensure!(!namespaces.is_empty(), "{}: namespaces must be set", fields.at());
    Ok(Collected {
        name: fields.text("name")?.unwrap_or_default(),
        namespaces,
        labels: fields.text_map("labelSelector")?,
    })
}
