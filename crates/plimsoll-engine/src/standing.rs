use compact_str::CompactString;
use plimsoll_framework::PermitWait;
use plimsoll_model::Moment;
use smallvec::SmallVec;

use crate::ClaimState;

/// How far a pod with a claim has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The node that it is to be bound to.
    pub node: CompactString,
    /// Since when it holds room there.
    pub since: Moment,
    /// The permit plugins that have not allowed it yet.
    pub permits: SmallVec<[PermitWait; 1]>,
    /// The pre-bind plugin at work and what it waits for, if one is.
    pub pre_bind: Option<(&'static str, PreBinding)>,
    /// The extender that binds, by its URL.
    pub binder: Option<String>,
    /// How far its binding has come.
    pub state: ClaimState,
}

/// What a pre-bind plugin waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreBinding {
    /// Its own work outside of the scheduler.
    Work,
    /// A write of ours.
    Write,
    /// Somebody else's doing, for example that of the volume controller, and until then.
    Outside {
        /// When it gives up.
        until: Moment,
    },
}

/// What the cycle under way waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaits {
    /// The I/O of a plugin.
    Plugin(&'static str),
    /// An extender's verdict on nodes.
    Filter(String),
    /// The scores of extenders.
    Scores(Vec<String>),
    /// An extender's say in who is to be evicted.
    Victims(String),
}
