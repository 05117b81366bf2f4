//! Response bodies: whole, or a watch that goes on.

use std::{
    error::Error,
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::watch::{Chunk, Watcher};

/// The connection broke while a body was being sent (an injected fault).
#[derive(Debug)]
pub struct BodyCut;

impl fmt::Display for BodyCut {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the connection was cut")
    }
}

impl Error for BodyCut {}

type Step = Pin<Box<dyn Future<Output = (Watcher, Option<Chunk>)> + Send>>;

enum Inner {
    Whole(Option<Bytes>),
    Watch(Step),
    /// Nothing more will come but this.
    Last(Result<(), BodyCut>),
}

/// Body of a response of this server.
pub struct ApiBody(Inner);

impl ApiBody {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self(Inner::Whole(Some(bytes).filter(|b| !b.is_empty())))
    }

    pub(crate) fn watch(watcher: Watcher) -> Self {
        Self(Inner::Watch(Box::pin(watcher.next())))
    }
}

impl fmt::Debug for ApiBody {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match &self.0 {
            Inner::Whole(_) => "ApiBody::Whole",
            Inner::Watch(_) => "ApiBody::Watch",
            Inner::Last(_) => "ApiBody::Last",
        })
    }
}

impl Body for ApiBody {
    type Data = Bytes;
    type Error = BodyCut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyCut>>> {
        let inner = &mut self.get_mut().0;
        match inner {
            Inner::Whole(bytes) => Poll::Ready(bytes.take().map(|b| Ok(Frame::data(b)))),
            Inner::Last(result) => {
                let result = std::mem::replace(result, Ok(()));
                Poll::Ready(result.err().map(Err))
            }
            Inner::Watch(step) => {
                let Poll::Ready((watcher, chunk)) = step.as_mut().poll(cx) else {
                    return Poll::Pending;
                };
                let frame = match chunk {
                    None => {
                        *inner = Inner::Last(Ok(()));
                        None
                    }
                    Some(Chunk::Lines(bytes)) => {
                        *inner = Inner::Watch(Box::pin(watcher.next()));
                        Some(Ok(Frame::data(bytes)))
                    }
                    Some(Chunk::Cut(bytes)) => {
                        *inner = Inner::Last(Err(BodyCut));
                        Some(Ok(Frame::data(bytes)))
                    }
                };
                Poll::Ready(frame)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Inner::Whole(None) | Inner::Last(Ok(())))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64)),
            _ => SizeHint::default(),
        }
    }
}
