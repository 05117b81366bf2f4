use std::fmt;

use super::Format;
use super::decimal::Decimal;

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Writes the canonical form: no precision lost, no fraction, the largest suffix.
pub(super) fn write(decimal: &Decimal, format: Format, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if decimal.is_zero() {
        return f.write_str("0");
    }
    match format {
        Format::BinarySi => match binary_value(decimal) {
            Some(value) => write_binary(value, f),
            None => write_decimal(decimal, Format::DecimalSi, f),
        },
        Format::DecimalSi | Format::DecimalExponent => write_decimal(decimal, format, f),
    }
}

/// The whole number, when it is one of at least 1024 either way.
fn binary_value(decimal: &Decimal) -> Option<i128> {
    let (mantissa, exponent) = decimal.to_small()?;
    let factor = 10_i128.checked_pow(u32::try_from(exponent).ok()?)?;
    let value = i128::from(mantissa).checked_mul(factor)?;
    (value.abs() >= 1024).then_some(value)
}

fn write_binary(mut value: i128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut suffixes = BINARY.iter();
    let mut suffix = suffixes.next();
    while value % 1024 == 0
        && let Some(next) = suffixes.next()
    {
        value /= 1024;
        suffix = Some(next);
    }
    write!(f, "{value}{}", suffix.unwrap_or(&""))
}

fn write_decimal(decimal: &Decimal, format: Format, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if decimal.negative {
        f.write_str("-")?;
    }
    for digit in &decimal.digits {
        write!(f, "{digit}")?;
    }
    let zeros = decimal.exponent.rem_euclid(3);
    for _ in 0..zeros {
        f.write_str("0")?;
    }
    let exponent = decimal.exponent - zeros;
    match (format, decimal_suffix(exponent)) {
        (Format::DecimalSi, Some(suffix)) => f.write_str(suffix),
        (_, Some("")) => Ok(()),
        // Beyond the suffixes only an exponent is exact.
        _ => write!(f, "e{exponent}"),
    }
}

fn decimal_suffix(exponent: i64) -> Option<&'static str> {
    Some(match exponent {
        -9 => "n",
        -6 => "u",
        -3 => "m",
        0 => "",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        18 => "E",
        _ => return None,
    })
}
