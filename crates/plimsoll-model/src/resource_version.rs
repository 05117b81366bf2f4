use std::fmt;
use std::str::FromStr;

/// The API server's version of an object or list. Versions of one kind can be compared, those of different kinds never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceVersion(u64);

/// The text is not a decimal number that fits 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("resource version is not a decimal number")]
pub struct ParseResourceVersionError;

impl ResourceVersion {
    /// The version with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn as_u64(self) -> u64 {
        self.0
    }
}

impl FromStr for ResourceVersion {
    type Err = ParseResourceVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // `u64::from_str` would also take a plus sign.
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(ParseResourceVersionError);
        }
        text.parse().map(Self).map_err(|_| ParseResourceVersionError)
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_decimal_digits_are_a_version() {
        assert_eq!("42".parse(), Ok(ResourceVersion::new(42)));
        for junk in ["", "+1", "-1", "0x1", "1.0", "18446744073709551616"] {
            assert_eq!(
                junk.parse::<ResourceVersion>(),
                Err(ParseResourceVersionError),
                "{junk:?}"
            );
        }
    }
}
