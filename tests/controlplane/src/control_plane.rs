//! etcd with one or two API servers in front of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use kube::config::Kubeconfig;

use crate::audit::{self, AccessRequest, AuditTrail, Audited, BindRequest, PodRequest};
use crate::availability::Programs;
use crate::certificates::{self, Authority};
use crate::controller_manager::ControllerManager;
use crate::etcd::Etcd;
use crate::guardian::WorkDir;
use crate::loopback::free_port;
use crate::process::Process;
use crate::user::User;

/// How objects lie in etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Readable by [`Etcd::history`]'s users.
    Json,
    /// As in production: for measurements.
    Protobuf,
}

/// How a control plane is to be started.
#[derive(Debug)]
pub struct Builder {
    programs: Programs,
    storage: Storage,
    name: String,
    servers: usize,
    audited: Audited,
    accounts: bool,
}

/// A running control plane. Dropping it ends it.
#[derive(Debug)]
pub struct ControlPlane {
    // Declared, so dropped, in this order: servers before their store, everything before its folder.
    server: ApiServer,
    others: Vec<ApiServer>,
    etcd: Etcd,
    authority: Authority,
    programs: Programs,
    settings: Settings,
    dir: WorkDir,
}

/// What all API servers of a control plane have in common.
#[derive(Clone, Copy, Debug)]
struct Settings {
    storage: Storage,
    accounts: bool,
}

impl Builder {
    /// Which media type the API server stores; JSON unless set.
    #[must_use]
    pub fn storage(mut self, storage: Storage) -> Self {
        self.storage = storage;
        self
    }

    /// What the work folder is called.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// How many API servers there are over the one etcd; one unless set.
    #[must_use]
    pub fn servers(mut self, count: usize) -> Self {
        self.servers = count.max(1);
        self
    }

    /// How much the audit logs tell; the answered writes to pods unless set.
    #[must_use]
    pub fn audited(mut self, audited: Audited) -> Self {
        self.audited = audited;
        self
    }

    /// Gives each pod its service account and that account's token, as a cluster does. It takes controllers that make
    /// accounts, without which no pod can be created: [`ControlPlane::start_controllers`].
    #[must_use]
    pub fn with_service_accounts(mut self) -> Self {
        self.accounts = true;
        self
    }

    /// Starts etcd and the API servers and waits until all are ready: about five seconds.
    pub async fn start(self) -> anyhow::Result<ControlPlane> {
        // More than one TLS provider is compiled into a test; say which, once. A second call changes nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dir = WorkDir::new(&self.name)?;
        let authority = Authority::new()?;
        certificates::write_all(dir.path(), &authority)?;
        std::fs::write(dir.path().join("tokens.csv"), User::token_file())?;
        std::fs::write(dir.path().join("audit-policy.json"), self.audited.policy())?;
        let etcd = Etcd::start(&self.programs, dir.path()).await?;
        let settings = Settings {
            storage: self.storage,
            accounts: self.accounts,
        };
        let mut server = ApiServer::new("kube-apiserver", dir.path())?;
        server.start(&self.programs, &etcd, settings).await?;
        let mut others = Vec::new();
        for number in 2..=self.servers {
            let mut other = ApiServer::new(&format!("kube-apiserver-{number}"), dir.path())?;
            other.start(&self.programs, &etcd, settings).await?;
            others.push(other);
        }
        Ok(ControlPlane {
            server,
            others,
            etcd,
            authority,
            programs: self.programs,
            settings,
            dir,
        })
    }
}

impl ControlPlane {
    /// Starts from what [`crate::Availability::find`] found.
    pub fn builder(programs: Programs) -> Builder {
        Builder {
            programs,
            storage: Storage::Json,
            name: "controlplane".to_owned(),
            servers: 1,
            audited: Audited::Answers,
            accounts: false,
        }
    }

    /// The API server, the first one where there are several.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// All of them, see [`Builder::servers`]; they are told apart by their place here.
    pub fn servers(&self) -> impl Iterator<Item = &ApiServer> {
        std::iter::once(&self.server).chain(&self.others)
    }

    /// SIGKILL to the API server at that place, as [`stop_server`](Self::stop_server).
    pub fn stop_server_at(&mut self, place: usize) -> anyhow::Result<()> {
        self.server_at(place)?.stop()
    }

