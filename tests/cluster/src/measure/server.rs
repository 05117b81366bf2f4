//! The API server that the measured schedulers talk to: the real one, or the embedded one, which is so much quicker that
//! the scheduler is what is measured.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use kube::config::{KubeConfigOptions, Kubeconfig};
use plimsoll_controlplane::{
    Availability, BindRequest, ControlPlane, Process, Programs, Storage, User, WorkDir, free_port,
};
use tokio::time::Instant;

use crate::binary;
use crate::replica::{Election, Replica, Scheduler};

/// An API server with nothing in it yet. Dropping it ends it.
#[derive(Debug)]
pub enum Server {
    /// etcd and kube-apiserver, storing Protobuf.
    Real(Box<ControlPlane>),
    /// `plimsoll apiserver`: in memory, in a process of its own.
    Embedded(Embedded),
}

/// A running `plimsoll apiserver`.
#[derive(Debug)]
pub struct Embedded {
    process: Process,
    programs: Programs,
    kubeconfig: PathBuf,
    dir: WorkDir,
}

impl Server {
    /// Starts one; `None` when this machine has no control plane, and so no kube-scheduler either.
    pub async fn new(embedded: bool) -> anyhow::Result<Option<Self>> {
        let Availability::Ready(programs) = Availability::find()? else {
            return Ok(None);
        };
        if embedded {
            return Ok(Some(Self::Embedded(Embedded::new(programs).await?)));
        }
        let builder = ControlPlane::builder(programs).storage(Storage::Protobuf);
        let control_plane = builder.name("measurement").start().await?;
        Ok(Some(Self::Real(Box::new(control_plane))))
    }

    /// A client that may do everything.
    pub async fn client(&self) -> anyhow::Result<kube::Client> {
        match self {
            Self::Real(control_plane) => control_plane.client(&User::admin()).await,
            Self::Embedded(embedded) => embedded.client().await,
        }
    }

    /// Starts a scheduler, without election.
    pub(crate) fn start(&self, scheduler: Scheduler) -> anyhow::Result<Replica> {
        match self {
            Self::Real(control_plane) => Replica::start(scheduler, 0, Election::Off, &[], control_plane),
            Self::Embedded(embedded) => embedded.start(scheduler),
        }
    }

    /// Starts a replica of ours with this configuration, in which `KUBECONFIG` stands for the path of one.
    pub(crate) fn start_configured(&self, number: usize, config: &str) -> anyhow::Result<Replica> {
        match self {
            Self::Real(control_plane) => {
                let started = Replica::start_configured(Scheduler::Plimsoll, number, config, control_plane);
                started.map(|(replica, _)| replica)
            }
            Self::Embedded(embedded) => {
                let config = config.replace("KUBECONFIG", &embedded.kubeconfig.display().to_string());
                embedded.spawn(Scheduler::Plimsoll, number, &config, &[], &[])
            }
        }
    }

    /// Starts a scheduler of either kind with this configuration, in which `KUBECONFIG` stands for the path of one, and with
    /// these flags beside those that each needs to run on this machine, and these variables of the environment.
    pub fn start_with(
        &self,
        scheduler: Scheduler,
        number: usize,
        config: &str,
        flags: &[String],
        env: &[(&str, &str)],
    ) -> anyhow::Result<Replica> {
        match self {
            Self::Real(control_plane) => {
                let started = Replica::start_flagged(scheduler, number, config, flags, env, control_plane);
                started.map(|(replica, _)| replica)
            }
            Self::Embedded(embedded) => {
                let config = config.replace("KUBECONFIG", &embedded.kubeconfig.display().to_string());
                embedded.spawn(scheduler, number, &config, flags, env)
            }
        }
    }

    /// A kubeconfig for a program that does a scheduler's work.
    pub fn kubeconfig(&self, number: usize) -> anyhow::Result<PathBuf> {
        match self {
            Self::Real(control_plane) => control_plane.server().kubeconfig(&User::scheduler(number)),
            Self::Embedded(embedded) => Ok(embedded.kubeconfig.clone()),
        }
    }

