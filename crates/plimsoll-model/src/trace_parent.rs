use std::fmt;

/// The annotations in which whoever creates a pod may leave the trace that it belongs to, the first that is there and can be
/// read: the key that Kubernetes reserves for it (KEP-5915), and the bare name that most tools write.
pub const TRACE_PARENT_ANNOTATIONS: [&str; 2] = ["tracing.k8s.io/traceparent", "traceparent"];

/// A span of somebody else's, as W3C Trace Context writes it: `00-<trace id>-<span id>-<flags>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceParent {
    /// Which trace; never 0.
    pub trace_id: u128,
    /// Which span of it; never 0.
    pub span_id: u64,
    /// Whether whoever began the trace keeps it.
    pub sampled: bool,
}

impl TraceParent {
    /// Reads the text. Versions that are not known yet may have more behind the flags; anything else that does not look like
    /// the above is nothing.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let version = hexadecimal(parts.next()?, 2)?;
        let trace_id = hexadecimal(parts.next()?, 32)?;
        let span_id = u64::try_from(hexadecimal(parts.next()?, 16)?).ok()?;
        let flags = hexadecimal(parts.next()?, 2)?;
        let well_formed = version != 0xff && (version != 0 || parts.next().is_none());
        (well_formed && trace_id != 0 && span_id != 0).then_some(Self {
            trace_id,
            span_id,
            sampled: flags & 1 == 1,
        })
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "00-{:032x}-{:016x}-{:02x}",
            self.trace_id,
            self.span_id,
            u8::from(self.sampled)
        )
    }
}

/// So many lower-case hexadecimal digits and no others.
fn hexadecimal(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let fits = text.len() == digits && text.bytes().all(is_digit);
    fits.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_parent_is_read_as_w3c_writes_it() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let parsed = TraceParent::parse(text).unwrap();
        assert_eq!(parsed.to_string(), text);
        assert!(parsed.sampled);
        // A version to come may say more.
        let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02-more";
        assert_eq!(TraceParent::parse(later).map(|parent| parent.sampled), Some(false));
    }

    #[test]
    fn what_is_no_trace_parent_is_nothing() {
        for text in [
            "",
            "00",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-+0f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(text), None, "{text}");
        }
    }
}