    /// Starts the API server at that place again, as [`start_server`](Self::start_server).
    pub async fn start_server_at(&mut self, place: usize) -> anyhow::Result<()> {
        // Not through `server_at`, which borrows the etcd along with it.
        let server = match place.checked_sub(1) {
            None => &mut self.server,
            Some(other) => self.others.get_mut(other).context("no such API server")?,
        };
        server.start(&self.programs, &self.etcd, self.settings).await
    }

    fn server_at(&mut self, place: usize) -> anyhow::Result<&mut ApiServer> {
        match place.checked_sub(1) {
            None => Ok(&mut self.server),
            Some(other) => self.others.get_mut(other).context("no such API server"),
        }
    }

    /// SIGKILL to etcd: API servers stay, and answer with errors or not at all; writes under way have an unknown outcome.
    pub fn stop_etcd(&mut self) -> anyhow::Result<()> {
        self.etcd.kill()
    }

    /// Starts etcd again with the data it had, and waits until it answers.
    pub async fn start_etcd(&mut self) -> anyhow::Result<()> {
        self.etcd.start_again(&self.programs).await
    }

    /// Writes a kubeconfig called `name` by which `user` reaches the API servers on another port, a proxy's.
    pub fn kubeconfig_through(&self, name: &str, port: u16, user: &User) -> anyhow::Result<PathBuf> {
        write_kubeconfig(self.dir.path(), name, port, user)
    }

    /// The store.
    pub fn etcd(&self) -> &Etcd {
        &self.etcd
    }

    /// The programs it was started from.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// The authority that signed the API server's certificate.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Logs, keys, kubeconfig files and data.
    pub fn dir(&self) -> &WorkDir {
        &self.dir
    }

    /// A client of the API server that never retries by itself.
    pub async fn client(&self, user: &User) -> anyhow::Result<kube::Client> {
        self.server.client(user).await
    }

    /// SIGKILL to the API server: every connection breaks, requests under way have an unknown outcome.
    pub fn stop_server(&mut self) -> anyhow::Result<()> {
        self.server.stop()
    }

    /// Starts the API server again, on the port it had, and waits until it is ready.
    pub async fn start_server(&mut self) -> anyhow::Result<()> {
        self.server.start(&self.programs, &self.etcd, self.settings).await
    }

    /// Starts another API server over the same etcd, for as long as the value lives: changes made through it while the
    /// first one is stopped are what a partitioned client misses.
    pub async fn second_server(&self) -> anyhow::Result<ApiServer> {
        let mut server = ApiServer::new("kube-apiserver-other", self.dir.path())?;
        server.start(&self.programs, &self.etcd, self.settings).await?;
        Ok(server)
    }

    /// Starts kube-controller-manager with these of its controllers alone, and waits until it is healthy: about two
    /// seconds. It goes when the value is dropped.
    pub async fn start_controllers(&self, controllers: &[&str]) -> anyhow::Result<ControllerManager> {
        let kubeconfig = self.server.kubeconfig(&User::admin())?;
        ControllerManager::start(&self.programs, self.dir.path(), &kubeconfig, controllers).await
    }

    /// Every Binding asked for so far, of every API server, in the order of their answers.
    pub fn bind_requests(&self) -> anyhow::Result<Vec<BindRequest>> {
        audit::all_bind_requests(self.dir.path())
    }

    /// Every deletion, eviction and patch of the status of a pod asked for so far, of every API server, in the order of
    /// their answers.
    pub fn pod_requests(&self) -> anyhow::Result<Vec<PodRequest>> {
        audit::all_pod_requests(self.dir.path())
    }

    /// Every request of schedulers and service accounts so far, of every API server; see [`AccessRequest`].
    pub fn access_requests(&self) -> anyhow::Result<Vec<AccessRequest>> {
        audit::all_access_requests(self.dir.path())
    }

    /// A reader of the audit logs for long runs; see [`Audited::Arrivals`].
    pub fn audit_trail(&self) -> AuditTrail {
        AuditTrail::new(self.dir.path())
    }

    /// How many Bindings were applied so far: cheaper to ask often than [`bind_requests`](Self::bind_requests).
    pub fn bound_so_far(&self) -> anyhow::Result<usize> {
        audit::count_bound(self.dir.path())
    }
}

/// One kube-apiserver. It keeps its port and certificate over restarts.
#[derive(Debug)]
pub struct ApiServer {
    name: String,
    port: u16,
    dir: PathBuf,
    process: Option<Process>,
}

