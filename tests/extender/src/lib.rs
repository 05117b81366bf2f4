//! An extender in Python's standard library, a process of its own: `extender.py` beside this. It answers as it is told, and
//! has faults on demand, so that what a scheduler makes of extenders can be tried over a real connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use plimsoll_go_programs::skip;
use serde_json::{Value, json};

/// A running extender. It ends with this, and with the process that started it.
#[derive(Debug)]
pub struct PythonExtender {
    child: Child,
    port: u16,
    tls: bool,
}

/// Certificates that it serves with.
#[derive(Debug, Clone)]
pub struct ServingFiles {
    /// Its certificate.
    pub certificate: PathBuf,
    /// The certificate's key.
    pub key: PathBuf,
    /// Whose clients it takes; all without.
    pub client_authority: Option<PathBuf>,
}

/// How it is started.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// URL of the API server to which it sends bindings.
    pub api_server: String,
    /// How many requests it keeps for its report.
    pub record: usize,
    /// Serves TLS. Such a one cannot be told anything.
    pub tls: Option<ServingFiles>,
}

impl PythonExtender {
    /// Starts one at a free port. `None`, said loudly, on a machine without Python; an error there with `CI=true`.
    pub fn start(options: &Options) -> anyhow::Result<Option<Self>> {
        if let Err(reason) = find_python() {
            let reason = skip("the extender in Python", reason)?;
            let _ = writeln!(std::io::stderr().lock(), "\n*** SKIPPED: {reason}\n");
            return Ok(None);
        }
        let mut command = Command::new("python3");
        // Bytecode would be written into the tree.
        command
            .arg("-B")
            .arg(program())
            .arg(format!("--record={}", options.record));
        if !options.api_server.is_empty() {
            command.arg(format!("--api-server={}", options.api_server));
        }
        if let Some(files) = &options.tls {
            command
                .arg("--cert")
                .arg(&files.certificate)
                .arg("--key")
                .arg(&files.key);
            if let Some(authority) = &files.client_authority {
                command.arg("--client-ca").arg(authority);
            }
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start python3")?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("the extender has no standard output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let port = line.trim().parse().context("the extender did not say its port")?;
        let tls = options.tls.is_some();
        Ok(Some(Self { child, port, tls }))
    }

    /// Its address, for `urlPrefix`.
    pub fn url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}/scheduler", self.port)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Says what becomes of the next calls of a verb, in order; `ok` is none of the faults.
    pub fn script(&self, verb: &str, kinds: &[&str]) -> anyhow::Result<()> {
        self.tell("/_script", &json!({ verb: kinds })).map(drop)
    }

    /// Has it answer a part of all calls, from 0 to 1, with one of these faults.
    pub fn faults(&self, seed: u64, rate: f64, kinds: &[&str]) -> anyhow::Result<()> {
        self.tell("/_faults", &json!({ "seed": seed, "rate": rate, "kinds": kinds }))
            .map(drop)
    }

    /// Sets what it thinks of nodes and pods: `reject` and `never` (texts by node), `scores` (by node), `spare` (UIDs that it
    /// does not evict), `drop_nodes` (on which it evicts nobody).
    pub fn rules(&self, rules: &Value) -> anyhow::Result<()> {
        self.tell("/_rules", rules).map(drop)
    }

    /// What came so far: `calls` by verb, `faults` by kind, `connections`, `bound`, and the last `requests`.
    pub fn report(&self) -> anyhow::Result<Value> {
        self.exchange("GET", "/_report", "")
    }

    fn tell(&self, path: &str, value: &Value) -> anyhow::Result<Value> {
        self.exchange("POST", path, &value.to_string())
    }

    fn exchange(&self, method: &str, path: &str, body: &str) -> anyhow::Result<Value> {
        ensure!(!self.tls, "an extender that serves TLS is told nothing");
        let mut connection = TcpStream::connect(("127.0.0.1", self.port))?;
        connection.set_read_timeout(Some(Duration::from_secs(30)))?;
        write!(
            connection,
            "{method} {path} HTTP/1.1\r\nHost: extender\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut reply = Vec::new();
        connection.read_to_end(&mut reply)?;
        let reply = String::from_utf8(reply)?;
        let (head, body) = reply.split_once("\r\n\r\n").context("no HTTP reply")?;
        ensure!(head.starts_with("HTTP/1.1 200 "), "the extender says {head}");
        Ok(serde_json::from_str(body)?)
    }
}

impl Drop for PythonExtender {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program.
pub fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("extender.py")
}

fn find_python() -> Result<(), String> {
    let found = Command::new("python3")
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match found {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("python3 --version ends with {status}")),
        Err(error) => Err(format!("this machine has no python3: {error}")),
    }
}
