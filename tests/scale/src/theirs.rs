use std::collections::BTreeMap;
use std::path::Path;

use anyhow::ensure;
use plimsoll_oracle::upstream::{Answers, Questions, Upstream};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::mix::App;
use crate::ours::{CONFIG, Placed};

/// Kube-scheduler's own code in a process of its own, with the defaults of its workers and of its garbage collector.
pub(crate) struct Theirs {
    _process: Upstream,
    questions: Questions,
    answers: Answers,
}

/// What became of one step.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Answer {
    error: Option<String>,
    pub(crate) nodes: Option<Vec<String>>,
    pub(crate) nanoseconds: Option<Vec<u64>>,
    pub(crate) cpu_nanoseconds: u64,
    pub(crate) evaluated: u64,
    pub(crate) resident_bytes: u64,
}

impl Theirs {
    pub(crate) fn new<'a>(
        program: &Path,
        cluster: &Cluster,
        apps: impl IntoIterator<Item = &'a App>,
    ) -> anyhow::Result<Self> {
        let (process, questions, answers) = Upstream::start(program, &["--place"])?;
        let mut theirs = Self {
            _process: process,
            questions,
            answers,
        };
        let config: Value = serde_json::from_str(CONFIG)?;
        let nodes: Vec<Value> = (0..cluster.size()).map(|node| cluster.node(node)).collect();
        let sets: Vec<Value> = apps.into_iter().filter_map(Cluster::replica_set).collect();
        theirs.ask(&json!({ "cluster": { "config": config, "nodes": nodes, "replicaSets": sets } }))?;
        Ok(theirs)
    }

    /// Tells where pods are already.
    pub(crate) fn put(&mut self, apps: &BTreeMap<u32, App>, placed: &[Placed]) -> anyhow::Result<()> {
        let mut by_app: BTreeMap<u32, Vec<&Placed>> = BTreeMap::new();
        for place in placed {
            by_app.entry(place.app).or_default().push(place);
        }
        for (number, places) in by_app {
            let Some(app) = apps.get(&number) else { continue };
            let names: Vec<String> = places.iter().map(|place| Cluster::pod_name(app, place.pod)).collect();
            let nodes: Vec<String> = places.iter().map(|place| Cluster::node_name(place.node)).collect();
            let template = Cluster::template(app);
            self.ask(&json!({ "template": template.value(), "names": names, "nodes": nodes }))?;
        }
        Ok(())
    }

    /// Places all pods of an app.
    pub(crate) fn place(&mut self, app: &App) -> anyhow::Result<Answer> {
        let names: Vec<String> = (0..app.replicas).map(|pod| Cluster::pod_name(app, pod)).collect();
        self.ask(&json!({ "template": Cluster::template(app).value(), "names": names }))
    }

    fn ask(&mut self, step: &Value) -> anyhow::Result<Answer> {
        self.questions.ask(step)?;
        let answer: Answer = self.answers.wait()?;
        let error = answer.error.as_deref();
        ensure!(error.is_none(), "kube-scheduler says: {}", error.unwrap_or_default());
        Ok(answer)
    }
}
