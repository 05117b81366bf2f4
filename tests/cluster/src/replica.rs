//! A scheduler process: ours, or the original in its place.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use plimsoll_controlplane::{ControlPlane, Process, Programs, User, free_port};

use crate::binary;
use crate::metrics::Metrics;

/// Which program schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheduler {
    /// The binary of this repository.
    Plimsoll,
    /// kube-scheduler as released.
    KubeScheduler,
}

/// How a replica takes part in leader election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Election {
    /// It schedules at once.
    Off,
    /// It competes for the lease, with times that make a test short: lease 6 s, renewal within 4 s, retry every 1 s.
    Quick,
    /// It competes for the lease as these flags say.
    Flags(&'static [&'static str]),
}

/// The configuration file of a replica.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    kubeconfig: PathBuf,
}

impl ConfigFile {
    /// Puts another content in its place at once, as a mounted config map does.
    pub fn write(&self, config: &str) -> anyhow::Result<()> {
        let next = self.path.with_extension("next");
        std::fs::write(
            &next,
            config.replace("KUBECONFIG", &self.kubeconfig.display().to_string()),
        )?;
        std::fs::rename(&next, &self.path)?;
        Ok(())
    }
}

/// A running scheduler.
#[derive(Debug)]
pub struct Replica {
    /// Which program it is.
    pub scheduler: Scheduler,
    /// The identity by which the audit log knows it.
    pub user: User,
    /// The process.
    pub process: Process,
    /// Where it serves health and metrics.
    pub port: u16,
    /// A client certificate by which it tells more than its health, with its key beside it; none where it tells everybody.
    pub(crate) certificate: Option<PathBuf>,
}

impl Scheduler {
    /// Which program the suite is about: Plimsoll, unless `PLIMSOLL_CLUSTER_SCHEDULER=kube-scheduler`.
    pub fn under_test() -> Self {
        let chosen = std::env::var("PLIMSOLL_CLUSTER_SCHEDULER");
        if chosen.is_ok_and(|name| name == Self::KubeScheduler.name()) {
            Self::KubeScheduler
        } else {
            Self::Plimsoll
        }
    }

    /// The program's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Plimsoll => "plimsoll",
            Self::KubeScheduler => "kube-scheduler",
        }
    }

    /// Where the program is on this machine.
    pub fn program(self, control_plane: &ControlPlane) -> anyhow::Result<PathBuf> {
        self.among(control_plane.programs())
    }

    /// Where the program is, given those of a control plane.
    ///
    /// # Errors
    /// When there is none.
    pub fn among(self, programs: &Programs) -> anyhow::Result<PathBuf> {
        match self {
            Self::Plimsoll => binary::plimsoll(),
            Self::KubeScheduler => programs
                .path("kube-scheduler")
                .context("this machine has no kube-scheduler"),
        }
    }
}

impl Replica {
    /// Starts one. Both programs get the same flags, as user `system:kube-scheduler`.
    pub(crate) fn start(
        scheduler: Scheduler,
        number: usize,
        election: Election,
        env: &[(&str, &str)],
        control_plane: &ControlPlane,
    ) -> anyhow::Result<Self> {
        let args: &[&str] = match election {
            Election::Off => &["--leader-elect=false"],
            Election::Quick => &[
                "--leader-elect=true",
                "--leader-elect-lease-duration=6s",
                "--leader-elect-renew-deadline=4s",
                "--leader-elect-retry-period=1s",
            ],
            Election::Flags(flags) => flags,
        };
        let kubeconfig = control_plane.server().kubeconfig(&User::scheduler(number))?;
        Self::start_through(scheduler, number, &kubeconfig, args, env, control_plane)
    }

    /// Starts one that reaches the API servers by this kubeconfig, with these flags about its election.
    pub fn start_through(
        scheduler: Scheduler,
        number: usize,
        kubeconfig: &Path,
        election: &[&str],
        env: &[(&str, &str)],
        control_plane: &ControlPlane,
    ) -> anyhow::Result<Self> {
        let user = User::scheduler(number);
        let port = free_port()?;
        let mut args = vec![
            format!("--kubeconfig={}", kubeconfig.display()),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            "--kube-api-qps=5000".to_owned(),
            "--kube-api-burst=5000".to_owned(),
            "-v=2".to_owned(),
        ];
        args.extend(election.iter().map(|flag| (*flag).to_owned()));
        Self::spawn(scheduler, number, user, port, &args, env, control_plane)
    }

