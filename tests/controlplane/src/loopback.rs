//! Free ports on 127.0.0.1.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::Context;

/// A port of 127.0.0.1 that was free a moment ago: the kernel hands out ephemeral ports round robin, so another
/// process is unlikely to be given the same one before ours listens on it.
pub fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free loopback port")?;
    Ok(listener.local_addr()?.port())
}
