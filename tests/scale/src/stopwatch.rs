use std::time::Instant;

#[expect(
    clippy::disallowed_methods,
    reason = "how long it takes is what is measured; nothing is decided by it"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}
