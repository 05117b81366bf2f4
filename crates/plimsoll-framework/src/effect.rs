use std::any::Any;
use std::fmt;

/// What an effect asks for; the actor shell hands it to the performer that was registered with the plugin.
pub type EffectRequest = Box<dyn Any + Send>;

/// What came back: the performer's answer, or why there is none.
pub type EffectReply = Result<Box<dyn Any + Send>, String>;

/// I/O that a plugin needs before the cycle can go on. The engine stops and says so; the actor performs it, and other
/// messages are served meanwhile.
pub struct Effect {
    /// The plugin that asked.
    pub plugin: &'static str,
    /// Its request, opaque to the engine.
    pub request: EffectRequest,
}

impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Effect")
            .field("plugin", &self.plugin)
            .finish_non_exhaustive()
    }
}
