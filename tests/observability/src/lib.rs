//! What Plimsoll tells of itself, received by the programs that operators receive it with.
//!
//! ```text
//!  Plimsoll ──OTLP──► Jaeger ──► Trace, read back over its query API
//!      └────OTLP────► Collector, which is down, hangs or refuses
//! ```

mod collector;
mod jaeger;
mod picture;
mod trace;

pub use collector::Collector;
pub use jaeger::{Availability, Jaeger, Program};
pub use picture::shape;
pub use trace::{Event, Span, Trace};