impl ApiServer {
    fn new(name: &str, dir: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            port: free_port()?,
            dir: dir.to_owned(),
            process: None,
        })
    }

    /// `https://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The port it serves.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Writes a kubeconfig for `user` and returns its path.
    pub fn kubeconfig(&self, user: &User) -> anyhow::Result<PathBuf> {
        let name = format!("{}-{}", self.name, user.group.replace(':', "-"));
        write_kubeconfig(&self.dir, &name, self.port, user)
    }

    /// A client for `user` that never retries by itself.
    pub async fn client(&self, user: &User) -> anyhow::Result<kube::Client> {
        client_from(&self.kubeconfig(user)?).await
    }

    /// The running program, for its log and CPU time.
    pub fn process(&self) -> Option<&Process> {
        self.process.as_ref()
    }

    fn stop(&mut self) -> anyhow::Result<()> {
        self.process.take().map_or(Ok(()), |mut process| process.kill())
    }

    async fn start(&mut self, programs: &Programs, etcd: &Etcd, settings: Settings) -> anyhow::Result<()> {
        let program = programs.require("kube-apiserver")?;
        let log = self.dir.join(format!("{}.log", self.name));
        let process = Process::spawn(&self.name, &program, &self.args(etcd, settings), &[], &log)?;
        self.process = Some(process);
        self.ready().await
    }

    fn args(&self, etcd: &Etcd, settings: Settings) -> Vec<String> {
        let file = |name: &str| self.dir.join(name).display().to_string();
        let media = match settings.storage {
            Storage::Json => "application/json",
            Storage::Protobuf => "application/vnd.kubernetes.protobuf",
        };
        // Without kubelets and controllers nobody would make service account tokens or take the taints away.
        let not_admitted = if settings.accounts {
            "TaintNodesByCondition"
        } else {
            "ServiceAccount,TaintNodesByCondition"
        };
        vec![
            format!("--etcd-servers={}", etcd.url()),
            // Nobody forgets history but the test that means to.
            "--etcd-compaction-interval=0".to_owned(),
            format!("--storage-media-type={media}"),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", self.port),
            format!("--cert-dir={}", file(&format!("{}-certs", self.name))),
            format!("--tls-cert-file={}", file("serving.crt")),
            format!("--tls-private-key-file={}", file("serving.key")),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            // Whom the cluster tells servers beside it to trust, too.
            format!("--client-ca-file={}", file("ca.crt")),
            format!("--service-account-key-file={}", file("sa.pub")),
            format!("--service-account-signing-key-file={}", file("sa.key")),
            "--authorization-mode=RBAC".to_owned(),
            format!("--token-auth-file={}", file("tokens.csv")),
            "--allow-privileged=true".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--disable-admission-plugins={not_admitted}"),
            format!("--audit-policy-file={}", file("audit-policy.json")),
            format!("--audit-log-path={}", file(&audit::file_name(&self.name))),
            "--audit-log-maxsize=0".to_owned(),
            // Else the API server drops `spec.schedulingGroup`, and no scheduler ever sees one. Its coordinator concerns itself
            // with leases that have candidates only.
            "--feature-gates=GenericWorkload=true,CoordinatedLeaderElection=true".to_owned(),
            "--runtime-config=scheduling.k8s.io/v1alpha2=true,coordination.k8s.io/v1beta1=true".to_owned(),
        ]
    }

    async fn ready(&mut self) -> anyhow::Result<()> {
        let client = self.client(&User::admin()).await?;
        let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
        loop {
            let answer = client
                .request_text(http::Request::get("/readyz").body(Vec::new())?)
                .await;
            let Err(error) = answer else { return Ok(()) };
            self.process
                .as_mut()
                .context("the API server was not started")?
                .ensure_running()?;
            let tail = || {
                self.process
                    .as_ref()
                    .map_or_else(String::new, |process| process.log_tail(20))
            };
            ensure!(
                tokio::time::Instant::now() < deadline,
                "{} is not ready: {error}\n{}",
                self.name,
                tail()
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// A client by a kubeconfig of this crate that never retries by itself.
pub async fn client_from(kubeconfig: &Path) -> anyhow::Result<kube::Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let mut config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default()).await?;
    config.default_retry = false;
    Ok(kube::Client::try_from(config)?)
}

fn write_kubeconfig(dir: &Path, name: &str, port: u16, user: &User) -> anyhow::Result<PathBuf> {
    let path = dir.join(format!("{name}.kubeconfig"));
    let text = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
        "clusters": [{ "name": "test", "cluster": {
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority": dir.join("ca.crt"),
        } }],
        "users": [{ "name": "test", "user": { "token": user.token() } }],
    });
    std::fs::write(&path, serde_json::to_vec_pretty(&text)?)?;
    Ok(path)
}
