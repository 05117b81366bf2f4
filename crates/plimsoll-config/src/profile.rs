use std::time::Duration;

use plimsoll_model::LabelSelector;

use crate::{ExtenderConfig, FeatureGates, PluginArgs, Plugins};

/// The profile of pods that name no scheduler.
pub const DEFAULT_SCHEDULER_NAME: &str = "default-scheduler";

/// The arguments of one plugin in one profile.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginConfig {
    /// The plugin.
    pub name: String,
    /// Its arguments, defaults applied.
    pub args: PluginArgs,
}

/// One profile: the plugins that place the pods of one `schedulerName`, defaults applied.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileConfig {
    /// Pods with this `spec.schedulerName` belong to the profile.
    pub scheduler_name: String,
    /// Share of the nodes that is looked for, 0 to 100, in place of the global value.
    pub percentage_of_nodes_to_score: Option<i32>,
    /// The plugin sets, merged with the defaults and not yet expanded from `multiPoint`.
    pub plugins: Plugins,
    /// At most one entry for each plugin.
    pub plugin_config: Vec<PluginConfig>,
    /// Plugins that the file itself enables by name, rather than keeping them as defaults: see
    /// [`Plugins::enabled_by_name`]. One of them that is not there yet is an error.
    pub enabled_by_name: Vec<String>,
    /// What only `plimsoll.dev` files can say.
    pub extras: ProfileExtras,
}

/// What a profile of kind `SchedulerConfiguration` in `plimsoll.dev/v1alpha1` may add to kube-scheduler's fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProfileExtras {
    /// Backoff of the profile's pods in place of the global values.
    pub backoff: Option<ProfileBackoff>,
    /// Extenders of this profile alone, behind the global ones.
    pub extenders: Vec<ExtenderConfig>,
    /// Which of the pods with the profile's scheduler name it takes: those that meet one of these. None takes all that
    /// no profile with rules takes.
    pub match_rules: Vec<MatchRule>,
    /// What budgets mean to preemption.
    pub pod_disruption_budget_policy: PodDisruptionBudgetPolicy,
    /// How long a preemption is remembered, so that it does not happen again for a replacement of its victims; none is not
    /// at all, as kube-scheduler.
    pub preemption_loop_window: Option<Duration>,
    /// Share of successful scheduling lives that are traced, 0 to 1.
    pub trace_sampling_ratio: Option<f64>,
}

/// What disruption budgets mean to preemption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PodDisruptionBudgetPolicy {
    /// Nodes where no budget is violated come first, as kube-scheduler.
    #[default]
    Soft,
    /// No budget is violated.
    Hard,
}

impl PodDisruptionBudgetPolicy {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Soft, Self::Hard];

    /// The word in configuration files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Soft => "Soft",
            Self::Hard => "Hard",
        }
    }
}

/// The longest `preemptionLoopWindow`: what is remembered is bounded by time as well as by number.
pub const MAX_PREEMPTION_LOOP_WINDOW: Duration = Duration::from_hours(24);

/// How long pods wait between attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfileBackoff {
    /// After the first failed attempt.
    pub initial: Duration,
    /// At most.
    pub max: Duration,
}

/// A condition on a pod and its namespace; both selectors must match, one that is absent always does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatchRule {
    /// On the labels of the pod's namespace.
    pub namespace_selector: Option<LabelSelector>,
    /// On the labels of the pod.
    pub pod_selector: Option<LabelSelector>,
}

impl Default for ProfileConfig {
    /// kube-scheduler 1.36's default profile: same plugins, order, weights and arguments.
    fn default() -> Self {
        Self::with_gates(&FeatureGates::default())
    }
}

impl PluginConfig {
    /// Adds defaulted entries for the enabled plugins that take arguments and were given none, in order of their names.
    pub(crate) fn add_defaults(entries: &mut Vec<Self>, plugins: &Plugins, gates: &FeatureGates) {
        for name in plugins.enabled_names() {
            // Plugins of Plimsoll's own without arguments do nothing, so that there is nothing to add.
            let upstream = crate::decode::args_version(name) == Some(crate::API_VERSION);
            let missing = !entries.iter().any(|entry| entry.name == name);
            let args = PluginArgs::default_of(name, gates).filter(|_| upstream && missing);
            entries.extend(args.map(|args| Self {
                name: name.to_owned(),
                args,
            }));
        }
    }
}

impl ProfileConfig {
    /// The default profile under these gates.
    pub fn with_gates(gates: &FeatureGates) -> Self {
        let plugins = Plugins::default_profile(gates);
        let mut plugin_config = Vec::new();
        PluginConfig::add_defaults(&mut plugin_config, &plugins, gates);
        Self {
            scheduler_name: DEFAULT_SCHEDULER_NAME.to_owned(),
            percentage_of_nodes_to_score: None,
            plugins,
            plugin_config,
            enabled_by_name: Vec::new(),
            extras: ProfileExtras::default(),
        }
    }

    /// The arguments of a plugin, if it has any.
    pub fn args_of(&self, plugin: &str) -> Option<&PluginArgs> {
        self.plugin_config
            .iter()
            .find(|config| config.name == plugin)
            .map(|config| &config.args)
    }
}
