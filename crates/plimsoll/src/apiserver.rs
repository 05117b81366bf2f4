//! `plimsoll apiserver`: the embedded API server on a port, for trying things out with `kubectl`.

use std::io::{Write, stdout};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use plimsoll::help::HELP_WIDTH;
use plimsoll::logging::Logging;
use plimsoll_apiserver::{ApiServer, Config, Tls};
use tokio::net::TcpListener;

use crate::demo::unless_signalled;

/// How often deleted pods whose grace has run out are taken away, as their kubelets would.
const REAP: Duration = Duration::from_secs(1);

/// How it ends, and how to use it.
const AFTER_HELP: &str = "\
Exit status:
  0  ended by a signal
  1  flags that cannot be followed, a port that is taken, a file that cannot be written

Examples:
  plimsoll apiserver --kubeconfig-out try.kubeconfig &
  kubectl --kubeconfig try.kubeconfig apply -f examples/cluster/nodes.yaml
  plimsoll --kubeconfig try.kubeconfig --secure-port 0
      a cluster of two names and a scheduler; docs/getting-started.md goes on from there

More: docs/embedded-api-server.md, what it answers and how it differs from kube-apiserver.";

/// Serves an embedded Kubernetes API server in memory
///
/// It is for tests and demos: it keeps nothing, checks no permissions and lets everyone in. It serves until SIGTERM or SIGINT.
#[derive(Debug, Parser)]
#[command(name = "plimsoll apiserver", bin_name = "plimsoll apiserver", after_help = AFTER_HELP, term_width = HELP_WIDTH)]
pub(crate) struct ApiServerFlags {
    /// Address to serve on. Anyone who can reach it may do anything
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    bind_address: IpAddr,
    /// Port to serve on; 0 for any free one
    #[arg(long, value_name = "PORT", default_value_t = 6443)]
    port: u16,
    /// Where to write a kubeconfig for it
    #[arg(long, value_name = "FILE", default_value = "plimsoll.kubeconfig")]
    kubeconfig_out: PathBuf,
    /// Seed of UIDs, generated names and injected faults
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Take rules for faults at /_faults
    #[arg(long)]
    enable_faults: bool,
}

/// Serves until a signal.
pub(crate) async fn run(flags: ApiServerFlags) -> anyhow::Result<ExitCode> {
    plimsoll::logging::install(&Logging::default())?;
    let server = ApiServer::new(Config {
        seed: flags.seed,
        // Nobody asks for it, and it would grow for as long as the server lives.
        keep_history: false,
        fault_endpoint: flags.enable_faults,
        ..Config::default()
    });
    let address = (flags.bind_address, flags.port);
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!(
            "cannot listen on {}:{}; choose another --port",
            flags.bind_address, flags.port
        )
    })?;
    let serving = server.serve(listener, Tls::SelfSigned)?;
    let path = &flags.kubeconfig_out;
    std::fs::write(path, serving.kubeconfig(None)).with_context(|| format!("cannot write {}", path.display()))?;
    announce(&serving.url(), path)?;
    let mut ticks = tokio::time::interval(REAP);
    let reaping = async {
        loop {
            ticks.tick().await;
            server.reap_terminated_pods();
        }
    };
    unless_signalled(reaping).await?;
    serving.shutdown().await;
    Ok(ExitCode::SUCCESS)
}

fn announce(url: &str, kubeconfig: &Path) -> std::io::Result<()> {
    let mut out = stdout().lock();
    writeln!(
        out,
        "*** A TEST AND DEMO SERVER: nothing is kept, no permission is checked, everyone is let in. ***"
    )?;
    writeln!(out, "Serving at {url}; Ctrl-C ends it.\n")?;
    let path = kubeconfig.display();
    writeln!(out, "  kubectl --kubeconfig {path} get all -A")?;
    writeln!(out, "  plimsoll --kubeconfig {path} --secure-port=0")
}
