use std::sync::Arc;

use plimsoll_framework::{Action, ClusterEvent, EventResource};
use plimsoll_model::{Node, Pod};

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

/// Node changes that the columns show to plugins. Conditions, annotations and declared features are not among them.
const VISIBLE_NODE_CHANGES: [Action; 4] = [
    Action::ADD,
    Action::UPDATE_NODE_ALLOCATABLE,
    Action::UPDATE_NODE_LABEL,
    Action::UPDATE_NODE_TAINT,
];

/// Whether an event about another object can help any pod at all; if not it is neither recorded nor walked over.
///
/// Pods that arrive on nodes, change their labels there, and nodes that vanish only help plugins that count pods by
/// domain (spread, affinity).
pub(crate) fn can_help(event: ClusterEvent) -> bool {
    match event.resource {
        EventResource::Wildcard => true,
        EventResource::Node => VISIBLE_NODE_CHANGES
            .iter()
            .any(|action| event.action.intersects(*action)),
        EventResource::AssignedPod | EventResource::Pod => {
            event.action == Action::DELETE || event.action == Action::UPDATE_POD_SCALE_DOWN
        }
        EventResource::UnschedulablePod => false,
    }
}

/// What an event is worth to a pod that these plugins rejected or hold back.
///
/// The place of queueing hints: today every plugin answers that any event which [`can_help`] somebody may help the
/// pod, and that of its own updates those may help that changed something a plugin reads.
pub(crate) fn worth_requeuing(pod: &Pod, rejected_by: &PluginSet, event: ClusterEvent, objects: &Objects) -> Worth {
    // A pod that no plugin rejected failed for reasons that no event speaks of.
    if rejected_by.is_empty() || event.is_wildcard() {
        return Worth::AfterBackoff;
    }
    let may_help = match objects {
        Objects::Pod {
            old: Some(old),
            new: Some(new),
        } if new.uid == pod.uid => own_update_may_help(event, old, new),
        _ => can_help(event),
    };
    match (may_help, rejected_by.has_pending()) {
        (false, _) => Worth::Skip,
        (true, false) => Worth::AfterBackoff,
        (true, true) => Worth::Immediately,
    }
}

/// The generic update is mostly our own condition coming back: taking it for a change would retry the pod forever.
fn own_update_may_help(event: ClusterEvent, old: &Pod, new: &Pod) -> bool {
    event.action != Action::UPDATE || old.spec != new.spec
}
