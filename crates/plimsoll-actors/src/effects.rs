//! Who performs the I/O that plugins ask for, and for how long anybody waits for it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_framework::{EXTENDER, Effect, EffectReply, EffectRequest, ExtenderRequest};

/// How long an effect may take when its performer says nothing else. Cycles are serial, so a filter that asks outside
/// holds up every pod behind it for as long.
pub const EFFECT_TIME_LIMIT: Duration = Duration::from_secs(30);

/// What is left for a performer that keeps its own time to tell that it is late, before nobody waits for it any more.
const GRACE: Duration = Duration::from_secs(1);

/// Whether a request may still be sent; asked as late as possible.
pub type Gate = Arc<dyn Fn() -> bool + Send + Sync>;

/// Performs the effects of one plugin; registered with it. The plugin's name may be [`EXTENDER`]: then it calls extenders.
pub trait PerformEffect: Send + Sync + 'static {
    /// Does what was asked. Dropped when it takes longer than [`PerformEffect::time_limit`]; the reply is then a failure,
    /// and the pod is tried again later.
    fn perform(&self, request: EffectRequest) -> BoxFuture<'static, EffectReply>;

    /// The same for a request that writes: nothing must be sent once the gate is closed.
    fn perform_while(&self, request: EffectRequest, gate: Gate) -> BoxFuture<'static, EffectReply> {
        if gate() {
            self.perform(request)
        } else {
            futures::future::ready(Err("the term is over".to_owned())).boxed()
        }
    }

    /// How long it may take. For extenders it is their own limits that count.
    fn time_limit(&self) -> Duration {
        EFFECT_TIME_LIMIT
    }
}

/// The performers by plugin.
#[derive(Clone, Default)]
pub struct Effects {
    performers: BTreeMap<&'static str, Arc<dyn PerformEffect>>,
}

impl Effects {
    /// Registers the performer of a plugin.
    pub fn add(&mut self, plugin: &'static str, performer: Arc<dyn PerformEffect>) {
        self.performers.insert(plugin, performer);
    }

    /// Whether there is a performer for this plugin.
    pub fn has(&self, plugin: &str) -> bool {
        self.performers.contains_key(plugin)
    }

    pub(crate) fn perform(&self, effect: Effect) -> BoxFuture<'static, EffectReply> {
        self.perform_with(effect, |performer, request| performer.perform(request))
    }

    pub(crate) fn perform_while(&self, effect: Effect, gate: Gate) -> BoxFuture<'static, EffectReply> {
        self.perform_with(effect, |performer, request| performer.perform_while(request, gate))
    }

    fn perform_with(
        &self,
        effect: Effect,
        begin: impl FnOnce(&dyn PerformEffect, EffectRequest) -> BoxFuture<'static, EffectReply>,
    ) -> BoxFuture<'static, EffectReply> {
        let plugin = effect.plugin;
        let Some(performer) = self.performers.get(plugin) else {
            let text = format!("nobody performs effects of plugin {plugin}");
            return futures::future::ready(Err(text)).boxed();
        };
        let limit = limit_of(performer.as_ref(), &effect);
        let performing = begin(performer.as_ref(), effect.request);
        async move {
            let late = |_| {
                Err(format!(
                    "plugin {plugin} got no answer within {} s",
                    limit.as_secs_f64()
                ))
            };
            tokio::time::timeout(limit, performing).await.unwrap_or_else(late)
        }
        .boxed()
    }
}

/// Extenders have limits of their own; the slowest of those that are asked at once counts.
fn limit_of(performer: &dyn PerformEffect, effect: &Effect) -> Duration {
    let requests = effect.request.downcast_ref::<Vec<ExtenderRequest>>();
    let limits = requests.filter(|_| effect.plugin == EXTENDER).into_iter().flatten();
    let longest = limits.map(|request| request.extender.time_limit()).max();
    longest.map_or_else(|| performer.time_limit(), |limit| limit + GRACE)
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.performers.keys()).finish()
    }
}
