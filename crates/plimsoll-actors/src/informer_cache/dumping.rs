use std::sync::Arc;

use plimsoll_model::ObjectName;
use plimsoll_telemetry::PageOf;

use super::InformerCacheState;
use super::store::{Store, Stored};
use crate::debugging::{CacheDump, Listed, TermDump};
use crate::scheduling_cycle::CycleMessage;
use crate::scheduling_queue::QueueMessage;

/// Whom the answers of queue and cycle come to.
const ASKER: &str = "Debugging";

/// A page of a kind. What comes next is named as it would be in a path.
pub(super) fn listed<T: Stored>(store: &Store<T>, page: &PageOf) -> Listed<T> {
    let name = |text: &str| match text.split_once('/') {
        Some((namespace, name)) => ObjectName::new(namespace, name),
        None => ObjectName::new("", text),
    };
    let after = page.after.as_deref().map(name);
    let mut objects = store.objects_after(after.as_ref());
    let items: Vec<_> = objects.by_ref().take(page.limit).cloned().collect();
    let more = objects.next().is_some();
    let next = items.last().filter(|_| more).map(|last| {
        let (namespace, name) = last.key();
        if namespace.is_empty() {
            name.to_owned()
        } else {
            format!("{namespace}/{name}")
        }
    });
    Listed {
        total: store.len(),
        items,
        next,
    }
}

impl InformerCacheState {
    /// What there is here, and with queue and cycle as of this number of the stream or, with the cycle, a later one.
    pub(super) fn dump(&self) -> CacheDump {
        let subscribers = self.subscribers.as_ref();
        let profiles = subscribers.map(|subscribers| self.profiles(subscribers));
        // Pods of other schedulers are nobody's here before they have a node.
        let concerns = |pod: &plimsoll_model::Pod| {
            let ours = profiles.as_ref().is_some_and(|profiles| profiles.take(pod));
            pod.node_name().is_some() || ours
        };
        let pods = self.pods.objects().filter(|pod| concerns(pod));
        CacheDump {
            nodes: self.nodes.objects().map(Arc::clone).collect(),
            pods: pods.map(Arc::clone).collect(),
            term: subscribers.map(|subscribers| TermDump {
                queue: subscribers.queue.ask(ASKER, QueueMessage::Dump),
                cycle: subscribers.cycle.ask(ASKER, CycleMessage::Dump),
            }),
        }
    }
}
