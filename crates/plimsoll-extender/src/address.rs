use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};

/// Where a request goes.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    /// What the connection is made to and asked for: without user and password, and with what cannot stand in a request
    /// escaped.
    pub(crate) uri: Uri,
    /// As users know it, the password hidden.
    pub(crate) shown: String,
    /// The user and password in it, as Go sends them.
    pub(crate) authorization: Option<HeaderValue>,
}

/// A text that is no address of an extender. The texts are those of Go's `http.Client`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressError {
    /// It can be read, and yet nothing can be reached there.
    #[error("Post {0:?}: unsupported protocol scheme {1:?}")]
    Scheme(String, String),
    /// It names no host.
    #[error("Post {0:?}: http: no Host in request URL")]
    Host(String),
    /// It cannot be read.
    #[error("parse {0:?}: {1}")]
    Parse(String, String),
}

impl Address {
    /// The address of an extender's verb: one slash between prefix and verb.
    pub(crate) fn of_verb(prefix: &str, verb: &str) -> Result<Self, AddressError> {
        Self::parse(&format!("{}/{verb}", prefix.trim_end_matches('/')))
    }

    pub(crate) fn parse(url: &str) -> Result<Self, AddressError> {
        let unreadable = |shown: &str, why: &str| AddressError::Parse(shown.to_owned(), why.to_owned());
        if url.bytes().any(|byte| byte.is_ascii_control()) {
            return Err(unreadable(url, "net/url: invalid control character in URL"));
        }
        let without_fragment = url.split('#').next().unwrap_or_default();
        let Some((scheme, rest)) = split_scheme(without_fragment) else {
            return Err(match without_fragment.split('/').next() {
                Some(first) if first.starts_with(':') => unreadable(url, "missing protocol scheme"),
                Some(first) if first.contains(':') => unreadable(url, "first path segment in URL cannot contain colon"),
                _ => AddressError::Scheme(url.to_owned(), String::new()),
            });
        };
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "http" && scheme != "https" {
            return Err(AddressError::Scheme(url.to_owned(), scheme));
        }
        let Some(rest) = rest.strip_prefix("//") else {
            return Err(AddressError::Host(url.to_owned()));
        };
        let path_at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(path_at).unwrap_or((rest, ""));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let hidden = user.and_then(|user| user.split_once(':')).map(|(name, _)| name);
        let shown = match (hidden, user) {
            (Some(name), _) => format!("{scheme}://{name}:***@{host}{path}"),
            (None, Some(name)) => format!("{scheme}://{name}@{host}{path}"),
            (None, None) => format!("{scheme}://{host}{path}"),
        };
        if host.is_empty() || host.starts_with(':') {
            return Err(AddressError::Host(shown));
        }
        if let Some(port) = port(host).filter(|port| !port.is_empty() && port.parse::<u16>().is_err()) {
            return Err(unreadable(
                &shown,
                &format!("invalid port {:?} after host", format!(":{port}")),
            ));
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        let uri = format!("{scheme}://{host}{slash}{}", escaped(path));
        let uri = uri
            .parse()
            .map_err(|error: http::uri::InvalidUri| unreadable(&shown, &error.to_string()))?;
        Ok(Self {
            uri,
            shown,
            authorization: user.and_then(basic),
        })
    }

    /// Where a reply sends us. User and password go along only to the same host.
    pub(crate) fn redirected(&self, location: &str) -> Result<Self, AddressError> {
        let scheme = self.uri.scheme_str().unwrap_or("http");
        let authority = self.uri.authority().map_or("", http::uri::Authority::as_str);
        let absolute = if split_scheme(location).is_some() {
            location.to_owned()
        } else if location.starts_with("//") {
            format!("{scheme}:{location}")
        } else if location.starts_with('/') {
            format!("{scheme}://{authority}{location}")
        } else {
            let folder = self.uri.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            format!("{scheme}://{authority}{folder}/{location}")
        };
        let mut address = Self::parse(&absolute)?;
        if address.authorization.is_none() && address.uri.authority() == self.uri.authority() {
            address.authorization.clone_from(&self.authorization);
        }
        Ok(address)
    }
}

/// The scheme and what follows its colon.
fn split_scheme(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once(':')?;
    let mut letters = scheme.chars();
    let begins = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic());
    let goes_on = letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.'));
    (begins && goes_on).then_some((scheme, rest))
}

/// What stands behind the colon of a host, which an IPv6 address in brackets may be.
fn port(host: &str) -> Option<&str> {
    let behind = host.rsplit_once(']').map_or(host, |(_, behind)| behind);
    behind.rsplit_once(':').map(|(_, port)| port)
}

/// A path in which everything that cannot stand in a request is escaped.
fn escaped(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b' ' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | 0x7f.. => {
                // Writing into a string cannot fail.
                let _ = write!(text, "%{byte:02X}");
            }
            _ => text.push(char::from(byte)),
        }
    }
    text
}

