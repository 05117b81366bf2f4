//! What Plimsoll tells of itself, received by the programs that operators receive it with.
//!
//! ```text
//!  Plimsoll ──OTLP──► Jaeger ──► Trace, read back over its query API
//!      ├────OTLP────► OpenTelemetry, as the shipped example has it ──OTLP──► Jaeger
//!      └────OTLP────► Collector, which takes them, is down, hangs, is slow or refuses ──► Pairs, what that costs
//! ```

mod collector;
mod jaeger;
mod open_telemetry;
mod pairs;
mod picture;
mod trace;

pub use collector::Collector;
pub use jaeger::{Availability, Jaeger, Program};
pub use open_telemetry::{OpenTelemetry, shipped as shipped_collector};
pub use pairs::{Case, Pairs, Sampling};
pub use picture::shape;
pub use trace::{Event, Span, Trace};
