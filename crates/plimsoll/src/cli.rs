//! The command line of the program: a subcommand, or else the scheduler with kube-scheduler's flags.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use plimsoll::flags::{self, Request};
use plimsoll::{Scheduler, logging};

use crate::apiserver::{self, ApiServerFlags};
use crate::config_command::{self, ConfigFlags};
use crate::demo::{self, DemoFlags};

/// Runs the program; `arguments` begins with its own name.
pub(crate) fn main(arguments: Vec<OsString>) -> ExitCode {
    match run(arguments) {
        Ok(code) => code,
        Err(error) => {
            // Nobody is left to tell when standard error is closed.
            let _ = writeln!(std::io::stderr().lock(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match arguments.get(1).and_then(|word| word.to_str()) {
        Some("demo") => match subcommand::<DemoFlags>(&arguments, "plimsoll demo") {
            Ok(flags) => runtime.block_on(Box::pin(demo::run(flags))),
            Err(code) => Ok(code),
        },
        Some("apiserver") => match subcommand::<ApiServerFlags>(&arguments, "plimsoll apiserver") {
            Ok(flags) => runtime.block_on(apiserver::run(flags)),
            Err(code) => Ok(code),
        },
        Some("config") => match subcommand::<ConfigFlags>(&arguments, "plimsoll config") {
            Ok(flags) => Ok(config_command::run(&flags)),
            // 1 says that something was found in a file.
            Err(code) if code == ExitCode::FAILURE => Ok(ExitCode::from(2)),
            Err(code) => Ok(code),
        },
        _ => match flags::parse("plimsoll", arguments.into_iter().skip(1))? {
            Request::Print(text) => {
                writeln!(std::io::stdout().lock(), "{}", text.trim_end())?;
                Ok(ExitCode::SUCCESS)
            }
            Request::Run(options) => {
                logging::install(&options.logging)?;
                let ended = runtime.block_on(Box::pin(Scheduler::builder().build().run(*options)));
                // A plugin that does not return would keep the process from ending.
                runtime.shutdown_background();
                logging::flush();
                ended?;
                Ok(ExitCode::SUCCESS)
            }
        },
    }
}

/// The flags of a subcommand; help and mistakes are printed here, mistakes with code 1.
fn subcommand<T: Parser>(arguments: &[OsString], name: &str) -> Result<T, ExitCode> {
    let rest = arguments.iter().skip(2).map(OsString::as_os_str);
    T::try_parse_from(std::iter::once(OsStr::new(name)).chain(rest)).map_err(|error| {
        let _ = error.print();
        if error.use_stderr() {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        }
    })
}
