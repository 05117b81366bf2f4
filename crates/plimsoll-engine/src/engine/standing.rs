use std::sync::Arc;

use plimsoll_framework::Extender;
use plimsoll_model::{Pod, Uid};

use super::Engine;
use crate::cycle::Awaited;
use crate::record::PreBindWork;
use crate::{Awaits, PreBinding, Standing};

/// What is told of a pod to whoever asks.
impl Engine {
    /// The pod as the stream last told of it.
    pub fn pod(&self, uid: &Uid) -> Option<&Arc<Pod>> {
        self.ledger.pod(uid)
    }

    /// The node that the pod is nominated to.
    pub fn nominated_node(&self, uid: &Uid) -> Option<&str> {
        self.nominations.node_of(uid).map(AsRef::as_ref)
    }

    /// How far the pod's claim has come, if it has one.
    pub fn standing_of(&self, uid: &Uid) -> Option<Standing> {
        let record = self.records.get(self.ledger.claim_of(uid)?)?;
        let at_work = match record.pre_bind {
            PreBindWork::None => None,
            PreBindWork::Effect | PreBindWork::Held => Some(PreBinding::Work),
            PreBindWork::Writing => Some(PreBinding::Write),
            PreBindWork::Waiting { until } => Some(PreBinding::Outside { until }),
        };
        Some(Standing {
            node: record.claim.node().into(),
            since: record.assumed_at,
            permits: record.permits.clone(),
            pre_bind: record.pre_bind_plugin().map(|plugin| plugin.name()).zip(at_work),
            binder: record.binder.as_ref().map(|extender| extender.url().to_owned()),
            state: record.claim.state(),
        })
    }

    /// What the pod's cycle waits for, if it is the one that waits.
    pub fn awaited_for(&self, uid: &Uid) -> Option<Awaits> {
        let cycle = self.cycle.as_ref().filter(|cycle| cycle.pod.uid == *uid)?;
        let profile = &cycle.plan.profile;
        let extender = |position: usize| {
            let extender = profile.extenders.get(position).map(|extender| extender.url());
            extender.unwrap_or_default().to_owned()
        };
        Some(match cycle.awaits.as_ref()? {
            Awaited::Filter(_, position) => {
                let plugin = profile.effect_filter.get(*position);
                Awaits::Plugin(plugin.map(|plugin| plugin.name()).unwrap_or_default())
            }
            Awaited::Extender(_, position) => Awaits::Filter(extender(*position)),
            Awaited::Priorities(asked) => Awaits::Scores(asked.iter().map(|extender| url(extender)).collect()),
            Awaited::Victims(position) => Awaits::Victims(extender(*position)),
        })
    }
}

fn url(extender: &Extender) -> String {
    extender.url().to_owned()
}
