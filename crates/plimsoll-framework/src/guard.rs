use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls a plugin outside of a scheduling cycle, where a panic must cost its pod and nobody else; `Err` holds the
/// panic's message.
///
/// For calls that look at values and return one: what they leave half done is their own state only.
pub fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|cause| {
        cause
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| cause.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(guarded(|| 3), Ok(3));
        assert_eq!(guarded(|| panic!("literal")), Err::<(), _>("literal".to_owned()));
        assert_eq!(guarded(|| panic!("number {}", 7)), Err::<(), _>("number 7".to_owned()));
    }
}
