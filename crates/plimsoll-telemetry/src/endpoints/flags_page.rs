use http::{HeaderMap, Method, StatusCode};
use serde_json::{Map, Value};

use super::negotiated::{Form, delimiter, form, head, not_acceptable, structured};
use super::{About, Asked};
use crate::logs;
use crate::page::{Page, not_found, page, text};

const KIND: &str = "Flagz";

/// Every flag and its value.
pub(super) fn flagz(about: &About, headers: &HeaderMap) -> Page {
    let Some(flags) = &about.flags else {
        return not_found();
    };
    match form(headers, KIND) {
        Some(Form::Structured(version)) => {
            let flags: Map<_, _> = flags
                .iter()
                .map(|(name, value)| (name.clone(), value.as_str().into()))
                .collect();
            let fields = Map::from_iter([("flags".to_owned(), Value::Object(flags))]);
            structured(KIND, version, about.component, fields)
        }
        Some(Form::Text) => {
            let delimiter = delimiter(about.began.elapsed().subsec_nanos());
            let lines = flags
                .iter()
                .map(|(name, value)| [name, delimiter, value, "\n"].concat());
            let lines: Vec<String> = lines.collect();
            text(StatusCode::OK, head(about.component, "flagz") + &lines.concat())
        }
        None => not_acceptable(headers),
    }
}

/// `/debug/flags`: which flags can be changed while the process runs.
pub(super) fn index() -> Page {
    let html = "<html><head><title>/debug/flags/</title></head><body>\n\
                Flags that PUT changes while the process runs:\n\
                <ul><li><a href=\"/debug/flags/v\">v</a></li></ul>\n</body></html>\n";
    page(StatusCode::OK, "text/html; charset=utf-8", html)
}

/// `/debug/flags/v`: another verbosity from now on.
pub(super) fn put_verbosity(asked: &Asked) -> Page {
    if asked.method != Method::PUT {
        return text(StatusCode::NOT_ACCEPTABLE, "unsupported http method");
    }
    match logs::verbosity().set(&String::from_utf8_lossy(&asked.body)) {
        Ok(told) => text(StatusCode::OK, told),
        Err(why) => text(StatusCode::BAD_REQUEST, why.to_string()),
    }
}
