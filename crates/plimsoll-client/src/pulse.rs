use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts signs of life: whoever looks twice sees whether there was one in between. Clones share one count.
#[derive(Debug, Clone, Default)]
pub struct Pulse(Arc<AtomicU64>);

impl Pulse {
    /// Shows life.
    pub fn beat(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How often life was shown so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What one watch shows beside the events and bookmarks that it delivers.
///
/// A watch that works delivers something about once a minute, for the server sends bookmarks; or it lists; or it is excused.
/// One whose streams open and stay silent does none of that.
#[derive(Debug, Clone, Default)]
pub struct WatchPulse {
    /// A part of a list came. The list is delivered as a whole, at its end.
    pub listing: Pulse,
    /// Nothing comes, and that is no fault of the watch: it is refused, the server ended its stream, it waits for its next try,
    /// or whoever receives holds it back.
    pub excused: Pulse,
}
