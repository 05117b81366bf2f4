//! The OpenTelemetry collector, run as the shipped example says.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use plimsoll_controlplane::{Process, WorkDir, free_port};
use serde_json::{Value, json};

/// How long it may take to start; the machine is shared.
const PROMPT: Duration = Duration::from_mins(1);

/// `deploy/observability/collector.yaml`.
fn shipped_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/observability/collector.yaml")
}

/// What it says.
pub fn shipped() -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(shipped_path())?;
    serde_saphyr::from_str(&text).context("the example configuration of a collector")
}

/// A running collector. Dropping it ends it.
#[derive(Debug)]
pub struct OpenTelemetry {
    // Dropped before its folder.
    _process: Process,
    grpc: u16,
    http: u16,
    _dir: WorkDir,
}

impl OpenTelemetry {
    /// Builds the program when a Go toolchain is there; without, the reason for skipping.
    pub fn program() -> anyhow::Result<Result<PathBuf, String>> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("opentelemetry/build.sh");
        match plimsoll_go_programs::build(&script)? {
            Some(program) => Ok(Ok(program)),
            None => plimsoll_go_programs::skip("the OpenTelemetry collector", "no Go toolchain".to_owned()).map(Err),
        }
    }

    /// Has the program judge the shipped file as it is.
    pub fn validate(program: &Path) -> anyhow::Result<()> {
        let output = Command::new(program)
            .arg("validate")
            .arg(format!("--config={}", shipped_path().display()))
            .stdin(Stdio::null())
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {said}", output.status);
        Ok(())
    }

    /// Starts it as the file says, but for where it listens and to whom it hands traces on, and waits until it listens.
    pub async fn start(program: &Path, backend: &str) -> anyhow::Result<Self> {
        let dir = WorkDir::new("opentelemetry")?;
        let (grpc, http) = (free_port()?, free_port()?);
        let mut config = shipped()?;
        for (protocol, port) in [("grpc", grpc), ("http", http)] {
            config["receivers"]["otlp"]["protocols"][protocol]["endpoint"] = json!(format!("127.0.0.1:{port}"));
        }
        config["exporters"]["otlp"]["endpoint"] = json!(backend);
        // What it tells of itself has a port of its own, which may be another's.
        config["service"]["telemetry"]["metrics"]["level"] = json!("none");
        let path = dir.path().join("collector.yaml");
        std::fs::write(&path, serde_json::to_vec_pretty(&config)?)?;
        let arguments = [format!("--config={}", path.display())];
        let mut process = Process::spawn("collector", program, &arguments, &[], &dir.path().join("collector.log"))?;
        let deadline = tokio::time::Instant::now() + PROMPT;
        for port in [grpc, http] {
            while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                process.ensure_running()?;
                ensure!(
                    tokio::time::Instant::now() < deadline,
                    "the collector does not listen:\n{}",
                    process.log_tail(20)
                );
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        Ok(Self {
            _process: process,
            grpc,
            http,
            _dir: dir,
        })
    }

    /// Where it takes OTLP over gRPC.
    pub fn grpc(&self) -> String {
        format!("http://127.0.0.1:{}", self.grpc)
    }

    /// Where it takes OTLP over HTTP.
    pub fn http(&self) -> String {
        format!("http://127.0.0.1:{}", self.http)
    }
}
