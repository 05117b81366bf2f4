use super::*;
use crate::{
    DEFAULT_SCHEDULER_NAME, Gate, GoDuration, PluginArgs, PluginRef, Plugins, PodDisruptionBudgetPolicy,
    ScoringStrategyType, WeightedLabel,
};

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
const OWN_HEAD: &str = "apiVersion: plimsoll.dev/v1alpha1\nkind: SchedulerConfiguration\n";

fn loaded(rest: &str) -> SchedulerConfig {
    load(&format!("{HEAD}{rest}"), &FeatureGates::default()).unwrap()
}

fn refused(rest: &str) -> ConfigError {
    load(&format!("{HEAD}{rest}"), &FeatureGates::default()).unwrap_err()
}

fn names(plugins: &[PluginRef]) -> Vec<&str> {
    plugins.iter().map(|plugin| plugin.name.as_str()).collect()
}

#[test]
fn an_empty_file_means_the_defaults() {
    assert_eq!(loaded(""), SchedulerConfig::default());
    assert_eq!(load(OWN_HEAD, &FeatureGates::default()), Ok(SchedulerConfig::default()));
}

#[test]
fn other_kinds_and_versions_are_refused_in_kube_schedulers_words() {
    let cases = [
        ("", "Object 'Kind' is missing in ''"),
        (
            "kind: KubeSchedulerConfiguration",
            "Object 'apiVersion' is missing in 'kind: KubeSchedulerConfiguration'",
        ),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration",
            r#"no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1beta3" in scheme "pkg/runtime/scheme.go:111""#,
        ),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration",
            r#"no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1alpha1" in scheme "pkg/runtime/scheme.go:111""#,
        ),
        (
            "apiVersion: v1\nkind: Policy",
            r#"no kind "Policy" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111""#,
        ),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: NodeAffinityArgs",
            "couldn't decode as KubeSchedulerConfiguration, got kubescheduler.config.k8s.io/v1, Kind=NodeAffinityArgs: ",
        ),
        (
            "apiVersion: plimsoll.dev/v1\nkind: SchedulerConfiguration",
            r#"no kind "SchedulerConfiguration" is registered for version "plimsoll.dev/v1" in scheme "pkg/runtime/scheme.go:111""#,
        ),
        (
            "- a",
            "couldn't get version/kind; json parse error: cannot read array as object",
        ),
        (
            "kind: 5",
            r#"couldn't get version/kind; json parse error: cannot read number as string in field "kind""#,
        ),
        ("a: [", "yaml: line 1, column 4: "),
    ];
    for (text, expected) in cases {
        let error = decode(text, &FeatureGates::default()).unwrap_err().to_string();
        if expected.ends_with(": ") {
            assert!(error.starts_with(expected), "{text}: {error}");
        } else {
            assert_eq!(error, expected, "{text}");
        }
    }
}

