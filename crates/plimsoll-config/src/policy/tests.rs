use proptest::prelude::*;

use super::*;
use crate::{
    FeatureGates, GoDuration, InterPodAffinityArgs, NodeLabelArgs, PluginArgs, PluginSet, ProfileConfig,
    SchedulerConfig, ScoringStrategyType, ServiceAffinityArgs, WeightedLabel, decode_policy,
};

/// The Policy of somebody who has run clusters since 1.0.
const FIXTURE: &str = r#"{
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [
        {"name": "PodFitsPorts"},
        {"name": "PodFitsResources"},
        {"name": "NoDiskConflict"},
        {"name": "MatchNodeSelector"},
        {"name": "HostName"},
        {"name": "RegionZoneAffinity", "argument": {"serviceAffinity": {"labels": ["zone"]}}},
        {"name": "RequireZone", "argument": {"labelsPresence": {"labels": ["zone"], "presence": true}}},
        {"name": "NotTooHot"},
        {"name": "LicensedHost"}
    ],
    "priorities": [
        {"name": "LeastRequestedPriority", "weight": 1},
        {"name": "BalancedResourceAllocation", "weight": 1},
        {"name": "ServiceSpreadingPriority", "weight": 2},
        {"name": "EqualPriority", "weight": 1},
        {"name": "RackSpread", "weight": 3, "argument": {"serviceAntiAffinity": {"label": "rack"}}},
        {"name": "CheapPower", "weight": 4},
        {"name": "NewHardware", "weight": 5}
    ]
}"#;

fn is_mine(name: &str) -> bool {
    ["NotTooHot", "LicensedHost", "CheapPower", "NewHardware"].contains(&name)
}

fn convert(text: &str) -> Result<Converted, PolicyErrors> {
    let (policy, warnings) = decode_policy(text).unwrap();
    assert_eq!(warnings, [] as [&str; 0]);
    policy.convert(&SchedulerConfig::default(), &is_mine)
}

