use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use plimsoll_config::{FeatureGates, MatchRule, ProfileBackoff, ProfileConfig, shortened};

use crate::{
    Adopt, Bind, Construction, EXTENDER, EffectFilter, Extender, Extensions, Filter, Permit, PluginEvents, PostBind,
    PostFilter, PreBind, PreEnqueue, PreFilter, PreScore, Prepare, QueueSort, Registry, Reserve, Score,
};

mod expansion;

use expansion::{Lists, Made};

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
    /// Which of those pods, if not all that no other profile wants: those that meet one of these.
    pub match_rules: Vec<MatchRule>,
    /// How long its pods wait between attempts, if not as all others.
    pub backoff: Option<ProfileBackoff>,
    /// Share of the nodes that is looked for, in percent; 0 is kube-scheduler's adaptive share, none means all nodes.
    pub percentage_of_nodes_to_score: Option<i32>,
    /// Share of its pods that are traced though nothing goes wrong with them, 0 to 1, if the profile says one.
    pub trace_sampling_ratio: Option<f64>,
    /// Default plugins that are not there yet.
    pub not_there_yet: Vec<String>,
    /// Orders the active queue.
    pub queue_sort: Arc<dyn QueueSort>,
    /// What the plugins that may reject a pod listen to, in the order of their names.
    pub events: Vec<PluginEvents>,
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
    /// Post-filters.
    pub post_filter: Vec<Arc<dyn PostFilter>>,
    /// Pre-scores.
    pub pre_score: Vec<Arc<dyn PreScore>>,
    /// Scores with weights.
    pub score: Vec<WeightedScore>,
    /// Reserves.
    pub reserve: Vec<Arc<dyn Reserve>>,
    /// Those of them that adopt.
    pub adopt: Vec<Arc<dyn Adopt>>,
    /// Permits.
    pub permit: Vec<Arc<dyn Permit>>,
    /// Pre-binds.
    pub pre_bind: Vec<Arc<dyn PreBind>>,
    /// Binds.
    pub bind: Vec<Arc<dyn Bind>>,
    /// Post-binds.
    pub post_bind: Vec<Arc<dyn PostBind>>,
    /// Extenders, in the order in which they are asked; see [`Profile::set_extenders`].
    pub extenders: Vec<Arc<Extender>>,
}

/// So many filters can be numbered in verdicts, with a number left for the extenders.
const MOST_FILTERS: usize = 126;

/// Why a profile cannot be assembled; texts are kube-scheduler's where it has one.
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
    /// The plugin cannot do what the list that names it is for.
    #[error("plugin {plugin:?} does not extend {point} plugin")]
    DoesNotExtend {
        /// Which list named it.
        point: &'static str,
        /// The name.
        plugin: String,
    },
    /// The profile has arguments for the plugin twice.
    #[error("repeated config for plugin {plugin}")]
    RepeatedArgs {
        /// The name.
        plugin: String,
    },
    /// The configuration asks for a plugin by name, and there is only a placeholder for it.
    #[error("plugin {plugin:?} is enabled explicitly, and this version of Plimsoll does not have it yet")]
    NotThereYet {
        /// The name.
        plugin: String,
    },
    /// The plugin goes by another name than the one it is registered under.
    #[error("score plugin {plugin:?} is not configured with weight")]
    NoWeight {
        /// The name that it gives itself.
        plugin: String,
    },
    /// The weights are such that kube-scheduler fears for the sum of scores: one is negative and not the last.
    #[error("score plugins: total score of Score plugins could overflow")]
    ScoreOverflow,
    /// The plugin refused its arguments.
    #[error("initializing plugin {plugin:?}: {}", shortened(cause))]
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
    #[error("profile with scheduler name {scheduler_name:?} has {count} filter plugins, the most is {MOST_FILTERS}")]
    TooManyFilters {
        /// The profile.
        scheduler_name: String,
        /// How many it has.
        count: usize,
    },
}

