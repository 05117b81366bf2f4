//! What a request is answered with.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use serde_json::Value;

/// A whole answer.
pub type Page = Response<Full<Bytes>>;

pub(crate) const PLAIN: &str = "text/plain; charset=utf-8";
pub(crate) const JSON: &str = "application/json";

/// An answer with this body.
pub(crate) fn page(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Page {
    let mut page = Response::new(Full::new(body.into()));
    *page.status_mut() = status;
    let headers = page.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    page
}

/// A text.
pub(crate) fn text(status: StatusCode, body: impl Into<Bytes>) -> Page {
    page(status, PLAIN, body)
}

/// A JSON value on one line.
pub(crate) fn json(status: StatusCode, value: &Value) -> Page {
    page(status, JSON, format!("{value}\n"))
}

/// What Go's `http.Error` answers: the text on a line, which no browser is to take for anything else.
pub(crate) fn error(status: StatusCode, message: &str) -> Page {
    let mut page = text(status, format!("{message}\n"));
    page.headers_mut()
        .insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    page
}

/// The path leads nowhere.
pub(crate) fn not_found() -> Page {
    error(StatusCode::NOT_FOUND, "404 page not found")
}

/// What an owner of state answered; without one, or if it is too busy, the reason.
pub(crate) fn answered<T>(answer: Result<T, String>, show: impl FnOnce(T) -> Page) -> Page {
    match answer {
        Ok(shown) => show(shown),
        Err(reason) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
    }
}
