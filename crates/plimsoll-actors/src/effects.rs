//! Who performs the I/O that plugins ask for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_framework::{Effect, EffectReply, EffectRequest};

/// Performs the effects of one plugin; registered with it.
pub trait PerformEffect: Send + Sync + 'static {
    /// Does what was asked. Must come to an end by itself: the pod waits for it, though nothing else does.
    fn perform(&self, request: EffectRequest) -> BoxFuture<'static, EffectReply>;
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
        if let Some(performer) = self.performers.get(effect.plugin) {
            return performer.perform(effect.request);
        }
        let text = format!("nobody performs effects of plugin {}", effect.plugin);
        futures::future::ready(Err(text)).boxed()
    }
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.performers.keys()).finish()
    }
}
