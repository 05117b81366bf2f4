use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_apiserver::{ApiServer, Config, Resource, Serving, Tls, resource};
use plimsoll_extender_tests::{Options, PythonExtender};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Longest that anything expected may take; machines of tests are busy.
const PATIENCE: Duration = Duration::from_secs(90);

/// A cluster without kubelets, an extender, and replicas of the program.
pub(crate) struct World {
    pub(crate) server: ApiServer,
    pub(crate) python: PythonExtender,
    serving: Serving,
    replicas: Vec<Child>,
    folder: PathBuf,
}

impl World {
    /// None, said loudly, on a machine without Python.
    pub(crate) async fn start(nodes: usize) -> Option<Self> {
        let server = ApiServer::new(Config::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let serving = server.serve(listener, Tls::Off).unwrap();
        let options = Options {
            api_server: serving.url(),
            record: 5,
            ..Options::default()
        };
        let python = PythonExtender::start(&options).unwrap()?;
        let folder = std::env::temp_dir().join(format!("plimsoll-extenders-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&folder).unwrap();
        let world = Self {
            server,
            python,
            serving,
            replicas: Vec::new(),
            folder,
        };
        for index in 0..nodes {
            let node = json!({
                "metadata": { "name": format!("n{index}") },
                "status": {
                    "allocatable": { "cpu": "4", "memory": "8Gi", "pods": "500" },
                    "conditions": [{ "type": "Ready", "status": "True" }],
                },
            });
            world.server.create(kind("nodes"), "", node).unwrap();
        }
        Some(world)
    }

    /// Starts a replica. `extenders` is YAML of a list, with `URL` for the address of the extender in Python.
    pub(crate) fn schedule(&mut self, extenders: &str) {
        let number = self.replicas.len();
        let kubeconfig = self.folder.join("kubeconfig");
        std::fs::write(&kubeconfig, self.serving.kubeconfig(None)).unwrap();
        let config = format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
             clientConnection: {{kubeconfig: {}, qps: 5000, burst: 5000}}\n\
             leaderElection: {{leaderElect: false}}\npodInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 1\nextenders:\n{}\n",
            kubeconfig.display(),
            extenders.replace("URL", &self.python.url())
        );
        let file = self.folder.join(format!("config-{number}.yaml"));
        std::fs::write(&file, config).unwrap();
        let log = std::fs::File::create(self.log(number)).unwrap();
        let replica = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .arg(format!("--config={}", file.display()))
            .args(["--secure-port=0", "-v=2"])
            // Nobody listens there: whoever asks them, for the API server or for an extender, gets nothing done.
            .env("HTTP_PROXY", "http://127.0.0.1:1")
            .env("HTTPS_PROXY", "no URL at all")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.replicas.push(replica);
    }

    fn log(&self, number: usize) -> PathBuf {
        self.folder.join(format!("replica-{number}.log"))
    }

    pub(crate) fn create(&self, name: &str, spec: &Value) {
        let mut pod = json!({ "metadata": { "name": name }, "spec": spec });
        pod["spec"]["containers"][0]["name"] = "c".into();
        pod["spec"]["containers"][0]["image"] = "i".into();
        self.server.create(kind("pods"), "default", pod).unwrap();
    }

    pub(crate) fn pod(&self, name: &str) -> Option<std::sync::Arc<Value>> {
        self.server.get(kind("pods"), "default", name)
    }

    pub(crate) fn pods(&self) -> Vec<std::sync::Arc<Value>> {
        self.server.snapshot(kind("pods"))
    }

    /// The pod's node, once it has one.
    pub(crate) async fn node_of(&mut self, name: &str) -> String {
        self.until(&format!("{name} is bound"), |world| {
            node(&*world.pod(name)?).map(str::to_owned)
        })
        .await
    }

    /// Why the pod is pending: reason and message, once it holds such a message.
    pub(crate) async fn told(&mut self, name: &str, part: &str) -> (String, String) {
        self.until(&format!("{name} is told {part:?}"), |world| {
            explanation(&*world.pod(name)?).filter(|(_, message)| message.contains(part))
        })
        .await
    }

    /// Waits for something, with all replicas alive.
    pub(crate) async fn until<T>(&mut self, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        let began = tokio::time::Instant::now();
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            self.ensure_running();
            assert!(began.elapsed() < PATIENCE, "in vain: {what}\n{}", self.logs());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn ensure_running(&mut self) {
        let ended = self.replicas.iter_mut().find_map(|replica| replica.try_wait().unwrap());
        assert!(ended.is_none(), "a replica has ended: {ended:?}\n{}", self.logs());
    }

    /// What replica 0 takes, in kilobytes.
    pub(crate) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.replicas[0].id())).unwrap_or_default();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap_or_default();
        line.split_whitespace()
            .nth(1)
            .and_then(|number| number.parse().ok())
            .unwrap_or_default()
    }

    /// Whether any replica's log tells of a panic.
    pub(crate) fn has_panicked(&self) -> bool {
        (0..self.replicas.len()).any(|number| {
            let log = std::fs::read_to_string(self.log(number)).unwrap_or_default();
            log.contains("panicked")
        })
    }

    /// All that replica 0 has told.
    pub(crate) fn whole_log(&self) -> String {
        std::fs::read_to_string(self.log(0)).unwrap()
    }

    pub(crate) fn logs(&self) -> String {
        let tail = |number| {
            let log = std::fs::read_to_string(self.log(number)).unwrap_or_default();
            let lines: Vec<_> = log.lines().rev().take(30).collect();
            lines.into_iter().rev().collect::<Vec<_>>().join("\n")
        };
        (0..self.replicas.len()).map(tail).collect::<Vec<_>>().join("\n---\n")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for replica in &mut self.replicas {
            let _ = replica.kill();
            let _ = replica.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub(crate) fn kind(plural: &str) -> &'static Resource {
    resource::find("", "v1", plural).unwrap()
}

pub(crate) fn priority_classes() -> &'static Resource {
    resource::find("scheduling.k8s.io", "v1", "priorityclasses").unwrap()
}

pub(crate) fn node(pod: &Value) -> Option<&str> {
    pod["spec"]["nodeName"].as_str()
}

pub(crate) fn explanation(pod: &Value) -> Option<(String, String)> {
    let conditions = pod["status"]["conditions"].as_array()?;
    let condition = conditions
        .iter()
        .find(|condition| condition["type"] == "PodScheduled" && condition["status"] == "False")?;
    Some((
        condition["reason"].as_str()?.to_owned(),
        condition["message"].as_str()?.to_owned(),
    ))
}

/// A container that requests this much.
pub(crate) fn requesting(requests: &Value) -> Value {
    json!({ "containers": [{ "resources": { "requests": requests, "limits": {} } }] })
}
