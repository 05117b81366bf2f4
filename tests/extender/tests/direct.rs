//! An extender called directly: what is sent, what comes of every fault, TLS, and thousands of calls with faults.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

mod direct {
    mod calls;
    mod chaos;
    mod faults;
    mod tls;

    pub(crate) use calls::{ask, config, extender, filter, pod, started};
}
