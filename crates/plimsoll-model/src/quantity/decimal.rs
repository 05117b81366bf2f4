use std::cmp::Ordering;

use super::saturated;

/// A decimal number of any length, for quantities that do not fit machine words. Slow and rare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) negative: bool,
    /// Most significant first; neither begins nor ends with 0; empty for zero.
    pub(super) digits: Vec<u8>,
    pub(super) exponent: i64,
}

/// Exponents further apart than this are not aligned digit by digit.
const LONGEST: i64 = 1 << 16;

impl Decimal {
    pub(super) fn new(negative: bool, digits: Vec<u8>, exponent: i64) -> Self {
        let mut decimal = Self {
            negative,
            digits,
            exponent,
        };
        decimal.trim();
        decimal
    }

    pub(super) fn from_small(mantissa: i128, exponent: i32) -> Self {
        let digits = mantissa
            .unsigned_abs()
            .to_string()
            .bytes()
            .map(|byte| byte - b'0')
            .collect();
        Self::new(mantissa < 0, digits, exponent.into())
    }

    /// Mantissa and exponent, when the mantissa fits.
    pub(super) fn to_small(&self) -> Option<(i64, i32)> {
        let mut mantissa = 0_i64;
        for digit in &self.digits {
            mantissa = mantissa.checked_mul(10)?.checked_add(i64::from(*digit))?;
        }
        let exponent = i32::try_from(self.exponent).ok()?;
        Some((if self.negative { -mantissa } else { mantissa }, exponent))
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Multiplies by a machine word.
    pub(super) fn multiply(&mut self, factor: u64) {
        let mut carry = 0_u128;
        for digit in self.digits.iter_mut().rev() {
            let product = u128::from(*digit) * u128::from(factor) + carry;
            *digit = low_digit(product);
            carry = product / 10;
        }
        let mut high = Vec::new();
        while carry > 0 {
            high.push(low_digit(carry));
            carry /= 10;
        }
        high.reverse();
        self.digits.splice(0..0, high);
        self.trim();
    }

    /// Drops digits below `10^exponent`, rounding away from zero.
    pub(super) fn round_to(&mut self, exponent: i64) {
        if self.exponent >= exponent || self.is_zero() {
            return;
        }
        // The last digit is not 0, so whatever is dropped is not nothing.
        let dropped = usize::try_from(exponent - self.exponent).unwrap_or(usize::MAX);
        self.digits.truncate(self.digits.len().saturating_sub(dropped));
        self.exponent = exponent;
        self.increment();
        self.trim();
    }

    fn increment(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.digits.insert(0, 1);
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        let exponent = self.exponent.min(other.exponent);
        let highest = self.exponent.max(other.exponent);
        if highest - exponent > LONGEST {
            return if self.exponent == highest {
                self.clone()
            } else {
                other.clone()
            };
        }
        let (a, b) = (self.digits_from(exponent), other.digits_from(exponent));
        if self.negative == other.negative {
            return Self::new(self.negative, add_digits(&a, &b), exponent);
        }
        match compare_digits(&a, &b) {
            Ordering::Less => Self::new(other.negative, subtract_digits(&b, &a), exponent),
            _ => Self::new(self.negative, subtract_digits(&a, &b), exponent),
        }
    }

    /// Least significant first, as multiples of `10^exponent`.
    fn digits_from(&self, exponent: i64) -> Vec<u8> {
        let zeros = usize::try_from(self.exponent - exponent).unwrap_or(0);
        let mut digits = vec![0; zeros];
        digits.extend(self.digits.iter().rev());
        digits
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        match self.sign().cmp(&other.sign()) {
            Ordering::Equal if self.negative => other.compare_magnitude(self),
            Ordering::Equal => self.compare_magnitude(other),
            unequal => unequal,
        }
    }

    /// Largest power of ten first, then digit by digit: trailing zeros are never stored.
    fn compare_magnitude(&self, other: &Self) -> Ordering {
        self.magnitude()
            .cmp(&other.magnitude())
            .then_with(|| self.digits.cmp(&other.digits))
    }

    fn magnitude(&self) -> i64 {
        self.exponent + i64::try_from(self.digits.len()).unwrap_or(i64::MAX / 2)
    }

    fn sign(&self) -> i64 {
        match (self.is_zero(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// As a multiple of `10^exponent`, rounded away from zero and saturating.
    pub(super) fn scaled(&self, exponent: i32) -> i64 {
        let mut rounded = self.clone();
        rounded.round_to(exponent.into());
        if rounded.magnitude() - i64::from(exponent) > 19 {
            return saturated(rounded.sign());
        }
        let mut value = 0_i128;
        let zeros = usize::try_from(rounded.exponent - i64::from(exponent)).unwrap_or(0);
        for digit in rounded.digits.iter().copied().chain(std::iter::repeat_n(0, zeros)) {
            value = value * 10 + i128::from(digit);
        }
        let signed = if rounded.negative { -value } else { value };
        i64::try_from(signed).unwrap_or_else(|_| saturated(rounded.sign()))
    }

    fn trim(&mut self) {
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent += 1;
        }
        let leading = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..leading);
        if self.digits.is_empty() {
            self.negative = false;
            self.exponent = 0;
        }
    }
}

fn low_digit(number: u128) -> u8 {
    u8::try_from(number % 10).unwrap_or(0)
}

fn digit_at(digits: &[u8], at: usize) -> u8 {
    digits.get(at).copied().unwrap_or(0)
}

fn compare_digits(a: &[u8], b: &[u8]) -> Ordering {
    let length = a.len().max(b.len());
    (0..length)
        .rev()
        .map(|at| digit_at(a, at).cmp(&digit_at(b, at)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// Both least significant first; the sum most significant first.
fn add_digits(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut carry = 0;
    let mut sum = Vec::with_capacity(a.len().max(b.len()) + 1);
    for at in 0..a.len().max(b.len()) {
        let digit = digit_at(a, at) + digit_at(b, at) + carry;
        sum.push(digit % 10);
        carry = digit / 10;
    }
    sum.push(carry);
    sum.reverse();
    sum
}

/// `a − b` for `a ≥ b`; both least significant first, the difference most significant first.
fn subtract_digits(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut borrow = 0;
    let mut difference = Vec::with_capacity(a.len());
    for at in 0..a.len() {
        let lower = digit_at(b, at) + borrow;
        let upper = digit_at(a, at);
        borrow = u8::from(upper < lower);
        difference.push(upper + 10 * borrow - lower);
    }
    difference.reverse();
    difference
}