#[test]
fn every_fault_is_told_at_once_with_its_place() {
    let error = refused(
        "foo: 1\nparallelism: 3\nprofiles:\n- schedulerName: a\n  schedulerName: b\n  bar: 2\n  pluginConfig:\n  - name: \
         NodeResourcesFit\n    args: {foo: 1, scoringStrategy: {bar: 1}}\n  - name: NodeAffinity\n    args: {foo: 3}\n",
    );
    assert_eq!(
        error.to_string(),
        r#"strict decoding error: unknown field "foo" (line 3, column 1), duplicate field "profiles[0].schedulerName" (line 7, column 3), unknown field "profiles[0].bar" (line 8, column 3), decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for plugin NodeResourcesFit: strict decoding error: unknown field "foo" (line 11, column 12), unknown field "scoringStrategy.bar" (line 11, column 38), decoding .profiles[0].pluginConfig[1]: strict decoding error: decoding args for plugin NodeAffinity: strict decoding error: unknown field "foo" (line 13, column 12)"#
    );
    let paths: Vec<_> = error.problems().into_iter().map(|problem| problem.path).collect();
    let expected = [
        "foo",
        "profiles[0].schedulerName",
        "profiles[0].bar",
        "profiles[0].pluginConfig[0].args.foo",
        "profiles[0].pluginConfig[0].args.scoringStrategy.bar",
        "profiles[0].pluginConfig[1].args.foo",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn values_of_a_wrong_type_are_told_with_field_and_place() {
    let cases = [
        (
            "parallelism: x\n",
            r#"cannot read string as int32 in field "parallelism" (line 3, column 14)"#,
        ),
        (
            "parallelism: 3000000000\n",
            r#"cannot read number 3000000000 as int32 in field "parallelism" (line 3, column 14)"#,
        ),
        (
            "parallelism: 1.5\n",
            r#"cannot read number 1.5 as int32 in field "parallelism" (line 3, column 14)"#,
        ),
        (
            "enableProfiling: 1\n",
            r#"cannot read number 1 as bool in field "enableProfiling" (line 3, column 18)"#,
        ),
        (
            "profiles: {}\n",
            r#"cannot read object as array in field "profiles" (line 3, column 11)"#,
        ),
        (
            "profiles:\n- schedulerName: 5\n",
            r#"cannot read number 5 as string in field "profiles[0].schedulerName" (line 4, column 18)"#,
        ),
        (
            "leaderElection: []\n",
            r#"cannot read array as object in field "leaderElection" (line 3, column 17)"#,
        ),
        (
            "leaderElection: {leaseDuration: 15}\n",
            r#"cannot read number 15 as string in field "leaderElection.leaseDuration" (line 3, column 33)"#,
        ),
        (
            "leaderElection: {leaseDuration: 15x}\n",
            r#"time: unknown unit "x" in duration "15x" in field "leaderElection.leaseDuration" (line 3, column 33)"#,
        ),
        (
            "profiles:\n- pluginConfig:\n  - name: InterPodAffinity\n    args: {hardPodAffinityWeight: a, b: 1}\n",
            r#"decoding .profiles[0].pluginConfig[0]: decoding args for plugin InterPodAffinity: cannot read string as int32 in field "hardPodAffinityWeight" (line 6, column 35), strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for plugin InterPodAffinity: strict decoding error: unknown field "b" (line 6, column 38)"#,
        ),
        (
            "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {kind: NodeResourcesFitArgs}\n",
            "decoding .profiles[0].pluginConfig[0]: args for plugin NodeAffinity were not of type NodeAffinityArgs.kubescheduler.config.k8s.io, got NodeResourcesFitArgs.kubescheduler.config.k8s.io (line 6, column 11)",
        ),
        (
            "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {apiVersion: kubescheduler.config.k8s.io/v1beta1}\n",
            r#"decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeAffinity: no kind "NodeAffinityArgs" is registered for version "kubescheduler.config.k8s.io/v1beta1" in scheme "pkg/runtime/scheme.go:111" (line 6, column 11)"#,
        ),
        (
            "extenders: [{tlsConfig: {caData: '%'}}]\n",
            r#"illegal base64 data: Invalid symbol 37, offset 0. in field "extenders[0].tlsConfig.caData" (line 3, column 34)"#,
        ),
    ];
    for (rest, expected) in cases {
        let error = refused(rest);
        assert_eq!(error.to_string(), expected, "{rest}");
        assert!(error.problems().iter().all(|problem| problem.hint.is_some()), "{rest}");
    }
}

#[test]
fn whole_numbers_may_be_written_with_a_point_and_null_is_as_if_left_out() {
    let config = loaded("parallelism: 8.0\npodMaxBackoffSeconds: 1e2\nprofiles: null\nleaderElection: ~\n");
    assert_eq!((config.parallelism, config.pod_max_backoff.as_secs()), (8, 100));
}

#[test]
fn json_is_read_and_extender_certificates_are_unpacked() {
    let text = r#"{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "extenders": [{"urlPrefix": "http:\/\/x", "tlsConfig": {"caData": "aGVs\nbG8="}}]}"#;
    let config = load(text, &FeatureGates::default()).unwrap();
    let extender = &config.extenders[0];
    assert_eq!(extender.tls_config.as_ref().unwrap().ca_data, b"hello");
    assert_eq!(
        (extender.url_prefix.as_str(), extender.http_timeout),
        ("http://x", GoDuration::from_secs(5))
    );
}

#[test]
fn a_null_is_no_duration_save_where_one_may_be_absent() {
    let error = refused("leaderElection:\n  leaseDuration: null\n").to_string();
    assert!(error.contains("time: invalid duration \"\""), "{error}");
    let config =
        loaded("profiles:\n- pluginConfig:\n  - name: DynamicResources\n    args:\n      filterTimeout: null\n");
    assert_eq!(
        config.profiles[0].args_of("DynamicResources"),
        PluginArgs::default_of("DynamicResources", &FeatureGates::default()).as_ref()
    );
}

#[test]
fn a_null_in_a_list_is_an_item_with_its_defaults() {
    let config = loaded("extenders:\n- null\n");
    assert_eq!(config.extenders[0].http_timeout, GoDuration::from_secs(5));
    let config = loaded(
        "profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args:\n      scoringStrategy:\n        \
         type: RequestedToCapacityRatio\n        requestedToCapacityRatio:\n          shape: [null, {utilization: 100, score: 10}]\n",
    );
    let Some(PluginArgs::NodeResourcesFit(args)) = config.profiles[0].args_of("NodeResourcesFit") else {
        panic!("no arguments");
    };
    let strategy = args.scoring_strategy.as_ref().unwrap();
    let shape = strategy.requested_to_capacity_ratio.as_ref().unwrap();
    assert_eq!((shape.len(), shape[0].utilization, shape[0].score), (2, 0, 0));
}

#[test]
fn file_sets_are_merged_with_the_defaults() {
    let config = loaded(
        "profiles:\n- plugins:\n    multiPoint:\n      enabled: [{name: Mine}, {name: NodeAffinity, weight: 9}, {name: Mine}]\n      disabled: [{name: ImageLocality}, {name: DefaultBinder}]\n",
    );
    let plugins = &config.profiles[0].plugins;
    let merged = names(&plugins.multi_point.enabled);
    let defaults = Plugins::default_profile(&FeatureGates::default());
    let mut expected: Vec<_> = names(&defaults.multi_point.enabled);
    expected.retain(|name| !["ImageLocality", "DefaultBinder"].contains(name));
    expected.extend(["Mine", "Mine"]);
    assert_eq!(merged, expected);
    let affinity = plugins
        .multi_point
        .enabled
        .iter()
        .find(|plugin| plugin.name == "NodeAffinity");
    assert_eq!(affinity.map(|plugin| plugin.weight), Some(9));
    assert_eq!(plugins.multi_point.disabled, ["ImageLocality", "DefaultBinder"]);
    assert_eq!(config.profiles[0].enabled_by_name, ["Mine", "NodeAffinity"]);
}

#[test]
fn defaults_of_which_a_file_says_more_are_told_in_their_order() {
    let overridden = |set: &str| {
        let file = format!("{HEAD}profiles: [{{plugins: {{multiPoint: {set}}}}}]\n");
        let loaded = decode(&file, &FeatureGates::default()).unwrap();
        loaded.overridden_defaults()
    };
    assert_eq!(
        overridden("{enabled: [{name: ImageLocality}, {name: Mine}, {name: NodeAffinity, weight: 9}]}"),
        ["NodeAffinity", "ImageLocality"]
    );
    let none = [
        "{enabled: [{name: NodeAffinity}], disabled: [{name: NodeAffinity}]}",
        "{enabled: [{name: NodeAffinity}], disabled: [{name: '*'}]}",
        "{enabled: [null], disabled: null}",
    ];
    for set in none {
        assert_eq!(overridden(set), [""; 0], "{set}");
    }
}

#[test]
fn a_star_disables_every_default_and_a_plugin_both_disabled_and_enabled_is_enabled() {
    let config = loaded(
        "profiles:\n- plugins:\n    multiPoint:\n      enabled: [{name: PrioritySort}, {name: NodeName}]\n      disabled: [{name: '*'}]\n- schedulerName: b\n  plugins:\n    multiPoint:\n      enabled: [{name: NodeName}]\n      disabled: [{name: NodeName}]\n"
            .replace("- plugins:\n    multiPoint:\n      enabled: [{name: P", "- schedulerName: a\n  plugins:\n    multiPoint:\n      enabled: [{name: P")
            .as_str(),
    );
    assert_eq!(
        names(&config.profiles[0].plugins.multi_point.enabled),
        ["PrioritySort", "NodeName"]
    );
    let second = names(&config.profiles[1].plugins.multi_point.enabled);
    assert_eq!(second.iter().filter(|name| **name == "NodeName").count(), 1);
    assert_eq!(second.last(), Some(&"NodeName"));
    // Nothing that takes arguments is enabled in the first.
    assert!(config.profiles[0].plugin_config.is_empty());
}

#[test]
fn arguments_are_defaulted_and_those_of_unknown_plugins_left_alone() {
    let config = loaded(
        "profiles:\n- pluginConfig:\n  - name: Mine\n    args: {b: 2, a: [1, {c: null}]}\n  - name: NodeResourcesFit\n    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu}]}}\n",
    );
    let profile = &config.profiles[0];
    assert_eq!(
        profile.args_of("Mine"),
        Some(&PluginArgs::Raw(serde_json::json!({"a": [1, {"c": null}], "b": 2})))
    );
    let Some(PluginArgs::NodeResourcesFit(fit)) = profile.args_of("NodeResourcesFit") else {
        unreachable!()
    };
    let strategy = fit.scoring_strategy.as_ref().unwrap();
    assert_eq!(strategy.kind, ScoringStrategyType::MostAllocated);
    assert_eq!(strategy.resources, [crate::ResourceWeight::new("cpu", 1)]);
    let order: Vec<_> = profile.plugin_config.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(
        order[..4],
        ["Mine", "NodeResourcesFit", "DefaultPreemption", "DynamicResources"]
    );
}

#[test]
fn defaults_behind_gates_follow_the_gates() {
    let gates = FeatureGates::default()
        .with(Gate::StorageCapacityScoring, true)
        .with(Gate::DRASchedulerFilterTimeout, false)
        .with(Gate::NodeDeclaredFeatures, false);
    let config = load(HEAD, &gates).unwrap();
    let profile = &config.profiles[0];
    let Some(PluginArgs::VolumeBinding(volumes)) = profile.args_of("VolumeBinding") else {
        unreachable!()
    };
    assert_eq!(volumes.shape.as_ref().map(Vec::len), Some(2));
    let Some(PluginArgs::DynamicResources(devices)) = profile.args_of("DynamicResources") else {
        unreachable!()
    };
    assert_eq!(
        (devices.filter_timeout, devices.binding_timeout),
        (None, Some(GoDuration::from_secs(600)))
    );
    assert!(!profile.plugins.enabled_names().contains("NodeDeclaredFeatures"));
    assert_eq!(config.feature_gates, gates);
}

#[test]
fn contention_profiling_follows_profiling_when_unset() {
    let both = |rest: &str| {
        let config = loaded(rest);
        (config.enable_profiling, config.enable_contention_profiling)
    };
    assert_eq!(both(""), (true, true));
    assert_eq!(both("enableProfiling: false\n"), (false, false));
    assert_eq!(
        both("enableProfiling: false\nenableContentionProfiling: true\n"),
        (false, true)
    );
}

#[test]
fn zero_means_the_default_where_kube_scheduler_takes_it_so() {
    let config = loaded(
        "leaderElection: {leaseDuration: 0s, renewDeadline: '0', resourceName: ''}\nclientConnection: {qps: 0, burst: 0, contentType: ''}\n",
    );
    assert_eq!(config, SchedulerConfig::default());
}

#[test]
fn flags_go_before_the_file_and_are_validated_with_it() {
    let gates = FeatureGates::default();
    let mut file = decode(
        &format!("{HEAD}leaderElection: {{leaderElect: false, resourceName: a}}\n"),
        &gates,
    )
    .unwrap();
    file.override_election(&ElectionOverrides {
        leader_elect: Some(true),
        lease_duration: Some(GoDuration::from_secs(-1)),
        ..ElectionOverrides::default()
    });
    let error = file.clone().validate().unwrap_err().to_string();
    assert_eq!(
        error,
        r#"[leaderElection.leaseDuration: Invalid value: "-1s": must be greater than zero, leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`]"#
    );
    file.override_election(&ElectionOverrides {
        lease_duration: Some(GoDuration::from_secs(20)),
        resource_name: Some("b".to_owned()),
        ..ElectionOverrides::default()
    });
    let election = file.validate().unwrap().leader_election;
    assert_eq!(
        (election.lease_duration.as_secs(), election.resource_name.as_str()),
        (20, "b")
    );
}

#[test]
fn resources_that_extenders_manage_alone_replace_those_that_the_fit_check_ignores() {
    let extenders =
        "extenders:\n- managedResources: [{name: example.com/a, ignoredByScheduler: true}, {name: example.com/b}]\n";
    let config = loaded(&format!(
        "profiles:\n- pluginConfig: [{{name: NodeResourcesFit, args: {{ignoredResources: [example.com/c]}}}}]\n{extenders}"
    ));
    let Some(PluginArgs::NodeResourcesFit(fit)) = config.profiles[0].args_of("NodeResourcesFit") else {
        unreachable!()
    };
    assert_eq!(fit.ignored_resources, ["example.com/a"]);
    let without = "profiles:\n- plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}\n";
    assert_eq!(
        refused(&format!("{without}{extenders}")).to_string(),
        "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config"
    );
}

#[test]
fn what_the_extender_of_one_profile_manages_alone_is_ignored_there_alone() {
    let own = "extenders: [{managedResources: [{name: example.com/a, ignoredByScheduler: true}]}]";
    let text = format!("{OWN_HEAD}profiles:\n- {{schedulerName: a, {own}}}\n- schedulerName: b\n");
    let config = load(&text, &FeatureGates::default()).unwrap();
    let ignored = config
        .profiles
        .iter()
        .map(|profile| match profile.args_of("NodeResourcesFit") {
            Some(PluginArgs::NodeResourcesFit(fit)) => fit.ignored_resources.as_slice(),
            _ => unreachable!(),
        });
    assert_eq!(ignored.collect::<Vec<_>>(), [&["example.com/a"][..], &[]]);
}

#[test]
fn plimsolls_own_kind_says_more_of_each_profile() {
    let text = format!(
        "{OWN_HEAD}profiles:\n- schedulerName: a\n  backoff: {{initial: 500ms}}\n  tracing: {{samplingRatio: 0.25}}\n  podDisruptionBudgetPolicy: Hard\n  preemptionLoopWindow: 90s\n  matchRules:\n  - namespaceSelector: {{matchLabels: {{team: x}}}}\n    podSelector: {{matchExpressions: [{{key: gpu, operator: Exists}}]}}\n  extenders: [{{urlPrefix: http://x, filterVerb: f}}]\n  pluginConfig:\n  - name: NodeLabel\n    args: {{presentLabelsPreference: [zone, {{label: rack, weight: 3}}]}}\n- schedulerName: a\n"
    );
    let config = load(&text, &FeatureGates::default()).unwrap();
    let profile = &config.profiles[0];
    let extras = &profile.extras;
    assert_eq!(
        extras
            .backoff
            .map(|backoff| (backoff.initial.as_millis(), backoff.max.as_secs())),
        Some((500, 10))
    );
    assert_eq!(extras.trace_sampling_ratio, Some(0.25));
    assert_eq!(extras.pod_disruption_budget_policy, PodDisruptionBudgetPolicy::Hard);
    assert_eq!(extras.preemption_loop_window.map(|window| window.as_secs()), Some(90));
    let other = &config.profiles[1].extras;
    assert_eq!(other.pod_disruption_budget_policy, PodDisruptionBudgetPolicy::Soft);
    assert_eq!(other.preemption_loop_window, None);
    assert_eq!(extras.extenders[0].filter_verb, "f");
    let rule = &extras.match_rules[0];
    assert_eq!(
        rule.namespace_selector.as_ref().unwrap().match_labels.get("team"),
        Some("x")
    );
    assert_eq!(rule.pod_selector.as_ref().unwrap().match_expressions[0].key, "gpu");
    let Some(PluginArgs::NodeLabel(labels)) = profile.args_of("NodeLabel") else {
        unreachable!()
    };
    let expected = [WeightedLabel::new("zone", 1), WeightedLabel::new("rack", 3)];
    assert_eq!(labels.present_labels_preference, expected);
    let upstream = text.replace(OWN_HEAD, HEAD);
    let error = load(&upstream, &FeatureGates::default()).unwrap_err().to_string();
    assert!(error.contains(r#"unknown field "profiles[0].backoff""#), "{error}");
}

#[test]
fn a_single_profile_needs_no_name_and_several_do() {
    assert_eq!(
        loaded("profiles: [{}]\n").profiles[0].scheduler_name,
        DEFAULT_SCHEDULER_NAME
    );
    assert_eq!(
        refused("profiles: [{schedulerName: ''}]\n").to_string(),
        "profiles[0].schedulerName: Required value"
    );
    assert_eq!(
        refused("profiles: [{}, {}]\n").to_string(),
        "[profiles[0].schedulerName: Required value, profiles[1].schedulerName: Required value, profiles[1].schedulerName: Duplicate value: {}]"
    );
}

#[test]
fn a_second_document_is_not_read_and_that_is_told() {
    let loaded = decode(&format!("{HEAD}---\nfoo: 1\n"), &FeatureGates::default()).unwrap();
    assert_eq!(
        loaded.warnings(),
        ["only the first YAML document is read; another one begins at line 3, column 1"]
    );
}

#[test]
fn faults_come_with_a_way_out() {
    let hint = |rest: &str| refused(rest).problems()[0].hint.clone().unwrap_or_default();
    assert_eq!(hint("paralelism: 3\n"), r#"did you mean "parallelism"?"#);
    assert_eq!(
        hint(
            "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: LeastAlocated}}}]}]\nparallelism: 0\n"
        ),
        "leave it out for 16"
    );
    assert_eq!(hint("profiles: [{schedulerName: no}]\n"), "write it in quotes");
    let removed = "profiles:\n- plugins: {filter: {enabled: [{name: EBSLimits}]}}\n";
    assert!(hint(removed).contains("NodeVolumeLimits"));
    let policy = decode("apiVersion: v1\nkind: Policy", &FeatureGates::default()).unwrap_err();
    assert!(
        policy.problems()[0]
            .hint
            .as_ref()
            .unwrap()
            .contains("--policy-config-file")
    );
    let old = decode(
        "apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration",
        &FeatureGates::default(),
    );
    assert!(
        old.unwrap_err().problems()[0]
            .hint
            .as_ref()
            .unwrap()
            .contains("apiVersion: kubescheduler.config.k8s.io/v1`")
    );
}