    /// The API server's own process.
    pub fn process(&self) -> Option<&Process> {
        match self {
            Self::Real(control_plane) => control_plane.server().process(),
            Self::Embedded(embedded) => Some(&embedded.process),
        }
    }

    /// Where logs go.
    pub fn dir(&self) -> &std::path::Path {
        match self {
            Self::Real(control_plane) => control_plane.dir().path(),
            Self::Embedded(embedded) => embedded.dir.path(),
        }
    }

    /// The Bindings asked for; the embedded server keeps no record of them.
    pub(crate) fn bind_requests(&self) -> anyhow::Result<Vec<BindRequest>> {
        match self {
            Self::Real(control_plane) => control_plane.bind_requests(),
            Self::Embedded(_) => Ok(Vec::new()),
        }
    }
}

impl Embedded {
    async fn new(programs: Programs) -> anyhow::Result<Self> {
        // More than one TLS provider is compiled into a test; say which, once. A second call changes nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dir = WorkDir::new("measurement")?;
        let kubeconfig = dir.path().join("kubeconfig");
        let args = [
            "apiserver".to_owned(),
            format!("--port={}", free_port()?),
            format!("--kubeconfig-out={}", kubeconfig.display()),
        ];
        let log = dir.path().join("apiserver.log");
        let process = Process::spawn("plimsoll apiserver", &binary::plimsoll()?, &args, &[], &log)?;
        let mut embedded = Self {
            process,
            programs,
            kubeconfig,
            dir,
        };
        embedded.ready().await?;
        Ok(embedded)
    }

    async fn ready(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            self.process.ensure_running()?;
            if let Ok(client) = self.client().await
                && client
                    .request_text(http::Request::get("/readyz").body(Vec::new())?)
                    .await
                    .is_ok()
            {
                return Ok(());
            }
            ensure!(
                Instant::now() < deadline,
                "plimsoll apiserver is not ready:\n{}",
                self.process.log_tail(20)
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn client(&self) -> anyhow::Result<kube::Client> {
        let kubeconfig = Kubeconfig::read_from(&self.kubeconfig)?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(kube::Client::try_from(config)?)
    }

    /// Both programs get the same file. The embedded server speaks JSON alone.
    fn start(&self, scheduler: Scheduler) -> anyhow::Result<Replica> {
        let config = format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\n\
             kind: KubeSchedulerConfiguration\n\
             leaderElection:\n  leaderElect: false\n\
             clientConnection:\n  kubeconfig: {}\n  qps: 5000\n  burst: 5000\n  \
             contentType: application/json\n  acceptContentTypes: application/json\n",
            self.kubeconfig.display()
        );
        self.spawn(scheduler, 0, &config, &[], &[])
    }

    fn spawn(
        &self,
        scheduler: Scheduler,
        number: usize,
        config: &str,
        flags: &[String],
        env: &[(&str, &str)],
    ) -> anyhow::Result<Replica> {
        let file = |ending| self.dir.path().join(format!("{}-{number}.{ending}", scheduler.name()));
        let path = file("yaml");
        std::fs::write(&path, config)?;
        let port = free_port()?;
        let mut args = vec![
            format!("--config={}", path.display()),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            "-v=2".to_owned(),
            // It knows nobody here, so nobody must ask for leave to read its metrics.
            "--authentication-skip-lookup".to_owned(),
            "--authorization-always-allow-paths=/metrics,/healthz,/readyz,/livez,/debug/audit".to_owned(),
        ];
        args.extend_from_slice(flags);
        let program = scheduler.among(&self.programs)?;
        let process = Process::spawn(scheduler.name(), &program, &args, env, &file("log"))?;
        Ok(Replica {
            scheduler,
            user: User::scheduler(number),
            process,
            port,
            certificate: None,
        })
    }
}
