//! Jaeger, which keeps what it is sent in memory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use plimsoll_controlplane::{Process, WorkDir, free_port};
use serde::Deserialize;

use crate::trace::Trace;

/// Whether this machine has Jaeger.
#[derive(Debug)]
pub enum Availability {
    /// It has.
    Ready(Program),
    /// It has not, and the reason why.
    Skip(String),
}

/// The program.
#[derive(Debug, Clone)]
pub struct Program(PathBuf);

impl Availability {
    /// Builds Jaeger when a Go toolchain is there (minutes the first time on a machine, nothing afterwards). Without Go the
    /// tests that need it are skipped; with `CI=true` that is an error, and so is a build that fails.
    pub fn find() -> anyhow::Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("jaeger/build.sh");
        match plimsoll_go_programs::build(&script)? {
            Some(program) => Ok(Self::Ready(Program(program))),
            None => plimsoll_go_programs::skip("Jaeger", "no Go toolchain".to_owned()).map(Self::Skip),
        }
    }
}

/// A running Jaeger. Dropping it ends it.
#[derive(Debug)]
pub struct Jaeger {
    // Dropped before its folder.
    process: Process,
    query: kube::Config,
    grpc: u16,
    http: u16,
    _dir: WorkDir,
}

/// How long a span may take on its way: it is exported at once, and the machine is shared.
const PROMPT: Duration = Duration::from_mins(1);

#[derive(Deserialize)]
struct Answer {
    /// `null` where there is nothing.
    data: Option<Vec<serde_json::Value>>,
}

impl Jaeger {
    /// Starts it on free ports and waits until it answers.
    pub async fn start(program: &Program) -> anyhow::Result<Self> {
        let dir = WorkDir::new("jaeger")?;
        let (query, grpc, http) = (free_port()?, free_port()?, free_port()?);
        let mut arguments = vec![
            format!("--query.http-server.host-port=127.0.0.1:{query}"),
            format!("--collector.otlp.grpc.host-port=127.0.0.1:{grpc}"),
            format!("--collector.otlp.http.host-port=127.0.0.1:{http}"),
        ];
        // What it serves beside, out of the way of whatever else runs here.
        for other in [
            "admin.http",
            "collector.grpc-server",
            "collector.http-server",
            "query.grpc-server",
        ] {
            arguments.push(format!("--{other}.host-port=127.0.0.1:{}", free_port()?));
        }
        let log = dir.path().join("jaeger.log");
        // It would send its own to where another Jaeger may listen.
        let untraced = [("OTEL_TRACES_SAMPLER", "always_off")];
        let process = Process::spawn("jaeger", &program.0, &arguments, &untraced, &log)?;
        let mut config = kube::Config::new(format!("http://127.0.0.1:{query}").parse()?);
        config.default_retry = false;
        let jaeger = Self {
            process,
            query: config,
            grpc,
            http,
            _dir: dir,
        };
        let deadline = tokio::time::Instant::now() + PROMPT;
        while jaeger.get("/api/services").await.is_err() {
            ensure!(
                tokio::time::Instant::now() < deadline,
                "Jaeger does not answer:\n{}",
                jaeger.process.log_tail(20)
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(jaeger)
    }

    /// Where it takes OTLP over gRPC.
    pub fn grpc(&self) -> String {
        format!("http://127.0.0.1:{}", self.grpc)
    }

    /// Where it takes OTLP over HTTP.
    pub fn http(&self) -> String {
        format!("http://127.0.0.1:{}", self.http)
    }

    /// Waits until it has a trace of this id in which something is found, and returns that.
    pub async fn until<T>(&self, what: &str, id: &str, find: impl Fn(&Trace) -> Option<T>) -> anyhow::Result<T> {
        let deadline = tokio::time::Instant::now() + PROMPT;
        loop {
            // An id that it knows nothing of yet is answered with 404.
            let trace = match self.get(&format!("/api/traces/{id}")).await {
                Ok(answer) => Trace::parse(&answer)?,
                Err(_) => Trace::default(),
            };
            if let Some(found) = find(&trace) {
                return Ok(found);
            }
            ensure!(
                tokio::time::Instant::now() < deadline,
                "Jaeger never shows {what} in trace {id}, but:\n{}",
                trace.tree().join("\n")
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Waits until it has a trace whose root span has this name and returns the traces with such roots.
    pub async fn until_operation(&self, service: &str, operation: &str) -> anyhow::Result<Vec<Trace>> {
        let deadline = tokio::time::Instant::now() + PROMPT;
        loop {
            let query = format!("/api/traces?service={service}&operation={operation}&limit=50");
            if let Ok(answer) = self.get(&query).await {
                let found: Vec<Trace> = answer
                    .data
                    .iter()
                    .flatten()
                    .map(Trace::of)
                    .collect::<anyhow::Result<_>>()?;
                if !found.is_empty() {
                    return Ok(found);
                }
            }
            ensure!(
                tokio::time::Instant::now() < deadline,
                "Jaeger never shows a trace of {operation}"
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn get(&self, path: &str) -> anyhow::Result<Answer> {
        let request = http::Request::get(path).body(Vec::new())?;
        let client = kube::Client::try_from(self.query.clone())?;
        let text = client.request_text(request).await?;
        serde_json::from_str(&text).with_context(|| format!("Jaeger answers {path} with {text}"))
    }
}

impl Trace {
    fn parse(answer: &Answer) -> anyhow::Result<Self> {
        let first = answer.data.iter().flatten().next();
        first.map_or_else(|| Ok(Self::default()), Self::of)
    }
}
