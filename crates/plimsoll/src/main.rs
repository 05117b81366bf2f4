//! The `plimsoll` program: the scheduler, and in its company a demo and a test API server.

mod apiserver;
mod cli;
mod config_command;
mod demo;
mod explain_command;
mod table;

use std::process::ExitCode;

/// A pod's way is made of thousands of small, short-lived pieces, which threads pass to each other: with the C library's allocator
/// these cost a third more processor time (docs/performance.md).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    plimsoll::install_crypto_provider();
    cli::main(std::env::args_os().collect())
}
