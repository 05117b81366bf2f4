//! Refusals as the API server words them: a `metav1.Status`.

use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use crate::Query;
use crate::page::{JSON, Page, page};

/// A failure. Its fields stand in the order in which Go writes them.
#[derive(Debug)]
pub(crate) struct ApiStatus {
    pub(crate) code: StatusCode,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// Whether there are details, which are empty where no resource is concerned.
    pub(crate) details: bool,
}

impl ApiStatus {
    /// The answer, on several lines for those who read it themselves.
    pub(crate) fn page(&self, headers: &HeaderMap, query: &Query) -> Page {
        let text = self.text(is_read_by_people(headers, query));
        let mut page = page(self.code, JSON, text);
        page.headers_mut()
            .insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        page
    }

    fn text(&self, pretty: bool) -> String {
        let mut fields: Vec<(&str, Value)> = vec![
            ("kind", json!("Status")),
            ("apiVersion", json!("v1")),
            ("metadata", json!({})),
            ("status", json!("Failure")),
            ("message", json!(self.message)),
            ("reason", json!(self.reason)),
        ];
        if self.details {
            fields.push(("details", json!({})));
        }
        fields.push(("code", json!(self.code.as_u16())));
        let fields = fields.iter().map(|(name, value)| {
            let (indent, colon) = if pretty { ("  ", ": ") } else { ("", ":") };
            format!("{indent}\"{name}\"{colon}{value}")
        });
        let fields: Vec<_> = fields.collect();
        if pretty {
            format!("{{\n{}\n}}\n", fields.join(",\n"))
        } else {
            format!("{{{}}}\n", fields.join(","))
        }
    }
}

/// Whether the API server would indent its answer.
fn is_read_by_people(headers: &HeaderMap, query: &Query) -> bool {
    if let Some(asked) = query.first("pretty").filter(|asked| !asked.is_empty()) {
        return matches!(asked, "1" | "t" | "T" | "true" | "TRUE" | "True");
    }
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    let people = ["curl", "Wget", "Mozilla/5.0"];
    agent.is_some_and(|agent| people.iter().any(|own| agent.starts_with(own)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_looks_as_the_api_servers_does() {
        let status = ApiStatus {
            code: StatusCode::FORBIDDEN,
            reason: "Forbidden",
            message: "forbidden: no".to_owned(),
            details: true,
        };
        assert_eq!(
            status.text(false),
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\
             \"message\":\"forbidden: no\",\"reason\":\"Forbidden\",\"details\":{},\"code\":403}\n"
        );
        let pretty = status.text(true);
        assert!(
            pretty.starts_with("{\n  \"kind\": \"Status\",\n  \"apiVersion\""),
            "{pretty}"
        );
        assert!(pretty.ends_with(",\n  \"code\": 403\n}\n"), "{pretty}");
    }

    #[test]
    fn it_is_indented_for_curl_and_browsers_and_whoever_asks_for_it() {
        let read = |agent: &'static str, query: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::USER_AGENT, HeaderValue::from_static(agent));
            is_read_by_people(&headers, &Query::parse(query))
        };
        assert!(read("curl/8.0", "") && read("Mozilla/5.0 (X)", "") && read("Prometheus/3", "pretty=true"));
        assert!(!read("Prometheus/3", "") && !read("curl/8.0", "pretty=0"));
    }
}
