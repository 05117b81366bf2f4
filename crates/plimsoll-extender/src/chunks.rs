use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use plimsoll_model::Raw;

/// Pieces shorter than this are copied together with what is around them: each piece costs a call of its own on the way out.
const COPIED_BELOW: usize = 2048;

/// A text in pieces. Whole objects of the API server are pieces as they are, without a copy: a call about five thousand nodes
/// weighs tens of megabytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chunks {
    pieces: VecDeque<Bytes>,
    length: u64,
}

impl Chunks {
    /// Bytes in all.
    pub(crate) fn len(&self) -> u64 {
        self.length
    }

    #[cfg(test)]
    pub(crate) fn concat(&self) -> String {
        let bytes: Vec<_> = self.pieces.iter().flatten().copied().collect();
        String::from_utf8(bytes).unwrap()
    }
}

/// Puts [`Chunks`] together.
#[derive(Debug, Default)]
pub(crate) struct ChunksWriter {
    chunks: Chunks,
    tail: Vec<u8>,
}

impl ChunksWriter {
    /// Adds text.
    pub(crate) fn push(&mut self, text: &str) {
        self.tail.extend_from_slice(text.as_bytes());
    }

    /// Adds a string of JSON.
    pub(crate) fn push_string(&mut self, text: &str) {
        // Writing text into memory cannot fail.
        let _ = serde_json::to_writer(&mut self.tail, text);
    }

    /// Adds an object of the API server.
    pub(crate) fn push_raw(&mut self, raw: &Raw) {
        let text = raw.as_str();
        if text.len() < COPIED_BELOW {
            self.push(text);
        } else {
            self.flush();
            self.add(Bytes::from_owner(RawBytes(raw.clone())));
        }
    }

    /// What was put together.
    pub(crate) fn finish(mut self) -> Chunks {
        self.flush();
        self.chunks
    }

    fn flush(&mut self) {
        if !self.tail.is_empty() {
            let tail = std::mem::take(&mut self.tail);
            self.add(Bytes::from(tail));
        }
    }

    fn add(&mut self, piece: Bytes) {
        self.chunks.length += piece.len() as u64;
        self.chunks.pieces.push_back(piece);
    }
}

struct RawBytes(Raw);

impl AsRef<[u8]> for RawBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.as_str().as_bytes()
    }
}

/// Says whether a request may still be sent. It is asked again at the moment the connection takes the body, which may be
/// long after the request was made: names have to be looked up, connections and TLS set up. A refused body leaves the
/// extender with half a request, which it drops.
#[derive(Clone)]
pub struct Gate(Arc<dyn Fn() -> bool + Send + Sync>);

impl Gate {
    /// A gate that is open while `may_send` says so.
    pub fn new(may_send: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(may_send))
    }

    pub(crate) fn is_open(&self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gate").field(&self.is_open()).finish()
    }
}

/// The right to send was gone before the extender had all of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request may no longer be sent")]
pub(crate) struct GateClosed;

impl From<Infallible> for GateClosed {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// The body of a request.
#[derive(Debug)]
pub(crate) struct RequestBody {
    chunks: Chunks,
    gate: Option<Gate>,
}

impl RequestBody {
    pub(crate) fn new(chunks: Chunks, gate: Option<Gate>) -> Self {
        Self { chunks, gate }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = GateClosed;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, GateClosed>>> {
        if self.chunks.pieces.is_empty() {
            return Poll::Ready(None);
        }
        if self.gate.as_ref().is_some_and(|gate| !gate.is_open()) {
            return Poll::Ready(Some(Err(GateClosed)));
        }
        let piece = self.chunks.pieces.pop_front().unwrap_or_default();
        self.chunks.length -= piece.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.chunks.pieces.is_empty()
    }

    /// Exact, so that the request says how long it is: many small servers read no other.
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.chunks.length)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use http_body_util::BodyExt;

    use super::*;

    fn chunks(pieces: &[&str]) -> Chunks {
        let mut writer = ChunksWriter::default();
        for piece in pieces {
            writer.push_raw(&Raw::of_object(piece.as_bytes()).unwrap());
        }
        writer.finish()
    }

    #[tokio::test]
    async fn large_objects_are_pieces_of_their_own_and_small_ones_are_copied_together() {
        let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(COPIED_BELOW));
        let chunks = chunks(&["{}", r#"{"b":1}"#, &large, "{}"]);
        let lengths: Vec<_> = chunks.pieces.iter().map(Bytes::len).collect();
        assert_eq!(lengths, [9, large.len(), 2]);
        let body = RequestBody::new(chunks.clone(), None);
        assert_eq!(body.size_hint().exact(), Some(chunks.len()));
        assert_eq!(body.collect().await.unwrap().to_bytes(), chunks.concat());
    }

    #[tokio::test]
    async fn a_body_is_withheld_once_its_gate_is_closed() {
        let open = Arc::new(AtomicBool::new(true));
        let gate = Gate::new({
            let open = Arc::clone(&open);
            move || open.load(Ordering::SeqCst)
        });
        let body = || RequestBody::new(chunks(&["{}"]), Some(gate.clone()));
        assert_eq!(body().collect().await.unwrap().to_bytes(), "{}");
        let late = body();
        open.store(false, Ordering::SeqCst);
        assert_eq!(late.collect().await.unwrap_err(), GateClosed);
    }
}
