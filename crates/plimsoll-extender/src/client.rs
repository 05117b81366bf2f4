use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use plimsoll_config::ExtenderConfig;
use tokio::time::Sleep;

use crate::address::{Address, AddressError};
use crate::chunks::{Chunks, Gate, RequestBody};
use crate::connector::Connector;
use crate::failure::{exchange_failure, message_failure, was_never_sent};
use crate::json::{Scanner, SyntaxError};
use crate::tls::TlsOptions;

/// Bytes that a reply may be longer than its request. A filter's reply repeats the nodes that it was sent, at most, and says
/// of some why they will not do.
const REPLY_LIMIT: u64 = 64 << 20;
/// As Go's.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// Bindings go out side by side.
const IDLE_CONNECTIONS: usize = 16;
/// As Go's.
const MAX_REDIRECTS: usize = 10;

/// A call that brought no reply. The texts are kube-scheduler's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// The extender's address is none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A reply pointed to an address that is none.
    #[error(transparent)]
    Redirect(AddressError),
    /// No answer came.
    #[error("Post {url:?}: {text}")]
    Exchange {
        url: String,
        text: String,
        /// Nothing of the request can have reached the extender.
        never_sent: bool,
    },
    /// The answer is not 200.
    #[error("failed {verb} with extender at URL {url}, code {code}")]
    Status { verb: String, url: String, code: u16 },
    /// The connection broke within the answer.
    #[error("{0}")]
    Body(String),
    /// The time ran out within the answer.
    #[error("context deadline exceeded (Client.Timeout or context cancellation while reading body)")]
    LateBody,
    /// The answer does not end.
    #[error("the reply of extender at URL {url} is longer than {limit} bytes")]
    TooLong { url: String, limit: u64 },
    /// The answer is not JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
}

impl CallError {
    /// Whether the extender certainly knows nothing of the call.
    pub(crate) fn was_never_sent(&self) -> bool {
        match self {
            Self::Address(_) => true,
            Self::Exchange { never_sent, .. } => *never_sent,
            _ => false,
        }
    }
}

/// The connections to one extender, kept open between calls.
#[derive(Debug)]
pub(crate) struct ExtenderClient {
    client: Client<Connector, RequestBody>,
    prefix: String,
}

impl ExtenderClient {
    pub(crate) fn new(config: &ExtenderConfig) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .build(Connector::new(Arc::new(TlsOptions::new(config))));
        let prefix = config.url_prefix.clone();
        tell_of_proxy(&prefix);
        Self { client, prefix }
    }

    /// Posts `body` to a verb within the limit of time. Returns the first JSON value of the reply.
    pub(crate) async fn call(
        &self,
        verb: &str,
        body: Chunks,
        gate: Option<Gate>,
        limit: Duration,
    ) -> Result<Vec<u8>, CallError> {
        let address = Address::of_verb(&self.prefix, verb)?;
        let reply_limit = REPLY_LIMIT + body.len();
        let url = address.shown.clone();
        let mut time = std::pin::pin!(tokio::time::sleep(limit));
        let answering = std::pin::pin!(self.answer(address, body, gate));
        let response = match select(answering, time.as_mut()).await {
            Either::Left((answer, _)) => answer?,
            Either::Right(_) => {
                let text = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)".to_owned();
                let never_sent = false;
                return Err(CallError::Exchange { url, text, never_sent });
            }
        };
        if response.status() != StatusCode::OK {
            let (verb, code) = (verb.to_owned(), response.status().as_u16());
            return Err(CallError::Status { verb, url, code });
        }
        first_value(response.into_body(), reply_limit, time)
            .await
            .map_err(|error| match error {
                ReplyEnd::TooLong => CallError::TooLong {
                    url,
                    limit: reply_limit,
                },
                ReplyEnd::Call(error) => error,
            })
    }

    /// Sends the request, and again where a reply points elsewhere, as Go's client does.
    async fn answer(
        &self,
        mut address: Address,
        body: Chunks,
        gate: Option<Gate>,
    ) -> Result<Response<Incoming>, CallError> {
        let mut method = Method::POST;
        for hop in 0..MAX_REDIRECTS {
            let sent = if method == Method::POST {
                body.clone()
            } else {
                Chunks::default()
            };
            let request = request(&address, &method, RequestBody::new(sent, gate.clone()));
            let response = match self.client.request(request).await {
                Ok(response) => response,
                Err(error) => {
                    return Err(CallError::Exchange {
                        url: address.shown,
                        text: exchange_failure(&error),
                        never_sent: hop == 0 && was_never_sent(&error),
                    });
                }
            };
            let repeats = match response.status().as_u16() {
                301..=303 => false,
                307 | 308 => true,
                _ => return Ok(response),
            };
            // A redirect to nowhere is an answer like any other.
            let Some(location) = response.headers().get(LOCATION) else {
                return Ok(response);
            };
            let location = String::from_utf8_lossy(location.as_bytes());
            address = match address.redirected(&location) {
                Err(error @ AddressError::Parse(..)) => {
                    return Err(CallError::Exchange {
                        url: address.shown,
                        text: format!("failed to parse Location header {location:?}: {error}"),
                        never_sent: false,
                    });
                }
                other => other.map_err(CallError::Redirect)?,
            };
            if !repeats {
                method = Method::GET;
            }
        }
        Err(CallError::Exchange {
            url: address.shown,
            text: format!("stopped after {MAX_REDIRECTS} redirects"),
            never_sent: false,
        })
    }
}

