//! What a plain scalar means: go-yaml's reading of YAML 1.1.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use granit_parser::Tag;

use super::Value;

/// What a tag says about a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tagged {
    /// Nothing.
    No,
    /// That it is a text.
    Text,
    /// That it is bytes in base64.
    Binary,
    /// That it is one of the other standard kinds, by name.
    Standard(Standard),
}

/// The standard kinds that are read from text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standard {
    Null,
    Bool,
    Int,
    Float,
}

impl Tagged {
    pub(super) fn of(tag: Option<&Tag>) -> Self {
        let Some(tag) = tag else { return Self::No };
        match tag.suffix_in_namespace("tag:yaml.org,2002:").as_deref() {
            Some("null") => Self::Standard(Standard::Null),
            Some("bool") => Self::Standard(Standard::Bool),
            Some("int") => Self::Standard(Standard::Int),
            Some("float") => Self::Standard(Standard::Float),
            Some("binary") => Self::Binary,
            // A tag of somebody's own leaves the text as it is.
            _ => Self::Text,
        }
    }
}

/// The value of a plain or tagged scalar.
pub(super) fn resolve(text: &str, tag: Tagged) -> Result<Value, String> {
    match tag {
        Tagged::No => Ok(plain(text)),
        Tagged::Text => Ok(Value::Text(text.to_owned())),
        Tagged::Binary => {
            let packed: String = text.split_ascii_whitespace().collect();
            let bytes = STANDARD.decode(packed).ok();
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            text.map(Value::Text)
                .ok_or_else(|| "!!binary value is not base64 of UTF-8 text".to_owned())
        }
        Tagged::Standard(wanted) => {
            let value = plain(text);
            match (wanted, value) {
                (Standard::Null, Value::Null) => Ok(Value::Null),
                (Standard::Bool, Value::Bool(value)) => Ok(Value::Bool(value)),
                (Standard::Int, value @ (Value::Int(_) | Value::UInt(_)))
                | (Standard::Float, value @ (Value::Int(_) | Value::Float(_))) => Ok(value),
                _ => Err(format!("cannot decode `{text}` as its tag says")),
            }
        }
    }
}

/// Whether a plain scalar of this text would be a text again.
pub(crate) fn would_be_read_as_text(text: &str) -> bool {
    !looks_like_date(text) && matches!(plain(text), Value::Text(_))
}

fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return Value::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Value::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Value::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Value::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Value::Float(f64::NEG_INFINITY),
        _ => {}
    }
    let may_be_number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-'));
    if !may_be_number || looks_like_date(text) {
        return Value::Text(text.to_owned());
    }
    let packed = if text.starts_with('.') {
        text.to_owned()
    } else {
        text.replace('_', "")
    };
    integer(&packed)
        .or_else(|| float(&packed))
        .unwrap_or_else(|| Value::Text(text.to_owned()))
}

/// As Go's `strconv.ParseInt` with base 0, and `0b` with a sign.
fn integer(text: &str) -> Option<Value> {
    if text.starts_with('.') {
        return None;
    }
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        let signed = -i128::from(magnitude);
        return i64::try_from(signed).ok().map(Value::Int);
    }
    Some(i64::try_from(magnitude).map_or(Value::UInt(magnitude), Value::Int))
}

/// `[-+]? (.digits | digits [.digits]) [e [-+] digits]`
fn float(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !(whole.is_empty() && fraction.is_empty());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    if !has_digits || !digits(whole) || !digits(fraction) || !exponent_fits {
        return None;
    }
    text.parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
        .map(Value::Float)
}

/// `2026-11-28`, with or without a time: stays a text, and is quoted when written.
fn looks_like_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let number = |part: Option<&str>, digits: std::ops::RangeInclusive<usize>| {
        part.is_some_and(|part| digits.contains(&part.len()) && part.bytes().all(|c| c.is_ascii_digit()))
    };
    if !number(parts.next(), 4..=4) || !number(parts.next(), 1..=2) {
        return false;
    }
    let rest = parts.next().unwrap_or_default();
    let day = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    (1..=2).contains(&day) && (day == rest.len() || rest[day..].starts_with(['T', 't', ' ']))
}
