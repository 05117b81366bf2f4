//! Extenders, called over HTTP.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_actors::effects::{Effects, Gate, PerformEffect};
use plimsoll_config::SchedulerConfig;
use plimsoll_extender::HttpExtenders;
use plimsoll_framework::{EXTENDER, EffectReply, EffectRequest, ExtenderRequest};

use super::RunError;

/// Has extenders called over HTTP, unless the program brings something of its own for that.
pub(super) fn add_to(effects: &mut Effects) {
    if !effects.has(EXTENDER) {
        effects.add(EXTENDER, Arc::new(OverHttp(HttpExtenders::default())));
    }
}

/// Whether each extender could be called, as far as the configuration tells.
pub(super) async fn check(config: &SchedulerConfig) -> Result<(), RunError> {
    let of_profiles = config.profiles.iter().flat_map(|profile| &profile.extras.extenders);
    for extender in config.extenders.iter().chain(of_profiles) {
        let checked = HttpExtenders::check(extender).await;
        checked.map_err(|error| RunError::Extenders(error.to_string()))?;
    }
    Ok(())
}

struct OverHttp(HttpExtenders);

impl PerformEffect for OverHttp {
    fn perform(&self, request: EffectRequest) -> BoxFuture<'static, EffectReply> {
        self.perform_while(request, Arc::new(|| true))
    }

    fn perform_while(&self, request: EffectRequest, gate: Gate) -> BoxFuture<'static, EffectReply> {
        let extenders = self.0.clone();
        async move {
            let requests = request
                .downcast::<Vec<ExtenderRequest>>()
                .map_err(|_| "not a request to extenders")?;
            let gate = plimsoll_extender::Gate::new(move || gate());
            let reply: EffectReply = Ok(Box::new(extenders.perform_while(*requests, gate).await));
            reply
        }
        .boxed()
    }
}
