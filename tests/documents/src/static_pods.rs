//! What the kubelet of a control-plane node does with the files in its manifests' folder: runs what they say, and ends it when
//! they go.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use plimsoll_controlplane::{Process, free_port};
use serde_json::Value;

use crate::workplace::Workplace;

/// What a node's manifests refer to.
const ETC: &str = "/etc/kubernetes";

/// The pods of the manifests' folder.
#[derive(Debug, Default)]
pub struct StaticPods {
    running: BTreeMap<PathBuf, Running>,
    started: usize,
}

#[derive(Debug)]
struct Running {
    text: String,
    process: Process,
    ending: bool,
}

impl StaticPods {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks at the folder once.
    ///
    /// # Errors
    /// When a manifest cannot be followed, or a process ended that should run.
    pub async fn look(&mut self, place: &Workplace) -> anyhow::Result<()> {
        let mut wanted = BTreeMap::new();
        for entry in fs::read_dir(place.etc().join("manifests"))? {
            let path = entry?.path();
            // A file may go between the listing and the reading.
            if path.extension().is_some_and(|extension| extension == "yaml")
                && let Ok(text) = fs::read_to_string(&path)
            {
                wanted.insert(path, text);
            }
        }
        for (path, pod) in &mut self.running {
            if !pod.ending && wanted.get(path) == Some(&pod.text) {
                pod.process.ensure_running()?;
            } else if !pod.ending {
                pod.ending = true;
                pod.process.terminate(std::time::Duration::ZERO).await?;
            }
        }
        let mut ended = Vec::new();
        for (path, pod) in &mut self.running {
            if pod.ending && pod.process.exited()?.is_some() {
                ended.push(path.clone());
            }
        }
        for path in ended {
            self.running.remove(&path);
        }
        for (path, text) in wanted {
            if !self.running.contains_key(&path) {
                let process = self.start(place, &text).with_context(|| path.display().to_string())?;
                self.running.insert(
                    path,
                    Running {
                        text,
                        process,
                        ending: false,
                    },
                );
            }
        }
        Ok(())
    }

    /// Ends them all in order.
    ///
    /// # Errors
    /// When one cannot be told to end.
    pub async fn end(&mut self) -> anyhow::Result<()> {
        for pod in self.running.values_mut() {
            pod.process.terminate(std::time::Duration::from_secs(10)).await?;
        }
        self.running.clear();
        Ok(())
    }

    fn start(&mut self, place: &Workplace, text: &str) -> anyhow::Result<Process> {
        let pod: Value = serde_saphyr::from_str(text)?;
        let container = pod.pointer("/spec/containers/0").context("no container")?;
        let strings = |field: &str| -> anyhow::Result<Vec<String>> {
            Ok(container
                .get(field)
                .map(|value| serde_json::from_value(value.clone()))
                .transpose()?
                .unwrap_or_default())
        };
        let mut words = strings("command")?;
        if words.is_empty() {
            // The image's own program.
            let image = container["image"].as_str().unwrap_or_default();
            ensure!(image.contains("plimsoll"), "what does {image:?} run?");
            words.push("plimsoll".to_owned());
        }
        words.extend(strings("args")?);
        let etc = place.etc().display().to_string();
        let mut words = words.into_iter().map(|word| word.replace(ETC, &etc));
        let program = words.next().context("no program")?;
        let name = Path::new(&program).file_name().context("no program")?.to_owned();
        let name = name.to_string_lossy().into_owned();
        let mut arguments: Vec<String> = words.collect();
        // A machine has many of these, and one network.
        arguments.extend([
            format!("--secure-port={}", free_port()?),
            "--bind-address=127.0.0.1".to_owned(),
        ]);
        self.started += 1;
        let log = place.path(&format!("static-{}-{name}.log", self.started));
        Process::spawn(&name, &place.path("bin").join(&name), &arguments, &[], &log)
    }
}
