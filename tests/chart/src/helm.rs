//! The Helm program.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, bail};
use plimsoll_controlplane::WorkDir;

use crate::rendered::Rendered;

/// Whether this machine has Helm.
#[derive(Debug)]
pub enum Availability {
    /// It has.
    Ready(Helm),
    /// It has not, and the reason why.
    Skip(String),
}

/// Helm, with a home of its own.
#[derive(Debug)]
pub struct Helm {
    program: PathBuf,
    four: bool,
    home: WorkDir,
    kubeconfig: Option<PathBuf>,
}

impl Availability {
    /// Builds Helm when a Go toolchain is there (minutes the first time on a machine, nothing afterwards). Without Go the
    /// tests that need it are skipped; with `CI=true` that is an error, and so is a build that fails. It is Helm 3, or
    /// Helm 4 with `PLIMSOLL_HELM=4`.
    pub fn find() -> anyhow::Result<Self> {
        let four = std::env::var("PLIMSOLL_HELM").is_ok_and(|version| version == "4");
        let script = if four { "helm4/build.sh" } else { "helm/build.sh" };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
        match plimsoll_go_programs::build(&script)? {
            Some(program) => Ok(Self::Ready(Helm {
                program,
                four,
                home: WorkDir::new("helm")?,
                kubeconfig: None,
            })),
            None => plimsoll_go_programs::skip("Helm", "no Go toolchain".to_owned()).map(Self::Skip),
        }
    }
}

impl Helm {
    /// Whether it is Helm 4, which applies objects in the API server.
    pub fn is_four(&self) -> bool {
        self.four
    }

    /// Talks to the cluster of this kubeconfig from now on.
    #[must_use]
    pub fn with_kubeconfig(mut self, kubeconfig: &Path) -> Self {
        self.kubeconfig = Some(kubeconfig.to_owned());
        self
    }

    /// Runs a command from the top of the repository and returns its standard output.
    ///
    /// # Errors
    /// With what it says on standard error, when it fails.
    pub fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> anyhow::Result<String> {
        let output = self.output(arguments)?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Renders the chart, in the namespace `kube-system` as the release `plimsoll`.
    ///
    /// # Errors
    /// With Helm's words, when a value is refused.
    pub fn render<A: AsRef<OsStr>>(&self, arguments: &[A]) -> anyhow::Result<Rendered> {
        let chart = crate::chart();
        let mut all = vec![
            OsStr::new("template"),
            OsStr::new("plimsoll"),
            chart.as_os_str(),
            OsStr::new("--namespace=kube-system"),
        ];
        all.extend(arguments.iter().map(AsRef::as_ref));
        Ok(Rendered::new(&self.run(&all)?))
    }

    fn output<A: AsRef<OsStr>>(&self, arguments: &[A]) -> anyhow::Result<Output> {
        let home = self.home.path();
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(crate::top())
            .env("HELM_CACHE_HOME", home.join("cache"))
            .env("HELM_CONFIG_HOME", home.join("config"))
            .env("HELM_DATA_HOME", home.join("data"))
            .env_remove("HELM_NAMESPACE")
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null());
        if let Some(kubeconfig) = &self.kubeconfig {
            command.env("KUBECONFIG", kubeconfig);
        }
        command
            .output()
            .with_context(|| format!("cannot run {}", self.program.display()))
    }
}
