use std::collections::BTreeMap;
use std::fmt;

use super::gathered::Gathered;
use super::predicates::Meaning as Predicate;
use super::priorities::{DEFAULT_SHAPE, Meaning as Priority, Strategy};
use super::{Policy, PolicyError, PolicyErrors, PredicatePolicy, PriorityPolicy, predicates, priorities};
use crate::{
    ConfigKind, DefaultingType, FieldErrors, InterPodAffinityArgs, NodeLabelArgs, NodeResourcesFitArgs, PluginArgs,
    PluginConfig, PodTopologySpreadArgs, ProfileConfig, ResourceWeight, SchedulerConfig, ScoringStrategy,
    ServiceAffinityArgs, UtilizationShapePoint, WeightedLabel,
};

const SERVICE_AFFINITY: &str = "ServiceAffinity";
const NODE_LABEL: &str = "NodeLabel";
const FIT: &str = "NodeResourcesFit";
const SPREAD: &str = "PodTopologySpread";

/// What a Policy has become.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted {
    /// One profile that places pods as the Policy would have.
    pub config: SchedulerConfig,
    /// Where it does not do so to the letter, and other things better known.
    pub notes: Vec<PolicyNote>,
}

/// Something to know about one part of a Policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyNote {
    /// The predicate, priority or field.
    pub about: String,
    /// What to know.
    pub text: String,
}

impl fmt::Display for PolicyNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.about, self.text)
    }
}

impl Policy {
    /// The configuration of a scheduler with one profile that does what the Policy says. All that a Policy does not say
    /// is taken from `base`, the name of its first profile too. `is_plugin` tells whether the registry has a plugin of
    /// that name: predicates and priorities of a user's own are plugins of their name.
    ///
    /// # Errors
    /// With every name that nobody knows and every value that is not allowed.
    pub fn convert(&self, base: &SchedulerConfig, is_plugin: &dyn Fn(&str) -> bool) -> Result<Converted, PolicyErrors> {
        let mut conversion = Conversion {
            is_plugin,
            gathered: Gathered::default(),
            service_affinity: ServiceAffinityArgs::default(),
            node_label: NodeLabelArgs::default(),
            strategies: Vec::new(),
            errors: Vec::new(),
            notes: Vec::new(),
        };
        conversion.predicates(self.predicates.as_deref());
        conversion.priorities(self.priorities.as_deref());
        if self.always_check_all_predicates {
            conversion.note(
                "alwaysCheckAllPredicates",
                "has no effect: a node tells the first predicate that it fails",
            );
        }
        conversion.finish(self, base)
    }
}

/// A way to score by resources, with its weight.
struct WeightedStrategy {
    strategy: Strategy,
    weight: i32,
    scoring: ScoringStrategy,
    priority: String,
}

struct Conversion<'a> {
    is_plugin: &'a dyn Fn(&str) -> bool,
    gathered: Gathered,
    service_affinity: ServiceAffinityArgs,
    node_label: NodeLabelArgs,
    strategies: Vec<WeightedStrategy>,
    errors: Vec<PolicyError>,
    notes: Vec<PolicyNote>,
}

