use std::time::Duration;

use plimsoll_model::{Labels, Operator, PreferredTerm, Requirement};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    FeatureGates, NodeAffinityArgs, PluginConfig, PluginRef, PodDisruptionBudgetPolicy, ProfileBackoff, WeightedLabel,
    load,
};

fn laid_out(value: &Value) -> String {
    yaml::write(value)
}

#[test]
fn texts_are_quoted_where_kube_scheduler_quotes_them() {
    let cases = [
        ("plain", "plain"),
        ("", "\"\""),
        ("yes", "\"yes\""),
        ("y", "\"y\""),
        ("null", "\"null\""),
        ("5", "\"5\""),
        ("1e3", "\"1e3\""),
        ("0x1F", "\"0x1F\""),
        ("2026-11-28", "\"2026-11-28\""),
        ("190:20:30", "\"190:20:30\""),
        ("15s", "15s"),
        ("a: b", "'a: b'"),
        ("a:b", "a:b"),
        ("a #b", "'a #b'"),
        ("a#b", "a#b"),
        ("#a", "'#a'"),
        ("*", "'*'"),
        ("it's", "it's"),
        ("'it", "'''it'"),
        ("- a", "'- a'"),
        ("-a", "-a"),
        ("---", "'---'"),
        (" a", "' a'"),
        ("a ", "'a '"),
        ("a,b", "a,b"),
        ("{}", "'{}'"),
        ("a\tb", "\"a\\tb\""),
        ("a\u{1}b", "\"a\\x01b\""),
        ("\u{e9}t\u{e9}", "\u{e9}t\u{e9}"),
        ("a\nb", "|-\n  a\n  b"),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\n\n", "|+\n  a\n"),
        ("\na", "|2-\n\n  a"),
        ("a \nb", "\"a \\nb\""),
    ];
    for (text, expected) in cases {
        assert_eq!(laid_out(&json!({"k": text})), format!("k: {expected}\n"), "{text:?}");
    }
}

#[test]
fn long_lines_break_at_a_space() {
    let words = "word ".repeat(30);
    let written = laid_out(&json!({"k": words.trim_end()}));
    let lengths: Vec<_> = written.lines().map(str::len).collect();
    assert_eq!(lengths, [82, 71], "{written}");
    assert_eq!(
        crate::document::parse(&written).unwrap().0.to_json(),
        json!({"k": words.trim_end()})
    );
}

#[test]
fn keys_are_sorted_and_numbers_in_them_by_value() {
    let value = json!({"a10": 1, "a9": 2, "B": 3, "b": 4, "1": 5, "_": 6, "a": {"z": [], "y": {}, "x": null}});
    let expected = "_: 6\n\"1\": 5\nB: 3\na:\n  x: null\n  \"y\": {}\n  z: []\na9: 2\na10: 1\nb: 4\n";
    assert_eq!(laid_out(&value), expected);
}

#[test]
fn lists_stand_flush_with_their_key() {
    let value = json!({"a": [{"b": [1, [2, 3]], "c": true}, "d", []]});
    assert_eq!(
        laid_out(&value),
        "a:\n- b:\n  - 1\n  - - 2\n    - 3\n  c: true\n- d\n- []\n"
    );
}

#[test]
fn numbers_are_written_in_as_few_digits_as_tell_them_apart() {
    let cases = [
        (single(50.0), "50"),
        (single(0.1), "0.1"),
        (single(-1.0), "-1"),
        (single(16_777_216.0), "16777216"),
        (json!(1e21), "1e+21"),
        (json!(0.00001), "1e-05"),
        (json!(123_456_789.5), "1.234567895e+08"),
        (json!(123_456.5), "123456.5"),
        (json!(u64::MAX), "18446744073709551615"),
    ];
    for (value, expected) in cases {
        assert_eq!(laid_out(&json!({"k": value})), format!("k: {expected}\n"));
    }
}

