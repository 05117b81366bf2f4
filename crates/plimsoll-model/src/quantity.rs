use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use decimal::Decimal;

mod canonical;
mod decimal;
mod parse;
#[cfg(test)]
mod tests;

/// An amount of a resource, exact over the whole grammar of Kubernetes quantities.
///
/// Sign, decimals, and one suffix: `n u m k M G T P E`, `Ki Mi Gi Ti Pi Ei`, or a decimal exponent (`e3`, `E-2`).
/// As in kube-scheduler, digits below one nano are rounded away from zero when parsed, and an amount with a binary
/// suffix is at most 2⁶³−1. Two quantities are equal when their amounts are, however they were written.
#[derive(Debug, Clone)]
pub struct Quantity {
    amount: Amount,
    format: Format,
}

/// `mantissa × 10^exponent`; the large form only where the small one does not do.
#[derive(Debug, Clone)]
enum Amount {
    Small { mantissa: i64, exponent: i32 },
    Large(Box<Decimal>),
}

/// How the quantity was written, and so how it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    DecimalExponent,
    BinarySi,
    DecimalSi,
}

/// The text is not a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseQuantityError {
    /// Not a number followed by something like a suffix.
    #[error("not a number with an optional suffix")]
    Number,
    /// The suffix is not one of the known ones.
    #[error("unknown suffix")]
    Suffix,
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self::from_value(0);

    /// So many whole units.
    pub const fn from_value(value: i64) -> Self {
        Self {
            amount: Amount::Small {
                mantissa: value,
                exponent: 0,
            },
            format: Format::DecimalSi,
        }
    }

    /// So many thousandths of a unit.
    pub const fn from_milli(milli: i64) -> Self {
        Self {
            amount: Amount::Small {
                mantissa: milli,
                exponent: -3,
            },
            format: Format::DecimalSi,
        }
    }

    /// Reads the text of a quantity.
    pub fn parse(text: &str) -> Result<Self, ParseQuantityError> {
        parse::parse(text)
    }

    /// Whole units, rounded away from zero; at the ends of `i64` it stays there.
    pub fn value(&self) -> i64 {
        self.scaled(0)
    }

    /// Thousandths of a unit, rounded away from zero; at the ends of `i64` it stays there.
    pub fn milli_value(&self) -> i64 {
        self.scaled(-3)
    }

    /// The amount as a floating-point number, rounded as in kube-scheduler's metrics.
    #[allow(
        clippy::cast_precision_loss,
        reason = "a number that is rounded is what is asked for"
    )]
    pub fn approximate(&self) -> f64 {
        match &self.amount {
            Amount::Small { mantissa, exponent: 0 } => *mantissa as f64,
            Amount::Small { mantissa, exponent } => *mantissa as f64 * 10_f64.powi(*exponent),
            Amount::Large(decimal) => decimal.scaled(0) as f64,
        }
    }

    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        match &self.amount {
            Amount::Small { mantissa, .. } => *mantissa == 0,
            Amount::Large(decimal) => decimal.is_zero(),
        }
    }

    /// Adds an amount; a zero takes over the other's way of writing.
    pub fn add(&mut self, other: &Self) {
        if self.is_zero() {
            self.format = other.format;
        }
        self.amount = match small_sum(&self.amount, &other.amount) {
            Some(sum) => sum,
            None => self.amount.to_decimal().plus(&other.amount.to_decimal()).into(),
        };
    }

    fn scaled(&self, exponent: i32) -> i64 {
        match &self.amount {
            Amount::Small {
                mantissa,
                exponent: own,
            } => scale_small(*mantissa, i64::from(*own) - i64::from(exponent)),
            Amount::Large(decimal) => decimal.scaled(exponent),
        }
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Amount {
    fn to_decimal(&self) -> Decimal {
        match self {
            Self::Small { mantissa, exponent } => Decimal::from_small((*mantissa).into(), *exponent),
            Self::Large(decimal) => (**decimal).clone(),
        }
    }
}

impl From<Decimal> for Amount {
    fn from(decimal: Decimal) -> Self {
        match decimal.to_small() {
            Some((mantissa, exponent)) => Self::Small { mantissa, exponent },
            None => Self::Large(Box::new(decimal)),
        }
    }
}

/// `mantissa × 10^shift`, rounded away from zero and saturating.
fn scale_small(mantissa: i64, shift: i64) -> i64 {
    let Some(power) = u32::try_from(shift.unsigned_abs())
        .ok()
        .and_then(|power| 10_i64.checked_pow(power))
    else {
        return match (mantissa.signum(), shift > 0) {
            (0, _) => 0,
            (sign, false) => sign,
            (sign, true) => saturated(sign),
        };
    };
    if shift >= 0 {
        return mantissa.saturating_mul(power);
    }
    let rest = i64::from(mantissa % power != 0);
    mantissa / power + rest * mantissa.signum()
}

fn saturated(sign: i64) -> i64 {
    if sign < 0 { i64::MIN } else { i64::MAX }
}

/// Both amounts as multiples of the smaller power of ten, when those are small enough to be computed with.
fn aligned(a: &Amount, b: &Amount) -> Option<(i128, i128, i32)> {
    let (
        Amount::Small {
            mantissa: a,
            exponent: ea,
        },
        Amount::Small {
            mantissa: b,
            exponent: eb,
        },
    ) = (a, b)
    else {
        return None;
    };
    let (a, b, ea, eb) = (i128::from(*a), i128::from(*b), *ea, *eb);
    if ea == eb {
        return Some((a, b, ea));
    }
    // 2^63 × 10^19 < 2^127
    let power = ea.checked_sub(eb)?.unsigned_abs();
    let factor = (power <= 19).then(|| 10_i128.pow(power))?;
    Some(if ea > eb {
        (a * factor, b, eb)
    } else {
        (a, b * factor, ea)
    })
}

fn small_sum(a: &Amount, b: &Amount) -> Option<Amount> {
    let (a, b, exponent) = aligned(a, b)?;
    i64::try_from(a.checked_add(b)?)
        .ok()
        .map(|mantissa| Amount::Small { mantissa, exponent })
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Equal amounts round alike, however they are written.
        self.milli_value().hash(state);
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        match aligned(&self.amount, &other.amount) {
            Some((a, b, _)) => a.cmp(&b),
            None => self.amount.to_decimal().compare(&other.amount.to_decimal()),
        }
    }
}

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for Quantity {
    /// The canonical form: a whole number and the largest suffix that keeps it exact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        canonical::write(&self.amount.to_decimal(), self.format, f)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Quantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
                Quantity::parse(text.trim()).map_err(E::custom)
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Quantity, E> {
                Ok(Quantity::from_value(value))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Quantity, E> {
                Quantity::parse(&value.to_string()).map_err(E::custom)
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Quantity, E> {
                Quantity::parse(&value.to_string()).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Text)
    }
}
