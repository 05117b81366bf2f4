use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{args, below, extenders, percentage};
use crate::write::raw_args;
use crate::{
    ConfigKind, FeatureGates, FieldError, MAX_PREEMPTION_LOOP_WINDOW, PluginArgs, PluginSet, Plugins, ProfileConfig,
};

/// Plugins that `kubescheduler.config.k8s.io/v1` does not have any more, all for the sake of `NodeVolumeLimits`.
pub(crate) const REMOVED_PLUGINS: [&str; 4] = ["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"];

/// Sets in which removed plugins are looked for.
const CHECKED_SETS: [&str; 12] = [
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
];

pub(super) fn validate(
    profiles: &[ProfileConfig],
    kind: ConfigKind,
    gates: &FeatureGates,
    errors: &mut Vec<FieldError>,
) {
    if profiles.is_empty() {
        errors.push(FieldError::required("profiles", ""));
        return;
    }
    // Only profiles with rules may share a name with others.
    let mut names = BTreeSet::new();
    for (index, profile) in profiles.iter().enumerate() {
        let path = format!("profiles[{index}]");
        one(&path, profile, gates, errors);
        if kind == ConfigKind::Plimsoll {
            extras(&path, profile, errors);
        }
        if profile.extras.match_rules.is_empty() && !names.insert(&profile.scheduler_name) {
            // A path is shown where a value is meant, and a path has no public fields.
            errors.push(FieldError::duplicate(format!("{path}.schedulerName"), json!({})));
        }
    }
    common_queue_sort(profiles, errors);
}

fn one(path: &str, profile: &ProfileConfig, gates: &FeatureGates, errors: &mut Vec<FieldError>) {
    if profile.scheduler_name.is_empty() {
        errors.push(FieldError::required(format!("{path}.schedulerName"), ""));
    }
    let field = format!("{path}.percentageOfNodesToScore");
    errors.extend(percentage(&field, profile.percentage_of_nodes_to_score));
    removed_plugins(path, &profile.plugins, errors);
    plugin_config(path, profile, gates, errors);
}

fn removed_plugins(path: &str, plugins: &Plugins, errors: &mut Vec<FieldError>) {
    let sets: Vec<_> = plugins.sets().collect();
    for point in CHECKED_SETS {
        let set = sets
            .iter()
            .find(|(name, _)| *name == point)
            .map(|(_, set)| set.enabled.as_slice());
        for (at, plugin) in set.unwrap_or_default().iter().enumerate() {
            let path = format!("{path}.plugins.{point}.enabled[{at}]");
            errors.extend(removed(&path, &plugin.name));
        }
    }
}

fn removed(path: &str, plugin: &str) -> Option<FieldError> {
    // The first version is that of another API of the same short name: a slip that users see.
    let version = crate::API_VERSION;
    let detail = format!("was invalid in version \"v1\" (KubeSchedulerConfiguration is version {version:?})");
    REMOVED_PLUGINS
        .contains(&plugin)
        .then(|| FieldError::invalid(path, plugin, detail))
}

fn plugin_config(path: &str, profile: &ProfileConfig, gates: &FeatureGates, errors: &mut Vec<FieldError>) {
    let mut names = BTreeSet::new();
    for (at, entry) in profile.plugin_config.iter().enumerate() {
        let path = format!("{path}.pluginConfig[{at}]");
        if !names.insert(&entry.name) {
            errors.push(FieldError::duplicate(&path, entry.name.as_str()));
        }
        if let Some(error) = removed(&path, &entry.name) {
            errors.push(error);
            continue;
        }
        let args_path = format!("{path}.args");
        if !entry.args.are_of(&entry.name) {
            errors.push(FieldError::invalid(
                args_path,
                raw_args(&entry.args),
                "has to match plugin args",
            ));
        } else if !matches!(entry.args, PluginArgs::NodeResourcesFit(_)) {
            // kube-scheduler looks for these under another name and finds them only when it makes the plugin.
            errors.extend(args::validate(&args_path, &entry.args, gates));
        }
    }
}

