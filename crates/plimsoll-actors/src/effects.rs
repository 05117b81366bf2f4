//! Who performs the I/O that plugins ask for, and for how long anybody waits for it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_framework::{Effect, EffectReply, EffectRequest};

/// How long an effect may take when its performer says nothing else. Cycles are serial, so a filter that asks outside
/// holds up every pod behind it for as long.
pub const EFFECT_TIME_LIMIT: Duration = Duration::from_secs(30);

/// Performs the effects of one plugin; registered with it.
pub trait PerformEffect: Send + Sync + 'static {
    /// Does what was asked. Dropped when it takes longer than [`PerformEffect::time_limit`]; the reply is then a failure,
    /// and the pod is tried again later.
    fn perform(&self, request: EffectRequest) -> BoxFuture<'static, EffectReply>;

    /// How long it may take.
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

    pub(crate) fn perform(&self, effect: Effect) -> BoxFuture<'static, EffectReply> {
        let plugin = effect.plugin;
        let Some(performer) = self.performers.get(plugin) else {
            let text = format!("nobody performs effects of plugin {plugin}");
            return futures::future::ready(Err(text)).boxed();
        };
        let limit = performer.time_limit();
        let performing = performer.perform(effect.request);
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

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.performers.keys()).finish()
    }
}
