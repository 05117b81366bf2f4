//! Durations as Go writes them: `15s`, `1m30s`, `500ms`, `1.5h`.

use std::time::Duration;

/// Why a text is no duration; the texts are those of Go's `time.ParseDuration`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoDurationError {
    /// Not a sequence of numbers with units, or too large.
    #[error("time: invalid duration {0:?}")]
    Invalid(String),
    /// A number without a unit.
    #[error("time: missing unit in duration {0:?}")]
    MissingUnit(String),
    /// A unit that Go does not know.
    #[error("time: unknown unit {unit:?} in duration {text:?}")]
    UnknownUnit {
        /// The unit.
        unit: String,
        /// The whole text.
        text: String,
    },
    /// Go reads it, but no flag has a use for it.
    #[error("duration {0:?} must not be negative")]
    Negative(String),
}

/// Go counts nanoseconds in 63 bits.
const MAX_NANOS: u128 = i64::MAX as u128;

/// Reads a duration as Go does, except that it may not be negative.
///
/// # Errors
/// With the text Go would give.
pub fn parse_go_duration(text: &str) -> Result<Duration, GoDurationError> {
    let invalid = || GoDurationError::Invalid(text.to_owned());
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if unsigned.is_empty() {
        return Err(invalid());
    }
    let mut rest = if unsigned == "0" { "" } else { unsigned };
    let mut nanos: u128 = 0;
    while !rest.is_empty() {
        let number = leading(rest, |c| c.is_ascii_digit() || c == '.');
        let unit = leading(&rest[number.len()..], |c| !c.is_ascii_digit() && c != '.');
        rest = &rest[number.len() + unit.len()..];
        let scale = match unit {
            _ if number.is_empty() => return Err(invalid()),
            "" => return Err(GoDurationError::MissingUnit(text.to_owned())),
            "ns" => 1,
            // Micro is written with either of two letters.
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60 * 1_000_000_000,
            "h" => 3_600 * 1_000_000_000,
            unit => {
                return Err(GoDurationError::UnknownUnit {
                    unit: unit.to_owned(),
                    text: text.to_owned(),
                });
            }
        };
        nanos += scaled(number, scale).ok_or_else(invalid)?;
        if nanos > MAX_NANOS {
            return Err(invalid());
        }
    }
    if negative && nanos > 0 {
        return Err(GoDurationError::Negative(text.to_owned()));
    }
    u64::try_from(nanos).map(Duration::from_nanos).map_err(|_| invalid())
}

fn leading(text: &str, matches: impl Fn(char) -> bool) -> &str {
    let end = text.find(|c| !matches(c)).unwrap_or(text.len());
    &text[..end]
}

/// `number` (digits with at most one point) times `scale`, what is below a nanosecond cut off.
fn scaled(number: &str, scale: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let digits = |text: &str| {
        if text.is_empty() {
            Some(0)
        } else {
            text.parse::<u128>().ok()
        }
    };
    // More digits than these are worth less than a nanosecond of an hour.
    let fraction = &fraction[..fraction.len().min(18)];
    let power = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let whole = digits(whole).filter(|whole| *whole <= MAX_NANOS)? * scale;
    Some(whole + digits(fraction)? * scale / power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let cases = [
            ("0", Duration::ZERO),
            ("+0", Duration::ZERO),
            ("-0", Duration::ZERO),
            ("0s", Duration::ZERO),
            ("15s", Duration::from_secs(15)),
            ("+5s", Duration::from_secs(5)),
            ("1m30s", Duration::from_secs(90)),
            ("30s1m", Duration::from_secs(90)),
            ("500ms", Duration::from_millis(500)),
            ("1.5h", Duration::from_mins(90)),
            (".5s", Duration::from_millis(500)),
            ("5.s", Duration::from_secs(5)),
            ("3us", Duration::from_micros(3)),
            ("3\u{b5}s", Duration::from_micros(3)),
            ("3\u{3bc}s", Duration::from_micros(3)),
            ("7ns", Duration::from_nanos(7)),
            ("0.9ns", Duration::ZERO),
            (
                "2562047h47m16.854775807s",
                Duration::from_nanos(i64::MAX.unsigned_abs()),
            ),
        ];
        for (text, duration) in cases {
            assert_eq!(parse_go_duration(text), Ok(duration), "{text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused_with_its_words() {
        let cases = [
            ("", "time: invalid duration \"\""),
            ("-", "time: invalid duration \"-\""),
            ("s", "time: invalid duration \"s\""),
            (".s", "time: invalid duration \".s\""),
            ("1.2.3s", "time: invalid duration \"1.2.3s\""),
            ("3000000h", "time: invalid duration \"3000000h\""),
            (
                "99999999999999999999999999999999999999999s",
                "time: invalid duration \"99999999999999999999999999999999999999999s\"",
            ),
            ("15", "time: missing unit in duration \"15\""),
            ("1m30", "time: missing unit in duration \"1m30\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("1 s", "time: unknown unit \" s\" in duration \"1 s\""),
            ("-5s", "duration \"-5s\" must not be negative"),
        ];
        for (text, error) in cases {
            assert_eq!(parse_go_duration(text).unwrap_err().to_string(), error, "{text}");
        }
    }
}
