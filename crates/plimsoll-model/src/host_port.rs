use std::fmt;

use compact_str::CompactString;

const ANY_ADDRESS: &str = "0.0.0.0";

/// Transport protocol of a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Protocol {
    /// What an empty protocol means.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
    /// Anything else, kept as it is written.
    Other(CompactString),
}

impl From<&str> for Protocol {
    fn from(text: &str) -> Self {
        match text {
            "" | "TCP" => Self::Tcp,
            "UDP" => Self::Udp,
            "SCTP" => Self::Sctp,
            other => Self::Other(other.into()),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
            Self::Other(text) => text,
        })
    }
}

/// A port that a pod wants on its node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPort {
    /// Transport protocol.
    pub protocol: Protocol,
    /// Port number.
    pub port: i32,
    /// Address of the node; `0.0.0.0` stands for all of them, never empty.
    pub ip: CompactString,
}

impl fmt::Display for HostPort {
    /// `80/TCP`, with the address in front where it is not all of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ip != ANY_ADDRESS {
            write!(f, "{}:", self.ip)?;
        }
        write!(f, "{}/{}", self.port, self.protocol)
    }
}

impl HostPort {
    /// A wanted port; an empty address means all of them.
    pub fn new(protocol: Protocol, ip: &str, port: i32) -> Self {
        let ip = if ip.is_empty() {
            CompactString::const_new(ANY_ADDRESS)
        } else {
            ip.into()
        };
        Self { protocol, port, ip }
    }

    /// A TCP port on all addresses.
    pub fn tcp(port: i32) -> Self {
        Self::new(Protocol::Tcp, "", port)
    }

    /// Whether two pods with these ports can't share a node: same protocol and port, and the same address or one of
    /// them on all addresses. Addresses are compared as text, as in kube-scheduler.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        self.port == other.port && self.protocol == other.protocol && addresses_overlap(&self.ip, &other.ip)
    }
}

pub(crate) fn addresses_overlap(a: &str, b: &str) -> bool {
    a == b || a == ANY_ADDRESS || b == ANY_ADDRESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_conflict_on_overlapping_addresses() {
        let cases = [
            (HostPort::tcp(80), HostPort::tcp(80), true),
            (HostPort::tcp(80), HostPort::tcp(81), false),
            (HostPort::tcp(80), HostPort::new(Protocol::Udp, "", 80), false),
            (HostPort::tcp(80), HostPort::new(Protocol::Tcp, "127.0.0.1", 80), true),
            (
                HostPort::new("TCP".into(), "127.0.0.1", 80),
                HostPort::new("".into(), "127.0.0.1", 80),
                true,
            ),
            (
                HostPort::new(Protocol::Tcp, "127.0.0.1", 80),
                HostPort::new(Protocol::Tcp, "127.0.0.2", 80),
                false,
            ),
        ];
        for (a, b, conflict) in cases {
            assert_eq!(a.conflicts_with(&b), conflict, "{a:?} {b:?}");
            assert_eq!(b.conflicts_with(&a), conflict, "{b:?} {a:?}");
        }
    }
}
