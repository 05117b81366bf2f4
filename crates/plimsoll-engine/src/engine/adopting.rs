//! What an earlier leader left half done, as far as the API server's objects tell of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use compact_str::CompactString;
use plimsoll_framework::{Adopt, CycleState, guarded};
use plimsoll_model::{Pod, Uid};

use super::Engine;
use crate::preemption::is_going_for_room;
use crate::{PreemptionPlan, Removal, Victim};

/// What plugins hold for pods that have no claim.
#[derive(Default)]
pub(super) struct Adoptions(BTreeMap<Uid, Vec<Adoption>>);

struct Adoption {
    pod: Arc<Pod>,
    plugin: Arc<dyn Adopt>,
    node: CompactString,
}

impl Adoptions {
    /// Plugins take back what they hold for the pod, in reverse order. One that panics keeps no other from it.
    pub(super) fn end(&mut self, uid: &Uid) {
        for adoption in self.0.remove(uid).into_iter().flatten().rev() {
            let Adoption { pod, plugin, node } = adoption;
            let _ = guarded(|| plugin.unreserve(&pod, &mut CycleState::default(), &node));
        }
    }

    pub(super) fn end_all(&mut self) {
        while let Some(uid) = self.0.keys().next().cloned() {
            self.end(&uid);
        }
    }
}

impl Engine {
    /// Takes up what earlier terms left half done. To be called once, when everything has been applied that the API server held
    /// when the term began, and before the first pod is tried.
    ///
    /// | found | taken up as |
    /// |---|---|
    /// | a waiting pod whose status names a node, whoever wrote it | a nomination, when the stream told of the pod |
    /// | something that a plugin knows to be reserved for a waiting pod | a reservation of the plugin, and a nomination |
    /// | pods that go for the room of a nominated pod | a preemption whose victims have been told; it is returned |
    /// | a pod on a node | a pod on that node: a binding that nobody saw answered is none of ours |
    pub fn adopt(&mut self) -> Vec<PreemptionPlan> {
        let waiting = self.ledger.waiting();
        // Room is kept for those that will be tried.
        let to_be_tried = |pod: &&Arc<Pod>| pod.spec.scheduling_gates.is_empty() && !pod.is_terminating();
        for pod in waiting.iter().filter(to_be_tried) {
            self.adopt_reservations(pod);
        }
        waiting
            .iter()
            .filter_map(|pod| self.adoptable_preemption(pod))
            .collect()
    }

    fn adopt_reservations(&mut self, pod: &Arc<Pod>) {
        let Some(plan) = self.plan_for(pod).cloned() else {
            return;
        };
        for plugin in &plan.profile.adopt {
            let columns = self.ledger.columns();
            let Ok(Some(node)) = guarded(|| plugin.adopt(pod, columns)) else {
                continue;
            };
            if self.nominations.node_of(&pod.uid).is_none() {
                self.nominations.set(pod, node.clone());
            }
            let adoption = Adoption {
                pod: Arc::clone(pod),
                plugin: Arc::clone(plugin),
                node,
            };
            self.adoptions.0.entry(pod.uid.clone()).or_default().push(adoption);
        }
    }

    fn adoptable_preemption(&self, pod: &Arc<Pod>) -> Option<PreemptionPlan> {
        let node = self.nominations.node_of(&pod.uid)?.clone();
        let guests = self.ledger.guests_below(&node, pod.priority());
        let going = guests.filter(|guest| is_going_for_room(&guest.pod));
        let victims: Vec<Victim> = going
            .map(|guest| Victim {
                pod: guest.pod,
                claim: None,
            })
            .collect();
        (!victims.is_empty()).then(|| PreemptionPlan {
            preemptor: Arc::clone(pod),
            node,
            chosen: victims.len(),
            victims,
            clear_nominations: Vec::new(),
            removal: Removal::Delete,
            asynchronous: true,
        })
    }
}
