use compact_str::CompactString;

use super::Ending;

/// What is to be asked of the API server next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// POST the binding.
    Send,
    /// Let the extender bind.
    Delegate,
    /// GET the pod.
    Read,
}

/// What follows from an input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Reaction {
    /// Our binding took effect; said once in a claim's life.
    pub(crate) bound: bool,
    /// A read showed the pod on this other node.
    pub(crate) moved_to: Option<CompactString>,
    /// The extender has failed with this text, and we bind ourselves.
    pub(crate) fell_back: Option<String>,
    /// Ask this next.
    pub(crate) ask: Option<Ask>,
    /// The claim is over.
    pub(crate) ending: Option<Ending>,
}

impl Reaction {
    pub(super) fn nothing() -> Self {
        Self::default()
    }

    pub(super) fn ask(ask: Ask) -> Self {
        Self {
            ask: Some(ask),
            ..Self::default()
        }
    }
}
