//! What each line of the log about a pod has besides its name.

use plimsoll_model::Pod;

use crate::trace_context::TraceContext;

/// The pod's trace, in which whatever else is known of it can be found. Worked out only for lines that are told.
pub(crate) fn trace_of(pod: &Pod) -> TraceContext {
    TraceContext::of(pod)
}
