//! Extension points between the choice of a node and the end of the binding.

use std::time::Duration;

use compact_str::CompactString;
use plimsoll_model::columns::Columns;
use plimsoll_model::storage::{VolumeWrite, VolumeWritten};
use plimsoll_model::{Moment, Pod};

use super::{CycleContext, Plugin};
use crate::{CycleState, EffectRequest, Status, WaitingPods};

/// Keeps in-memory reservations beside the claim itself.
pub trait Reserve: Plugin {
    /// Reserves on the chosen node; a rejection or an error undoes everything reserved so far.
    fn reserve(&self, cycle: CycleContext<'_>, state: &mut CycleState, node: &str) -> Result<(), Status>;

    /// Undoes `reserve`; called in reverse order, also for plugins whose reserve did not run: must be idempotent.
    fn unreserve(&self, pod: &Pod, state: &mut CycleState, node: &str);
}

/// Takes up what an earlier leader left half done for a pod, such as a volume that was reserved for it outside.
///
/// What an earlier term kept in memory is lost. What it wrote is among the API server's objects, and a plugin that knows these
/// may find there that something is reserved for a pod that waits. Unless it holds that again, the next pod may get it.
pub trait Adopt: Reserve {
    /// Called once for each waiting pod of the profile when a term begins: everything that the API server held by then is
    /// known, and nothing has been decided. A plugin that finds something reserved for the pod holds it from here on, as after
    /// [`Reserve::reserve`], and names the node.
    ///
    /// The pod is then nominated to that node, unless its status names one. What was adopted ends with one
    /// [`Reserve::unreserve`] for that node, with an empty state: just before the plugins of a cycle that chose a node for the
    /// pod reserve, when the pod is gone, has a node or has no profile any more, and when the term ends.
    fn adopt(&self, pod: &Pod, columns: &Columns) -> Option<CompactString>;
}

/// What a permit plugin says.
#[derive(Debug)]
pub enum PermitOutcome {
    /// Go on.
    Allow,
    /// Park the pod until allowed, rejected or timed out; capped at 15 minutes.
    Wait(Duration),
    /// Turn the pod away, or an internal failure.
    Stop(Status),
}

/// Has a last word before binding, and may make the pod wait.
pub trait Permit: Plugin {
    /// Decides on the pod that has a claim on `node`, knowing who waits already. What is to become of those it says to
    /// [`CycleState::allow_waiting`] and [`CycleState::reject_waiting`].
    fn permit(
        &self,
        cycle: CycleContext<'_>,
        state: &mut CycleState,
        node: &str,
        waiting: &WaitingPods,
    ) -> PermitOutcome;
}

/// What a pre-bind plugin needs before the pod can be bound.
pub enum PreBindOutcome {
    /// Nothing.
    Skip,
    /// This I/O must be done first; its failure fails the attempt. The pod is parked meanwhile and holds no worker.
    Needs(EffectRequest),
    /// Writes to objects of storage, and waiting for what others make of them: [`PreBind::step`] says what comes first.
    Steps,
}

/// What [`PreBind::step`] hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreBindInput {
    /// The first step.
    Begin,
    /// What became of the write that the last step asked for.
    Written(VolumeWritten),
    /// While it waited one of these has changed: the pod, its node or what CSI drivers say of that, a claim of the pod, or a
    /// volume that is or was made over to one or reserved for one. It may have nothing to do with what is waited for.
    Changed,
    /// The time until which it was to wait has come.
    Due,
}

/// What a pre-bind plugin wants next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreBindStep {
    /// Nothing: its work is done.
    Done,
    /// Make this write; [`PreBindInput::Written`] says what became of it, and nothing else comes before. One at a time, so
    /// that one that fails ends what comes after it.
    Write(VolumeWrite),
    /// Ask again when something has changed, or at this time at the latest. However many pods wait, they hold no worker.
    Wait {
        /// The latest time, by which the plugin most likely gives up.
        until: Moment,
    },
    /// The attempt has failed with this text, to which `running PreBind plugin …` is added.
    Fail(String),
}

/// Work that must be done outside before a pod can be bound.
pub trait PreBind: Plugin {
    /// What has to be done for the pod on `node`.
    fn pre_bind(&self, pod: &Pod, state: &CycleState, node: &str) -> PreBindOutcome;

    /// The next step of a plugin that has answered [`PreBindOutcome::Steps`]. It sees the columns as they are between two
    /// cycles, so up to any change that it is told of. Not called any more once the claim is over, whatever ended it: what the
    /// last write does then nobody hears of here.
    fn step(
        &self,
        _cycle: CycleContext<'_>,
        _state: &mut CycleState,
        _node: &str,
        _input: PreBindInput,
    ) -> PreBindStep {
        PreBindStep::Done
    }
}

/// How a bind plugin binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindAction {
    /// Leave it to the next bind plugin.
    Skip,
    /// POST a Binding to the API server.
    PostBinding,
}

/// Chooses how the pod is bound.
pub trait Bind: Plugin {
    /// How to bind the pod to `node`.
    fn bind(&self, pod: &Pod, node: &str) -> BindAction;
}

/// Hears of each bound pod.
pub trait PostBind: Plugin {
    /// The pod is bound to `node`.
    fn post_bind(&self, pod: &Pod, node: &str);
}
