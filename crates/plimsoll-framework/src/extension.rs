mod binding;
mod filtering;
mod scoring;

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use plimsoll_model::columns::Columns;
use plimsoll_model::{Moment, Pod};

pub use self::binding::{
    Adopt, Bind, BindAction, Permit, PermitOutcome, PostBind, PreBind, PreBindInput, PreBindOutcome, PreBindStep,
    Reserve,
};
pub use self::filtering::{EffectFilter, Filter, PodsSeen, PreFilter, PreFilterOutcome, Reasons, Restriction};
pub use self::scoring::{Normalize, PreScore, PreScoreOutcome, Score};
use crate::{EnqueueExtensions, PostFilter};

/// A named piece of scheduling behaviour. What it takes part in is what it puts into its [`Extensions`].
pub trait Plugin: Send + Sync + 'static {
    /// The name in profiles, metrics and messages.
    fn name(&self) -> &'static str;
}

/// What every extension point of a cycle may look at.
#[derive(Debug, Clone, Copy)]
pub struct CycleContext<'a> {
    /// The pod being placed.
    pub pod: &'a Pod,
    /// The cluster as of this cycle, claims included.
    pub columns: &'a Columns,
    /// The time of the cycle.
    pub now: Moment,
}

/// What a queue sort compares.
#[derive(Debug, Clone, Copy)]
pub struct QueueOrder<'a> {
    /// The waiting pod.
    pub pod: &'a Pod,
    /// When it entered the queue, or returned to it after its last attempt.
    pub timestamp: Moment,
}

/// Orders the active pods; exactly one per scheduler, the same in all profiles.
pub trait QueueSort: Plugin {
    /// `Less` means `a` is tried before `b`.
    fn compare(&self, a: QueueOrder<'_>, b: QueueOrder<'_>) -> Ordering;
}

/// Whether a pod may enter the active queue; `Err` holds the text that says what it waits for.
pub type GateStatus = Result<(), String>;

/// Holds pods back before they are ever tried.
pub trait PreEnqueue: Plugin {
    /// Whether the pod may be tried now.
    fn pre_enqueue(&self, pod: &Pod) -> GateStatus;
}

/// Asks the columns to keep the counts that the plugin will read, before the pod is judged.
pub trait Prepare: Plugin {
    /// Called before the pre-filters, each time the pod is looked at, for every plugin that is enabled at any point.
    fn prepare(&self, pod: &Pod, columns: &mut Columns);
}

macro_rules! extensions {
    ($($(#[$doc:meta])* $field:ident: $point:ident),* $(,)?) => {
        /// The extension points that one plugin takes part in.
        #[derive(Clone, Default)]
        pub struct Extensions {
            $($(#[$doc])* pub $field: Option<Arc<dyn $point>>,)*
        }

        impl Extensions {
            /// Takes part in nothing yet.
            pub fn new() -> Self {
                Self::default()
            }

            $($(#[$doc])*
            #[must_use]
            pub fn $field(mut self, plugin: Arc<dyn $point>) -> Self {
                self.$field = Some(plugin);
                self
            })*
        }

        impl fmt::Debug for Extensions {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut points = f.debug_set();
                $(if self.$field.is_some() { points.entry(&stringify!($field)); })*
                points.finish()
            }
        }
    };
}

extensions! {
    /// Orders the active queue.
    queue_sort: QueueSort,
    /// Says which events bring back the pods that it rejects.
    enqueue: EnqueueExtensions,
    /// Gates pods.
    pre_enqueue: PreEnqueue,
    /// Asks for counts.
    prepare: Prepare,
    /// Looks at the pod before any node.
    pre_filter: PreFilter,
    /// Narrows nodes.
    filter: Filter,
    /// Narrows nodes with I/O, after all filters.
    effect_filter: EffectFilter,
    /// Has a try when no node will do.
    post_filter: PostFilter,
    /// Prepares scoring.
    pre_score: PreScore,
    /// Scores nodes.
    score: Score,
    /// Reserves in memory.
    reserve: Reserve,
    /// Holds again what was reserved outside before the term began.
    adopt: Adopt,
    /// Last word before binding.
    permit: Permit,
    /// Work before binding.
    pre_bind: PreBind,
    /// Binds.
    bind: Bind,
    /// Hears of bound pods.
    post_bind: PostBind,
}