#[test]
fn everything_that_plimsolls_own_kind_says_is_read_as_it_was_written() {
    let mut config = SchedulerConfig {
        percentage_of_nodes_to_score: None,
        ..SchedulerConfig::default()
    };
    let profile = &mut config.profiles[0];
    profile.plugins.score.enabled.push(PluginRef::new("ServiceAffinity", 3));
    profile.plugins.filter.enabled.push(PluginRef::new("NodeLabel", 0));
    profile.enabled_by_name = vec!["NodeLabel".to_owned(), "ServiceAffinity".to_owned()];
    profile.plugin_config.push(PluginConfig {
        name: "ServiceAffinity".to_owned(),
        args: PluginArgs::ServiceAffinity(crate::ServiceAffinityArgs {
            affinity_labels: vec!["zone".to_owned()],
            anti_affinity_labels_preference: vec![WeightedLabel::new("rack", 3), WeightedLabel::new("row", 1)],
        }),
    });
    profile.plugin_config.push(PluginConfig {
        name: "NodeLabel".to_owned(),
        args: PluginArgs::NodeLabel(crate::NodeLabelArgs {
            present_labels: vec!["a".to_owned()],
            absent_labels: vec!["b".to_owned()],
            present_labels_preference: vec![WeightedLabel::new("c", 2)],
            absent_labels_preference: vec![WeightedLabel::new("d", 1)],
        }),
    });
    profile.plugin_config.sort_by(|a, b| a.name.cmp(&b.name));
    for entry in &mut profile.plugin_config {
        if entry.name == "NodeAffinity" {
            let mut affinity = plimsoll_model::NodeAffinity::default();
            affinity.preferred.push(PreferredTerm {
                weight: 7,
                preference: plimsoll_model::NodeSelectorTerm {
                    match_fields: vec![Requirement::new("metadata.name", Operator::NotIn, ["n"])],
                    ..Default::default()
                },
            });
            entry.args = PluginArgs::NodeAffinity(NodeAffinityArgs {
                added_affinity: Some(affinity),
                ..NodeAffinityArgs::default()
            });
        }
    }
    profile.extras = ProfileExtras {
        backoff: Some(ProfileBackoff {
            initial: Duration::from_millis(250),
            max: Duration::from_secs(90),
        }),
        extenders: vec![ExtenderConfig {
            url_prefix: "http://x".to_owned(),
            prioritize_verb: "p".to_owned(),
            weight: 2,
            http_timeout: GoDuration::from_secs(3),
            tls_config: Some(ExtenderTls {
                ca_data: b"pem".to_vec(),
                ..ExtenderTls::default()
            }),
            ..ExtenderConfig::default()
        }],
        match_rules: vec![MatchRule {
            namespace_selector: Some(LabelSelector::default()),
            pod_selector: Some(LabelSelector {
                match_labels: [("a", "b"), ("c", "")].into_iter().collect::<Labels>(),
                match_expressions: vec![Requirement::new("d", Operator::In, ["e"])],
            }),
        }],
        pod_disruption_budget_policy: PodDisruptionBudgetPolicy::Hard,
        preemption_loop_window: Some(Duration::from_mins(10)),
        trace_sampling_ratio: Some(0.125),
    };
    config.tracing = TracingConfig {
        endpoint: Some("collector:4317".to_owned()),
        sampling_rate_per_million: Some(10_000),
    };
    let text = config.to_yaml(ConfigKind::Plimsoll);
    assert_eq!(
        load(&text, &FeatureGates::default()).unwrap_or_else(|error| unreachable!("{error}\n{text}")),
        config
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof!["[ -~]{0,12}", "[a-z0-9:#' \"\n\t.*&!?-]{0,10}", "\\PC{0,6}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        text.clone().prop_map(Value::from),
        "( ?[a-z'\"]{1,9}){10,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, move |below| {
        prop_oneof![
            prop::collection::vec(below.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(text.clone(), below, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// As the reader does: whole floats are integers, and JSON tells no difference.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        _ => a == b,
    }
}

#[test]
fn a_text_that_would_merge_a_map_is_quoted() {
    let value = json!({ "<<": null, "a": "<<" });
    let text = laid_out(&value);
    assert_eq!(text, "\"<<\": null\na: \"<<\"\n");
    assert_eq!(crate::document::parse(&text).unwrap().0.to_json(), value);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_written_is_read_again(value in any_json()) {
        let text = laid_out(&json!({"top": value}));
        let (root, _) = crate::document::parse(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert!(same(&root.to_json(), &json!({"top": value})), "{text}\n{:?}", root.to_json());
    }
}
