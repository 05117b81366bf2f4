//! What kube-scheduler refuses too stands in `tests/refused`, with its own texts.

use crate::{
    ConfigKind, ExtenderConfig, FeatureGates, Gate, ManagedResource, PluginArgs, PluginConfig, SchedulerConfig,
    VolumeBindingArgs, load,
};

fn error(rest: &str) -> String {
    let text = format!("apiVersion: plimsoll.dev/v1alpha1\nkind: SchedulerConfiguration\n{rest}");
    let config = load(&text, &FeatureGates::default());
    config.map_or_else(|error| error.to_string(), |_| String::new())
}

#[test]
fn profiles_share_a_name_only_where_rules_tell_them_apart() {
    let rule = "matchRules: [{podSelector: {matchLabels: {a: b}}}]";
    let cases = [
        (format!("[{{schedulerName: a, {rule}}}, {{schedulerName: a}}]"), ""),
        (format!("[{{schedulerName: a}}, {{schedulerName: a, {rule}}}]"), ""),
        (
            format!("[{{schedulerName: a, {rule}}}, {{schedulerName: a, {rule}}}]"),
            "",
        ),
        (
            format!("[{{schedulerName: a}}, {{schedulerName: a, {rule}}}, {{schedulerName: a}}]"),
            "profiles[2].schedulerName: Duplicate value: {}",
        ),
    ];
    for (profiles, expected) in cases {
        assert_eq!(error(&format!("profiles: {profiles}\n")), expected, "{profiles}");
    }
}

#[test]
fn where_traces_go_is_said_by_plimsolls_own_kind_alone_and_the_rate_is_checked() {
    let head = |group: &str, kind: &str| format!("apiVersion: {group}\nkind: {kind}\n");
    let own = |tracing: &str| {
        let text = head("plimsoll.dev/v1alpha1", "SchedulerConfiguration");
        load(&format!("{text}tracing: {tracing}\n"), &FeatureGates::default())
    };
    let config = own("{endpoint: 'collector:4317', samplingRatePerMillion: 250000}").unwrap();
    assert_eq!(config.tracing.endpoint.as_deref(), Some("collector:4317"));
    assert_eq!(config.tracing.sampling_ratio(), Some(0.25));
    assert_eq!(own("{}").unwrap().tracing.sampling_ratio(), None);
    for rate in [-1, 1_000_001] {
        assert_eq!(
            error(&format!("tracing: {{samplingRatePerMillion: {rate}}}\n")),
            format!(
                "tracing.samplingRatePerMillion: Invalid value: {rate}: sampling rate must be less than or equal to one \
                 million and not negative"
            )
        );
    }
    let upstream = head("kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration");
    let refused = load(&format!("{upstream}tracing: {{}}\n"), &FeatureGates::default());
    assert!(
        refused.unwrap_err().to_string().contains("tracing"),
        "kube-scheduler has no such field"
    );
}