impl Profile {
    /// Makes each plugin that the profile enables anywhere and sorts it into the extension points, as kube-scheduler does:
    /// the same order, and of several faults the same one is told.
    ///
    /// An [`EffectFilter`] belongs to the `filter` set and comes after all filters without I/O.
    pub fn assemble(config: &ProfileConfig, registry: &Registry, gates: &FeatureGates) -> Result<Self, ProfileError> {
        let not_there = |name: &&String| registry.is_placeholder(name);
        if let Some(plugin) = config.enabled_by_name.iter().find(not_there) {
            return Err(ProfileError::NotThereYet { plugin: plugin.clone() });
        }
        let made = make(config, registry, gates)?;
        let mut lists = expansion::expand(&config.plugins, &made)?;
        lists.add_guards(registry.guards());
        let queue_sort = the_queue_sort(config, &lists, &made)?;
        let score = scores(config, &lists, &made)?;
        let bind = of(lists.at("BindPlugin"), &made, |extensions| &extensions.bind);
        if bind.is_empty() {
            return Err(ProfileError::NoBind {
                scheduler_name: config.scheduler_name.clone(),
            });
        }
        let filter = of(lists.at("FilterPlugin"), &made, |extensions| &extensions.filter);
        let effect_filter = of(lists.at("FilterPlugin"), &made, |extensions| &extensions.effect_filter);
        let count = filter.len() + effect_filter.len();
        if count > MOST_FILTERS {
            return Err(ProfileError::TooManyFilters {
                scheduler_name: config.scheduler_name.clone(),
                count,
            });
        }
        let enabled: Vec<&str> = made.keys().copied().filter(|name| lists.contains(name)).collect();
        let mut profile = Self {
            scheduler_name: config.scheduler_name.clone(),
            match_rules: config.extras.match_rules.clone(),
            backoff: config.extras.backoff,
            percentage_of_nodes_to_score: config.percentage_of_nodes_to_score,
            trace_sampling_ratio: config.extras.trace_sampling_ratio,
            not_there_yet: not_there_yet(config, registry),
            queue_sort,
            events: events(&lists, &made),
            pre_enqueue: of(lists.at("PreEnqueuePlugin"), &made, |extensions| {
                &extensions.pre_enqueue
            }),
            prepare: of(&enabled, &made, |extensions| &extensions.prepare),
            pre_filter: of(lists.at("PreFilterPlugin"), &made, |extensions| &extensions.pre_filter),
            filter,
            effect_filter,
            post_filter: of(lists.at("PostFilterPlugin"), &made, |extensions| {
                &extensions.post_filter
            }),
            pre_score: of(lists.at("PreScorePlugin"), &made, |extensions| &extensions.pre_score),
            score,
            reserve: of(lists.at("ReservePlugin"), &made, |extensions| &extensions.reserve),
            adopt: of(lists.at("ReservePlugin"), &made, |extensions| &extensions.adopt),
            permit: of(lists.at("PermitPlugin"), &made, |extensions| &extensions.permit),
            pre_bind: of(lists.at("PreBindPlugin"), &made, |extensions| &extensions.pre_bind),
            bind,
            post_bind: of(lists.at("PostBindPlugin"), &made, |extensions| &extensions.post_bind),
            extenders: Vec::new(),
        };
        profile.set_extenders(Extender::in_order(&[], &config.extras.extenders));
        Ok(profile)
    }

    /// Gives the profile these extenders. Where there are any they can reject a pod under the name [`EXTENDER`]; since they
    /// do not say what may help it, everything may.
    pub fn set_extenders(&mut self, extenders: Vec<Arc<Extender>>) {
        self.events.retain(|events| events.plugin() != EXTENDER);
        if !extenders.is_empty() {
            let at = self.events.partition_point(|events| events.plugin() < EXTENDER);
            self.events.insert(at, PluginEvents::new(EXTENDER, None));
        }
        self.extenders = extenders;
    }
}

