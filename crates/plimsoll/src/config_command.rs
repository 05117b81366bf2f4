//! `plimsoll config`: looks at configuration files without running anything. For people, and for CI by its exit codes.

mod check;
mod convert;
mod diff;
mod input;

#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use plimsoll::help::HELP_WIDTH;
use plimsoll_config::{ConfigKind, FeatureGates};

use self::input::Files;

/// How it ends, and how to use it.
const AFTER_HELP: &str = "\
Exit status:
  0  all is well, nothing differs
  1  a file is not valid or cannot be started with, something differs, or a conversion left
     something out
  2  the command line or a file cannot be read

Examples:
  plimsoll config check config.yaml
  kubectl get configmap NAME -o jsonpath='{.data.config\\.yaml}' | plimsoll config check -
  plimsoll config convert policy.json --to plimsoll > config.yaml
  plimsoll config diff before.yaml after.yaml --output json

More: docs/configuration.md, and docs/configuration-reference.md for every field.";

/// Checks, converts and compares configuration files
///
/// Files are of either kind, kubescheduler.config.k8s.io/v1 or plimsoll.dev/v1alpha1, or a Policy of Kubernetes 1.0 to 1.22.
/// Nothing is run, and no API server is asked.
#[derive(Debug, Parser)]
#[command(after_help = AFTER_HELP, term_width = HELP_WIDTH, disable_help_subcommand = true)]
pub(crate) struct ConfigFlags {
    #[command(subcommand)]
    command: Command,
    /// Feature gates to check under, as a list of Name=true|false
    #[arg(long, value_name = "GATES", global = true)]
    feature_gates: Vec<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Says what is wrong with a file, where, and what to do about it
    Check {
        /// A configuration of either kind or a legacy Policy; - for standard input
        file: PathBuf,
        /// How to say it
        #[arg(long, short, value_enum, default_value_t)]
        output: Output,
    },
    /// Prints a file as a configuration of the other kind, with all defaults
    Convert {
        /// A configuration of either kind or a legacy Policy; - for standard input
        file: PathBuf,
        /// The kind to print
        #[arg(long, value_enum, default_value_t)]
        to: Kind,
    },
    /// Says what changes from one file to another, once defaults are applied
    Diff {
        /// The file before
        from: PathBuf,
        /// The file after
        to: PathBuf,
        /// How to say it
        #[arg(long, short, value_enum, default_value_t)]
        output: Output,
    },
    /// Prints the configuration that holds when no file says otherwise
    Default {
        /// The kind to print
        #[arg(long, value_enum, default_value_t)]
        to: Kind,
    },
}

/// How results look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// A kind of configuration, by a short name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// kubescheduler.config.k8s.io/v1 `KubeSchedulerConfiguration`
    #[default]
    Kube,
    /// plimsoll.dev/v1alpha1 `SchedulerConfiguration`
    Plimsoll,
}

impl From<Kind> for ConfigKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Kube => Self::KubeScheduler,
            Kind::Plimsoll => Self::Plimsoll,
        }
    }
}

/// How it ended, as an exit code says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Fine = 0,
    Found = 1,
    Trouble = 2,
}

/// Runs one command on standard streams.
pub(crate) fn run(flags: &ConfigFlags) -> ExitCode {
    let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
    let end = told(run_on(flags, &mut out, &mut err), &mut err);
    ExitCode::from(end as u8)
}

/// Output that nobody takes says nothing of a file.
fn told(ended: io::Result<End>, err: &mut dyn Write) -> End {
    ended.unwrap_or_else(|error| {
        // Nobody is left to tell when this is closed too.
        let _ = writeln!(err, "error: cannot write: {error}");
        End::Trouble
    })
}

fn run_on(flags: &ConfigFlags, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<End> {
    let gates = match FeatureGates::parse(flags.feature_gates.iter().map(String::as_str)) {
        Ok(parsed) => parsed.gates,
        Err(error) => {
            let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            writeln!(err, "error: {error}{hint}")?;
            return Ok(End::Trouble);
        }
    };
    let files = Files::new(gates);
    let ended = match &flags.command {
        Command::Check { file, output } => check::run(&files, file, *output, out),
        Command::Convert { file, to } => convert::run(&files, file, (*to).into(), out, err),
        Command::Diff { from, to, output } => diff::run(&files, from, to, *output, out, err),
        Command::Default { to } => {
            write!(out, "{}", files.defaults().to_yaml((*to).into()))?;
            Ok(End::Fine)
        }
    };
    match ended {
        Ok(end) => Ok(end),
        Err(input::Trouble::Unreadable(text)) => {
            writeln!(err, "error: {text}")?;
            Ok(End::Trouble)
        }
        Err(input::Trouble::Output(error)) => Err(error),
    }
}
