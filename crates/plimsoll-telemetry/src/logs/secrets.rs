//! Keeps what opens doors out of the log, whatever a message was made from.

use std::borrow::Cow;

const MASK: &str = "xxxxx";

/// Words behind which credentials stand, in headers as in errors that quote them.
const SCHEMES: [&str; 2] = ["Bearer ", "Basic "];

/// The text without passwords of URLs and credentials of `Authorization` headers.
pub(super) fn hidden(text: &str) -> Cow<'_, str> {
    let without = without_passwords(text);
    if !SCHEMES.iter().any(|scheme| without.contains(scheme)) {
        return without;
    }
    Cow::Owned(without_credentials(without.into_owned()))
}

/// `https://user:secret@host` becomes `https://user:xxxxx@host`, as Go shows URLs.
fn without_passwords(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, authority) = rest.split_at(at + 3);
        let ends = |c: char| matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>') || c.is_whitespace();
        let authority = &authority[..authority.find(ends).unwrap_or(authority.len())];
        shown.push_str(before);
        rest = &rest[before.len()..];
        if let Some((user, _)) = authority.rsplit_once('@').and_then(|(info, _)| info.split_once(':')) {
            let host = authority.rfind('@').unwrap_or(0);
            shown.push_str(user);
            shown.push(':');
            shown.push_str(MASK);
            rest = &rest[host..];
        }
    }
    if shown.is_empty() {
        return Cow::Borrowed(text);
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

fn without_credentials(mut text: String) -> String {
    for scheme in SCHEMES {
        let mut from = 0;
        while let Some(at) = text[from..].find(scheme) {
            let begin = from + at + scheme.len();
            let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ')' | ']');
            let end = text[begin..].find(ends).map_or(text.len(), |length| begin + length);
            text.replace_range(begin..end, MASK);
            from = begin + MASK.len();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_tokens_are_not_told() {
        let cases = [
            ("nothing to hide", "nothing to hide"),
            ("https://host:6443/api", "https://host:6443/api"),
            (
                "see https://me:p@ss:w@host/x, then",
                "see https://me:xxxxx@host/x, then",
            ),
            ("https://me@host/x", "https://me@host/x"),
            (
                "two https://a:b@c http://d:e@f",
                "two https://a:xxxxx@c http://d:xxxxx@f",
            ),
            ("urlPrefix: \"https://a:b@c\"", "urlPrefix: \"https://a:xxxxx@c\""),
            (
                "authorization: Bearer abc.def, next",
                "authorization: Bearer xxxxx, next",
            ),
            ("Basic dXNlcjpwYXNz\" more", "Basic xxxxx\" more"),
            ("Basic dXNlcjpwYXM= more", "Basic xxxxx more"),
            ("Bearer a and Bearer b", "Bearer xxxxx and Bearer xxxxx"),
            ("mail a:b@c", "mail a:b@c"),
            ("é://ü:ö@ä", "é://ü:xxxxx@ä"),
        ];
        for (text, expected) in cases {
            assert_eq!(hidden(text), expected, "{text}");
        }
    }
}
