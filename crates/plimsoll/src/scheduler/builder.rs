use std::sync::Arc;

use plimsoll_actors::effects::{Effects, PerformEffect};
use plimsoll_actors::permits::Permits;
use plimsoll_config::PluginRef;
use plimsoll_framework::{Construction, Extensions};

use super::Scheduler;

/// Puts a [`Scheduler`] together.
#[derive(Debug)]
pub struct SchedulerBuilder {
    scheduler: Scheduler,
}

impl SchedulerBuilder {
    pub(super) fn new() -> Self {
        Self {
            scheduler: Scheduler {
                registry: plimsoll_plugins::registry(),
                joining: Vec::new(),
                effects: Effects::default(),
                permits: Permits::new(),
            },
        }
    }

    /// Makes a plugin known under this name, for profiles that enable it. One with the name of an in-tree plugin takes its
    /// place.
    #[must_use]
    pub fn register(
        mut self,
        name: &'static str,
        constructor: impl Fn(&Construction<'_>) -> Result<Extensions, String> + Send + Sync + 'static,
    ) -> Self {
        self.scheduler.registry.add(name, constructor);
        self
    }

    /// Registers a plugin and enables it in every profile of the program's own, behind the other plugins and at every
    /// extension point that it takes part in; its weight counts if it scores. It is where it is in a profile that enables it
    /// already.
    #[must_use]
    pub fn plugin(
        mut self,
        name: &'static str,
        weight: i32,
        constructor: impl Fn(&Construction<'_>) -> Result<Extensions, String> + Send + Sync + 'static,
    ) -> Self {
        self = self.register(name, constructor);
        self.scheduler.joining.retain(|plugin| plugin.name != name);
        self.scheduler.joining.push(PluginRef::new(name, weight));
        self
    }

    /// Says who performs the effects that a plugin asks for.
    #[must_use]
    pub fn effect_performer(mut self, plugin: &'static str, performer: Arc<dyn PerformEffect>) -> Self {
        self.scheduler.effects.add(plugin, performer);
        self
    }

    /// How code of a plugin that runs outside of cycles reaches the pods that wait at Permit. All handles of one builder are
    /// the same.
    pub fn permits(&self) -> Permits {
        self.scheduler.permits.clone()
    }

    /// The scheduler.
    pub fn build(self) -> Scheduler {
        self.scheduler
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_config::{PluginArgs, PluginConfig, SchedulerConfig};

    use super::super::test_panic;
    use super::*;

    fn filters(scheduler: &Scheduler, mut config: SchedulerConfig) -> Vec<&'static str> {
        scheduler.complete(&mut config.profiles);
        let profiles = scheduler.assemble(&config).unwrap();
        profiles[0].filter.iter().map(|filter| filter.name()).collect()
    }

    #[test]
    fn a_plugin_from_outside_joins_the_default_profile_once() {
        let label = || test_panic::extensions("a".to_owned());
        let scheduler = Scheduler::builder()
            .plugin("Mine", 3, move |_| Ok(label()))
            .plugin("NodeName", 7, move |_| Ok(label()))
            .plugin("Mine", 4, move |_| Ok(label()))
            .build();
        let mut config = SchedulerConfig::default();
        scheduler.complete(&mut config.profiles);
        let plugins = &config.profiles[0].plugins.multi_point.enabled;
        assert_eq!(plugins.last(), Some(&PluginRef::new("Mine", 4)));
        for name in ["Mine", "NodeName"] {
            assert_eq!(plugins.iter().filter(|plugin| plugin.name == name).count(), 1);
        }
        let filters = filters(&scheduler, SchedulerConfig::default());
        assert_eq!(filters.iter().filter(|name| **name == test_panic::NAME).count(), 2);
        assert!(!filters.contains(&"NodeName"));
    }

    #[test]
    fn a_registered_plugin_waits_for_a_profile_to_enable_it_and_gets_its_arguments() {
        let scheduler = Scheduler::builder()
            .register("Mine", |with| Ok(test_panic::extensions(with.raw_args::<String>()?)))
            .build();
        let mut config = SchedulerConfig::default();
        assert!(!filters(&scheduler, config.clone()).contains(&test_panic::NAME));
        let profile = &mut config.profiles[0];
        profile.plugins.filter.enabled.push(PluginRef::new("Mine", 0));
        profile.plugin_config.push(PluginConfig {
            name: "Mine".to_owned(),
            args: PluginArgs::Raw("label".into()),
        });
        assert_eq!(filters(&scheduler, config.clone()).last(), Some(&test_panic::NAME));
        let profile = &mut config.profiles[0];
        profile.plugin_config.retain(|config| config.name != "Mine");
        profile.plugin_config.push(PluginConfig {
            name: "Mine".to_owned(),
            args: PluginArgs::Raw(7.into()),
        });
        let error = scheduler.assemble(&config).unwrap_err().to_string();
        assert_eq!(
            error,
            "initializing profiles: creating profile for scheduler name default-scheduler: initializing plugin \"Mine\": \
             decoding args: invalid type: integer `7`, expected a string"
        );
    }

    #[test]
    fn there_is_at_least_one_profile() {
        let config = SchedulerConfig {
            profiles: Vec::new(),
            ..SchedulerConfig::default()
        };
        let error = Scheduler::builder().build().assemble(&config).unwrap_err();
        assert_eq!(error.to_string(), "at least one profile is required");
    }
}
