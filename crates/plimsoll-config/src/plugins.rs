use std::collections::BTreeSet;

use crate::{FeatureGates, Gate};

/// A plugin named in a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginRef {
    /// The name the registry knows it by.
    pub name: String,
    /// Multiplies the plugin's normalised score; 0 counts as 1, as in kube-scheduler.
    pub weight: i32,
}

impl PluginRef {
    /// A plugin with the given weight.
    pub fn new(name: impl Into<String>, weight: i32) -> Self {
        Self {
            name: name.into(),
            weight,
        }
    }
}

/// The plugins of one extension point.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PluginSet {
    /// In order.
    pub enabled: Vec<PluginRef>,
    /// Names; `*` means all.
    pub disabled: Vec<String>,
}

impl PluginSet {
    /// Defaults keep their order; one that the file enables too takes the file's weight in its place, and what the file
    /// adds follows. A plugin both enabled and disabled is enabled.
    fn merged(default: Self, given: Self) -> Self {
        let disabled: Vec<String> = given.disabled.into_iter().chain(default.disabled).collect();
        let is_disabled = |name: &str| disabled.iter().any(|disabled| disabled == name);
        let mut kept = default.enabled;
        kept.retain(|plugin| !is_disabled("*") && !is_disabled(&plugin.name));
        let mut used = vec![false; given.enabled.len()];
        for plugin in &mut kept {
            // Of several entries of one name the last is the one that counts here.
            if let Some(at) = given.enabled.iter().rposition(|given| given.name == plugin.name) {
                plugin.clone_from(&given.enabled[at]);
                used[at] = true;
            }
        }
        let added = given.enabled.into_iter().zip(used).filter(|(_, used)| !used);
        kept.extend(added.map(|(plugin, _)| plugin));
        Self {
            enabled: kept,
            disabled,
        }
    }
}