    /// Starts one that reads its configuration from a file, which this writes: `config` with the path of a kubeconfig in
    /// the place of `KUBECONFIG`. Returns the file too.
    pub(crate) fn start_configured(
        scheduler: Scheduler,
        number: usize,
        config: &str,
        control_plane: &ControlPlane,
    ) -> anyhow::Result<(Self, ConfigFile)> {
        Self::start_flagged(scheduler, number, config, &[], &[], control_plane)
    }

    /// The same with more flags and variables of the environment.
    pub(crate) fn start_flagged(
        scheduler: Scheduler,
        number: usize,
        config: &str,
        flags: &[String],
        env: &[(&str, &str)],
        control_plane: &ControlPlane,
    ) -> anyhow::Result<(Self, ConfigFile)> {
        let user = User::scheduler(number);
        let port = free_port()?;
        let file = ConfigFile {
            path: control_plane.dir().path().join(format!("config-{number}.yaml")),
            kubeconfig: control_plane.server().kubeconfig(&user)?,
        };
        file.write(config)?;
        let mut args = vec![
            format!("--config={}", file.path.display()),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            "-v=2".to_owned(),
        ];
        args.extend_from_slice(flags);
        let replica = Self::spawn(scheduler, number, user, port, &args, env, control_plane)?;
        Ok((replica, file))
    }

    fn spawn(
        scheduler: Scheduler,
        number: usize,
        user: User,
        port: u16,
        args: &[String],
        env: &[(&str, &str)],
        control_plane: &ControlPlane,
    ) -> anyhow::Result<Self> {
        // Else it knows nobody who may read its metrics. Whoever has the certificate needs no API server for that, which some
        // tests take away.
        let kubeconfig = control_plane.server().kubeconfig(&user)?;
        let dir = control_plane.dir().path();
        let asks = |of| format!("--{of}-kubeconfig={}", kubeconfig.display());
        let mut all = vec![format!("--client-ca-file={}", dir.join("ca.crt").display())];
        all.extend(["authentication", "authorization"].map(asks));
        all.extend_from_slice(args);
        let log = control_plane
            .dir()
            .path()
            .join(format!("{}-{number}.log", scheduler.name()));
        let process = Process::spawn(scheduler.name(), &scheduler.program(control_plane)?, &all, env, &log)?;
        Ok(Self {
            scheduler,
            user,
            process,
            port,
            certificate: Some(dir.join("admin.crt")),
        })
    }

    /// True when this replica bound any pod. (All replicas run on one host, so identities in the lease do not tell them
    /// apart; the audit log does.)
    pub fn bound_any(&self, binds: &[plimsoll_controlplane::BindRequest]) -> bool {
        binds.iter().any(|bind| bind.bound() && bind.group == self.user.group)
    }

    /// What its server answers an administrator. Its certificate is its own work and is not looked at.
    async fn get(&self, path: &str) -> anyhow::Result<Result<String, kube::Error>> {
        let mut config = kube::Config::new(format!("https://127.0.0.1:{}", self.port).parse()?);
        config.accept_invalid_certs = true;
        // A standby answers 503 for good.
        config.default_retry = false;
        if let Some(certificate) = &self.certificate {
            config.auth_info.client_certificate = Some(certificate.display().to_string());
            config.auth_info.client_key = Some(certificate.with_extension("key").display().to_string());
        }
        let client = kube::Client::try_from(config)?;
        let request = http::Request::get(path).body(Vec::new())?;
        Ok(client.request_text(request).await)
    }

    /// What its server answers an administrator who asks for this path; an error unless all is well.
    pub async fn reads(&self, path: &str) -> anyhow::Result<String> {
        let name = self.process.name();
        self.get(path)
            .await?
            .with_context(|| format!("{name} does not answer {path}"))
    }

    /// What it counts of its own work.
    pub async fn metrics(&self) -> anyhow::Result<Metrics> {
        let name = self.process.name();
        let text = self.get("/metrics").await?;
        Metrics::parse(&text.with_context(|| format!("{name} does not tell its metrics"))?)
    }

    /// What an audit of itself made now finds; `None` when it does not lead.
    pub async fn audit(&self) -> anyhow::Result<Option<String>> {
        match self.get("/debug/audit").await? {
            Err(kube::Error::Api(status)) if status.code == 503 => Ok(None),
            answer => Ok(Some(answer.context("no audit")?)),
        }
    }

    /// SIGTERM; an error unless it ends within ten seconds. Returns the exit code.
    pub async fn terminate(&mut self) -> anyhow::Result<Option<i32>> {
        let status = self.process.terminate(Duration::from_secs(10)).await?;
        let tail = || {
            format!(
                "{} ignores SIGTERM:\n{}",
                self.process.name(),
                self.process.log_tail(20)
            )
        };
        Ok(status.with_context(tail)?.code())
    }
}
