use http::{HeaderValue, StatusCode, header};

use crate::Query;
use crate::cpu_profile::{self, ProfileError};
use crate::page::{Page, error, page, text};

const INDEX: &str = "\
/debug/pprof/

profile?seconds=N   where the process spends its time, over N seconds (30 unless said otherwise), in the format of pprof:
                    go tool pprof -http=: https://HOST:PORT/debug/pprof/profile

There is nothing else here: heap, goroutine, block, mutex and the like are profiles of Go's runtime.
";

/// `/debug/pprof` leads to its index.
pub(super) fn to_index() -> Page {
    let mut page = text(StatusCode::FOUND, "");
    page.headers_mut()
        .insert(header::LOCATION, HeaderValue::from_static("/debug/pprof/"));
    page
}

/// One of the pages below `/debug/pprof/`.
pub(super) async fn profile(name: &str, query: &Query) -> Page {
    match name {
        "" => text(StatusCode::OK, INDEX),
        "profile" => cpu(query).await,
        other => error(
            StatusCode::NOT_FOUND,
            &format!("there is no profile {other:?} here, only profile?seconds=N: this is no Go program"),
        ),
    }
}

async fn cpu(query: &Query) -> Page {
    match cpu_profile::take(query.first("seconds")).await {
        Ok(profile) => {
            let mut page = page(StatusCode::OK, "application/octet-stream", profile);
            page.headers_mut().insert(
                header::CONTENT_DISPOSITION,
                HeaderValue::from_static("attachment; filename=\"profile\""),
            );
            page
        }
        Err(ProfileError::Seconds(text)) => error(
            StatusCode::BAD_REQUEST,
            &format!("seconds {text:?} must be a number from 1 to {}", cpu_profile::MOST),
        ),
        Err(ProfileError::Busy) => error(
            StatusCode::CONFLICT,
            "Could not enable CPU profiling: another profile is being taken; wait until it is over",
        ),
        Err(ProfileError::Failed(why)) => error(
            StatusCode::INTERNAL_SERVER_ERROR,
            &format!("Could not enable CPU profiling: {why}"),
        ),
    }
}
