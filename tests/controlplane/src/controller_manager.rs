//! kube-controller-manager with only the controllers that a test is about: all of them would delete pods, taint nodes and
//! race with what the tests play themselves.

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;

use crate::availability::Programs;
use crate::loopback::free_port;
use crate::process::Process;
use crate::user::User;

/// A running kube-controller-manager. Dropping it ends it.
#[derive(Debug)]
pub struct ControllerManager {
    process: Process,
    port: u16,
}

impl ControllerManager {
    pub(crate) async fn start(
        programs: &Programs,
        dir: &Path,
        kubeconfig: &Path,
        controllers: &[&str],
    ) -> anyhow::Result<Self> {
        const NAME: &str = "kube-controller-manager";
        let port = free_port()?;
        let args = [
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--controllers={}", controllers.join(",")),
            // For the controllers of service accounts: what they put beside each account, and sign its tokens with.
            format!("--root-ca-file={}", dir.join("ca.crt").display()),
            format!("--service-account-private-key-file={}", dir.join("sa.key").display()),
            "--leader-elect=false".to_owned(),
            "--use-service-account-credentials=false".to_owned(),
            "--kube-api-qps=5000".to_owned(),
            "--kube-api-burst=5000".to_owned(),
            // A claim that found no volume is looked at again when this has passed, not when a volume comes.
            "--pvclaimbinder-sync-period=1s".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            format!("--cert-dir={}", dir.join(format!("{NAME}-certs")).display()),
        ];
        let log = dir.join(format!("{NAME}.log"));
        let process = Process::spawn(NAME, &programs.require(NAME)?, &args, &[], &log)?;
        let mut started = Self { process, port };
        started.healthy().await?;
        Ok(started)
    }

    /// The program, for its log.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Its health says that its controllers were started; that one of them works, its work must show.
    async fn healthy(&mut self) -> anyhow::Result<()> {
        let mut config = kube::Config::new(format!("https://127.0.0.1:{}", self.port).parse()?);
        // The certificate is its own work.
        config.accept_invalid_certs = true;
        config.default_retry = false;
        config.auth_info.token = Some(User::admin().token().into());
        let client = kube::Client::try_from(config)?;
        let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
        loop {
            let request = http::Request::get("/healthz").body(Vec::new())?;
            let Err(error) = client.request_text(request).await else {
                return Ok(());
            };
            self.process.ensure_running()?;
            ensure!(
                tokio::time::Instant::now() < deadline,
                "the controller manager is not healthy: {error}\n{}",
                self.process.log_tail(20)
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