fn converted(fields: &str) -> Converted {
    convert(&format!(r#"{{"kind":"Policy","apiVersion":"v1",{fields}}}"#)).unwrap()
}

fn profile(converted: &Converted) -> &ProfileConfig {
    assert_eq!(converted.config.profiles.len(), 1);
    &converted.config.profiles[0]
}

fn enabled(set: &PluginSet) -> Vec<(&str, i32)> {
    set.enabled
        .iter()
        .map(|plugin| (plugin.name.as_str(), plugin.weight))
        .collect()
}

fn notes(converted: &Converted) -> Vec<String> {
    converted.notes.iter().map(ToString::to_string).collect()
}

/// The default plugins that may filter under the Policy.
fn defaults_that_filter(profile: &ProfileConfig) -> Vec<&str> {
    let defaults = profile.plugins.multi_point.enabled.iter();
    let disabled = &profile.plugins.filter.disabled;
    let names = defaults.map(|plugin| plugin.name.as_str());
    names
        .filter(|name| !disabled.iter().any(|other| other == name))
        .collect()
}

#[test]
fn the_policy_of_old_becomes_a_profile() {
    let converted = convert(FIXTURE).unwrap();
    let profile = profile(&converted);
    let filters: Vec<_> = enabled(&profile.plugins.filter)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    // In the order in which they were checked, with what always applies.
    assert_eq!(
        filters,
        [
            "NodeUnschedulable",
            "NodeName",
            "NodePorts",
            "NodeAffinity",
            "NodeResourcesFit",
            "VolumeRestrictions",
            "TaintToleration",
            "NodeLabel",
            "ServiceAffinity",
            "NotTooHot",
            "LicensedHost"
        ]
    );
    let disabled = &profile.plugins.filter.disabled;
    for name in [
        "VolumeBinding",
        "VolumeZone",
        "NodeVolumeLimits",
        "PodTopologySpread",
        "InterPodAffinity",
    ] {
        assert!(disabled.iter().any(|disabled| disabled == name), "{name}");
    }
    for name in ["TaintToleration", "NodeUnschedulable"] {
        assert!(!disabled.iter().any(|disabled| disabled == name), "{name}");
    }
    assert_eq!(
        enabled(&profile.plugins.score),
        [
            ("NodeResourcesBalancedAllocation", 1),
            ("ServiceSpreading", 2),
            ("CheapPower", 4),
            ("NewHardware", 5),
            ("ServiceAffinity", 3),
            ("NodeResourcesFit", 1),
        ]
    );
    for name in [
        "TaintToleration",
        "NodeAffinity",
        "ImageLocality",
        "NodeLabel",
        "NotTooHot",
        "LicensedHost",
    ] {
        assert!(
            profile.plugins.score.disabled.iter().any(|disabled| disabled == name),
            "{name}"
        );
    }
    for name in ["CheapPower", "NewHardware", "ServiceSpreading"] {
        assert!(disabled.iter().any(|disabled| disabled == name), "{name}");
    }
    assert_eq!(
        profile.args_of("ServiceAffinity"),
        Some(&PluginArgs::ServiceAffinity(ServiceAffinityArgs {
            affinity_labels: vec!["zone".to_owned()],
            anti_affinity_labels_preference: vec![WeightedLabel::new("rack", 3)],
        }))
    );
    assert_eq!(
        profile.args_of("NodeLabel"),
        Some(&PluginArgs::NodeLabel(NodeLabelArgs {
            present_labels: vec!["zone".to_owned()],
            ..NodeLabelArgs::default()
        }))
    );
    assert!(profile.enabled_by_name.iter().any(|name| name == "VolumeRestrictions"));
    assert!(!profile.enabled_by_name.iter().any(|name| name == "DefaultPreemption"));
    assert_eq!(
        notes(&converted),
        [
            "CheckNodeUnschedulable: applies whether a Policy names it or not",
            "PodToleratesNodeTaints: applies whether a Policy names it or not",
            "BalancedResourceAllocation: has become NodeResourcesBalancedAllocation; nodes are judged by what the pod \
             changes in their balance, as kube-scheduler does today",
            "EqualPriority: dropped: it gives every node the same score",
        ]
    );
}

#[test]
fn yaml_says_the_same_as_json() {
    let yaml = "
        kind: Policy
        apiVersion: v1
        predicates:
        - name: HostName
        - name: Zone
          argument: {serviceAffinity: {labels: [zone]}}
        priorities: []
        hardPodAffinitySymmetricWeight: 10
    ";
    let json = r#"{"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "HostName"},
        {"name": "Zone", "argument": {"serviceAffinity": {"labels": ["zone"]}}}], "priorities": [],
        "hardPodAffinitySymmetricWeight": 10}"#;
    assert_eq!(decode_policy(yaml), decode_policy(json));
    let converted = convert(yaml).unwrap();
    assert_eq!(
        profile(&converted).args_of("InterPodAffinity"),
        Some(&PluginArgs::InterPodAffinity(InterPodAffinityArgs {
            hard_pod_affinity_weight: 10,
            ..InterPodAffinityArgs::default()
        }))
    );
}

