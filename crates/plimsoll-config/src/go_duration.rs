//! Durations as Go writes them: `15s`, `1m30s`, `500ms`, `1.5h`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A duration of a configuration file: nanoseconds, as in Go possibly negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GoDuration(i64);

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
    /// Go reads it, but there is no use for it.
    #[error("duration {0:?} must not be negative")]
    Negative(String),
}

const NANOS_IN_SECOND: u64 = 1_000_000_000;

impl GoDuration {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// A number of nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// A number of seconds; at the end of what fits when it does not.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// In nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Without a sign; none when it is negative.
    pub fn to_duration(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }

    /// Without a sign; zero when it is negative.
    pub fn or_zero(self) -> Duration {
        self.to_duration().unwrap_or_default()
    }
}

impl From<Duration> for GoDuration {
    /// At the end of what fits when it does not.
    fn from(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl FromStr for GoDuration {
    type Err = GoDurationError;

    fn from_str(text: &str) -> Result<Self, GoDurationError> {
        let (negative, nanos) = parse(text)?;
        let signed = i128::from(nanos) * if negative { -1 } else { 1 };
        let nanos = i64::try_from(signed).map_err(|_| GoDurationError::Invalid(text.to_owned()))?;
        Ok(Self(nanos))
    }
}

impl fmt::Display for GoDuration {
    /// As Go's `Duration.String`: `1h30m0s`, `1.5s`, `250ms`, `0s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match nanos {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{nanos}ns"),
            1_000..1_000_000 => write!(f, "{}\u{b5}s", Decimal(nanos, 1_000)),
            1_000_000..NANOS_IN_SECOND => write!(f, "{}ms", Decimal(nanos, 1_000_000)),
            _ => {
                let minutes = nanos / (60 * NANOS_IN_SECOND);
                if minutes >= 60 {
                    write!(f, "{}h", minutes / 60)?;
                }
                if minutes >= 1 {
                    write!(f, "{}m", minutes % 60)?;
                }
                write!(f, "{}s", Decimal(nanos % (60 * NANOS_IN_SECOND), NANOS_IN_SECOND))
            }
        }
    }
}

/// A number of nanoseconds in a larger unit, without trailing zeros.
struct Decimal(u64, u64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(nanos, unit) = *self;
        write!(f, "{}", nanos / unit)?;
        if nanos.is_multiple_of(unit) {
            return Ok(());
        }
        let digits = unit.ilog10() as usize;
        let fraction = format!("{:0digits$}", nanos % unit);
        write!(f, ".{}", fraction.trim_end_matches('0'))
    }
}

/// Reads a duration as Go does, except that it may not be negative.
///
/// # Errors
/// With the text Go would give.
pub fn parse_go_duration(text: &str) -> Result<Duration, GoDurationError> {
    let duration: GoDuration = text.parse()?;
    duration
        .to_duration()
        .ok_or_else(|| GoDurationError::Negative(text.to_owned()))
}

/// Go counts nanoseconds in 63 bits and a sign; its smallest number has no positive twin.
fn parse(text: &str) -> Result<(bool, u64), GoDurationError> {
    let invalid = || GoDurationError::Invalid(text.to_owned());
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if unsigned.is_empty() {
        return Err(invalid());
    }
    let largest = u128::from(i64::MAX.unsigned_abs()) + u128::from(negative);
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
        if nanos > largest {
            return Err(invalid());
        }
    }
    let nanos = u64::try_from(nanos).map_err(|_| invalid())?;
    Ok((negative, nanos))
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
    let whole = digits(whole).filter(|whole| *whole <= 1 << 63)? * scale;
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

    #[test]
    fn durations_are_written_as_go_writes_them() {
        let cases = [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1\u{b5}s"),
            (2_200_000, "2.2ms"),
            (250_000_000, "250ms"),
            (1_500_000_000, "1.5s"),
            (15_000_000_000, "15s"),
            (60_000_000_000, "1m0s"),
            (600_000_000_000, "10m0s"),
            (3_600_000_000_000, "1h0m0s"),
            (-5_000_000_000, "-5s"),
            (i64::MAX, "2562047h47m16.854775807s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ];
        for (nanos, text) in cases {
            let duration = GoDuration::from_nanos(nanos);
            assert_eq!(duration.to_string(), text);
            assert_eq!(text.parse(), Ok(duration));
        }
    }
}