impl Conversion<'_> {
    fn note(&mut self, about: &str, text: impl Into<String>) {
        self.notes.push(PolicyNote {
            about: about.to_owned(),
            text: text.into(),
        });
    }

    // === Predicates ===

    /// Known ones in the order in which they were checked, then those of the user.
    fn predicates(&mut self, policies: Option<&[PredicatePolicy]>) {
        let Some(policies) = policies else {
            let text = format!(
                "none given: the defaults of Kubernetes 1.22 apply ({})",
                predicates::DEFAULTS.join(", ")
            );
            self.note("predicates", text);
            for name in predicates::DEFAULTS {
                self.known_predicate(name, false);
            }
            return;
        };
        for name in predicates::MANDATORY {
            if !policies.iter().any(|policy| policy.name == name) {
                self.note(name, "applies whether a Policy names it or not");
            }
        }
        let mandatory = predicates::MANDATORY.into_iter().filter_map(predicates::find);
        let mut places: Vec<usize> = mandatory.map(|(place, _)| place).collect();
        let mut own = Vec::new();
        for policy in policies {
            match self.place_of(policy) {
                Some(place) => places.push(place),
                None => own.push(policy.name.as_str()),
            }
        }
        places.sort_unstable();
        places.dedup();
        for (name, _) in places.into_iter().filter_map(|place| predicates::KNOWN.get(place)) {
            // What applies in any case is named too, or it would be checked behind what the Policy names.
            let asked = predicates::MANDATORY.contains(name) || policies.iter().any(|policy| policy.name == *name);
            self.known_predicate(name, asked);
        }
        for name in own {
            self.own_predicate(name);
        }
    }

    /// Where a predicate stands in the order of checking; none for those of the user.
    fn place_of(&mut self, policy: &PredicatePolicy) -> Option<usize> {
        let name = policy.name.as_str();
        let Some(argument) = &policy.argument else {
            return predicates::find(name).map(|(place, _)| place);
        };
        let count = argument.count();
        if count != 1 {
            let name = name.to_owned();
            self.errors.push(PolicyError::PredicateArguments { name, count });
        }
        if let Some((place, meaning)) = predicates::find(name).filter(|(_, meaning)| *meaning != Predicate::ByArgument)
        {
            self.note(name, format!("has a fixed meaning ({meaning}), and its argument none"));
            return Some(place);
        }
        if let Some(labels) = &argument.service_affinity {
            self.service_affinity.affinity_labels.extend(labels.iter().cloned());
            return predicates::find("CheckServiceAffinity").map(|(place, _)| place);
        }
        if let Some(labels) = &argument.labels_presence {
            let list = if labels.presence {
                &mut self.node_label.present_labels
            } else {
                &mut self.node_label.absent_labels
            };
            list.extend(labels.labels.iter().cloned());
        }
        predicates::find("CheckNodeLabelPresence").map(|(place, _)| place)
    }

    fn known_predicate(&mut self, name: &str, asked: bool) {
        let Some((_, meaning)) = predicates::find(name) else {
            return;
        };
        let plugins = match meaning {
            Predicate::Plugins(plugins) => plugins,
            Predicate::Roughly(plugins, difference) => {
                if asked {
                    self.note(name, format!("has become {}; {difference}", plugins.join(", ")));
                }
                plugins
            }
            Predicate::Taint(taint) => {
                self.note(name, format!("dropped: nodes in that state have the taint {taint}"));
                return;
            }
            Predicate::ByArgument => return self.predicate_by_argument(name),
        };
        for plugin in plugins {
            self.gathered.filter(plugin, asked);
        }
    }

    fn predicate_by_argument(&mut self, name: &str) {
        let (plugin, labels) = if name == "CheckServiceAffinity" {
            (SERVICE_AFFINITY, self.service_affinity.affinity_labels.len())
        } else {
            let NodeLabelArgs {
                present_labels,
                absent_labels,
                ..
            } = &self.node_label;
            (NODE_LABEL, present_labels.len() + absent_labels.len())
        };
        if labels == 0 {
            self.note(name, "dropped: no labels are given, so that it checks nothing");
        } else {
            self.gathered.filter(plugin, true);
        }
    }

    fn own_predicate(&mut self, name: &str) {
        if (self.is_plugin)(name) {
            self.gathered.filter(name, true);
        } else {
            self.errors.push(PolicyError::UnknownPredicate(name.to_owned()));
        }
    }

    // === Priorities ===

    fn priorities(&mut self, policies: Option<&[PriorityPolicy]>) {
        let Some(policies) = policies else {
            let text = format!(
                "none given: the defaults of Kubernetes 1.22 apply ({})",
                priorities::DEFAULTS
                    .map(|(name, weight)| format!("{name} {weight}"))
                    .join(", ")
            );
            self.note("priorities", text);
            for (name, weight) in priorities::DEFAULTS {
                self.priority(&PriorityPolicy {
                    name: name.to_owned(),
                    weight,
                    argument: None,
                });
            }
            return;
        };
        let places = policies.iter().enumerate();
        let last: BTreeMap<&str, usize> = places.map(|(place, policy)| (policy.name.as_str(), place)).collect();
        for (place, policy) in policies.iter().enumerate() {
            if weight_of(policy).is_none() {
                self.errors.push(PolicyError::Weight(policy.name.clone()));
            } else if last.get(policy.name.as_str()) != Some(&place) {
                self.note(&policy.name, "is given twice, and the last one counts");
            } else {
                self.priority(policy);
            }
        }
    }

    fn priority(&mut self, policy: &PriorityPolicy) {
        let name = policy.name.as_str();
        let Some(weight) = weight_of(policy) else { return };
        let count = policy.argument.as_ref().map(super::PriorityArgument::count);
        if let Some(count) = count.filter(|count| *count != 1) {
            let name = name.to_owned();
            return self.errors.push(PolicyError::PriorityArguments { name, count });
        }
        let meaning = priorities::find(name);
        if let Some(meaning) = meaning {
            let takes_argument = meaning == Priority::Resources(Strategy::Ratio);
            if count.is_none() || !takes_argument {
                if count.is_some() {
                    self.note(name, format!("has a fixed meaning ({meaning}), and its argument none"));
                }
                return self.known_priority(name, meaning, weight);
            }
        }
        match &policy.argument {
            Some(argument) => self.priority_by_argument(name, argument, weight),
            None if (self.is_plugin)(name) => self.gathered.score(name, weight),
            None => self.errors.push(PolicyError::UnknownPriority(name.to_owned())),
        }
    }

    fn known_priority(&mut self, name: &str, meaning: Priority, weight: i32) {
        match meaning {
            Priority::Plugin(plugin) => self.gathered.score(plugin, weight),
            Priority::Roughly(plugin, difference) => {
                self.note(name, format!("has become {plugin}; {difference}"));
                self.gathered.score(plugin, weight);
            }
            Priority::Resources(Strategy::Ratio) => {
                self.note(name, "has no argument: emptier nodes are better, as in Kubernetes 1.12");
                self.strategy(name, Strategy::Ratio, weight, DEFAULT_SHAPE.to_vec(), Vec::new());
            }
            Priority::Resources(strategy) => self.strategy(name, strategy, weight, Vec::new(), Vec::new()),
            Priority::Nothing(why) => self.note(name, format!("dropped: {why}")),
        }
    }

    fn priority_by_argument(&mut self, name: &str, argument: &super::PriorityArgument, weight: i32) {
        if let Some(label) = &argument.service_anti_affinity {
            let labels = &mut self.service_affinity.anti_affinity_labels_preference;
            labels.push(WeightedLabel::new(label.as_str(), weight));
        }
        if let Some(preference) = &argument.label_preference {
            let labels = if preference.presence {
                &mut self.node_label.present_labels_preference
            } else {
                &mut self.node_label.absent_labels_preference
            };
            labels.push(WeightedLabel::new(preference.label.as_str(), weight));
        }
        if let Some(ratio) = &argument.requested_to_capacity_ratio {
            let (shape, resources) = (ratio.shape.clone(), ratio.resources.clone());
            self.strategy(name, Strategy::Ratio, weight, shape, resources);
        }
    }

    fn strategy(
        &mut self,
        name: &str,
        strategy: Strategy,
        weight: i32,
        shape: Vec<UtilizationShapePoint>,
        resources: Vec<ResourceWeight>,
    ) {
        if let Some(first) = self.strategies.iter().find(|earlier| earlier.strategy == strategy) {
            return self.errors.push(PolicyError::SecondRatio {
                name: name.to_owned(),
                first: first.priority.clone(),
            });
        }
        let resources = if resources.is_empty() {
            ResourceWeight::cpu_and_memory()
        } else {
            resources
        };
        self.strategies.push(WeightedStrategy {
            strategy,
            weight,
            scoring: ScoringStrategy {
                kind: strategy.kind(),
                resources,
                requested_to_capacity_ratio: (strategy == Strategy::Ratio).then_some(shape),
            },
            priority: name.to_owned(),
        });
    }

    // === The configuration ===

    fn finish(mut self, policy: &Policy, base: &SchedulerConfig) -> Result<Converted, PolicyErrors> {
        let mut plugin_config = Vec::new();
        self.labels(&mut plugin_config);
        self.resources(&mut plugin_config);
        if policy.hard_pod_affinity_symmetric_weight != 0 {
            let args = InterPodAffinityArgs {
                hard_pod_affinity_weight: policy.hard_pod_affinity_symmetric_weight,
                ..InterPodAffinityArgs::default()
            };
            plugin_config.push(config("InterPodAffinity", PluginArgs::InterPodAffinity(args)));
        }
        if self.gathered.scores_by(SPREAD) {
            // The defaults of today would spread pods as SelectorSpreadPriority does, and so twice.
            let args = PodTopologySpreadArgs {
                defaulting_type: DefaultingType::List,
                ..PodTopologySpreadArgs::default()
            };
            plugin_config.push(config(SPREAD, PluginArgs::PodTopologySpread(args)));
        }
        let gates = &base.feature_gates;
        let plugins = self.gathered.into_plugins(gates);
        PluginConfig::add_defaults(&mut plugin_config, &plugins, gates);
        let first = base.profiles.first().cloned().unwrap_or_default();
        let mut config = SchedulerConfig {
            profiles: vec![ProfileConfig {
                enabled_by_name: plugins.enabled_by_name(gates),
                plugins,
                plugin_config,
                ..first
            }],
            extenders: policy.extenders.clone(),
            ..base.clone()
        };
        let mut errors = self.errors;
        if let Err(invalid) = valid(&config, policy) {
            errors.push(PolicyError::Invalid(invalid));
        }
        if errors.is_empty() {
            // There always are arguments of NodeResourcesFit to put the names into.
            let _ = config.ignore_managed_resources();
            Ok(Converted {
                config,
                notes: self.notes,
            })
        } else {
            Err(PolicyErrors(errors))
        }
    }

    /// Each label counts with the weight of its own priority, and the plugin with the sum of them.
    fn labels(&mut self, plugin_config: &mut Vec<PluginConfig>) {
        let spread = &self.service_affinity.anti_affinity_labels_preference;
        let preferred = self.node_label.present_labels_preference.iter();
        let preferred = preferred.chain(&self.node_label.absent_labels_preference);
        for (plugin, sum) in [(SERVICE_AFFINITY, sum(spread.iter())), (NODE_LABEL, sum(preferred))] {
            match i32::try_from(sum) {
                Ok(0) => {}
                Ok(weight) => self.gathered.score(plugin, weight),
                Err(_) => self.errors.push(PolicyError::Weight(plugin.to_owned())),
            }
        }
        if self.service_affinity != ServiceAffinityArgs::default() {
            let args = PluginArgs::ServiceAffinity(self.service_affinity.clone());
            plugin_config.push(config(SERVICE_AFFINITY, args));
        }
        if self.node_label != NodeLabelArgs::default() {
            plugin_config.push(config(NODE_LABEL, PluginArgs::NodeLabel(self.node_label.clone())));
        }
    }

    /// The first strategy is that of `NodeResourcesFit`, which has room for one; others get the plugins of old.
    fn resources(&mut self, plugin_config: &mut Vec<PluginConfig>) {
        let mut args = NodeResourcesFitArgs::default();
        for (position, strategy) in std::mem::take(&mut self.strategies).into_iter().enumerate() {
            if position == 0 {
                self.gathered.score(FIT, strategy.weight);
                args.scoring_strategy = Some(strategy.scoring);
                continue;
            }
            let plugin = strategy.strategy.plugin();
            self.note(
                &strategy.priority,
                format!("has become {plugin}, a plugin of Plimsoll: {FIT} scores in another way already"),
            );
            self.gathered.score(plugin, strategy.weight);
            plugin_config.push(config(plugin, PluginArgs::Raw(raw(&strategy.scoring))));
        }
        plugin_config.push(config(FIT, PluginArgs::NodeResourcesFit(args)));
    }
}

