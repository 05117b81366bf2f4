//! `plimsoll explain`: asks the leading scheduler why a pod is pending, with the user's own credentials.

mod asking;
mod rendering;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use plimsoll::help::HELP_WIDTH;
use plimsoll_actors::explanation::{Explanation, PodState};
use plimsoll_config::parse_go_duration;

/// Says why a pod is pending: where it stands in the queue and since when, what became of its last attempts, how many nodes
/// each plugin rejected, which nodes are nearest and what each of them lacks, and whom the pod waits for
///
/// The leading scheduler is asked. Where it serves is read from the annotation plimsoll.dev/leader-address of the Lease that
/// schedulers elect their leader by; --scheduler names another place to ask. A replica that does not lead answers with the
/// leader's address, which is followed.
#[derive(Debug, Parser)]
#[command(after_help = RIGHTS, term_width = HELP_WIDTH, disable_help_subcommand = true)]
pub(crate) struct ExplainFlags {
    #[command(subcommand)]
    command: Command,
}

/// What a user needs, and how to get through.
const RIGHTS: &str = "\
Credentials:
  They are those of the kubeconfig: --kubeconfig, else KUBECONFIG, else ~/.kube/config, else the
  service account of the pod that the command runs in. They go to the scheduler as they go to the
  API server: a bearer token in a header, a client certificate in the handshake. The user must be
  allowed to `get` the nonResourceURL /debug/explain, and, unless --scheduler is given, to `get` the
  Lease.

  The scheduler's serving certificate is verified against --certificate-authority, else against the
  certificate authority of the cluster in the kubeconfig. A scheduler that was not given a
  certificate makes one that nobody has signed: then --insecure-skip-tls-verify is needed, which
  hands a bearer token to whoever answers.

Exit status:
  0  the pod is explained
  1  there is no such pod
  2  the command line cannot be read, or nobody can be asked

Examples:
  kubectl plimsoll explain pod web -n shop
      with a link to plimsoll on the PATH that is called kubectl-plimsoll
  plimsoll explain pod shop/web --output json
  kubectl -n kube-system port-forward pod/LEADER 10259 &
  plimsoll explain pod shop/web --scheduler https://127.0.0.1:10259 --insecure-skip-tls-verify
      from outside of the cluster's network

More: docs/explain.md.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Explains a pod
    Pod(PodFlags),
}

/// Explains a pod
#[derive(Debug, clap::Args)]
#[command(after_help = RIGHTS)]
struct PodFlags {
    /// The pod: NAME, or NAMESPACE/NAME
    #[arg(value_name = "[NAMESPACE/]NAME")]
    pod: String,
    /// Its namespace, where the name has none; by default that of the kubeconfig's context
    #[arg(long, short)]
    namespace: Option<String>,
    /// How to say it
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
    /// Path to the kubeconfig file
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// A replica of the scheduler to ask, in place of the one that the Lease names
    #[arg(long, value_name = "URL")]
    scheduler: Option<String>,
    /// Name of the Lease that schedulers elect their leader by
    #[arg(long, value_name = "NAME", default_value = "kube-scheduler")]
    leader_elect_resource_name: String,
    /// Namespace of that Lease
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    leader_elect_resource_namespace: String,
    /// File with the certificate authorities (PEM) of the scheduler's serving certificate
    #[arg(long, value_name = "FILE")]
    certificate_authority: Option<PathBuf>,
    /// The name in the scheduler's serving certificate, where it is not the host in its address
    #[arg(long, value_name = "NAME")]
    tls_server_name: Option<String>,
    /// Take any serving certificate of the scheduler for good: a bearer token may get into wrong hands
    #[arg(long)]
    insecure_skip_tls_verify: bool,
    /// How long to wait for each answer
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_go_duration)]
    request_timeout: Duration,
}

/// How results look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people.
    #[default]
    Table,
    /// For programs: what /debug/explain answers.
    Json,
}

/// Could not ask, or the command line was not understood.
pub(crate) const TROUBLE: u8 = 2;

/// Asks, and writes the answer to standard output.
pub(crate) async fn run(flags: ExplainFlags) -> ExitCode {
    let Command::Pod(flags) = flags.command;
    let said = match Box::pin(asking::ask(&flags)).await {
        Ok(explanation) => show(&explanation, flags.output, &mut io::stdout().lock()).map_err(Into::into),
        Err(error) => Err(error),
    };
    match said {
        Ok(PodState::Unknown) => ExitCode::FAILURE,
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when standard error is closed.
            let _ = writeln!(io::stderr().lock(), "error: {error:#}");
            ExitCode::from(TROUBLE)
        }
    }
}

fn show(explanation: &Explanation, output: Output, out: &mut dyn Write) -> io::Result<PodState> {
    match output {
        Output::Json => writeln!(out, "{}", serde_json::to_string_pretty(explanation)?)?,
        Output::Table => {
            for line in rendering::lines(explanation) {
                writeln!(out, "{line}")?;
            }
        }
    }
    Ok(explanation.state)
}

#[cfg(test)]
mod tests;
