//! The program against the embedded API server: a cold standby, and a plugin that never returns.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

use std::net::TcpListener as Port;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_apiserver::review::User;
use plimsoll_apiserver::{ApiServer, Config, Resource, Serving, Tls, Tokens, resource};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::Instant;

/// Longest that anything expected may take; machines of tests are busy.
const PATIENCE: Duration = Duration::from_secs(90);
const LABEL: &str = "test/poison";
/// Of the one user that the API server knows, who may see why a check fails.
const TOKEN: &str = "of-an-operator";

struct Replica {
    process: Child,
    port: u16,
    log: PathBuf,
}

impl Replica {
    /// Status and text that its server answers.
    async fn get(&self, path: &str) -> Option<(u16, String)> {
        let mut config = kube::Config::new(format!("https://127.0.0.1:{}", self.port).parse().unwrap());
        config.auth_info.token = Some(TOKEN.to_owned().into());
        config.accept_invalid_certs = true;
        config.default_retry = false;
        let client = kube::Client::try_from(config).unwrap();
        let request = http::Request::get(path).body(kube::client::Body::empty()).unwrap();
        let response = client.send(request).await.ok()?;
        let status = response.status().as_u16();
        let body = response.into_body().collect_bytes().await.ok()?;
        Some((status, String::from_utf8(body.to_vec()).unwrap()))
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// A cluster of one node without a kubelet.
struct World {
    server: ApiServer,
    serving: Serving,
    replicas: Vec<Replica>,
    folder: PathBuf,
}

impl World {
    async fn start() -> Self {
        plimsoll::install_crypto_provider();
        let operator = User {
            name: "operator".to_owned(),
            ..User::default()
        };
        let server = ApiServer::new(Config {
            tokens: Tokens::default().with(TOKEN, operator),
            ..Config::default()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let serving = server.serve(listener, Tls::Off).unwrap();
        let folder = std::env::temp_dir().join(format!("plimsoll-progress-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&folder).unwrap();
        let node = json!({
            "metadata": { "name": "n1" },
            "status": {
                "allocatable": { "cpu": "4", "memory": "8Gi", "pods": "110" },
                "conditions": [{ "type": "Ready", "status": "True" }],
            },
        });
        server.create(kind("", "nodes"), "", node).unwrap();
        Self {
            server,
            serving,
            replicas: Vec::new(),
            folder,
        }
    }

    /// Starts a replica with these fields more in its configuration.
    fn schedule(&mut self, fields: &str) {
        let number = self.replicas.len();
        let kubeconfig = self.folder.join("kubeconfig");
        std::fs::write(&kubeconfig, self.serving.kubeconfig(None)).unwrap();
        let config = format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
             clientConnection: {{kubeconfig: {}, qps: 5000, burst: 5000}}\n\
             leaderElection: {{leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}}\n{fields}\n",
            kubeconfig.display(),
        );
        let file = self.folder.join(format!("config-{number}.yaml"));
        std::fs::write(&file, config).unwrap();
        let log = self.folder.join(format!("replica-{number}.log"));
        let port = Port::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .arg(format!("--config={}", file.display()))
            .arg(format!("--secure-port={port}"))
            .arg(format!("--enable-test-plugins={LABEL}"))
            .arg(format!("--authentication-kubeconfig={}", kubeconfig.display()))
            .arg(format!("--authorization-kubeconfig={}", kubeconfig.display()))
            .args(["--bind-address=127.0.0.1", "-v=2"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        self.replicas.push(Replica { process, port, log });
    }

    fn add_pod(&self, name: &str, labels: &Value) {
        let pod = json!({
            "metadata": { "name": name, "labels": labels },
            "spec": { "containers": [{ "name": "c", "image": "i" }] },
        });
        self.server.create(kind("", "pods"), "default", pod).unwrap();
    }

    fn is_bound(&self, name: &str) -> bool {
        let pod = self.server.get(kind("", "pods"), "default", name);
        pod.is_some_and(|pod| pod["spec"]["nodeName"] == "n1")
    }

    fn is_held(&self) -> bool {
        let lease = self
            .server
            .get(kind("coordination.k8s.io", "leases"), "kube-system", "kube-scheduler");
        lease.is_some_and(|lease| {
            lease["spec"]["holderIdentity"]
                .as_str()
                .is_some_and(|holder| !holder.is_empty())
        })
    }

    async fn until(&mut self, what: &str, mut holds: impl AsyncFnMut(&mut Self) -> bool) {
        let began = Instant::now();
        while !holds(self).await {
            let logs: Vec<_> = self.replicas.iter().map(Replica::log).collect();
            assert!(began.elapsed() < PATIENCE, "in vain: {what}\n{}", logs.join("\n---\n"));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for replica in &mut self.replicas {
            let _ = replica.process.kill();
            let _ = replica.process.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn kind(group: &str, plural: &str) -> &'static Resource {
    resource::find(group, "v1", plural).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cold_standby_is_healthy_and_not_ready_before_it_leads() {
    let mut world = World::start().await;
    world.schedule("delayCacheUntilActive: true");
    world
        .until("the leader is ready", async |world| {
            world.replicas[0]
                .get("/readyz")
                .await
                .is_some_and(|(status, _)| status == 200)
        })
        .await;
    world.schedule("delayCacheUntilActive: true");
    world
        .until("the standby serves", async |world| {
            world.replicas[1].get("/livez").await.is_some()
        })
        .await;
    for _ in 0..20 {
        let standby = &world.replicas[1];
        let not_synced = "internal server error: handlers are not fully synchronized\n";
        assert_eq!(
            standby.get("/readyz/sched-handler-sync").await,
            Some((500, not_synced.to_owned()))
        );
        assert_eq!(standby.get("/readyz").await.unwrap().0, 500);
        assert_eq!(standby.get("/healthz").await.unwrap().0, 200);
        assert_eq!(standby.get("/readyz/leaderElection").await.unwrap().0, 200);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    world.replicas[0].process.kill().unwrap();
    world.add_pod("a", &json!({}));
    world
        .until("the standby takes over", async |world| world.is_bound("a"))
        .await;
    assert_eq!(world.replicas[1].get("/readyz").await.unwrap().0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_never_returns_ends_the_process_with_code_1_and_another_replica_goes_on() {
    let mut world = World::start().await;
    world.schedule("");
    world.until("the first leads", async |world| world.is_held()).await;
    world.add_pod("before", &json!({}));
    world
        .until("it schedules", async |world| world.is_bound("before"))
        .await;
    world.schedule("");
    world.add_pod("poison", &json!({ LABEL: "hang" }));
    tokio::time::sleep(Duration::from_secs(2)).await;
    world.server.delete(kind("", "pods"), "default", "poison").unwrap();
    world.add_pod("after", &json!({}));
    world
        .until("the process ends", async |world| {
            world.replicas[0].process.try_wait().unwrap().is_some()
        })
        .await;
    let ended = world.replicas[0].process.wait().unwrap();
    assert_eq!(ended.code(), Some(1), "{}", world.replicas[0].log());
    world
        .until("the other goes on", async |world| world.is_bound("after"))
        .await;
}
