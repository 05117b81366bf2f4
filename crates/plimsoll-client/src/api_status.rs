use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;

/// A `metav1.Status`, as far as anyone here reads it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ApiStatus {
    pub(crate) code: u16,
    pub(crate) reason: String,
    pub(crate) message: String,
    details: Option<Details>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    retry_after_seconds: u32,
    causes: Vec<Cause>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Cause {
    reason: String,
    message: String,
}

impl ApiStatus {
    /// Reads the body of a refusal; a body that is no Status becomes the message, cut to a length fit for a log.
    pub(crate) fn decode(status: StatusCode, body: &[u8]) -> Self {
        const LOGGED: usize = 256;
        let mut decoded = Self::read(body).unwrap_or_else(|| {
            let text = String::from_utf8_lossy(body.get(..LOGGED).unwrap_or(body));
            Self {
                message: text.trim().to_owned(),
                ..Self::default()
            }
        });
        decoded.code = status.as_u16();
        if decoded.message.is_empty() {
            decoded.message = status.to_string();
        }
        decoded
    }

    /// Reads a body that is a Status and says something.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let decoded = serde_json::from_slice::<Self>(body).ok()?;
        (!decoded.message.is_empty()).then_some(decoded)
    }

    /// What a cause of this kind says, if one is named.
    pub(crate) fn cause(&self, reason: &str) -> Option<&str> {
        let mut causes = self.details.as_ref()?.causes.iter();
        let cause = causes.find(|cause| cause.reason == reason)?;
        Some(&cause.message)
    }

    /// How long the server asks to wait.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let seconds = self.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(u64::from(seconds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_and_anything_else_becomes_the_message() {
        let json = br#"{"kind":"Status","code":429,"reason":"TooManyRequests","message":"slow down","details":{"retryAfterSeconds":7}}"#;
        let status = ApiStatus::decode(StatusCode::TOO_MANY_REQUESTS, json);
        assert_eq!(
            (status.message.as_str(), status.retry_after()),
            ("slow down", Some(Duration::from_secs(7)))
        );

        let proxy = ApiStatus::decode(StatusCode::BAD_GATEWAY, b"<html>no upstream</html>");
        assert_eq!((proxy.code, proxy.message.as_str()), (502, "<html>no upstream</html>"));
        assert_eq!(ApiStatus::decode(StatusCode::NOT_FOUND, b"").message, "404 Not Found");
    }
}
