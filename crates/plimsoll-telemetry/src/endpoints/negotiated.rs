//! Pages that are text or, for whoever asks for it by kind and version, JSON: `/flagz` and `/statusz`.

use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use crate::Query;
use crate::api_status::ApiStatus;
use crate::page::{JSON, Page, page};

const GROUP: &str = "config.k8s.io";
const VERSIONS: [&str; 2] = ["v1beta1", "v1alpha1"];

/// In which form a page was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// For people.
    Text,
    /// JSON of this version.
    Structured(&'static str),
}

/// The form that the `Accept` header asks for; none when it takes neither.
pub(super) fn form(headers: &HeaderMap, kind: &str) -> Option<Form> {
    let accept: Vec<_> = headers.get_all(header::ACCEPT).iter().collect();
    let accept: Vec<_> = accept.iter().filter_map(|value| value.to_str().ok()).collect();
    let accept = accept.join(",");
    if accept.trim().is_empty() {
        return Some(Form::Text);
    }
    let mut clauses: Vec<_> = accept.split(',').filter_map(Clause::parse).collect();
    // Best wanted first, then the most particular; else in their order.
    clauses.sort_by(|a, b| {
        (b.quality, a.wildcards)
            .partial_cmp(&(a.quality, b.wildcards))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    clauses.iter().find_map(|clause| clause.form(kind))
}

struct Clause<'a> {
    media: (&'a str, &'a str),
    quality: f32,
    wildcards: u8,
    kind: Option<&'a str>,
    group: Option<&'a str>,
    version: Option<&'a str>,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let media = match parts.next()? {
            "*" => ("*", "*"),
            media => media.split_once('/')?,
        };
        let mut clause = Self {
            wildcards: u8::from(media.0 == "*") + u8::from(media.1 == "*"),
            media,
            quality: 1.0,
            kind: None,
            group: None,
            version: None,
        };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name {
                "q" => clause.quality = value.parse().unwrap_or(0.0),
                "as" => clause.kind = Some(value),
                "g" => clause.group = Some(value),
                "v" => clause.version = Some(value),
                _ => {}
            }
        }
        Some(clause)
    }

    fn form(&self, kind: &str) -> Option<Form> {
        let takes = |media: (&str, &str)| {
            let same = |own: &str, other| own == other || own == "*";
            same(self.media.0, media.0) && same(self.media.1, media.1)
        };
        let named = (self.kind, self.group) == (Some(kind), Some(GROUP));
        let version = VERSIONS.into_iter().find(|version| self.version == Some(version));
        match version {
            Some(version) if named && takes(("application", "json")) => Some(Form::Structured(version)),
            _ if self.kind.or(self.group).or(self.version).is_some() => None,
            _ => takes(("text", "plain")).then_some(Form::Text),
        }
    }
}

/// The JSON form: kind, version and name, and these fields.
pub(super) fn structured(kind: &str, version: &'static str, name: &str, fields: Map<String, Value>) -> Page {
    let mut object = json!({
        "kind": kind,
        "apiVersion": format!("{GROUP}/{version}"),
        "metadata": { "name": name },
    });
    if let Some(object) = object.as_object_mut() {
        object.extend(fields);
    }
    let mut page = page(StatusCode::OK, JSON, format!("{object}\n"));
    if let Ok(told) = HeaderValue::from_str(&format!("{JSON};g={GROUP};v={version};as={kind}")) {
        page.headers_mut().insert(header::CONTENT_TYPE, told);
    }
    if version == "v1alpha1" {
        let endpoint = kind.to_lowercase();
        let old =
            format!("299 - \"This version of the {endpoint} endpoint is deprecated. Please use a newer version.\"");
        if let Ok(old) = HeaderValue::from_str(&old) {
            page.headers_mut().insert(header::WARNING, old);
        }
    }
    page
}

/// The answer to those who take no form that there is.
pub(super) fn not_acceptable(headers: &HeaderMap) -> Page {
    let status = ApiStatus {
        code: StatusCode::NOT_ACCEPTABLE,
        reason: "NotAcceptable",
        message: "only the following media types are accepted: application/json, text/plain".to_owned(),
        details: false,
    };
    status.page(headers, &Query::default())
}

/// The first lines of a text that changes its look now and then, so that no program comes to depend on it.
pub(super) fn head(component: &str, kind: &str) -> String {
    format!(
        "\n{component} {kind}\nWarning: This endpoint is not meant to be machine parseable, has no formatting \
         compatibility guarantees and is for debugging purposes only.\n"
    )
}

/// What stands between name and value this time.
pub(super) fn delimiter(nanoseconds: u32) -> &'static str {
    [":", ": ", "=", " "][(nanoseconds / 1_000 % 4) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(accept: &str) -> Option<Form> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_str(accept).unwrap());
        form(&headers, "Flagz")
    }

    #[test]
    fn text_is_for_people_and_json_for_those_who_name_kind_and_version() {
        assert_eq!(form(&HeaderMap::new(), "Flagz"), Some(Form::Text));
        for text in [
            "",
            "*/*",
            "text/plain",
            "text/*",
            "text/html,application/xml;q=0.9,*/*;q=0.8",
        ] {
            assert_eq!(asked(text), Some(Form::Text), "{text}");
        }
        let json =
            |version: &str, kind: &str| asked(&format!("application/json;v={version};g=config.k8s.io;as={kind}"));
        assert_eq!(json("v1beta1", "Flagz"), Some(Form::Structured("v1beta1")));
        assert_eq!(json("v1alpha1", "Flagz"), Some(Form::Structured("v1alpha1")));
        for none in [json("v1", "Flagz"), json("v1beta1", "Statusz")] {
            assert_eq!(none, None);
        }
        for none in [
            "application/json",
            "image/png",
            "text/plain;as=Flagz;g=config.k8s.io;v=v1beta1",
            "nonsense",
        ] {
            assert_eq!(asked(none), None, "{none}");
        }
    }

    #[test]
    fn what_is_wanted_most_is_taken() {
        let json = "application/json;v=v1beta1;g=config.k8s.io;as=Flagz";
        assert_eq!(
            asked(&format!("text/plain;q=0.5,{json}")),
            Some(Form::Structured("v1beta1"))
        );
        assert_eq!(asked(&format!("{json};q=0.5,text/plain")), Some(Form::Text));
        assert_eq!(asked(&format!("*/*,{json}")), Some(Form::Structured("v1beta1")));
    }
}
