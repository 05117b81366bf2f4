//! Plugins that take their time and turn nobody away by themselves: one makes pods wait at Permit, one asks outside.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_actors::effects::PerformEffect;
use plimsoll_framework::{
    CycleContext, CycleState, EffectFilter, EffectReply, EffectRequest, Extensions, FilterPass, Permit, PermitOutcome,
    Plugin, ReasonCode, Reasons, WaitingPods,
};
use plimsoll_model::columns::NodeSet;

use crate::world::Setup;

/// The name of the plugin that lets every pod wait at Permit, in vain.
pub const WAIT: &str = "Wait";

/// The name of the plugin that asks outside about every pod, and rejects no node.
pub const ASK: &str = "Ask";

/// Makes both known: how long pods wait, and how long an answer takes. Profiles have yet to name them.
pub fn add_to(setup: &mut Setup, wait: Duration, answer: Duration) {
    setup
        .registry
        .add(WAIT, move |_| Ok(Extensions::new().permit(Arc::new(Wait(wait)))));
    setup
        .registry
        .add(ASK, |_| Ok(Extensions::new().effect_filter(Arc::new(Ask))));
    setup.effects.add(ASK, Arc::new(AnswerAfter(answer)));
}

struct Wait(Duration);

impl Plugin for Wait {
    fn name(&self) -> &'static str {
        WAIT
    }
}

impl Permit for Wait {
    fn permit(&self, _: CycleContext<'_>, _: &mut CycleState, _: &str, _: &WaitingPods) -> PermitOutcome {
        PermitOutcome::Wait(self.0)
    }
}

struct Ask;

impl Plugin for Ask {
    fn name(&self) -> &'static str {
        ASK
    }
}

impl EffectFilter for Ask {
    fn request(&self, _: CycleContext<'_>, _: &mut CycleState, _: &NodeSet) -> Option<EffectRequest> {
        Some(Box::new(()))
    }

    fn apply(
        &self,
        _: CycleContext<'_>,
        _: &mut CycleState,
        reply: EffectReply,
        _: &mut FilterPass<'_>,
    ) -> Result<(), String> {
        reply.map(|_| ())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> Reasons {
        Reasons::new()
    }
}

struct AnswerAfter(Duration);

impl PerformEffect for AnswerAfter {
    fn perform(&self, _: EffectRequest) -> BoxFuture<'static, EffectReply> {
        let answer = self.0;
        async move {
            tokio::time::sleep(answer).await;
            let reply: EffectReply = Ok(Box::new(()));
            reply
        }
        .boxed()
    }
}