#[test]
fn what_only_plimsolls_own_kind_says_is_checked() {
    let cases = [
        (
            "backoff: {initial: 0s}",
            r#"profiles[0].backoff.initial: Invalid value: "0s": must be greater than 0"#,
        ),
        (
            "backoff: {initial: 20s}",
            r#"profiles[0].backoff.max: Invalid value: "10s": must be greater than or equal to initial"#,
        ),
        (
            "backoff: {max: -1s}",
            r#"duration -1s must not be negative in field "profiles[0].backoff.max" (line 3, column 28)"#,
        ),
        (
            "preemptionLoopWindow: 0s",
            r#"profiles[0].preemptionLoopWindow: Invalid value: "0s": not in valid range (0s, 24h]"#,
        ),
        (
            "preemptionLoopWindow: 24h1ns",
            r#"profiles[0].preemptionLoopWindow: Invalid value: "24h0m0.000000001s": not in valid range (0s, 24h]"#,
        ),
        ("preemptionLoopWindow: 24h", ""),
        (
            "preemptionLoopWindow: -1s",
            r#"duration -1s must not be negative in field "profiles[0].preemptionLoopWindow" (line 3, column 35)"#,
        ),
        ("podDisruptionBudgetPolicy: Soft", ""),
        (
            "podDisruptionBudgetPolicy: hard",
            r#"unknown policy "hard" in field "profiles[0].podDisruptionBudgetPolicy" (line 3, column 40)"#,
        ),
        (
            "tracing: {samplingRatio: 1.5}",
            "profiles[0].tracing.samplingRatio: Invalid value: 1.5: not in valid range [0, 1]",
        ),
        (
            "matchRules: [{}]",
            "profiles[0].matchRules[0]: Required value: one of namespaceSelector and podSelector must be set",
        ),
        (
            "matchRules: [{podSelector: {matchExpressions: [{key: a, operator: Gt, values: ['1']}]}}]",
            r#"profiles[0].matchRules[0].podSelector.matchExpressions[0].operator: Unsupported value: "Gt": supported values: "In", "NotIn", "Exists", "DoesNotExist""#,
        ),
        (
            "extenders: [{urlPrefix: a, prioritizeVerb: p}]",
            "profiles[0].extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
        ),
        (
            "pluginConfig: [{name: NodeLabel, args: {presentLabelsPreference: [{label: a, weight: 0}]}}]",
            "profiles[0].pluginConfig[0].args.presentLabelsPreference[0].weight: Invalid value: 0: must be greater than 0",
        ),
    ];
    for (profile, expected) in cases {
        assert_eq!(error(&format!("profiles: [{{{profile}}}]\n")), expected, "{profile}");
    }
}

#[test]
fn extenders_of_a_profile_are_held_against_those_of_all() {
    let binder = "extenders: [{urlPrefix: a, bindVerb: b, managedResources: [{name: example.com/x}]}]";
    let expected = r#"[profiles[0].extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind, profiles[0].extenders[0].managedResources[0].name: Invalid value: "example.com/x": duplicate extender managed resource name]"#;
    assert_eq!(error(&format!("{binder}\nprofiles: [{{{binder}}}]\n")), expected);
    let two = "profiles: [{schedulerName: a, extenders: [{urlPrefix: a, bindVerb: b}, {urlPrefix: a, bindVerb: c}]}]\n";
    assert!(
        error(two).contains("found 2 extenders implementing bind"),
        "{}",
        error(two)
    );
}

#[test]
fn configurations_that_come_from_no_file_are_checked_alike() {
    let mut config = SchedulerConfig::default();
    assert_eq!(config.validate(ConfigKind::KubeScheduler), Ok(()));
    config.extenders.push(ExtenderConfig {
        managed_resources: vec![ManagedResource::default()],
        ..ExtenderConfig::default()
    });
    config.profiles[0].plugin_config.push(PluginConfig {
        name: "NodeAffinity".to_owned(),
        args: PluginArgs::Raw(serde_json::json!({"a": 1})),
    });
    let error = config.validate(ConfigKind::KubeScheduler).unwrap_err().to_string();
    let expected = "profiles[0].pluginConfig[8]: Duplicate value: \"NodeAffinity\", profiles[0].pluginConfig[8].args: Invalid \
                    value: {\"a\":1}: has to match plugin args, extenders[0].managedResources[0].name: ";
    assert!(error.starts_with(&format!("[{expected}")), "{error}");
}

#[test]
fn shapes_and_time_outs_follow_their_gates() {
    let gates = FeatureGates::default().with(Gate::StorageCapacityScoring, true);
    let args = PluginArgs::VolumeBinding(VolumeBindingArgs::default());
    let error = args.validate(&gates).unwrap_err().to_string();
    assert_eq!(error, "shape: Required value: at least one point must be specified");
    let args = PluginArgs::default_of("DynamicResources", &gates).unwrap();
    let off = gates
        .with(Gate::DRASchedulerFilterTimeout, false)
        .with(Gate::DRAResourceClaimDeviceStatus, false);
    let error = args.validate(&off).unwrap_err().to_string();
    assert_eq!(
        error,
        "[filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled, bindingTimeout: Forbidden: \
         DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled]"
    );
}