fn basic(user: &str) -> Option<HeaderValue> {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let mut plain = unescaped(name);
    plain.push(b':');
    plain.extend(unescaped(password));
    let mut header = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(plain))).ok()?;
    header.set_sensitive(true);
    Some(header)
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hexadecimal = |digit: Option<&u8>| char::from(*digit?).to_digit(16);
        let escape = (byte == b'%')
            .then(|| Some((hexadecimal(after.first())?, hexadecimal(after.get(1))?)))
            .flatten();
        if let Some((high, low)) = escape {
            bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
            rest = after.get(2..).unwrap_or_default();
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_slash_stands_between_prefix_and_verb() {
        let cases = [
            ("http://host", "filter", "http://host/filter"),
            ("http://host/", "filter", "http://host/filter"),
            ("http://host:8080/a//", "filter", "http://host:8080/a/filter"),
            ("https://[::1]:1/a", "/filter/", "https://[::1]:1/a//filter/"),
            ("http://host/a b", "fil ter", "http://host/a%20b/fil%20ter"),
            ("http://host/é", "filter", "http://host/%C3%A9/filter"),
            ("http://host/a?x=1", "filter", "http://host/a?x=1/filter"),
            ("http://host?x=1", "filter", "http://host/?x=1/filter"),
            ("HTTP://host#fragment", "filter", "http://host/"),
        ];
        for (prefix, verb, expected) in cases {
            assert_eq!(Address::of_verb(prefix, verb).unwrap().uri, expected, "{prefix}");
        }
    }

    #[test]
    fn what_is_no_address_is_told_in_the_words_of_go() {
        let cases = [
            ("", r#"Post "/filter": unsupported protocol scheme """#),
            (
                "localhost",
                r#"Post "localhost/filter": unsupported protocol scheme """#,
            ),
            (
                "localhost:80",
                r#"Post "localhost:80/filter": unsupported protocol scheme "localhost""#,
            ),
            (
                "ftp://localhost",
                r#"Post "ftp://localhost/filter": unsupported protocol scheme "ftp""#,
            ),
            (
                "127.0.0.1:1",
                r#"parse "127.0.0.1:1/filter": first path segment in URL cannot contain colon"#,
            ),
            (":bad", r#"parse ":bad/filter": missing protocol scheme"#),
            ("http://", r#"Post "http:/filter": http: no Host in request URL"#),
            ("http:///x", r#"Post "http:///x/filter": http: no Host in request URL"#),
            (
                "http://localhost/\u{7f}",
                "parse \"http://localhost/\\u{7f}/filter\": net/url: invalid control character in URL",
            ),
        ];
        for (prefix, expected) in cases {
            let error = Address::of_verb(prefix, "filter").unwrap_err();
            assert_eq!(error.to_string(), expected, "{prefix}");
        }
        for prefix in [
            "http://localhost:abc",
            "http://127.0.0.1:99999",
            "http://[::1",
            "http://a b",
        ] {
            let error = Address::of_verb(prefix, "filter").unwrap_err().to_string();
            assert!(error.starts_with(&format!("parse \"{prefix}/filter\": ")), "{error}");
        }
    }

    #[test]
    fn a_password_is_sent_and_never_shown() {
        let address = Address::of_verb("http://us%20er:p:ass@host/x", "filter").unwrap();
        assert_eq!(address.shown, "http://us%20er:***@host/x/filter");
        assert_eq!(address.uri, "http://host/x/filter");
        assert_eq!(address.authorization.unwrap(), "Basic dXMgZXI6cDphc3M=");
        let error = Address::of_verb("http://user:secret@:1", "filter")
            .unwrap_err()
            .to_string();
        assert!(!error.contains("secret"), "{error}");
        let error = Address::of_verb("http://user:secret@a b", "filter")
            .unwrap_err()
            .to_string();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn a_redirect_is_relative_to_where_it_came_from_and_takes_no_password_elsewhere() {
        let from = Address::parse("https://u:p@host:1/a/filter").unwrap();
        let cases = [
            ("/b", "https://host:1/b", true),
            ("b?q", "https://host:1/a/b?q", true),
            ("//other/b", "https://other/b", false),
            ("http://other", "http://other/", false),
            ("http://host:1/b", "http://host:1/b", true),
        ];
        for (location, expected, authorized) in cases {
            let to = from.redirected(location).unwrap();
            assert_eq!(to.uri, expected);
            assert_eq!(to.authorization.is_some(), authorized, "{location}");
        }
        assert!(from.redirected("ftp://x/y").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_an_address_or_an_error(prefix in any::<String>(), verb in any::<String>(), host in "[a-z:@/?#%\\[\\]0-9]{0,20}") {
            let _ = Address::of_verb(&prefix, &verb);
            let from = Address::of_verb(&format!("http://{host}"), &verb);
            if let Ok(from) = from {
                let _ = from.redirected(&prefix);
                let _ = from.redirected(&host);
            }
        }
    }
}
