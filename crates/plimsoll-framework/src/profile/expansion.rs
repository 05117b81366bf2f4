//! Which plugins a profile has at which extension point, and in which order.

use std::collections::BTreeMap;

use plimsoll_config::{PluginSet, Plugins};

use super::ProfileError;
use crate::{Extensions, MAX_NODE_SCORE};

/// The plugins that were made, by name.
pub(super) type Made<'a> = BTreeMap<&'a str, Extensions>;

/// An extension point.
struct Point {
    /// The name in error messages.
    plugin_type: &'static str,
    set: fn(&Plugins) -> &PluginSet,
    /// Whether a plugin takes part; none where Plimsoll does not have the point yet.
    implements: Option<fn(&Extensions) -> bool>,
}

macro_rules! points {
    ($($plugin_type:literal: $set:ident by $($extension:ident)||+),* $(,)?) => {
        [$(Point {
            plugin_type: $plugin_type,
            set: |plugins| &plugins.$set,
            implements: Some(|extensions| $(extensions.$extension.is_some())||+),
        },)*
        Point { plugin_type: "PlacementGeneratePlugin", set: |plugins| &plugins.placement_generate, implements: None },
        Point { plugin_type: "PlacementScorePlugin", set: |plugins| &plugins.placement_score, implements: None }]
    };
}

/// In the order in which kube-scheduler goes through them, and so finds faults.
const POINTS: [Point; 14] = points! {
    "PreFilterPlugin": pre_filter by pre_filter,
    "FilterPlugin": filter by filter || effect_filter,
    "PostFilterPlugin": post_filter by post_filter,
    "ReservePlugin": reserve by reserve,
    "PreScorePlugin": pre_score by pre_score,
    "ScorePlugin": score by score,
    "PreBindPlugin": pre_bind by pre_bind,
    "BindPlugin": bind by bind,
    "PostBindPlugin": post_bind by post_bind,
    "PermitPlugin": permit by permit,
    "PreEnqueuePlugin": pre_enqueue by pre_enqueue,
    "QueueSortPlugin": queue_sort by queue_sort,
};

/// Names of the plugins at each extension point, in order.
pub(super) struct Lists<'a>([Vec<&'a str>; POINTS.len()]);

impl<'a> Lists<'a> {
    /// At the point with this name in error messages.
    pub(super) fn at(&self, plugin_type: &str) -> &[&'a str] {
        let position = POINTS.iter().position(|point| point.plugin_type == plugin_type);
        position.map_or(&[], |position| &self.0[position])
    }

    /// Puts these behind the pre-filters that the profile names.
    pub(super) fn add_guards(&mut self, guards: impl Iterator<Item = &'a str>) {
        let mut lists = POINTS.iter().zip(&mut self.0);
        let pre_filters = lists.find(|(point, _)| point.plugin_type == "PreFilterPlugin");
        if let Some((_, list)) = pre_filters {
            let missing: Vec<&str> = guards.filter(|name| !list.contains(name)).collect();
            list.extend(missing);
        }
    }

    /// Whether the plugin is at any point.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|list| list.contains(&name))
    }
}

/// Names of all plugins that are enabled somewhere.
pub(super) fn needed(plugins: &Plugins) -> impl Iterator<Item = &str> {
    let enabled = plugins.sets().flat_map(|(_, set)| &set.enabled);
    enabled.map(|plugin| plugin.name.as_str())
}

/// Goes through the sets of each extension point, then expands `multiPoint` into all of them.
pub(super) fn expand<'a>(plugins: &'a Plugins, made: &Made<'_>) -> Result<Lists<'a>, ProfileError> {
    let mut lists: [Vec<&str>; POINTS.len()] = Default::default();
    for (point, list) in POINTS.iter().zip(&mut lists) {
        *list = named(point, plugins, made)?;
    }
    for (point, list) in POINTS.iter().zip(&mut lists) {
        *list = expanded(point, plugins, made, std::mem::take(list))?;
    }
    Ok(Lists(lists))
}

/// The plugins that the point's own set enables.
fn named<'a>(point: &Point, plugins: &'a Plugins, made: &Made<'_>) -> Result<Vec<&'a str>, ProfileError> {
    let mut names = Vec::new();
    for plugin in &(point.set)(plugins).enabled {
        let name = plugin.name.as_str();
        let extensions = made.get(name).ok_or_else(|| point.unknown(name))?;
        let implements = point.implements.ok_or_else(|| ProfileError::NotThereYet {
            plugin: name.to_owned(),
        })?;
        if !implements(extensions) {
            return Err(ProfileError::DoesNotExtend {
                point: point.plugin_type,
                plugin: name.to_owned(),
            });
        }
        if names.contains(&name) {
            return Err(point.duplicate(name));
        }
        names.push(name);
    }
    Ok(names)
}

/// Those and the ones from `multiPoint`: first what both name, then `multiPoint`, then the rest.
fn expanded<'a>(
    point: &Point,
    plugins: &'a Plugins,
    made: &Made<'_>,
    named: Vec<&'a str>,
) -> Result<Vec<&'a str>, ProfileError> {
    let is_disabled = |name: &str| (point.set)(plugins).disabled.iter().any(|disabled| disabled == name);
    if is_disabled("*") {
        return Ok(named);
    }
    let mut overridden = Vec::new();
    let mut added = Vec::new();
    for plugin in &plugins.multi_point.enabled {
        let name = plugin.name.as_str();
        let extensions = made.get(name).ok_or_else(|| point.unknown(name))?;
        let implemented = point.implements.is_some_and(|implements| implements(extensions));
        if !implemented || is_disabled(name) {
            continue;
        }
        if named.contains(&name) {
            overridden.push(name);
        } else if added.contains(&name) {
            return Err(point.duplicate(name));
        } else {
            added.push(name);
        }
    }
    let (mut list, rest): (Vec<_>, Vec<_>) = named.into_iter().partition(|name| overridden.contains(name));
    list.append(&mut added);
    list.extend(rest);
    Ok(list)
}

/// What multiplies the plugins' scores: as the `score` set says, else as `multiPoint` does; 0 counts as 1.
///
/// Thirty-two bits each, the weighted sum cannot overflow. kube-scheduler's check against that refuses any weight that
/// follows a negative sum, since the room it thinks is left wraps around; so does this one.
pub(super) fn weights<'a>(plugins: &'a Plugins, made: &Made<'_>) -> Result<BTreeMap<&'a str, i64>, ProfileError> {
    let mut weights = BTreeMap::new();
    let mut total = 0_i64;
    for plugin in plugins.score.enabled.iter().chain(&plugins.multi_point.enabled) {
        let scores = made.get(plugin.name.as_str()).is_some_and(|made| made.score.is_some());
        if !scores || weights.contains_key(plugin.name.as_str()) {
            continue;
        }
        let weight = i64::from(if plugin.weight == 0 { 1 } else { plugin.weight });
        let most = weight * MAX_NODE_SCORE;
        if most > i64::MAX.wrapping_sub(total) {
            return Err(ProfileError::ScoreOverflow);
        }
        total += most;
        weights.insert(plugin.name.as_str(), weight);
    }
    Ok(weights)
}

impl Point {
    fn unknown(&self, plugin: &str) -> ProfileError {
        ProfileError::UnknownPlugin {
            point: self.plugin_type,
            plugin: plugin.to_owned(),
        }
    }

    fn duplicate(&self, plugin: &str) -> ProfileError {
        ProfileError::Duplicate {
            point: self.plugin_type,
            plugin: plugin.to_owned(),
        }
    }
}
