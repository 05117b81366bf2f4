//! How a plugin's code that runs outside of scheduling cycles reaches the pods that wait at Permit.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use plimsoll_framework::WaitingPod;
use plimsoll_model::Uid;

use crate::mailbox::Mailbox;
use crate::scheduling_cycle::CycleMessage;
use crate::wall_times::WallTimes;

/// Who waits at Permit.
#[derive(Debug, Clone)]
pub struct WaitingReport {
    /// The time of the report.
    pub times: WallTimes,
    /// The pods, the longest waiting first.
    pub pods: Vec<WaitingPod>,
}

/// Allows and rejects pods that wait at Permit, and tells which they are: a handle to be kept by a plugin's tasks, or by
/// the program around the scheduler. Nothing in it waits for a scheduling cycle.
///
/// It speaks to the term that runs when it is asked. What it says is taken up in the order in which it was said, between
/// two cycles; so a plugin that hands a pod over from its own permit call is always heard after that cycle. Pods that wait
/// when a term ends are pending again for the next leader, and what is said of them before they wait there is lost.
#[derive(Clone, Default)]
pub struct Permits {
    cycle: Arc<ArcSwapOption<Mailbox<CycleMessage>>>,
}

impl Permits {
    /// A handle for a replica that has yet to lead.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the plugin's wait for the pod, as [`CycleMessage::Allow`] says. Returns whether this replica leads: if not,
    /// nobody waits here.
    pub fn allow(&self, pod: Uid, plugin: &'static str) -> bool {
        self.tell(CycleMessage::Allow { pod, plugin })
    }

    /// Turns the pod away, as [`CycleMessage::Reject`] says. Returns whether this replica leads.
    pub fn reject(&self, pod: Uid, plugin: &'static str, message: impl Into<String>) -> bool {
        let message = message.into();
        self.tell(CycleMessage::Reject { pod, plugin, message })
    }

    /// The pods that wait, those of all profiles, the longest waiting first; none while this replica does not lead.
    pub async fn waiting_pods(&self) -> Vec<WaitingPod> {
        let cycle = self.cycle.load_full();
        let Some(answer) = cycle.map(|cycle| cycle.ask("Permits", CycleMessage::WaitingPods)) else {
            return Vec::new();
        };
        answer.await.map(|report| report.pods).unwrap_or_default()
    }

    /// From now on this is the cycle that runs.
    pub(crate) fn bind(&self, cycle: Mailbox<CycleMessage>) {
        self.cycle.store(Some(Arc::new(cycle)));
    }

    fn tell(&self, message: CycleMessage) -> bool {
        self.cycle.load().as_deref().is_some_and(|cycle| cycle.tell(message))
    }
}

impl fmt::Debug for Permits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permits").finish_non_exhaustive()
    }
}