fn request(address: &Address, method: &Method, body: RequestBody) -> Request<RequestBody> {
    let mut request = Request::new(body);
    *request.method_mut() = method.clone();
    *request.uri_mut() = address.uri.clone();
    let headers = request.headers_mut();
    if method == Method::POST {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    headers.insert(
        USER_AGENT,
        HeaderValue::from_static(concat!("plimsoll/", env!("CARGO_PKG_VERSION"))),
    );
    if let Some(authorization) = &address.authorization {
        headers.insert(AUTHORIZATION, authorization.clone());
    }
    request
}

enum ReplyEnd {
    TooLong,
    Call(CallError),
}

impl From<SyntaxError> for ReplyEnd {
    fn from(error: SyntaxError) -> Self {
        Self::Call(CallError::Syntax(error))
    }
}

/// Reads until the first value is at its end: whatever follows it does not count, and need not come.
async fn first_value(mut body: Incoming, limit: u64, mut time: std::pin::Pin<&mut Sleep>) -> Result<Vec<u8>, ReplyEnd> {
    if body.size_hint().lower() > limit {
        return Err(ReplyEnd::TooLong);
    }
    let mut scanner = Scanner::new();
    let mut read: Vec<u8> = Vec::new();
    loop {
        let frame = match select(std::pin::pin!(body.frame()), time.as_mut()).await {
            Either::Left((frame, _)) => frame,
            Either::Right(_) => return Err(ReplyEnd::Call(CallError::LateBody)),
        };
        let data = match frame {
            None => {
                scanner.finish()?;
                return Ok(read);
            }
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            Some(Err(error)) => {
                let text = body_failure(&error);
                return Err(ReplyEnd::Call(CallError::Body(text)));
            }
        };
        let end = scanner.feed(&data)?;
        let part = end.and_then(|end| data.get(..end)).unwrap_or(&data);
        read.extend_from_slice(part);
        if read.len() as u64 > limit {
            return Err(ReplyEnd::TooLong);
        }
        if end.is_some() {
            return Ok(read);
        }
    }
}

fn body_failure(error: &hyper::Error) -> String {
    if error.is_incomplete_message() || error.is_closed() {
        return "unexpected EOF".to_owned();
    }
    message_failure(error)
}

/// kube-scheduler would go through the proxy that the environment names. An extender is nearly always a neighbour, and a
/// proxy in between a mistake: we go directly, and say so.
fn tell_of_proxy(prefix: &str) {
    let Ok(address) = Address::parse(prefix) else { return };
    let variables = match address.uri.scheme_str() {
        Some("https") => ["HTTPS_PROXY", "https_proxy"],
        _ => ["HTTP_PROXY", "http_proxy"],
    };
    if variables
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|proxy| !proxy.is_empty()))
    {
        tracing::info!(
            extender = address.shown,
            "called directly: proxies of the environment are not used for extenders"
        );
    }
}
