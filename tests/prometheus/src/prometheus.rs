//! A Prometheus of its own for a test, with the shipped rules.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use plimsoll_controlplane::{Process, free_port};
use plimsoll_go_programs::{build, skip};
use serde_json::Value;

use crate::shipped;

/// Prometheus and promtool.
#[derive(Debug)]
pub struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// Builds them, once per machine; nothing without Go, which is said aloud, and an error where CI should have it.
    ///
    /// # Errors
    /// When they cannot be built, or are missing in CI.
    pub fn find() -> anyhow::Result<Option<Self>> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("program/build.sh");
        if let Some(folder) = build(&script)? {
            return Ok(Some(Self { folder }));
        }
        let reason = skip("Prometheus", "there is no Go toolchain to build it".to_owned())?;
        // Also when the test harness captures output.
        let _ = writeln!(std::io::stderr().lock(), "\n*** PROMETHEUS IS SKIPPED: {reason}\n");
        Ok(None)
    }

    /// Runs promtool and returns what it says.
    ///
    /// # Errors
    /// When it is not content, with its words.
    pub fn promtool(&self, arguments: &[&str], file: &Path) -> anyhow::Result<String> {
        let output = Command::new(self.folder.join("promtool"))
            .args(arguments)
            .arg(file)
            .output()?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        ensure!(output.status.success(), "promtool {}: {said}", arguments.join(" "));
        Ok(said)
    }
}

/// Whom to scrape, and with which credentials.
#[derive(Debug)]
pub struct Target {
    /// Its port on this host.
    pub port: u16,
    /// A bearer token.
    pub token: String,
}

/// A rule as Prometheus has read it.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The alert's or the recorded metric's name.
    pub name: String,
    /// Whether it is an alert.
    pub alerts: bool,
    /// The query.
    pub query: String,
    /// `ok`, or what is wrong.
    pub health: String,
}

/// A running Prometheus. Dropping it ends it.
pub struct Prometheus {
    process: Process,
    client: kube::Client,
}

impl Prometheus {
    /// Starts one in this folder, which scrapes and evaluates the shipped rules each second.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start(programs: &Programs, target: &Target, folder: &Path) -> anyhow::Result<Self> {
        let port = free_port()?;
        let token = folder.join("prometheus-token");
        std::fs::write(&token, &target.token)?;
        let config = folder.join("prometheus.yaml");
        std::fs::write(&config, configuration(target, &token))?;
        let args = [
            format!("--config.file={}", config.display()),
            format!("--storage.tsdb.path={}", folder.join("prometheus").display()),
            format!("--web.listen-address=127.0.0.1:{port}"),
        ];
        let log = folder.join("prometheus.log");
        let program = programs.folder.join("prometheus");
        let process = Process::spawn("prometheus", &program, &args, &[], &log)?;
        let config = kube::Config::new(format!("http://127.0.0.1:{port}").parse()?);
        let client = kube::Client::try_from(config)?;
        let mut started = Self { process, client };
        started.until_ready().await?;
        Ok(started)
    }

    async fn until_ready(&mut self) -> anyhow::Result<()> {
        for _ in 0..300 {
            self.process.ensure_running()?;
            if self.get("/-/ready").await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("Prometheus does not get ready:\n{}", self.process.log_tail(20))
    }

    async fn get(&self, path: &str) -> anyhow::Result<String> {
        let request = http::Request::get(path).body(Vec::new())?;
        Ok(self.client.request_text(request).await?)
    }

    async fn api(&self, path: &str) -> anyhow::Result<Value> {
        let answer: Value = serde_json::from_str(&self.get(&format!("/api/v1/{path}")).await?)?;
        ensure!(answer["status"] == "success", "{path}: {answer}");
        Ok(answer["data"].clone())
    }

    /// How many series a query returns now.
    ///
    /// # Errors
    /// When it is no query.
    pub async fn returned(&self, query: &str) -> anyhow::Result<usize> {
        let data = self.api(&format!("query?query={}", encoded(query))).await?;
        let result = data["result"].as_array().with_context(|| format!("{query}: {data}"))?;
        Ok(result.len())
    }

    /// All rules.
    ///
    /// # Errors
    /// When there are none.
    pub async fn rules(&self) -> anyhow::Result<Vec<Rule>> {
        let data = self.api("rules").await?;
        let groups = data["groups"].as_array().context("no groups")?;
        let rules = groups
            .iter()
            .flat_map(|group| group["rules"].as_array().into_iter().flatten());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let rule = |rule: &Value| Rule {
            name: text(&rule["name"]),
            alerts: rule["type"] == "alerting",
            query: text(&rule["query"]),
            health: match rule["lastError"].as_str() {
                Some(error) if !error.is_empty() => error.to_owned(),
                _ => text(&rule["health"]),
            },
        };
        Ok(rules.map(rule).collect())
    }

    /// The series that a query asks for, each as a query of its own, as Prometheus itself reads it.
    ///
    /// # Errors
    /// When it is no query.
    pub async fn asked_for(&self, query: &str) -> anyhow::Result<Vec<String>> {
        let tree = self.api(&format!("parse_query?query={}", encoded(query))).await?;
        let mut selectors = Vec::new();
        collect(&tree, &mut selectors);
        Ok(selectors)
    }

    /// The end of its log.
    pub fn log(&self) -> String {
        self.process.log_tail(20)
    }
}

/// Selectors of series in a parsed query.
fn collect(tree: &Value, selectors: &mut Vec<String>) {
    match tree {
        Value::Object(node) => {
            if node
                .get("type")
                .is_some_and(|kind| kind == "vectorSelector" || kind == "matrixSelector")
            {
                let matchers = node.get("matchers").and_then(Value::as_array).into_iter().flatten();
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let matchers = matchers.map(|matcher| {
                    let (name, kind, value) = (text(&matcher["name"]), text(&matcher["type"]), text(&matcher["value"]));
                    format!("{name}{kind}{value:?}")
                });
                selectors.push(format!("{{{}}}", matchers.collect::<Vec<_>>().join(",")));
                return;
            }
            node.values().for_each(|child| collect(child, selectors));
        }
        Value::Array(children) => children.iter().for_each(|child| collect(child, selectors)),
        _ => {}
    }
}

fn encoded(query: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    query.bytes().map(byte).collect()
}

fn configuration(target: &Target, token: &Path) -> String {
    format!(
        "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\n  evaluation_interval: 1s\n\
         rule_files: [\"{rules}\"]\n\
         scrape_configs:\n\
         - job_name: plimsoll\n  scheme: https\n\
         \x20 authorization:\n    credentials_file: \"{token}\"\n\
         \x20 tls_config:\n    insecure_skip_verify: true\n\
         \x20 static_configs:\n  - targets: ['127.0.0.1:{port}']\n",
        rules = shipped("rules.yaml").display(),
        token = token.display(),
        port = target.port,
    )
}
