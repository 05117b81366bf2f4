use std::fmt;
use std::sync::Arc;

use plimsoll_config::{FeatureGates, ProfileConfig};

use crate::{
    Bind, Construction, EffectFilter, Extensions, Filter, Permit, PostBind, PreBind, PreEnqueue, PreFilter, PreScore,
    Prepare, QueueSort, Registry, Reserve, Score,
};

/// A score plugin with the weight that its profile gives it.
#[derive(Clone)]
pub struct WeightedScore {
    /// The plugin.
    pub plugin: Arc<dyn Score>,
    /// Multiplies its normalised score.
    pub weight: i64,
}

/// The plugins of one `schedulerName`, each extension point in the profile's order.
pub struct Profile {
    /// Pods with this `spec.schedulerName` belong here.
    pub scheduler_name: String,
    /// Orders the active queue.
    pub queue_sort: Arc<dyn QueueSort>,
    /// Gates.
    pub pre_enqueue: Vec<Arc<dyn PreEnqueue>>,
    /// Those that ask for counts, whichever point they are enabled at.
    pub prepare: Vec<Arc<dyn Prepare>>,
    /// Pre-filters.
    pub pre_filter: Vec<Arc<dyn PreFilter>>,
    /// Filters; positions are the plugin numbers in verdicts.
    pub filter: Vec<Arc<dyn Filter>>,
    /// Filters with I/O, after `filter`; their numbers in verdicts follow on.
    pub effect_filter: Vec<Arc<dyn EffectFilter>>,
    /// Pre-scores.
    pub pre_score: Vec<Arc<dyn PreScore>>,
    /// Scores with weights.
    pub score: Vec<WeightedScore>,
    /// Reserves.
    pub reserve: Vec<Arc<dyn Reserve>>,
    /// Permits.
    pub permit: Vec<Arc<dyn Permit>>,
    /// Pre-binds.
    pub pre_bind: Vec<Arc<dyn PreBind>>,
    /// Binds.
    pub bind: Vec<Arc<dyn Bind>>,
    /// Post-binds.
    pub post_bind: Vec<Arc<dyn PostBind>>,
}

/// Why a profile cannot be assembled; texts are kube-scheduler's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// The registry does not know the plugin.
    #[error("{point} {plugin:?} does not exist")]
    UnknownPlugin {
        /// Which list named it.
        point: &'static str,
        /// The name.
        plugin: String,
    },
    /// The profile names the plugin twice.
    #[error("plugin {plugin:?} already registered as {point:?}")]
    Duplicate {
        /// Which list named it.
        point: &'static str,
        /// The name.
        plugin: String,
    },
    /// The plugin refused its arguments.
    #[error("initializing plugin {plugin:?}: {cause}")]
    Construction {
        /// The name.
        plugin: String,
        /// What it said.
        cause: String,
    },
    /// Not exactly one queue sort.
    #[error("only one queue sort plugin required for profile with scheduler name {scheduler_name:?}, but got {count}")]
    QueueSortCount {
        /// The profile.
        scheduler_name: String,
        /// How many it has.
        count: usize,
    },
    /// Nothing could bind.
    #[error("at least one bind plugin is needed for profile with scheduler name {scheduler_name:?}")]
    NoBind {
        /// The profile.
        scheduler_name: String,
    },
    /// More filters than a verdict can number.
    #[error("profile with scheduler name {scheduler_name:?} has {count} filter plugins, the most is 127")]
    TooManyFilters {
        /// The profile.
        scheduler_name: String,
        /// How many it has.
        count: usize,
    },
}

impl Profile {
    /// Makes each plugin that the profile names and sorts it into the extension points it implements.
    pub fn assemble(config: &ProfileConfig, registry: &Registry, gates: &FeatureGates) -> Result<Self, ProfileError> {
        let enabled = &config.plugins.multi_point.enabled;
        let mut plugins: Vec<(Extensions, i32)> = Vec::with_capacity(enabled.len());
        for (position, plugin) in enabled.iter().enumerate() {
            let with = Construction {
                args: config.args_of(&plugin.name),
                gates,
                scheduler_name: &config.scheduler_name,
            };
            if enabled[..position].iter().any(|earlier| earlier.name == plugin.name) {
                return Err(ProfileError::Duplicate {
                    point: "MultiPointPlugin",
                    plugin: plugin.name.clone(),
                });
            }
            let extensions = registry
                .construct(&plugin.name, &with)
                .ok_or_else(|| ProfileError::UnknownPlugin {
                    point: "PreFilterPlugin",
                    plugin: plugin.name.clone(),
                })?
                .map_err(|cause| ProfileError::Construction {
                    plugin: plugin.name.clone(),
                    cause,
                })?;
            plugins.push((extensions, plugin.weight));
        }
        Self::sort(config.scheduler_name.clone(), &plugins)
    }

    fn sort(scheduler_name: String, plugins: &[(Extensions, i32)]) -> Result<Self, ProfileError> {
        fn of<T: ?Sized>(plugins: &[(Extensions, i32)], point: impl Fn(&Extensions) -> &Option<Arc<T>>) -> Vec<Arc<T>> {
            plugins
                .iter()
                .filter_map(|(extensions, _)| point(extensions).clone())
                .collect()
        }
        let mut queue_sorts = of(plugins, |extensions| &extensions.queue_sort);
        let bind = of(plugins, |extensions| &extensions.bind);
        let filter = of(plugins, |extensions| &extensions.filter);
        let effect_filter = of(plugins, |extensions| &extensions.effect_filter);
        let count = queue_sorts.len();
        let Some(queue_sort) = queue_sorts.pop().filter(|_| count == 1) else {
            return Err(ProfileError::QueueSortCount { scheduler_name, count });
        };
        if bind.is_empty() {
            return Err(ProfileError::NoBind { scheduler_name });
        }
        let count = filter.len() + effect_filter.len();
        if count > 127 {
            return Err(ProfileError::TooManyFilters { scheduler_name, count });
        }
        let score = plugins
            .iter()
            .filter_map(|(extensions, weight)| {
                let plugin = extensions.score.clone()?;
                Some(WeightedScore {
                    plugin,
                    weight: if *weight == 0 { 1 } else { i64::from(*weight) },
                })
            })
            .collect();
        Ok(Self {
            scheduler_name,
            queue_sort,
            pre_enqueue: of(plugins, |extensions| &extensions.pre_enqueue),
            prepare: of(plugins, |extensions| &extensions.prepare),
            pre_filter: of(plugins, |extensions| &extensions.pre_filter),
            filter,
            effect_filter,
            pre_score: of(plugins, |extensions| &extensions.pre_score),
            score,
            reserve: of(plugins, |extensions| &extensions.reserve),
            permit: of(plugins, |extensions| &extensions.permit),
            pre_bind: of(plugins, |extensions| &extensions.pre_bind),
            bind,
            post_bind: of(plugins, |extensions| &extensions.post_bind),
        })
    }
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let filters: Vec<_> = self.filter.iter().map(|plugin| plugin.name()).collect();
        let scores: Vec<_> = self
            .score
            .iter()
            .map(|score| (score.plugin.name(), score.weight))
            .collect();
        f.debug_struct("Profile")
            .field("scheduler_name", &self.scheduler_name)
            .field("filter", &filters)
            .field("score", &scores)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
