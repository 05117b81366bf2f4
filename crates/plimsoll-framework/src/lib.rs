//! Extension points, status, cycle state, registry and profile assembly.
//!
//! A plugin judges whole columns: a filter narrows a set of nodes and leaves a small reason code for each node it
//! rejects, a score fills a column. Nobody calls a plugin once per node; [`PerNodeFilter`] and [`PerNodeScore`] adapt
//! simple plugins that would rather be called so.
//!
//! Nothing here reads a clock, draws randomness, spawns or does I/O. A plugin that needs I/O asks for an [`Effect`].

mod cluster_event;
mod cycle_state;
mod effect;
mod extender;
mod extension;
mod extension_point;
mod feasible;
mod guard;
mod last_answer;
mod marks;
mod object_change;
mod per_node;
mod post_filter;
mod preemption_terms;
mod profile;
mod profiles;
mod queueing_hint;
mod registry;
mod sampler;
mod status;
mod stopwatch;
mod verdicts;
mod volume_stage;
mod waiting;

pub use plimsoll_config::{MatchRule, shortened};

pub use cluster_event::{Action, ClusterEvent, EventResource};
pub use cycle_state::CycleState;
pub use effect::{Effect, EffectReply, EffectRequest};
pub use extender::{
    EXTENDER, EXTENDER_TIME_LIMIT, Extender, ExtenderAnswer, ExtenderCall, ExtenderChoice, ExtenderNodes,
    ExtenderRequest, ExtenderVictims,
};
pub use extension::{
    Adopt, Bind, BindAction, CycleContext, EffectFilter, Extensions, Filter, GateStatus, Normalize, Permit,
    PermitOutcome, Plugin, PodsSeen, PostBind, PreBind, PreBindInput, PreBindOutcome, PreBindStep, PreEnqueue,
    PreFilter, PreFilterOutcome, PreScore, PreScoreOutcome, Prepare, QueueOrder, QueueSort, Reasons, Reserve,
    Restriction, Score,
};
pub use extension_point::ExtensionPoint;
pub use feasible::Feasible;
pub use guard::guarded;
pub use last_answer::LastAnswer;
pub use marks::{MarkBasis, joint_mark};
pub use object_change::ObjectChange;
pub use per_node::{PerNodeFilter, PerNodeRejection, PerNodeScore};
pub use post_filter::{Nomination, PostFilter, PostFilterOutcome, Rejections};
pub use preemption_terms::{DisruptionBudgetPolicy, PreemptionTerms};
pub use profile::{Profile, ProfileError, WeightedScore};
pub use profiles::{Membership, ProfileIndex, Profiles, ProfilesError};
pub use queueing_hint::{EnqueueExtensions, EventObjects, PluginEvents, QueueingHint};
pub use registry::{Construction, PluginConstructor, Registry};
pub use sampler::Sampler;
pub use status::{Code, Status};
pub use stopwatch::{NoStopwatch, Stopwatch};
pub use verdicts::{FilterPass, Judged, ReasonCode, Resolvability, Verdict, Verdicts};
pub use volume_stage::VolumeStage;
pub use waiting::{PermitDecision, PermitVerdict, PermitWait, WaitingPod, WaitingPods};

/// Highest score a plugin may give a node after normalising.
pub const MAX_NODE_SCORE: i64 = 100;
