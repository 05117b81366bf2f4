use std::pin::pin;

use futures::future::{Either, select};
use tokio::signal::unix::{self, SignalKind};

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// SIGTERM and SIGINT, which mean the same.
    End,
    /// SIGUSR2: compare and dump what is known.
    Debug,
}

/// The signals that are listened to.
pub(super) struct Signals {
    terminate: unix::Signal,
    interrupt: unix::Signal,
    debug: unix::Signal,
}

impl Signals {
    /// From now on signals wait here instead of ending the process.
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: unix::signal(SignalKind::terminate())?,
            interrupt: unix::signal(SignalKind::interrupt())?,
            debug: unix::signal(SignalKind::user_defined2())?,
        })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Signal {
        let (terminate, interrupt) = (pin!(self.terminate.recv()), pin!(self.interrupt.recv()));
        match select(select(terminate, interrupt), pin!(self.debug.recv())).await {
            Either::Left(_) => Signal::End,
            Either::Right(_) => Signal::Debug,
        }
    }
}
