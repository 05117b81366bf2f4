use http::{HeaderValue, StatusCode, header};

use super::Asked;
use crate::health::{Check, answer};
use crate::logs::V2;
use crate::page::{Page, error, text};

/// All checks of an endpoint together.
pub(super) fn all(asked: &Asked, endpoint: &str, checks: &[Check]) -> Page {
    let excluded: Vec<_> = asked.query.all("exclude").collect();
    let answer = answer(endpoint, checks, asked.query.has("verbose"), &excluded);
    let status = if answer.well {
        StatusCode::OK
    } else {
        // Those who may not see the single check find out here why it fails.
        tracing::info!(name: V2, "{}", answer.log);
        StatusCode::INTERNAL_SERVER_ERROR
    };
    let mut page = text(status, answer.body);
    page.headers_mut()
        .insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    page
}

/// One check alone, and why it fails.
pub(super) fn one(check: Check) -> Page {
    match check.result {
        Ok(()) => text(StatusCode::OK, "ok"),
        Err(why) => error(
            StatusCode::INTERNAL_SERVER_ERROR,
            &format!("internal server error: {why}"),
        ),
    }
}
