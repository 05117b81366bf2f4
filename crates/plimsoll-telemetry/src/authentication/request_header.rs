use std::collections::BTreeMap;
use std::path::PathBuf;

use http::HeaderMap;
use percent_encoding::percent_decode_str;

use super::Credentials;
use super::client_certificate::{Authorities, Subject};
use crate::User;

/// A proxy that has authenticated the user, and says in headers who it is: `--requestheader-…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHeaderOptions {
    /// Who signs for the proxy.
    pub client_ca_file: Option<PathBuf>,
    /// Names of the proxy; any, if there are none.
    pub allowed_names: Vec<String>,
    /// Headers with the user's name.
    pub username_headers: Vec<String>,
    /// Headers with the user's id.
    pub uid_headers: Vec<String>,
    /// Headers with groups.
    pub group_headers: Vec<String>,
    /// What headers with anything else start with.
    pub extra_headers_prefix: Vec<String>,
}

impl Default for RequestHeaderOptions {
    fn default() -> Self {
        Self {
            client_ca_file: None,
            allowed_names: Vec::new(),
            username_headers: vec!["x-remote-user".to_owned()],
            uid_headers: Vec::new(),
            group_headers: vec!["x-remote-group".to_owned()],
            extra_headers_prefix: vec!["x-remote-extra-".to_owned()],
        }
    }
}

impl RequestHeaderOptions {
    pub(super) fn proxy(&self) -> Proxy {
        Proxy {
            allowed_names: self.allowed_names.clone(),
            username_headers: self.username_headers.clone(),
            uid_headers: self.uid_headers.clone(),
            group_headers: self.group_headers.clone(),
            extra_headers_prefix: self.extra_headers_prefix.clone(),
        }
    }
}

/// How a proxy says who the user is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Proxy {
    pub(super) allowed_names: Vec<String>,
    pub(super) username_headers: Vec<String>,
    pub(super) uid_headers: Vec<String>,
    pub(super) group_headers: Vec<String>,
    pub(super) extra_headers_prefix: Vec<String>,
}

impl Proxy {
    /// The user, if the sender is such a proxy and names one.
    pub(super) fn user(&self, authorities: &Authorities, shown: Credentials<'_>) -> Result<Option<User>, String> {
        let Some(own) = shown.certificates.first() else {
            return Ok(None);
        };
        authorities.verify(shown.certificates)?;
        let name = Subject::parse(own)?.common_name;
        if !self.allowed_names.is_empty() && !self.allowed_names.contains(&name) {
            return Err(format!("x509: subject with cn={name} is not in the allowed list"));
        }
        Ok(self.named(shown.headers))
    }

    fn named(&self, headers: &HeaderMap) -> Option<User> {
        let name = first(headers, &self.username_headers)?;
        Some(User {
            name,
            uid: first(headers, &self.uid_headers).unwrap_or_default(),
            groups: self
                .group_headers
                .iter()
                .flat_map(|header| values(headers, header))
                .collect(),
            extra: self.extra(headers),
        })
    }

    fn extra(&self, headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for prefix in &self.extra_headers_prefix {
            // Names of headers are in small letters here.
            let prefix = prefix.to_lowercase();
            for header in headers.keys() {
                if let Some(key) = header.as_str().strip_prefix(&prefix) {
                    let key = percent_decode_str(key)
                        .decode_utf8()
                        .map_or_else(|_| key.into(), String::from);
                    extra.entry(key).or_default().extend(values(headers, header.as_str()));
                }
            }
        }
        extra
    }
}

fn values(headers: &HeaderMap, name: &str) -> impl Iterator<Item = String> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.filter(|value| !value.is_empty()).map(str::to_owned)
}

fn first(headers: &HeaderMap, names: &[String]) -> Option<String> {
    names.iter().find_map(|name| values(headers, name).next())
}
