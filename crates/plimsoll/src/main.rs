//! The `plimsoll` program: the scheduler, and in its company a demo and a test API server.

mod apiserver;
mod cli;
mod config_command;
mod demo;
mod explain_command;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    plimsoll::install_crypto_provider();
    cli::main(std::env::args_os().collect())
}
