use std::collections::BTreeMap;

use plimsoll_client::{EventType, WatchBatch, WatchEvent};

use super::Kind;
use crate::elector::ElectorMessage;
use crate::mailbox::Mailbox;

/// Which kinds the API server does not let us read at present. Users are told when it begins, since nothing else helps
/// until somebody changes a role.
#[derive(Debug)]
pub(super) struct Permissions {
    elector: Mailbox<ElectorMessage>,
    forbidden: BTreeMap<Kind, String>,
}

impl Permissions {
    pub(super) fn new(elector: Mailbox<ElectorMessage>) -> Self {
        Self {
            elector,
            forbidden: BTreeMap::new(),
        }
    }

    /// Takes note of what a batch says about it: anything that was read shows that it may be.
    pub(super) fn note<T>(&mut self, kind: Kind, batch: &WatchBatch<T>) {
        for event in &batch.events {
            let WatchEvent::Forbidden { reason } = event else {
                self.forbidden.remove(&kind);
                continue;
            };
            if self.forbidden.insert(kind, reason.clone()).is_none() {
                self.elector.tell(ElectorMessage::Announce {
                    event_type: EventType::Warning,
                    reason: "WatchForbidden",
                    note: format!(
                        "may not read {} (the ClusterRole {} lets it), and schedules nothing it has not read: {reason}",
                        kind.as_str(),
                        kind.role()
                    ),
                });
            }
        }
    }

    pub(super) fn forbids(&self, kind: Kind) -> bool {
        self.forbidden.contains_key(&kind)
    }

    pub(super) fn forbidden(&self) -> Vec<(Kind, String)> {
        let forbidden = self.forbidden.iter();
        forbidden.map(|(kind, reason)| (*kind, reason.clone())).collect()
    }
}
