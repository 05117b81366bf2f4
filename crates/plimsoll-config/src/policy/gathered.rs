use crate::{FeatureGates, PluginRef, Plugins};

const FILTERING: &[&str] = &["preFilter", "filter"];
const SCORING: &[&str] = &["preScore", "score"];
const BINDING_VOLUMES: &[&str] = &["preFilter", "filter", "reserve", "preBind"];

/// The default plugins that a Policy can name, with the points at which they filter and score. The others came later and
/// are kept: they look only at pods that ask for them.
const NAMEABLE: [(&str, &[&str], &[&str]); 14] = [
    ("NodeUnschedulable", FILTERING, &[]),
    ("NodeName", FILTERING, &[]),
    ("TaintToleration", FILTERING, SCORING),
    ("NodeAffinity", FILTERING, SCORING),
    ("NodePorts", FILTERING, &[]),
    ("NodeResourcesFit", FILTERING, SCORING),
    ("VolumeRestrictions", FILTERING, &[]),
    ("NodeVolumeLimits", FILTERING, &[]),
    ("VolumeBinding", BINDING_VOLUMES, SCORING),
    ("VolumeZone", FILTERING, &[]),
    ("PodTopologySpread", FILTERING, SCORING),
    ("InterPodAffinity", FILTERING, SCORING),
    ("NodeResourcesBalancedAllocation", &[], SCORING),
    ("ImageLocality", &[], SCORING),
];

/// The plugins that a Policy comes to.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    filters: Vec<Use>,
    scores: Vec<Use>,
}

#[derive(Debug)]
struct Use {
    plugin: String,
    /// Of a filter it means nothing.
    weight: i32,
    /// Whether the Policy asks for it, rather than having it by default.
    asked: bool,
}

impl Gathered {
    pub(super) fn filter(&mut self, plugin: &str, asked: bool) {
        match self.filters.iter_mut().find(|filter| filter.plugin == plugin) {
            Some(filter) => filter.asked |= asked,
            None => self.filters.push(Use {
                plugin: plugin.to_owned(),
                weight: 0,
                asked,
            }),
        }
    }

    /// Of a plugin that is named twice the last weight counts.
    pub(super) fn score(&mut self, plugin: &str, weight: i32) {
        self.scores.retain(|score| score.plugin != plugin);
        self.scores.push(Use {
            plugin: plugin.to_owned(),
            weight,
            asked: true,
        });
    }

    pub(super) fn scores_by(&self, plugin: &str) -> bool {
        self.scores.iter().any(|score| score.plugin == plugin)
    }

    fn filters_by(&self, plugin: &str) -> bool {
        self.filters.iter().any(|filter| filter.plugin == plugin)
    }

    /// The plugin sets of a profile: the defaults, less what the Policy leaves out, and what is not among them. Whatever
    /// the Policy asks for is enabled by name where it matters.
    pub(super) fn into_plugins(self, gates: &FeatureGates) -> Plugins {
        let mut plugins = Plugins::default_profile(gates);
        for (name, filtering, scoring) in NAMEABLE {
            if !self.filters_by(name) {
                disable(&mut plugins, name, filtering);
            }
            if !self.scores_by(name) {
                disable(&mut plugins, name, scoring);
            }
        }
        for used in self.filters.iter().chain(&self.scores) {
            let known = plugins
                .multi_point
                .enabled
                .iter()
                .any(|plugin| plugin.name == used.plugin);
            if known {
                continue;
            }
            plugins
                .multi_point
                .enabled
                .push(PluginRef::new(used.plugin.as_str(), 0));
            if !self.filters_by(&used.plugin) {
                disable(&mut plugins, &used.plugin, FILTERING);
            }
            if !self.scores_by(&used.plugin) {
                disable(&mut plugins, &used.plugin, SCORING);
            }
        }
        let asked = self.filters.into_iter().filter(|filter| filter.asked);
        plugins.filter.enabled = asked.map(Use::into_ref).collect();
        plugins.score.enabled = self.scores.into_iter().map(Use::into_ref).collect();
        plugins
    }
}

impl Use {
    fn into_ref(self) -> PluginRef {
        PluginRef::new(self.plugin, self.weight)
    }
}

fn disable(plugins: &mut Plugins, name: &str, points: &[&str]) {
    for (point, set) in plugins.sets_mut() {
        if points.contains(&point) {
            set.disabled.push(name.to_owned());
        }
    }
}
