use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_framework::ProfileIndex;
use plimsoll_model::{Labels, Pod, Uid};

use super::{InformerCacheState, Subscribers};
use crate::auditor::{
    Account, AuditMarker, AuditorMessage, CacheAccount, Discrepancy, Restatement, Restatements, Unassigned,
};
use crate::mailbox::Mailbox;
use crate::scheduling_cycle::CycleMessage;
use crate::scheduling_queue::QueueMessage;

impl InformerCacheState {
    /// Tells which pods wait for a node, and lets the marker go after all changes that were sent.
    pub(super) fn audit(&self, number: u64, auditor: Mailbox<AuditorMessage>) {
        let Some(subscribers) = &self.subscribers else { return };
        let marker = AuditMarker {
            number,
            seq: self.seq,
            auditor,
        };
        let profiles = self.profiles(subscribers);
        let unassigned = self.pods.objects().filter(|pod| pod.node_name().is_none());
        let unassigned = unassigned.map(|pod| Unassigned {
            pod: Arc::clone(pod),
            ours: profiles.take(pod),
        });
        marker.tell(Account::Cache(CacheAccount {
            seq: self.seq,
            unassigned: unassigned.collect(),
        }));
        subscribers.queue.tell(QueueMessage::Audit(marker));
    }

    /// Tells the truth about these pods once more, after all changes that were sent.
    pub(super) fn restate(&self, wrong: &[Discrepancy]) {
        let Some(subscribers) = &self.subscribers else { return };
        let mut known: BTreeMap<&Uid, Option<&Arc<Pod>>> = wrong.iter().map(|wrong| (&wrong.uid, None)).collect();
        for pod in self.pods.objects() {
            if let Some(known) = known.get_mut(&pod.uid) {
                *known = Some(pod);
            }
        }
        let profiles = self.profiles(subscribers);
        let pods = wrong.iter().map(|wrong| {
            let pod = known.get(&wrong.uid).copied().flatten().cloned();
            Restatement {
                pending: pod
                    .as_deref()
                    .is_some_and(|pod| pod.node_name().is_none() && profiles.take(pod)),
                pod,
                discrepancy: wrong.clone(),
            }
        });
        let restatements = Restatements {
            seq: self.seq,
            pods: pods.collect(),
        };
        subscribers.queue.tell(QueueMessage::Restate(restatements.clone()));
        subscribers.cycle.tell(CycleMessage::Restate(restatements));
    }

    pub(super) fn profiles<'a>(&'a self, subscribers: &'a Subscribers) -> ProfilesNow<'a> {
        let namespaces = self.namespaces.objects();
        ProfilesNow {
            index: ProfileIndex::new(subscribers.assembled.profiles.iter().map(Arc::as_ref)),
            namespaces: namespaces
                .map(|namespace| (namespace.name.as_str(), &namespace.labels))
                .collect(),
        }
    }
}

/// The profiles that the subscribers have at this number of the stream, and what else decides whose a pod is.
pub(super) struct ProfilesNow<'a> {
    index: ProfileIndex,
    namespaces: BTreeMap<&'a str, &'a Labels>,
}

impl ProfilesNow<'_> {
    pub(super) fn take(&self, pod: &Pod) -> bool {
        let namespace = self.namespaces.get(pod.name.namespace.as_str()).copied();
        self.index.membership(pod, namespace).profile().is_some()
    }
}