/// The queue is one for all profiles, and so is its order.
fn common_queue_sort(profiles: &[ProfileConfig], errors: &mut Vec<FieldError>) {
    let Some((first, others)) = profiles.split_first() else {
        return;
    };
    let canon = &first.plugins.queue_sort;
    let enabled = canon.enabled.len();
    if enabled > 1 {
        let detail = "only one queue sort plugin can be enabled";
        errors.push(FieldError::invalid(
            "profiles[0].plugins.queueSort.Enabled",
            enabled,
            detail,
        ));
    }
    let name = canon.enabled.first().map(|plugin| plugin.name.as_str());
    let args = name.and_then(|name| first.args_of(name));
    for (index, profile) in (1..).zip(others) {
        let path = format!("profiles[{index}]");
        if profile.plugins.queue_sort != *canon {
            let shown = shown_set(&profile.plugins.queue_sort);
            let detail = "must be the same for all profiles";
            errors.push(FieldError::invalid_json(
                format!("{path}.plugins.queueSort"),
                shown,
                detail,
            ));
        }
        let own = profile
            .plugin_config
            .iter()
            .filter(|entry| Some(entry.name.as_str()) == name);
        for entry in own.filter(|entry| Some(&entry.args) != args) {
            let detail = "queueSort must be the same for all profiles";
            let path = format!("{path}.pluginConfig.args");
            errors.push(FieldError::invalid(path, raw_args(&entry.args), detail));
        }
    }
}

/// A set as kube-scheduler shows one: by the names and in the order of its own fields, and null for an empty list.
fn shown_set(set: &PluginSet) -> String {
    let plugin = |name: &str, weight: i32| format!("{{\"Name\":{},\"Weight\":{weight}}}", Value::from(name));
    let list = |items: Vec<String>| match items.as_slice() {
        [] => "null".to_owned(),
        items => format!("[{}]", items.join(",")),
    };
    let enabled = set.enabled.iter().map(|own| plugin(&own.name, own.weight));
    let disabled = set.disabled.iter().map(|name| plugin(name, 0));
    let (enabled, disabled) = (list(enabled.collect()), list(disabled.collect()));
    format!("{{\"Enabled\":{enabled},\"Disabled\":{disabled}}}")
}

/// What only Plimsoll's own kind can say.
fn extras(path: &str, profile: &ProfileConfig, errors: &mut Vec<FieldError>) {
    let extras = &profile.extras;
    if let Some(backoff) = &extras.backoff {
        let shown = |duration| crate::GoDuration::from(duration).to_string();
        if backoff.initial.is_zero() {
            let field = format!("{path}.backoff.initial");
            errors.push(FieldError::invalid(
                field,
                shown(backoff.initial),
                "must be greater than 0",
            ));
        }
        if backoff.max < backoff.initial {
            let detail = "must be greater than or equal to initial";
            errors.push(FieldError::invalid(
                format!("{path}.backoff.max"),
                shown(backoff.max),
                detail,
            ));
        }
    }
    if let Some(ratio) = extras.trace_sampling_ratio.filter(|ratio| !(0.0..=1.0).contains(ratio)) {
        let field = format!("{path}.tracing.samplingRatio");
        errors.push(FieldError::invalid(field, ratio, "not in valid range [0, 1]"));
    }
    let window = extras.preemption_loop_window;
    if let Some(window) = window.filter(|window| window.is_zero() || *window > MAX_PREEMPTION_LOOP_WINDOW) {
        let shown = crate::GoDuration::from(window).to_string();
        let field = format!("{path}.preemptionLoopWindow");
        errors.push(FieldError::invalid(field, shown, "not in valid range (0s, 24h]"));
    }
    for (at, rule) in extras.match_rules.iter().enumerate() {
        let path = format!("{path}.matchRules[{at}]");
        if rule.namespace_selector.is_none() && rule.pod_selector.is_none() {
            errors.push(FieldError::required(
                &path,
                "one of namespaceSelector and podSelector must be set",
            ));
        }
        let selectors = [
            ("namespaceSelector", &rule.namespace_selector),
            ("podSelector", &rule.pod_selector),
        ];
        for (field, selector) in selectors {
            if let Some(selector) = selector {
                super::affinity::label_selector(&below(&path, field), selector, errors);
            }
        }
    }
    extenders::each(&below(path, "extenders"), &extras.extenders, errors);
}