/// Positive, and not larger than plugins can have it.
fn weight_of(policy: &PriorityPolicy) -> Option<i32> {
    i32::try_from(policy.weight).ok().filter(|weight| *weight > 0)
}

fn config(plugin: &str, args: PluginArgs) -> PluginConfig {
    PluginConfig {
        name: plugin.to_owned(),
        args,
    }
}

fn sum<'a>(labels: impl Iterator<Item = &'a WeightedLabel>) -> i64 {
    labels.map(|label| i64::from(label.weight)).sum()
}

/// The arguments of a plugin that has no kind for them.
fn raw(scoring: &ScoringStrategy) -> serde_json::Value {
    let resources: Vec<_> = scoring
        .resources
        .iter()
        .map(|resource| serde_json::json!({"name": resource.name, "weight": resource.weight}))
        .collect();
    let mut args = serde_json::json!({ "resources": resources });
    if let Some(shape) = &scoring.requested_to_capacity_ratio {
        let points: Vec<_> = shape
            .iter()
            .map(|point| serde_json::json!({"utilization": point.utilization, "score": point.score}))
            .collect();
        args["shape"] = points.into();
    }
    args
}

/// What kube-scheduler would say of the values.
fn valid(config: &SchedulerConfig, policy: &Policy) -> Result<(), FieldErrors> {
    let mut errors = Vec::new();
    let weight = policy.hard_pod_affinity_symmetric_weight;
    if !(0..=100).contains(&weight) {
        let detail = "not in valid range [0-100]";
        errors.push(crate::FieldError::invalid(
            "hardPodAffinitySymmetricWeight",
            weight,
            detail,
        ));
    } else if let Err(FieldErrors(invalid)) = config.validate(ConfigKind::Plimsoll) {
        errors.extend(invalid);
    }
    for args in config.profiles.iter().filter_map(|profile| profile.args_of(FIT)) {
        if let Err(FieldErrors(invalid)) = args.validate(&config.feature_gates) {
            errors.extend(invalid);
        }
    }
    FieldErrors::none_of(errors)
}