macro_rules! plugin_sets {
    ($($(#[$doc:meta])* $field:ident = $name:literal),* $(,)?) => {
        /// The plugin sets of a profile, one for each extension point and one for all of them.
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct Plugins {
            $($(#[$doc])* pub $field: PluginSet,)*
        }

        impl Plugins {
            /// Every set with the name of its field in a configuration file, in the file's order.
            pub fn sets(&self) -> impl Iterator<Item = (&'static str, &PluginSet)> {
                [$(($name, &self.$field)),*].into_iter()
            }

            /// As [`Plugins::sets`], to be changed.
            pub fn sets_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut PluginSet)> {
                [$(($name, &mut self.$field)),*].into_iter()
            }
        }
    };
}

plugin_sets! {
    /// Gates pods before they are queued.
    pre_enqueue = "preEnqueue",
    /// Orders the queue.
    queue_sort = "queueSort",
    /// Looks at the pod before any node.
    pre_filter = "preFilter",
    /// Narrows nodes.
    filter = "filter",
    /// When no node is left.
    post_filter = "postFilter",
    /// Prepares scoring.
    pre_score = "preScore",
    /// Scores nodes.
    score = "score",
    /// Reserves in memory.
    reserve = "reserve",
    /// Last word before binding.
    permit = "permit",
    /// Work before binding.
    pre_bind = "preBind",
    /// Binds.
    bind = "bind",
    /// Hears of bound pods.
    post_bind = "postBind",
    /// Every extension point that the plugin implements.
    multi_point = "multiPoint",
    /// Proposes placements for groups of pods.
    placement_generate = "placementGenerate",
    /// Scores placements.
    placement_score = "placementScore",
}

/// kube-scheduler 1.36's default plugins in order, with weights (0 where none is given), save those behind gates.
const DEFAULT_PLUGINS: [(&str, i32); 19] = [
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
];

/// Those behind gates, which follow the others.
const GATED_PLUGINS: [(Gate, &str, i32); 4] = [
    (Gate::NodeDeclaredFeatures, "NodeDeclaredFeatures", 0),
    (Gate::GangScheduling, "GangScheduling", 0),
    (Gate::TopologyAwareWorkloadScheduling, "TopologyPlacementGenerator", 0),
    (Gate::TopologyAwareWorkloadScheduling, "PodGroupPodsCount", 1),
];

impl Plugins {
    /// kube-scheduler's default plugins under these gates: all in `multiPoint`.
    pub fn default_profile(gates: &FeatureGates) -> Self {
        let behind_gates = GATED_PLUGINS.iter().filter(|(gate, ..)| gates.enabled(*gate));
        let enabled = DEFAULT_PLUGINS
            .iter()
            .copied()
            .chain(behind_gates.map(|(_, name, weight)| (*name, *weight)));
        Self {
            multi_point: PluginSet {
                enabled: enabled.map(|(name, weight)| PluginRef::new(name, weight)).collect(),
                disabled: Vec::new(),
            },
            ..Self::default()
        }
    }

    /// The sets of a file merged with the defaults: set by set, as kube-scheduler merges them.
    pub(crate) fn merged(mut defaults: Self, mut given: Self) -> Self {
        for ((_, default), (_, given)) in defaults.sets_mut().zip(given.sets_mut()) {
            let merged = PluginSet::merged(std::mem::take(default), std::mem::take(given));
            *default = merged;
        }
        defaults
    }

    /// The names enabled in any set, sorted.
    pub fn enabled_names(&self) -> BTreeSet<&str> {
        let enabled = self.sets().flat_map(|(_, set)| &set.enabled);
        enabled.map(|plugin| plugin.name.as_str()).collect()
    }

    /// Plugins of `multiPoint` that an extension point names too, once for each such point, in the order in which
    /// kube-scheduler finds them: what the point says of them counts.
    pub fn overridden(&self) -> impl Iterator<Item = &str> {
        let points = [
            &self.pre_filter,
            &self.filter,
            &self.post_filter,
            &self.reserve,
            &self.pre_score,
            &self.score,
            &self.pre_bind,
            &self.bind,
            &self.post_bind,
            &self.permit,
            &self.pre_enqueue,
            &self.queue_sort,
            &self.placement_generate,
            &self.placement_score,
        ];
        points.into_iter().flat_map(|point| {
            let all = self.multi_point.enabled.iter().map(|plugin| plugin.name.as_str());
            all.filter(|name| point.enabled.iter().any(|named| named.name == *name))
                .filter(|name| {
                    !point
                        .disabled
                        .iter()
                        .any(|disabled| disabled == name || disabled == "*")
                })
        })
    }

    /// Of the sets as a file writes them: the plugins that it enables by name, sorted. A `multiPoint` that begins with
    /// the whole list of defaults, less those it disables, as kube-scheduler's `--write-config-to` leaves it, restates them
    /// and asks for nothing.
    pub fn enabled_by_name(&self, gates: &FeatureGates) -> Vec<String> {
        let defaults = Self::default_profile(gates).multi_point.enabled;
        let restated = self.restated(&defaults);
        let points = self.sets().filter(|(point, _)| *point != "multiPoint");
        let listed = points.flat_map(|(_, set)| &set.enabled);
        let mut names: Vec<String> = listed
            .chain(&self.multi_point.enabled[restated..])
            .map(|plugin| plugin.name.clone())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// How many entries at the head of `multiPoint` are the defaults once more, save those it disables; other weights do
    /// not matter.
    fn restated(&self, defaults: &[PluginRef]) -> usize {
        let PluginSet { enabled, disabled } = &self.multi_point;
        if disabled.iter().any(|name| name == "*") {
            return 0;
        }
        let kept = defaults.iter().filter(|plugin| !disabled.contains(&plugin.name));
        let mut listed = enabled.iter();
        let mut count = 0;
        for plugin in kept {
            if listed.next().is_none_or(|listed| listed.name != plugin.name) {
                return 0;
            }
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_extension_point_says_of_a_plugin_of_multi_point_overrides_it() {
        let mut plugins = Plugins::default_profile(&FeatureGates::default());
        assert_eq!(plugins.overridden().count(), 0);
        let refs = |names: &[&str]| names.iter().map(|name| PluginRef::new(*name, 5)).collect();
        plugins.score.enabled = refs(&["ImageLocality", "Mine", "NodeAffinity"]);
        plugins.filter.enabled = refs(&["NodeAffinity", "NodeName"]);
        plugins.filter.disabled = vec!["NodeName".to_owned()];
        plugins.bind.enabled = refs(&["DefaultBinder"]);
        plugins.bind.disabled = vec!["*".to_owned()];
        let overridden: Vec<_> = plugins.overridden().collect();
        assert_eq!(overridden, ["NodeAffinity", "NodeAffinity", "ImageLocality"]);
    }

    #[test]
    fn what_a_file_lists_is_enabled_by_name_unless_it_restates_the_defaults() {
        let gates = FeatureGates::default();
        let mut plugins = Plugins::default_profile(&gates);
        assert!(plugins.enabled_by_name(&gates).is_empty());
        plugins.multi_point.enabled.push(PluginRef::new("Mine", 1));
        plugins.filter.enabled.push(PluginRef::new("VolumeZone", 0));
        assert_eq!(plugins.enabled_by_name(&gates), ["Mine", "VolumeZone"]);
        plugins.filter.enabled.clear();
        plugins.multi_point.enabled[4].weight = 10;
        plugins.multi_point.disabled = vec!["ImageLocality".to_owned()];
        plugins
            .multi_point
            .enabled
            .retain(|plugin| plugin.name != "ImageLocality");
        assert_eq!(plugins.enabled_by_name(&gates), ["Mine"]);
        plugins.multi_point.disabled = vec!["*".to_owned()];
        assert!(plugins.enabled_by_name(&gates).contains(&"VolumeZone".to_owned()));
        plugins.filter.enabled.push(PluginRef::new("VolumeZone", 0));
        plugins.multi_point.disabled.clear();
        plugins.multi_point.enabled = vec![PluginRef::new("NodeName", 0)];
        assert_eq!(plugins.enabled_by_name(&gates), ["NodeName", "VolumeZone"]);
    }
}
