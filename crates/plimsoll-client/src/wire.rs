use std::io::{Error, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};

use crate::fence::{Fence, FenceClosed};

/// The last look at a fence, at the socket of a connection.
///
/// The body of a fenced request puts its fence here when the connection takes it. From then until everything is handed to the
/// operating system the fence is asked again immediately before each system call: what was taken in time may still wait for
/// encryption, for room in the socket, or for a process that stands still. Once it was closed nothing goes out on this
/// connection any more, so the server has no whole request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wire(Arc<Mutex<Guarded>>);

#[derive(Debug, Default)]
struct Guarded {
    fence: Option<Fence>,
    refused: Option<FenceClosed>,
}

impl Wire {
    /// Bytes of a request of a term follow.
    pub(crate) fn guard(&self, fence: &Fence) {
        self.lock().fence = Some(fence.clone());
    }

    /// The connection holds a part of a request whose term is over: it does not get out.
    pub(crate) fn refuse(&self, closed: FenceClosed) {
        self.lock().refused = Some(closed);
    }

    fn look(&self) -> Result<(), Error> {
        let mut guarded = self.lock();
        if guarded.refused.is_none() {
            guarded.refused = guarded.fence.as_ref().and_then(|fence| fence.check().err());
        }
        guarded.refused.map_or(Ok(()), |closed| Err(Error::other(closed)))
    }

    /// Everything is handed to the operating system.
    fn sent(&self) {
        self.lock().fence = None;
    }

    fn lock(&self) -> MutexGuard<'_, Guarded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection to the API server, below encryption, that asks the fence of what it is given to send.
#[derive(Debug)]
pub(crate) struct FencedStream<S> {
    inner: S,
    wire: Wire,
}

impl<S> FencedStream<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self {
            inner,
            wire: Wire::default(),
        }
    }
}

impl<S: Connection> Connection for FencedStream<S> {
    fn connected(&self) -> Connected {
        self.inner.connected().extra(self.wire.clone())
    }
}

impl<S: Read + Unpin> Read for FencedStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<S: Write + Unpin> Write for FencedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize, Error>> {
        self.wire.look()?;
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        // Whoever writes flushes when it has nothing left to write: what lies above has handed everything down by now.
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.wire.sent();
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        // No polite end, which would let what is on its way be delivered: closing resets.
        Poll::Ready(Ok(()))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<Result<usize, Error>> {
        self.wire.look()?;
        Pin::new(&mut self.inner).poll_write_vectored(cx, buffers)
    }
}

#[cfg(test)]
mod tests;