#[test]
fn lists_that_are_absent_mean_the_defaults_of_old_and_empty_ones_nothing() {
    let absent = converted(r#""extenders":[]"#);
    let plugins = &profile(&absent).plugins;
    assert_eq!(enabled(&plugins.filter), [], "none is asked for by name");
    let filters = defaults_that_filter(profile(&absent));
    for name in [
        "NodeName",
        "VolumeBinding",
        "PodTopologySpread",
        "InterPodAffinity",
        "NodeResourcesFit",
    ] {
        assert!(filters.contains(&name), "{name}");
    }
    assert_eq!(
        enabled(&plugins.score),
        [
            ("NodeResourcesBalancedAllocation", 1),
            ("PodTopologySpread", 2),
            ("ImageLocality", 1),
            ("InterPodAffinity", 1),
            ("NodeAffinity", 1),
            ("NodePreferAvoidPods", 10_000),
            ("SelectorSpread", 1),
            ("TaintToleration", 1),
            ("NodeResourcesFit", 1),
        ]
    );
    let empty = converted(r#""predicates":[],"priorities":[]"#);
    let plugins = &profile(&empty).plugins;
    assert_eq!(
        enabled(&plugins.filter),
        [("NodeUnschedulable", 0), ("TaintToleration", 0)],
        "what applies in any case"
    );
    assert_eq!(enabled(&plugins.score), []);
    let filters = defaults_that_filter(profile(&empty));
    for name in [
        "NodeName",
        "VolumeBinding",
        "PodTopologySpread",
        "InterPodAffinity",
        "NodeResourcesFit",
    ] {
        assert!(!filters.contains(&name), "{name}");
    }
    for name in [
        "TaintToleration",
        "NodeUnschedulable",
        "DynamicResources",
        "DefaultBinder",
    ] {
        assert!(filters.contains(&name), "{name} applies in any case");
    }
    assert_eq!(
        converted(r#""predicates":null,"priorities":null"#).config,
        absent.config
    );
}

#[test]
fn every_name_there_ever_was_is_known() {
    let predicates: Vec<_> = predicates::KNOWN
        .iter()
        .map(|(name, _)| format!(r#"{{"name":"{name}"}}"#))
        .collect();
    let priorities: Vec<_> = priorities::KNOWN
        .iter()
        .map(|(name, _)| format!(r#"{{"name":"{name}","weight":1}}"#))
        .collect();
    let converted = converted(&format!(
        r#""predicates":[{}],"priorities":[{}]"#,
        predicates.join(","),
        priorities.join(",")
    ));
    let plugins = &profile(&converted).plugins;
    for name in predicates::DEFAULTS.iter().chain(&predicates::MANDATORY) {
        assert!(predicates::find(name).is_some(), "{name}");
    }
    for (name, _) in priorities::DEFAULTS {
        assert!(priorities::find(name).is_some(), "{name}");
    }
    assert_eq!(enabled(&plugins.filter).len(), 12);
    assert_eq!(enabled(&plugins.score).len(), 12);
}

#[test]
fn the_documentation_has_every_name() {
    let page = include_str!("../../../../docs/policy.md");
    let names = predicates::KNOWN.iter().map(|(name, _)| *name);
    for name in names.chain(priorities::KNOWN.iter().map(|(name, _)| *name)) {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn several_ways_to_score_by_resources_keep_a_weight_each() {
    let converted = converted(
        r#""predicates":[],"priorities":[
            {"name":"MostRequestedPriority","weight":2},
            {"name":"LeastRequestedPriority","weight":1},
            {"name":"Mine","weight":7,"argument":{"requestedToCapacityRatioArguments":{
                "shape":[{"utilization":0,"score":0},{"utilization":100,"score":10}],
                "resources":[{"name":"example.com/gpu","weight":5},{"name":"cpu"}]}}}]"#,
    );
    let profile = profile(&converted);
    assert_eq!(
        enabled(&profile.plugins.score),
        [
            ("NodeResourcesFit", 2),
            ("NodeResourcesLeastAllocated", 1),
            ("RequestedToCapacityRatio", 7)
        ]
    );
    let Some(PluginArgs::NodeResourcesFit(fit)) = profile.args_of("NodeResourcesFit") else {
        panic!("no arguments");
    };
    let strategy = fit.scoring_strategy.as_ref().map(|strategy| &strategy.kind);
    assert_eq!(strategy, Some(&ScoringStrategyType::MostAllocated));
    assert_eq!(
        profile.args_of("RequestedToCapacityRatio"),
        Some(&PluginArgs::Raw(serde_json::json!({
            "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
            "resources": [{"name": "example.com/gpu", "weight": 5}, {"name": "cpu", "weight": 1}],
        })))
    );
}

#[test]
fn labels_keep_the_weight_of_their_priority() {
    let converted = converted(
        r#""predicates":[],"priorities":[
            {"name":"Racks","weight":3,"argument":{"serviceAntiAffinity":{"label":"rack"}}},
            {"name":"Zones","weight":1,"argument":{"serviceAntiAffinity":{"label":"zone"}}},
            {"name":"Fast","weight":2,"argument":{"labelPreference":{"label":"ssd","presence":true}}},
            {"name":"Lasting","weight":5,"argument":{"labelPreference":{"label":"retiring","presence":false}}}]"#,
    );
    let profile = profile(&converted);
    assert_eq!(
        enabled(&profile.plugins.score),
        [("ServiceAffinity", 4), ("NodeLabel", 7)]
    );
    assert_eq!(
        profile.args_of("NodeLabel"),
        Some(&PluginArgs::NodeLabel(NodeLabelArgs {
            present_labels_preference: vec![WeightedLabel::new("ssd", 2)],
            absent_labels_preference: vec![WeightedLabel::new("retiring", 5)],
            ..NodeLabelArgs::default()
        }))
    );
}

#[test]
fn extenders_are_read_as_every_release_wrote_them() {
    let converted = converted(
        r#""predicates":[],"priorities":[],"extenders":[
            {"urlPrefix":"http://127.0.0.1:12346/scheduler","apiVersion":"v1beta1","filterVerb":"filter",
             "prioritizeVerb":"prioritize","weight":5,"enableHttps":false,"nodeCacheCapable":true},
            {"urlPrefix":"https://gpu","BindVerb":"bind","enableHttps":true,"httpTimeout":1500000000,
             "tlsConfig":{"Insecure":false,"CAFile":"/ca","serverName":"gpu"},
             "managedResources":[{"name":"example.com/gpu","ignoredByScheduler":true}],"ignorable":true}]"#,
    );
    let [first, second] = converted.config.extenders.as_slice() else {
        panic!("two extenders");
    };
    assert_eq!((first.filter_verb.as_str(), first.weight), ("filter", 5));
    assert_eq!(first.http_timeout, GoDuration::from_secs(5));
    assert!(first.node_cache_capable && !first.enable_https);
    assert_eq!(second.bind_verb, "bind");
    assert_eq!(second.http_timeout, GoDuration::from_nanos(1_500_000_000));
    let tls = second.tls_config.as_ref().unwrap();
    assert_eq!((tls.ca_file.as_str(), tls.server_name.as_str()), ("/ca", "gpu"));
    assert!(second.ignorable && second.enable_https);
    let Some(PluginArgs::NodeResourcesFit(fit)) = profile(&converted).args_of("NodeResourcesFit") else {
        panic!("no arguments");
    };
    assert_eq!(fit.ignored_resources, ["example.com/gpu"]);
}

#[test]
fn what_is_wrong_is_told_all_at_once_and_by_name() {
    let cases = [
        (
            r#""predicates":[{"name":"Unknown"},{"name":"NotTooHot"}],"priorities":[{"name":"Strange","weight":1}]"#,
            "[Invalid predicate name \"Unknown\" specified - no corresponding function found, Invalid priority name \
             Strange specified - no corresponding function found]",
        ),
        (
            r#""predicates":[{"name":"P","argument":{}}],"priorities":[]"#,
            "Exactly 1 predicate argument is required, numArgs: 0, Predicate: P",
        ),
        (
            r#""predicates":[],"priorities":[{"name":"P","weight":1,"argument":{"serviceAntiAffinity":{"label":"a"},
               "labelPreference":{"label":"b","presence":true}}}]"#,
            "Exactly 1 priority argument is required, numArgs: 2, Priority: P",
        ),
        (
            r#""predicates":[],"priorities":[{"name":"EqualPriority","weight":0}]"#,
            "priority EqualPriority should have a positive weight applied to it or it has overflown",
        ),
        (
            r#""predicates":[],"priorities":[{"name":"EqualPriority"},{"name":"EqualPriority","weight":1}]"#,
            "priority EqualPriority should have a positive weight applied to it or it has overflown",
        ),
        (
            r#""predicates":[{"name":""},{}],"priorities":[{"name":"ImageLocalityPriority","weight":-1}]"#,
            "[Invalid predicate name \"\" specified - no corresponding function found, priority ImageLocalityPriority should \
             have a positive weight applied to it or it has overflown]",
        ),
        (
            r#""hardPodAffinitySymmetricWeight":-1"#,
            "hardPodAffinitySymmetricWeight: Invalid value: -1: not in valid range [0-100]",
        ),
        (
            r#""predicates":[],"priorities":[{"name":"EqualPriority","weight":4294967296}]"#,
            "priority EqualPriority should have a positive weight applied to it or it has overflown",
        ),
        (
            r#""predicates":[],"priorities":[],"hardPodAffinitySymmetricWeight":101"#,
            "hardPodAffinitySymmetricWeight: Invalid value: 101: not in valid range [0-100]",
        ),
        (
            r#""predicates":[],"priorities":[],"extenders":[{"urlPrefix":"a","bindVerb":"b"},{"urlPrefix":"c",
               "bindVerb":"d","prioritizeVerb":"e"}]"#,
            "[extenders[1].weight: Invalid value: 0: must have a positive weight applied to it, extenders: Invalid value: \
             \"found 2 extenders implementing bind\": only one extender can implement bind]",
        ),
        (
            r#""predicates":[],"priorities":[{"name":"R","weight":1,"argument":{"requestedToCapacityRatioArguments":
               {"shape":[]}}}]"#,
            "scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be specified",
        ),
    ];
    for (fields, expected) in cases {
        let errors = convert(&format!(r#"{{"kind":"Policy","apiVersion":"v1",{fields}}}"#)).unwrap_err();
        assert_eq!(errors.to_string(), expected);
        for error in &errors.0 {
            assert!(!error.hint().is_empty(), "{error}");
        }
    }
    let slip = PolicyError::UnknownPredicate("PodFitsResource".to_owned());
    assert_eq!(slip.hint(), r#"did you mean "PodFitsResources"?"#);
}

#[test]
fn what_is_said_twice_or_says_nothing_changes_nothing() {
    let once = converted(
        r#""predicates":[{"name":"HostName"},{"name":"PodFitsPorts"}],"priorities":[{"name":"ImageLocalityPriority","weight":3}]"#,
    );
    let twice = converted(
        r#""predicates":[{"name":"HostName"},{"name":"PodFitsPorts","argument":null},{"name":"PodFitsHostPorts"},
               {"name":"HostName"}],
           "priorities":[{"name":"ImageLocalityPriority","weight":9},{"name":"ImageLocalityPriority","weight":3}],
           "extenders":[],"hardPodAffinitySymmetricWeight":0,"alwaysCheckAllPredicates":false"#,
    );
    assert_eq!(once.config, twice.config);
    let about: Vec<_> = notes(&twice)
        .into_iter()
        .filter(|note| !notes(&once).contains(note))
        .collect();
    assert_eq!(
        about,
        ["ImageLocalityPriority: is given twice, and the last one counts"]
    );
    let weight = |weight: i32| {
        let converted = converted(&format!(r#""hardPodAffinitySymmetricWeight":{weight}"#));
        match profile(&converted).args_of("InterPodAffinity") {
            Some(PluginArgs::InterPodAffinity(args)) => args.hard_pod_affinity_weight,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!([weight(0), weight(1), weight(100)], [1, 1, 100]);
}

#[test]
fn many_priorities_are_not_compared_each_with_all() {
    let priority = |number| PriorityPolicy {
        name: format!("Nobody{number}"),
        weight: 1,
        argument: None,
    };
    let policy = Policy {
        priorities: Some((0..50_000).map(priority).collect()),
        ..Policy::default()
    };
    let PolicyErrors(errors) = policy.convert(&SchedulerConfig::default(), &is_mine).unwrap_err();
    assert_eq!(errors.len(), 50_000);
}

#[test]
fn a_second_function_of_the_used_share_is_refused() {
    let ratio = r#"{"requestedToCapacityRatio":{"shape":[{"utilization":0,"score":1}]}}"#;
    let errors = convert(&format!(
        r#"{{"kind":"Policy","apiVersion":"v1","predicates":[],"priorities":[
            {{"name":"A","weight":1,"argument":{ratio}}},{{"name":"B","weight":1,"argument":{ratio}}}]}}"#
    ))
    .unwrap_err();
    let expected = "priority \"B\" redeclares custom priority \"RequestedToCapacityRatio\", from: \"A\"";
    assert_eq!(errors.to_string(), expected);
}

#[test]
fn old_conditions_are_dropped_with_a_note() {
    let converted = converted(
        r#""predicates":[{"name":"CheckNodeMemoryPressure"},{"name":"CheckServiceAffinity"},
            {"name":"PodFitsPorts","argument":{"labelsPresence":{"labels":["a"]}}}],
            "priorities":[{"name":"ResourceLimitsPriority","weight":1}],"alwaysCheckAllPredicates":true"#,
    );
    let notes = notes(&converted);
    for expected in [
        "CheckNodeMemoryPressure: dropped: nodes in that state have the taint node.kubernetes.io/memory-pressure",
        "CheckServiceAffinity: dropped: no labels are given, so that it checks nothing",
        "PodFitsPorts: has a fixed meaning (NodePorts), and its argument none",
        "ResourceLimitsPriority: dropped: it was off unless a feature gate was set, and went without a successor",
        "alwaysCheckAllPredicates: has no effect: a node tells the first predicate that it fails",
    ] {
        assert!(notes.iter().any(|note| note == expected), "{expected}: {notes:?}");
    }
}

#[test]
fn fields_that_no_policy_has_are_refused_with_their_place() {
    let cases = [
        (
            "kind: Policy\napiVersion: v1\npredicate: []\n",
            "strict decoding error: unknown field \"predicate\" (line 3, column 1)",
        ),
        (
            "kind: Policy\napiVersion: v1\npriorities:\n- name: EqualPriority\n  wieght: 1\n",
            "strict decoding error: unknown field \"priorities[0].wieght\" (line 5, column 3)",
        ),
        (
            "{\"kind\":\"Policy\",\"apiVersion\":\"v1\",\"predicates\":[],\"predicates\":[]}",
            "strict decoding error: duplicate field \"predicates\" (line 1, column 52)",
        ),
        (
            "kind: Pod\napiVersion: v1\n",
            "couldn't decode as Policy, got v1, Kind=Pod: ",
        ),
        ("apiVersion: v1\n", "Object 'Kind' is missing"),
    ];
    for (text, expected) in cases {
        assert_eq!(decode_policy(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_converted_policy_survives_being_written_and_read_again() {
    let config = convert(FIXTURE).unwrap().config;
    for kind in [crate::ConfigKind::KubeScheduler, crate::ConfigKind::Plimsoll] {
        let text = config.to_yaml(kind);
        let again = crate::load(&text, &FeatureGates::default()).unwrap();
        let (before, after) = (&config.profiles[0], &again.profiles[0]);
        assert_eq!(before.plugins, after.plugins, "{text}");
        assert_eq!(before.enabled_by_name, after.enabled_by_name);
        assert_eq!(
            before.args_of("ServiceAffinity").is_some(),
            after.args_of("ServiceAffinity").is_some()
        );
    }
}

fn fragment() -> impl Strategy<Value = String> {
    let pieces = vec![
        "kind: Policy\napiVersion: v1\n",
        "{\"kind\":\"Policy\",\"apiVersion\":\"v1\",",
        "\"predicates\":[",
        "predicates:\n- ",
        "{\"name\":\"GeneralPredicates\"},",
        "name: X\n",
        "argument: {serviceAffinity: {labels: [zone]}}\n",
        "priorities: [{name: EqualPriority, weight: 1}]\n",
        "weight: 99999999999999999999\n",
        "extenders: [{tlsConfig: {certData: '%'}}]\n",
        "&a [*a]\n",
        "]}",
        "\u{0}",
        "- - - -\n",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_makes_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), near in fragment()) {
        for text in [String::from_utf8_lossy(&bytes).into_owned(), near] {
            if let Ok((policy, _)) = decode_policy(&text) {
                let _ = policy.convert(&SchedulerConfig::default(), &|_| true);
            }
        }
    }
}
