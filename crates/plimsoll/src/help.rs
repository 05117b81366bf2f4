//! What `plimsoll --help` says around its flags.

use clap::Command;

/// Columns of every help text: what fits a terminal and a page.
pub const HELP_WIDTH: usize = 100;

/// What the scheduler is.
const DESCRIPTION: &str = "\
Description:
  Without a subcommand this is the scheduler: it watches the API server, decides for each pending pod
  of its scheduler names on which node it is to run, binds it there, and says why where it cannot.
  Several replicas may run; one holds the Lease and decides, the others stand by with warm caches. It
  shares the Lease with kube-scheduler unless told otherwise, so that one of both leads at a time.

  Flags are kube-scheduler's, with its defaults and its rules: words may be parted by _ as well as by
  -, and of a flag given twice the last counts. With --config the file says everything that it has a
  field for; of the flags only those of leader election go before it. Flags that have no meaning here
  are accepted, and the log names those that were set.
";

/// What else the program of this repository does; one with plugins of its own does not.
const SUBCOMMANDS: &str = "
Subcommands:
  plimsoll explain     why a pod is pending, and what would help
  plimsoll config      check, convert and compare configuration files
  plimsoll demo        three replicas, 200 nodes, a leader that is killed, on this machine
  plimsoll apiserver   an API server in memory, to try things out with
";

/// What holds for every scheduler.
const REST: &str = "
Exit status:
  0  ended in order, by SIGTERM or SIGINT, with leader election; or printed what was asked for
  1  anything else: flags or a configuration that cannot be followed, a port that is taken, no way to
     the API server, a second signal, or an end by signal without leader election

Signals:
  SIGTERM, SIGINT  settle sent bindings, free the Lease and end; a second one ends at once
  SIGUSR2          compare the caches with the API server's and write both to the log

Environment:
  POD_IP           where others reach this replica, unless --advertise-address says so
  RUST_LOG         levels of the log by module, in place of -v and --vmodule
  OTEL_...         where traces go, as OpenTelemetry names it

Examples:
  PROGRAM --config /etc/plimsoll/config.yaml -v=2
      as a pod: the API server and the credentials are those of the cluster it runs in
  PROGRAM --kubeconfig ~/.kube/config --leader-elect-resource-name try --secure-port 0
      from a workstation, with a Lease of its own
  PROGRAM --config config.yaml --write-config-to all.yaml
      writes the configuration with all defaults, and ends

More: docs/running.md, docs/configuration.md and docs/observability.md in the source tree.";

/// The command of a scheduler with the text around its flags. `program` is its name.
pub(crate) fn around(command: Command, program: &str) -> Command {
    let rest = REST.replace("PROGRAM", program);
    if program != "plimsoll" {
        return command.after_help(format!("{DESCRIPTION}{rest}"));
    }
    command
        .override_usage("plimsoll [OPTIONS]\n       plimsoll explain|config|demo|apiserver …")
        .after_help(format!("{DESCRIPTION}{SUBCOMMANDS}{rest}"))
}
