//! Sizes of buffers, as Kubernetes writes quantities.

/// A size that cannot be read. The words are kube-scheduler's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// No quantity.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// A buffer of less than nothing.
    #[error("a buffer must not have a negative size")]
    Negative,
}

/// As much as kube-scheduler takes at most for a buffer: 2 GiB.
const LARGEST: u64 = 2 << 30;

/// Reads a number of bytes: `512`, multiples of 1000 (`1K` or `1k`, `3M`, `4G`) or of 1024 (`2Ki`, `5Mi`, `6Gi`). What is more than
/// 2 GiB is 2 GiB.
///
/// # Errors
/// When it is no such number.
pub fn parse_buffer_size(text: &str) -> Result<usize, QuantityError> {
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if unsigned.starts_with('-') {
        return Err(QuantityError::Negative);
    }
    let split = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let (digits, unit) = unsigned.split_at(split);
    let factor: u64 = match unit {
        "" => 1,
        "k" | "K" => 1000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return Err(QuantityError::Format),
    };
    if digits.is_empty() {
        return Err(QuantityError::Format);
    }
    // So many digits are more than any buffer.
    let number = digits.parse::<u64>().unwrap_or(u64::MAX);
    let size = number.saturating_mul(factor).min(LARGEST);
    Ok(usize::try_from(size).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_quantities() {
        for (text, expected) in [
            ("0", Ok(0)),
            ("512", Ok(512)),
            ("+1K", Ok(1000)),
            ("2Ki", Ok(2048)),
            ("3M", Ok(3_000_000)),
            ("5Mi", Ok(5 << 20)),
            ("99999999999999999999Gi", Ok(2 << 30)),
            ("", Err(QuantityError::Format)),
            ("x", Err(QuantityError::Format)),
            ("1KB", Err(QuantityError::Format)),
            ("-1", Err(QuantityError::Negative)),
        ] {
            assert_eq!(parse_buffer_size(text), expected, "{text}");
        }
    }
}
