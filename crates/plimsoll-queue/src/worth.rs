use plimsoll_framework::{Action, ClusterEvent, EventObjects, PluginEvents, Profile, QueueingHint, guarded};
use plimsoll_model::Pod;

use crate::metrics::HintTally;
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

/// What happened, as far as it decides what it is worth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Happening<'a> {
    pub(crate) event: ClusterEvent,
    pub(crate) objects: &'a EventObjects,
}

/// Whether nothing differs of what the API server keeps in `spec`.
fn same_spec(old: &Pod, new: &Pod) -> bool {
    old.spec == new.spec && old.node_name == new.node_name
}

impl Happening<'_> {
    /// Whether this is a change of that pod's own spec.
    pub(crate) fn changes_spec_of(&self, pod: &Pod) -> bool {
        self.own_update(pod).is_some_and(|(old, new)| !same_spec(old, new))
    }

    fn own_update(&self, pod: &Pod) -> Option<(&Pod, &Pod)> {
        match self.objects {
            EventObjects::Pod {
                old: Some(old),
                new: Some(new),
            } if new.uid == pod.uid => Some((old, new)),
            _ => None,
        }
    }

    /// The generic update of a pod that leaves its spec alone is mostly our own condition coming back: a plugin that hears
    /// of everything would have the pod retried for ever.
    fn echoes(&self, pod: &Pod) -> bool {
        self.event.action == Action::UPDATE && self.own_update(pod).is_some_and(|(old, new)| same_spec(old, new))
    }

    /// What it is worth to a pod that these plugins rejected or hold back, asking them as kube-scheduler does: one that the
    /// profile does not know of may be helped by anything.
    pub(crate) fn worth(
        &self,
        profile: Option<&Profile>,
        pod: &Pod,
        rejected_by: &PluginSet,
        hints: &mut HintTally,
    ) -> Worth {
        // A pod that no plugin rejected failed for reasons that no event speaks of.
        if rejected_by.is_empty() || self.event.is_wildcard() {
            return Worth::AfterBackoff;
        }
        if self.echoes(pod) {
            return Worth::Skip;
        }
        let Some(profile) = profile else {
            return Worth::AfterBackoff;
        };
        let mut worth = Worth::Skip;
        // What those say that a new node can help only by taking the pod itself: it must suit all of them. In kube-scheduler
        // one is enough, and a pod is tried in vain at every node that is roomy and of the wrong kind.
        let mut node_suits = None;
        for plugin in rejected_by.listening() {
            let listener = listener(profile, plugin);
            let helps = listener
                .is_none_or(|listener| listener.listens_to(self.event) && self.ask(listener, plugin, pod, hints));
            let node_alone = listener.is_some_and(|listener| listener.helped_by_the_node_alone(self.event));
            if node_alone && !rejected_by.is_pending(plugin) {
                node_suits = Some(helps && node_suits.unwrap_or(true));
                continue;
            }
            if helps && rejected_by.is_pending(plugin) {
                return Worth::Immediately;
            }
            if helps && !rejected_by.has_pending() {
                return Worth::AfterBackoff;
            }
            if helps {
                worth = Worth::AfterBackoff;
            }
        }
        if node_suits == Some(true) {
            worth = Worth::AfterBackoff;
        }
        worth
    }

    /// A plugin that does not know, or panics at the pod, must not keep it parked.
    fn ask(&self, listener: &PluginEvents, plugin: &'static str, pod: &Pod, hints: &mut HintTally) -> bool {
        let answer = guarded(|| listener.hint(self.event, pod, self.objects));
        let answer = answer.unwrap_or_else(|panic| Err(format!("panicked: {panic}")));
        hints.count(plugin, self.event, &answer);
        match answer {
            Ok(hint) => hint == QueueingHint::Queue,
            Err(error) => {
                hints.note_error(plugin, self.event, pod, error);
                true
            }
        }
    }
}

/// What a plugin of the profile listens to.
fn listener<'a>(profile: &'a Profile, plugin: &str) -> Option<&'a PluginEvents> {
    let at = profile.events.binary_search_by(|events| events.plugin().cmp(plugin));
    at.ok().map(|at| &profile.events[at])
}

/// Whether what happened can be worth something to any pod of the profile that these plugins rejected. A plugin that panics
/// does not know.
pub(crate) fn may_be_worth(profile: Option<&Profile>, rejected_by: &PluginSet, happening: Happening<'_>) -> bool {
    let Some(profile) = profile else { return true };
    let Happening { event, objects } = happening;
    let may_help = |listener: &PluginEvents| guarded(|| listener.may_help_some_pod(event, objects)).unwrap_or(true);
    rejected_by.is_empty()
        || event.is_wildcard()
        || rejected_by
            .listening()
            .any(|plugin| listener(profile, plugin).is_none_or(may_help))
}

/// Whether what these plugins of the profile say of a pod may depend on its labels or on what controls it.
pub(crate) fn reads_labels(profile: Option<&Profile>, rejected_by: &PluginSet) -> bool {
    profile.is_some_and(|profile| {
        let mut listeners = rejected_by.listening().filter_map(|plugin| listener(profile, plugin));
        listeners.any(PluginEvents::reads_labels)
    })
}

/// Whether some plugin of some profile listens to such events; if not they are neither kept nor looked at.
pub(crate) fn can_help_anybody<'a>(mut profiles: impl Iterator<Item = &'a Profile>, event: ClusterEvent) -> bool {
    let listens = |profile: &Profile| profile.events.iter().any(|events| events.listens_to(event));
    event.is_wildcard() || profiles.any(listens)
}

/// Whether a plugin that holds pods back listens to such events in some profile. Those are the events that make it look at
/// its pods again.
pub(crate) fn gate_listens<'a>(
    mut profiles: impl Iterator<Item = &'a Profile>,
    plugin: &str,
    event: ClusterEvent,
) -> bool {
    profiles.any(|profile| listener(profile, plugin).is_some_and(|listener| listener.listens_to(event)))
}
