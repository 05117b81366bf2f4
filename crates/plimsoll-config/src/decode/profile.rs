use std::time::Duration;

use super::ConfigKind;
use super::affinity::label_selector;
use super::args::plugin_config;
use super::cursor::{Cursor, Object};
use super::extender::extender;
use crate::{
    FeatureGates, MatchRule, PluginConfig, PluginRef, PluginSet, Plugins, PodDisruptionBudgetPolicy, ProfileBackoff,
    ProfileConfig, ProfileExtras,
};

/// A profile, its name apart since only a profile that stands alone may do without one.
pub(super) fn profile(
    cursor: Cursor<'_>,
    index: usize,
    kind: ConfigKind,
    gates: &FeatureGates,
) -> (Option<String>, ProfileConfig) {
    let Some(mut object) = cursor.object() else {
        return (None, ProfileConfig::with_gates(gates));
    };
    let name = object.text("schedulerName");
    let percentage_of_nodes_to_score = object.int32("percentageOfNodesToScore");
    let given = object.object("plugins").map(plugins);
    let mut plugin_config: Vec<PluginConfig> = object
        .items("pluginConfig")
        .into_iter()
        .enumerate()
        .map(|(at, cursor)| plugin_config(cursor, (index, at), gates))
        .collect();
    let extras = match kind {
        ConfigKind::KubeScheduler => ProfileExtras::default(),
        ConfigKind::Plimsoll => extras(&mut object),
    };
    object.finish();
    let defaults = Plugins::default_profile(gates);
    let enabled_by_name = given
        .as_ref()
        .map(|given| given.enabled_by_name(gates))
        .unwrap_or_default();
    let plugins = match given {
        Some(given) => Plugins::merged(defaults, given),
        None => defaults,
    };
    PluginConfig::add_defaults(&mut plugin_config, &plugins, gates);
    let profile = ProfileConfig {
        scheduler_name: String::new(),
        percentage_of_nodes_to_score,
        plugins,
        plugin_config,
        enabled_by_name,
        extras,
    };
    (name, profile)
}

fn plugins(mut object: Object<'_>) -> Plugins {
    let mut plugins = Plugins::default();
    for (point, set) in plugins.sets_mut() {
        if let Some(mut object) = object.object(point) {
            let enabled = object.items("enabled").into_iter().map(plugin);
            *set = PluginSet {
                enabled: enabled.collect(),
                disabled: Vec::new(),
            };
            let disabled = object.items("disabled").into_iter().map(plugin);
            set.disabled = disabled.map(|plugin| plugin.name).collect();
            object.finish();
        }
    }
    object.finish();
    plugins
}

fn plugin(cursor: Cursor<'_>) -> PluginRef {
    let Some(mut object) = cursor.object() else {
        return PluginRef::new("", 0);
    };
    let name = object.text("name").unwrap_or_default();
    let weight = object.int32("weight").unwrap_or_default();
    object.finish();
    PluginRef::new(name, weight)
}

fn extras(object: &mut Object<'_>) -> ProfileExtras {
    ProfileExtras {
        backoff: object.object("backoff").map(backoff),
        extenders: object.items("extenders").into_iter().map(extender).collect(),
        match_rules: object.items("matchRules").into_iter().map(match_rule).collect(),
        pod_disruption_budget_policy: object
            .get("podDisruptionBudgetPolicy")
            .and_then(|cursor| disruption_budget_policy(&cursor))
            .unwrap_or_default(),
        preemption_loop_window: object
            .get("preemptionLoopWindow")
            .and_then(|cursor| not_negative(&cursor)),
        trace_sampling_ratio: object.object("tracing").and_then(trace_sampling_ratio),
    }
}

/// What it leaves out is as kube-scheduler's defaults.
fn backoff(mut object: Object<'_>) -> ProfileBackoff {
    let mut read = |field, default| {
        let given = object.get(field).and_then(|cursor| not_negative(&cursor));
        given.unwrap_or(default)
    };
    let backoff = ProfileBackoff {
        initial: read("initial", Duration::from_secs(1)),
        max: read("max", Duration::from_secs(10)),
    };
    object.finish();
    backoff
}

/// A duration that is none below zero.
fn not_negative(cursor: &Cursor<'_>) -> Option<Duration> {
    let given = cursor.duration()?;
    given.to_duration().or_else(|| {
        let hint = "write a duration such as 500ms, 15s or 1m30s".to_owned();
        cursor.wrong(&format!("duration {given} must not be negative"), Some(hint));
        None
    })
}

fn disruption_budget_policy(cursor: &Cursor<'_>) -> Option<PodDisruptionBudgetPolicy> {
    let given = cursor.text()?;
    let mut known = PodDisruptionBudgetPolicy::ALL.into_iter();
    known.find(|policy| policy.as_str() == given).or_else(|| {
        let hint = "write Soft or Hard".to_owned();
        cursor.wrong(&format!("unknown policy {given:?}"), Some(hint));
        None
    })
}

fn trace_sampling_ratio(mut object: Object<'_>) -> Option<f64> {
    let ratio = object.float64("samplingRatio");
    object.finish();
    ratio
}

fn match_rule(cursor: Cursor<'_>) -> MatchRule {
    let Some(mut object) = cursor.object() else {
        return MatchRule::default();
    };
    let rule = MatchRule {
        namespace_selector: object.object("namespaceSelector").map(label_selector),
        pod_selector: object.object("podSelector").map(label_selector),
    };
    object.finish();
    rule
}
