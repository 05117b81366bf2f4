use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Extensions, Request};
use http_body::{Body, Frame, SizeHint};
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use tower::BoxError;
use tower::util::MapRequest;

use crate::wire::Wire;
use crate::{Clock, TermToken};

/// Rides on a request of a term: the connection asks it once more at the moment it takes the body, and the socket each time
/// that it is given a part of it.
#[derive(Debug, Clone)]
pub struct Fence {
    token: Arc<TermToken>,
    clock: Arc<dyn Clock>,
}

impl Fence {
    pub(crate) fn new(token: Arc<TermToken>, clock: Arc<dyn Clock>) -> Self {
        Self { token, clock }
    }

    pub(crate) fn check(&self) -> Result<(), FenceClosed> {
        if self.token.may_write(self.clock.now()) {
            Ok(())
        } else {
            Err(FenceClosed {
                term: self.token.number(),
            })
        }
    }
}

/// The term ended before the request was handed to the connection; the server has not seen all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FenceClosed {
    term: u64,
}

impl fmt::Display for FenceClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "term {} is over", self.term)
    }
}

impl std::error::Error for FenceClosed {}

/// A request body that is given to the connection only while its [`Fence`] is open.
///
/// A request may wait between our check and the wire: for credentials, a connection, a TLS handshake. A connection
/// asks for the body when it can write, and sends nothing before it has it; so refusing it then keeps all of the request
/// back. From there on the fence goes along to the socket (see `Wire`).
///
/// A fenced body is asked for even if it is empty: a request that says that it has none would be sent unasked.
#[derive(Debug)]
pub struct FencedBody<B> {
    inner: B,
    guard: Option<Guard>,
}

#[derive(Debug)]
struct Guard {
    fence: Fence,
    connection: CaptureConnection,
    asked: bool,
}

impl Guard {
    fn check(&mut self) -> Result<(), FenceClosed> {
        self.asked = true;
        let wire = self.wire();
        let open = self.fence.check();
        match (&open, wire) {
            (Ok(()), Some(wire)) => wire.guard(&self.fence),
            (Err(closed), Some(wire)) => wire.refuse(*closed),
            // A server in the same process has no wire.
            (_, None) => {}
        }
        open
    }

    fn wire(&self) -> Option<Wire> {
        let mut extras = Extensions::new();
        if let Some(connected) = self.connection.connection_metadata().as_ref() {
            connected.get_extras(&mut extras);
        }
        extras.remove()
    }
}

impl<B> Body for FencedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(guard) = &mut self.guard
            && let Err(closed) = guard.check()
        {
            return Poll::Ready(Some(Err(closed.into())));
        }
        Pin::new(&mut self.inner).poll_frame(cx).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.guard.as_ref().is_none_or(|guard| guard.asked) && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let hint = self.inner.size_hint();
        // A connection does not ask for a body of which it knows that there is nothing in it.
        if self.guard.is_some() && hint.exact() == Some(0) {
            return SizeHint::default();
        }
        hint
    }
}

/// A service behind the last check.
pub type Fenced<S, B> = MapRequest<S, fn(Request<B>) -> Request<FencedBody<B>>>;

/// Puts the last check in front of `service`, which should be the connection itself.
pub fn fenced<S, B>(service: S) -> Fenced<S, B> {
    MapRequest::new(service, fence_body::<B>)
}

fn fence_body<B>(mut request: Request<B>) -> Request<FencedBody<B>> {
    let fence = request.extensions_mut().remove::<Fence>();
    let guard = fence.map(|fence| Guard {
        fence,
        connection: capture_connection(&mut request),
        asked: false,
    });
    request.map(|inner| FencedBody { inner, guard })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http_body_util::{BodyExt, Full};
    use plimsoll_model::Moment;

    use super::*;
    use crate::VirtualClock;

    #[tokio::test(start_paused = true)]
    async fn a_body_is_withheld_once_the_term_is_over() {
        let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new(jiff::Timestamp::UNIX_EPOCH));
        let token = TermToken::new(7, Moment::ZERO, Duration::from_secs(10), Duration::from_secs(5));
        let request = || {
            let mut request = Request::new(Full::new(Bytes::from_static(b"bind")));
            request
                .extensions_mut()
                .insert(Fence::new(Arc::clone(&token), Arc::clone(&clock)));
            fence_body(request).into_body()
        };
        assert_eq!(request().collect().await.unwrap().to_bytes(), "bind");
        let late = request();
        tokio::time::advance(Duration::from_secs(10)).await;
        let error = late.collect().await.unwrap_err();
        assert_eq!(error.downcast_ref::<FenceClosed>(), Some(&FenceClosed { term: 7 }));
    }

    #[tokio::test]
    async fn a_request_without_a_fence_passes() {
        let body = fence_body(Request::new(Full::new(Bytes::from_static(b"read")))).into_body();
        assert_eq!(body.collect().await.unwrap().to_bytes(), "read");
    }
}
