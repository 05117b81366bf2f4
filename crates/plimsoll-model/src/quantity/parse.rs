use super::decimal::Decimal;
use super::{Amount, Format, ParseQuantityError, Quantity};

/// More digits than this may not fit the small form.
const SMALL_DIGITS: usize = 18;
/// Nothing is finer than a nano.
const FINEST: i64 = -9;

pub(super) fn parse(text: &str) -> Result<Quantity, ParseQuantityError> {
    if text.is_empty() {
        return Err(ParseQuantityError::Number);
    }
    let (negative, rest) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let (whole, rest) = split_digits(rest);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    // No digits at all is zero, as upstream has it.
    let (scale, format) = parse_suffix(suffix)?;
    let whole = whole.trim_start_matches('0');
    let amount = small(negative, whole, fraction, scale).unwrap_or_else(|| exact(negative, whole, fraction, scale));
    Ok(Quantity { amount, format })
}

#[derive(Clone, Copy)]
enum Scale {
    /// A power of ten.
    Ten(i32),
    /// A power of two.
    Two(u32),
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text
        .bytes()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

fn parse_suffix(suffix: &str) -> Result<(Scale, Format), ParseQuantityError> {
    let (scale, format) = match suffix {
        "n" => (Scale::Ten(-9), Format::DecimalSi),
        "u" => (Scale::Ten(-6), Format::DecimalSi),
        "m" => (Scale::Ten(-3), Format::DecimalSi),
        "" => (Scale::Ten(0), Format::DecimalSi),
        "k" => (Scale::Ten(3), Format::DecimalSi),
        "M" => (Scale::Ten(6), Format::DecimalSi),
        "G" => (Scale::Ten(9), Format::DecimalSi),
        "T" => (Scale::Ten(12), Format::DecimalSi),
        "P" => (Scale::Ten(15), Format::DecimalSi),
        "E" => (Scale::Ten(18), Format::DecimalSi),
        "Ki" => (Scale::Two(10), Format::BinarySi),
        "Mi" => (Scale::Two(20), Format::BinarySi),
        "Gi" => (Scale::Two(30), Format::BinarySi),
        "Ti" => (Scale::Two(40), Format::BinarySi),
        "Pi" => (Scale::Two(50), Format::BinarySi),
        "Ei" => (Scale::Two(60), Format::BinarySi),
        other => (Scale::Ten(parse_exponent(other)?), Format::DecimalExponent),
    };
    Ok((scale, format))
}

fn parse_exponent(suffix: &str) -> Result<i32, ParseQuantityError> {
    match suffix.strip_prefix(['e', 'E']) {
        Some(exponent) => exponent.parse().map_err(|_| ParseQuantityError::Suffix),
        None if suffix.starts_with(['i', 'n', 'u', 'm', 'k', 'K', 'M', 'G', 'T', 'P']) => {
            Err(ParseQuantityError::Suffix)
        }
        None => Err(ParseQuantityError::Number),
    }
}

/// The usual case, without allocation.
fn small(negative: bool, whole: &str, fraction: &str, scale: Scale) -> Option<Amount> {
    if whole.len() + fraction.len() > SMALL_DIGITS {
        return None;
    }
    let magnitude = whole
        .bytes()
        .chain(fraction.bytes())
        .fold(0_i64, |number, byte| number * 10 + i64::from(byte - b'0'));
    let mantissa = if negative { -magnitude } else { magnitude };
    match scale {
        Scale::Ten(power) => {
            let exponent = i64::from(power) - i64::try_from(fraction.len()).ok()?;
            let exponent = i32::try_from(exponent).ok()?;
            (i64::from(exponent) >= FINEST).then_some(Amount::Small { mantissa, exponent })
        }
        Scale::Two(power) if fraction.is_empty() => mantissa
            .checked_mul(1 << power)
            .map(|mantissa| Amount::Small { mantissa, exponent: 0 }),
        Scale::Two(_) => None,
    }
}

fn exact(negative: bool, whole: &str, fraction: &str, scale: Scale) -> Amount {
    let digits = whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
    let decimals = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
    let mut decimal = Decimal::new(negative, digits, -decimals);
    match scale {
        Scale::Ten(power) => {
            decimal.exponent = if decimal.is_zero() {
                0
            } else {
                decimal.exponent + i64::from(power)
            }
        }
        Scale::Two(power) => decimal.multiply(1 << power),
    }
    decimal.round_to(FINEST);
    match scale {
        Scale::Two(_) => capped(decimal),
        Scale::Ten(_) => decimal.into(),
    }
}

/// With a binary suffix 2⁶³−1 is the most, and so is its negative.
fn capped(decimal: Decimal) -> Amount {
    let largest = Decimal::from_small(i64::MAX.into(), 0);
    let mut magnitude = decimal.clone();
    magnitude.negative = false;
    if magnitude.compare(&largest).is_gt() {
        let mantissa = if decimal.negative { -i64::MAX } else { i64::MAX };
        return Amount::Small { mantissa, exponent: 0 };
    }
    decimal.into()
}
