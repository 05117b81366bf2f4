//! An extender called directly: what is sent, what comes of every fault, and TLS.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

mod direct {
    mod asking;
    mod calls;
    mod faults;
    mod tls;

    pub(crate) use asking::{ask, config, extender, filter, pod, started};
}
