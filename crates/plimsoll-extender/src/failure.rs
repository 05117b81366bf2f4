//! What users read when an extender could not be reached: Go's words where ours can say the same.

use std::error::Error;
use std::io;

use hyper_util::client::legacy;
use rustls::{CertificateError, InvalidMessage};

use crate::chunks::GateClosed;
use crate::tls::SetupError;

/// Why there is no connection; the whole text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ConnectFailure(pub(crate) String);

impl From<SetupError> for ConnectFailure {
    fn from(error: SetupError) -> Self {
        Self(error.to_string())
    }
}

/// An error of the operating system as Go writes it: without a number, and small.
pub(crate) fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// A name that is not known, or a host that does not answer. Go adds the name server, and of a host's addresses the one it
/// tried: we do not learn them.
pub(crate) fn dial_failure(error: &(dyn Error + 'static), address: &str) -> ConnectFailure {
    let cause = find::<io::Error>(error);
    let text = cause.map_or_else(|| error.to_string(), system_text);
    if error.to_string() == "dns error" {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let unknown = [
            "name or service not known",
            "no address associated",
            "name does not resolve",
        ];
        let text = if unknown.iter().any(|words| text.to_lowercase().contains(words)) {
            "no such host".to_owned()
        } else {
            text
        };
        return ConnectFailure(format!("dial tcp: lookup {host}: {text}"));
    }
    if cause.is_some_and(|cause| cause.kind() == io::ErrorKind::TimedOut) {
        return ConnectFailure(format!("dial tcp {address}: i/o timeout"));
    }
    ConnectFailure(format!("dial tcp {address}: connect: {text}"))
}

/// A handshake that failed.
pub(crate) fn tls_failure(error: &io::Error) -> ConnectFailure {
    let text = match find::<rustls::Error>(error) {
        Some(rustls::Error::InvalidCertificate(why)) => {
            let why = match why {
                // An authority of that name, and another key, is another authority.
                CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                    "x509: certificate signed by unknown authority".to_owned()
                }
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    format!("x509: certificate has expired or is not yet valid: {why}")
                }
                other => format!("x509: {other}"),
            };
            format!("tls: failed to verify certificate: {why}")
        }
        Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            "http: server gave HTTP response to HTTPS client".to_owned()
        }
        Some(rustls::Error::AlertReceived(alert)) => format!("remote error: tls: {alert:?}"),
        Some(other) => format!("tls: {other}"),
        None if error.kind() == io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        None => system_text(error),
    };
    ConnectFailure(text)
}

/// A request that was not answered.
pub(crate) fn exchange_failure(error: &legacy::Error) -> String {
    if let Some(failure) = find::<ConnectFailure>(error) {
        return failure.0.clone();
    }
    message_failure(error)
}

/// A connection that broke, or on which something else than HTTP was spoken.
pub(crate) fn message_failure(error: &(dyn Error + 'static)) -> String {
    if let Some(closed) = find::<GateClosed>(error) {
        return closed.to_string();
    }
    let cause = find::<io::Error>(error);
    match find::<hyper::Error>(error) {
        Some(hyper) if hyper.is_parse() => {
            format!("net/http: HTTP/1.x transport connection broken: malformed HTTP response: {hyper}")
        }
        Some(hyper) if hyper.is_incomplete_message() || hyper.is_canceled() || hyper.is_closed() => "EOF".to_owned(),
        _ => match cause {
            Some(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => "unexpected EOF".to_owned(),
            Some(cause) if cause.kind() == io::ErrorKind::BrokenPipe => "write: broken pipe".to_owned(),
            Some(cause) if cause.kind() == io::ErrorKind::ConnectionReset => {
                "read: connection reset by peer".to_owned()
            }
            Some(cause) => system_text(cause),
            None => innermost(error).to_string(),
        },
    }
}

/// The first error of that type among this one and its causes. Those within an [`io::Error`] are among them.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost
}

/// Whether nothing of a request can have reached the extender.
pub(crate) fn was_never_sent(error: &legacy::Error) -> bool {
    error.is_connect() || find::<GateClosed>(error).is_some()
}