/// Makes the plugins in the order of their names. Those that the registry does not know are told of later.
fn make<'a>(config: &'a ProfileConfig, registry: &Registry, gates: &FeatureGates) -> Result<Made<'a>, ProfileError> {
    let mut seen = BTreeSet::new();
    for args in &config.plugin_config {
        if !seen.insert(args.name.as_str()) {
            return Err(ProfileError::RepeatedArgs {
                plugin: args.name.clone(),
            });
        }
    }
    let mut made = Made::new();
    let named: BTreeSet<&str> = expansion::needed(&config.plugins).chain(registry.guards()).collect();
    for name in named {
        let with = Construction {
            args: config.args_of(name),
            gates,
            scheduler_name: &config.scheduler_name,
            extras: &config.extras,
        };
        let Some(extensions) = registry.construct(name, &with) else {
            continue;
        };
        let extensions = extensions.map_err(|cause| ProfileError::Construction {
            plugin: name.to_owned(),
            cause,
        })?;
        made.insert(name, extensions);
    }
    Ok(made)
}

/// What the plugins on a list do at an extension point.
fn of<T: ?Sized>(list: &[&str], made: &Made<'_>, point: impl Fn(&Extensions) -> &Option<Arc<T>>) -> Vec<Arc<T>> {
    list.iter().filter_map(|name| point(made.get(name)?).clone()).collect()
}

fn the_queue_sort(
    config: &ProfileConfig,
    lists: &Lists<'_>,
    made: &Made<'_>,
) -> Result<Arc<dyn QueueSort>, ProfileError> {
    let mut all = of(lists.at("QueueSortPlugin"), made, |extensions| &extensions.queue_sort);
    let count = all.len();
    all.pop()
        .filter(|_| count == 1)
        .ok_or_else(|| ProfileError::QueueSortCount {
            scheduler_name: config.scheduler_name.clone(),
            count,
        })
}

fn scores(config: &ProfileConfig, lists: &Lists<'_>, made: &Made<'_>) -> Result<Vec<WeightedScore>, ProfileError> {
    let weights = expansion::weights(&config.plugins, made)?;
    let plugins = of(lists.at("ScorePlugin"), made, |extensions| &extensions.score);
    let weighted = plugins.into_iter().map(|plugin| match weights.get(plugin.name()) {
        Some(weight) => Ok(WeightedScore {
            plugin,
            weight: *weight,
        }),
        None => Err(ProfileError::NoWeight {
            plugin: plugin.name().to_owned(),
        }),
    });
    weighted.collect()
}

/// What plugins listen to that may reject a pod: a score alone never does.
fn events(lists: &Lists<'_>, made: &Made<'_>) -> Vec<PluginEvents> {
    let rejecting = [
        "PreEnqueuePlugin",
        "PreFilterPlugin",
        "FilterPlugin",
        "ReservePlugin",
        "PermitPlugin",
    ];
    let names: BTreeSet<&str> = rejecting.iter().flat_map(|point| lists.at(point)).copied().collect();
    let events = names.into_iter().filter_map(|name| {
        let plugin = made.get(name)?;
        let alone = plugin.filter.as_ref().is_some_and(|filter| filter.judges_nodes_alone());
        Some(PluginEvents::new(name, plugin.enqueue.clone()).judging_nodes_alone(alone))
    });
    events.collect()
}

fn not_there_yet(config: &ProfileConfig, registry: &Registry) -> Vec<String> {
    let defaults = config.plugins.multi_point.enabled.iter();
    let defaults: Vec<&str> = defaults
        .map(|plugin| plugin.name.as_str())
        .filter(|name| registry.is_placeholder(name))
        .collect();
    let guards = registry.guards().filter(|name| !defaults.contains(name));
    defaults.iter().copied().chain(guards).map(str::to_owned).collect()
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
