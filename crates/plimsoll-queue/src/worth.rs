use std::sync::Arc;

use plimsoll_framework::{Action, ClusterEvent};
use plimsoll_model::{Node, Pod};

use crate::interest;
use crate::plugin_sets::PluginSet;

/// What an event is worth to a waiting pod, in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Worth {
    /// It cannot help: the pod stays parked.
    Skip,
    /// It may help: the pod is tried again once its backoff is over.
    AfterBackoff,
    /// It is what a plugin that answered `Pending` was waiting for: the pod is tried again at once.
    Immediately,
}

/// The objects behind an event, before and after.
#[derive(Debug, Clone)]
pub(crate) enum Objects {
    /// The event has none.
    None,
    /// A pod.
    Pod {
        old: Option<Arc<Pod>>,
        new: Option<Arc<Pod>>,
    },
    /// A node.
    Node {
        #[expect(dead_code, reason = "read by queueing hints")]
        old: Option<Arc<Node>>,
        #[expect(dead_code, reason = "read by queueing hints")]
        new: Option<Arc<Node>>,
    },
}

impl Objects {
    /// Whether a pod has been told to go.
    pub(crate) fn show_a_departure(&self) -> bool {
        match self {
            Self::Pod {
                old: Some(old),
                new: Some(new),
            } => new.is_terminating() && !old.is_terminating(),
            _ => false,
        }
    }

    /// Whether this is a change of that pod's own spec.
    pub(crate) fn change_spec_of(&self, pod: &Pod) -> bool {
        match self {
            Self::Pod {
                old: Some(old),
                new: Some(new),
            } => new.uid == pod.uid && old.spec != new.spec,
            _ => false,
        }
    }
}

/// What an event is worth to a pod that these plugins rejected or hold back.
///
/// The place of queueing hints: today every plugin answers that any event of a sort it listens to may help the pod, and
/// that of its own updates those may help that changed something a plugin reads.
pub(crate) fn worth_requeuing(pod: &Pod, rejected_by: &PluginSet, event: ClusterEvent, objects: &Objects) -> Worth {
    // A pod that no plugin rejected failed for reasons that no event speaks of.
    if rejected_by.is_empty() || event.is_wildcard() {
        return Worth::AfterBackoff;
    }
    let may_help = |plugin: &str| match objects {
        Objects::Pod {
            old: Some(old),
            new: Some(new),
        } if new.uid == pod.uid => own_update_may_help(event, old, new),
        _ => interest::may_help(plugin, event, objects),
    };
    if rejected_by.pending().any(may_help) {
        Worth::Immediately
    } else if rejected_by.iter().any(may_help) {
        Worth::AfterBackoff
    } else {
        Worth::Skip
    }
}

/// The generic update is mostly our own condition coming back: taking it for a change would retry the pod forever.
fn own_update_may_help(event: ClusterEvent, old: &Pod, new: &Pod) -> bool {
    event.action != Action::UPDATE || old.spec != new.spec
}
