use plimsoll_model::Moment;

use super::*;
use crate::fixture::{Cluster, Listener, made, made_of, node, pod, unresolvable};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

fn labelled(labels: &str) -> String {
    format!(r#"{{"labels":{labels}}}"#)
}

fn requiring(terms: &str) -> String {
    format!(r#"{{"affinity":{{"nodeAffinity":{{"{REQUIRED}":{{"nodeSelectorTerms":[{terms}]}}}}}}}}"#)
}

fn expression(key: &str, operator: &str, values: &str) -> String {
    format!(r#"{{"matchExpressions":[{{"key":"{key}","operator":"{operator}","values":[{values}]}}]}}"#)
}

fn field(operator: &str, values: &str) -> String {
    format!(r#"{{"key":"metadata.name","operator":"{operator}","values":[{values}]}}"#)
}

/// Nodes `a` and `b` have labels, `bare` has none.
fn cluster() -> Cluster {
    Cluster::of_nodes([
        ("a", labelled(r#"{"zone":"x","disk":"ssd","cores":"8"}"#).as_str()),
        ("b", labelled(r#"{"zone":"y","cores":"many"}"#).as_str()),
        ("bare", "{}"),
    ])
}

fn passing(spec: &str) -> Vec<&'static str> {
    let cluster = cluster();
    let verdicts = cluster.filter(&made(construct), &pod(spec));
    let mut passing = Vec::new();
    for name in ["a", "b", "bare"] {
        match verdicts.of(name) {
            None => passing.push(name),
            Some(rejection) => {
                assert_eq!(
                    rejection,
                    unresolvable(["node(s) didn't match Pod's node affinity/selector"])
                );
            }
        }
    }
    passing
}

#[test]
fn a_node_selector_wants_every_label() {
    let cases: [(&str, &[&str]); 4] = [
        (r#"{"nodeSelector":{"zone":"x"}}"#, &["a"]),
        (r#"{"nodeSelector":{"zone":"x","disk":"ssd"}}"#, &["a"]),
        (r#"{"nodeSelector":{"zone":"y","disk":"ssd"}}"#, &[]),
        (r#"{"nodeSelector":{"nothing":"x"}}"#, &[]),
    ];
    for (spec, expected) in cases {
        assert_eq!(passing(spec), expected, "{spec}");
    }
}

#[test]
fn one_required_term_must_match_wholly() {
    let zone_x = expression("zone", "In", r#""x""#);
    let zone_y = expression("zone", "In", r#""y","z""#);
    let cases: Vec<(String, &[&str])> = vec![
        (zone_x.clone(), &["a"]),
        (format!("{zone_x},{zone_y}"), &["a", "b"]),
        (expression("zone", "NotIn", r#""x""#), &["b", "bare"]),
        (expression("zone", "Exists", ""), &["a", "b"]),
        (expression("zone", "DoesNotExist", ""), &["bare"]),
        (expression("cores", "Gt", r#""7""#), &["a"]),
        (expression("cores", "Gt", r#""8""#), &[]),
        (expression("cores", "Lt", r#""9""#), &["a"]),
        // Terms that can't be parsed match nothing and leave the others alone.
        (expression("cores", "Gt", r#""-5""#), &[]),
        (format!("{},{zone_x}", expression("zone", "Near", r#""x""#)), &["a"]),
        (expression("zone", "Exists", r#""x""#), &[]),
        (expression("zone", "In", ""), &[]),
        (
            r#"{"matchExpressions":[{"key":"zone","operator":"Exists"},{"key":"disk","operator":"Exists"}]}"#
                .to_owned(),
            &["a"],
        ),
        // An empty term matches nothing, and so does an empty list of terms.
        ("{}".to_owned(), &[]),
        (format!("{{}},{zone_x}"), &["a"]),
        (String::new(), &[]),
        (
            format!(r#"{{"matchFields":[{}]}}"#, field("NotIn", r#""a""#)),
            &["b", "bare"],
        ),
        (
            format!(
                r#"{{"matchFields":[{}],"matchExpressions":[{{"key":"zone","operator":"Exists"}}]}}"#,
                field("In", r#""bare""#)
            ),
            &[],
        ),
    ];
    for (terms, expected) in cases {
        assert_eq!(passing(&requiring(&terms)), expected, "{terms}");
    }
}

#[test]
fn selector_and_affinity_must_both_match() {
    let affinity = requiring(&expression("zone", "Exists", ""));
    let spec = affinity.replacen('{', r#"{"nodeSelector":{"cores":"8"},"#, 1);
    assert_eq!(passing(&spec), ["a"]);
}

#[test]
fn a_pod_without_selector_or_required_affinity_skips_the_filter() {
    let wish = format!(r#"{{"weight":1,"preference":{}}}"#, expression("zone", "Exists", ""));
    let preferring = format!(r#"{{"affinity":{{"nodeAffinity":{{"{PREFERRED}":[{wish}]}}}}}}"#);
    for spec in [
        "{}",
        r#"{"affinity":{}}"#,
        r#"{"affinity":{"nodeAffinity":{}}}"#,
        &preferring,
    ] {
        assert!(cluster().filter(&made(construct), &pod(spec)).skipped(), "{spec}");
    }
}

#[test]
fn terms_that_all_name_nodes_restrict_to_them() {
    let term = |fields: &[&str]| format!(r#"{{"matchFields":[{}]}}"#, fields.join(","));
    let a = field("In", r#""a""#);
    let b = field("In", r#""b""#);
    let anything = expression("zone", "Exists", "");
    let cases: Vec<(String, Option<&[&str]>)> = vec![
        (term(&[&a]), Some(&["a"])),
        (format!("{},{}", term(&[&a]), term(&[&b])), Some(&["a", "b"])),
        (format!("{},{}", term(&[&a]), term(&[&a, &b])), Some(&["a"])),
        (format!("{},{anything}", term(&[&a])), None),
        (term(&[&field("NotIn", r#""a""#)]), None),
        (term(&[&field("In", r#""gone""#)]), Some(&[])),
    ];
    for (terms, expected) in cases {
        let cluster = cluster();
        let filtered = cluster.filter(&made(construct), &pod(&requiring(&terms)));
        let expected: Option<Vec<_>> = expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(filtered.restricted_to().map(<[String]>::to_vec), expected, "{terms}");
    }
}

#[test]
fn names_that_exclude_each_other_stop_the_pod() {
    let term = format!(
        r#"{{"matchFields":[{},{}]}}"#,
        field("In", r#""a""#),
        field("In", r#""b""#)
    );
    let pod = pod(&requiring(&term));
    let columns = cluster().columns;
    let cycle = CycleContext {
        pod: &pod,
        columns: &columns,
        now: Moment::ZERO,
    };
    let PreFilterOutcome::Stop(status) = NodeAffinity::default().pre_filter(cycle, &mut CycleState::new()) else {
        panic!("not stopped");
    };
    assert_eq!(
        status,
        Status::new(
            Code::UnschedulableAndUnresolvable,
            "NodeAffinity",
            "pod affinity terms conflict"
        )
    );
}

#[test]
fn matching_preferred_terms_add_their_weights() {
    let wish = |weight: i32, preference: &str| format!(r#"{{"weight":{weight},"preference":{preference}}}"#);
    let zone_x = expression("zone", "In", r#""x""#);
    let any_zone = expression("zone", "Exists", "");
    let invalid = expression("cores", "Gt", r#""-5""#);
    let cases = [
        (vec![wish(3, &zone_x)], [3, 0, 0], [100, 0, 0]),
        (vec![wish(3, &zone_x), wish(4, &any_zone)], [7, 4, 0], [100, 57, 0]),
        (vec![wish(0, &zone_x)], [0, 0, 0], [0, 0, 0]),
        (vec![wish(5, "{}"), wish(1, &any_zone)], [1, 1, 0], [100, 100, 0]),
        (vec![wish(5, &invalid), wish(2, &zone_x)], [2, 0, 0], [100, 0, 0]),
    ];
    for (wishes, raw, normalised) in cases {
        let spec = format!(
            r#"{{"affinity":{{"nodeAffinity":{{"{PREFERRED}":[{}]}}}}}}"#,
            wishes.join(",")
        );
        let scores = cluster().score(&made(construct), &pod(&spec)).unwrap();
        let names = ["a", "b", "bare"];
        assert_eq!(names.map(|name| scores.raw(name)), raw, "{spec}");
        assert_eq!(names.map(|name| scores.normalised(name)), normalised, "{spec}");
    }
}

#[test]
fn a_pod_without_preferred_terms_is_not_scored() {
    for spec in ["{}", r#"{"affinity":{"nodeAffinity":{}}}"#, &requiring("{}")] {
        assert!(cluster().score(&made(construct), &pod(spec)).is_none(), "{spec}");
    }
}

/// The plugin with the node affinity of this pod added.
fn adding(spec: &str) -> Extensions {
    let added_affinity = node_affinity(&pod(spec)).cloned();
    assert!(added_affinity.is_some(), "{spec}");
    made_of(
        construct,
        &PluginArgs::NodeAffinity(NodeAffinityArgs {
            added_affinity,
            ..NodeAffinityArgs::default()
        }),
    )
}

#[test]
fn added_required_affinity_holds_every_pod_and_is_named_first() {
    let enforced = "node(s) didn't match scheduler-enforced node affinity";
    let own = "node(s) didn't match Pod's node affinity/selector";
    let plugin = adding(&requiring(&expression("zone", "In", r#""x""#)));
    let cases = [
        ("{}", [None, Some(enforced), Some(enforced)]),
        (
            r#"{"nodeSelector":{"zone":"y"}}"#,
            [Some(own), Some(enforced), Some(enforced)],
        ),
        (
            r#"{"nodeSelector":{"disk":"ssd"}}"#,
            [None, Some(enforced), Some(enforced)],
        ),
    ];
    for (spec, expected) in cases {
        let cluster = cluster();
        let verdicts = cluster.filter(&plugin, &pod(spec));
        assert!(!verdicts.skipped(), "{spec}");
        let verdicts = ["a", "b", "bare"].map(|name| verdicts.of(name));
        assert_eq!(
            verdicts,
            expected.map(|reason| reason.map(|reason| unresolvable([reason]))),
            "{spec}"
        );
    }
    let nowhere = adding(&requiring(""));
    let cluster = cluster();
    assert_eq!(
        cluster.filter(&nowhere, &pod("{}")).of("a"),
        Some(unresolvable([enforced]))
    );
}

#[test]
fn added_preferred_terms_count_with_those_of_the_pod() {
    let preferring = |weight: i32, key: &str| {
        let wish = format!(
            r#"{{"weight":{weight},"preference":{}}}"#,
            expression(key, "Exists", "")
        );
        format!(r#"{{"affinity":{{"nodeAffinity":{{"{PREFERRED}":[{wish}]}}}}}}"#)
    };
    let plugin = adding(&preferring(5, "disk"));
    let cases = [
        ("{}".to_owned(), [5, 0, 0], [100, 0, 0]),
        (preferring(3, "zone"), [8, 3, 0], [100, 37, 0]),
    ];
    for (spec, raw, normalised) in cases {
        let cluster = cluster();
        let scores = cluster.score(&plugin, &pod(&spec)).unwrap();
        let names = ["a", "b", "bare"];
        assert_eq!(names.map(|name| scores.raw(name)), raw, "{spec}");
        assert_eq!(names.map(|name| scores.normalised(name)), normalised, "{spec}");
    }
    assert!(cluster().filter(&plugin, &pod("{}")).skipped(), "nothing is required");
}

#[test]
fn a_node_that_comes_to_match_brings_pods_back() {
    let listener = Listener::of(&made(construct));
    let labelled = |labels: &str| node("n", &labelled(labels));
    let (x, y, bare) = (labelled(r#"{"zone":"x"}"#), labelled(r#"{"zone":"y"}"#), labelled("{}"));
    let other_label = labelled(r#"{"zone":"x","disk":"ssd"}"#);
    let in_x = [
        pod(r#"{"nodeSelector":{"zone":"x"}}"#),
        pod(&requiring(&expression("zone", "In", r#""x""#))),
        pod(&format!(
            r#"{{"nodeSelector":{{"zone":"x"}},{}"#,
            &requiring(&expression("zone", "NotIn", r#""y""#))[1..]
        )),
    ];
    for pod in &in_x {
        let wakes = |old: Option<&Node>, new| {
            let action = old.map_or(Action::ADD, |_| Action::UPDATE_NODE_LABEL);
            listener.wakes_on_node(action, pod, old, Some(new))
        };
        assert!(wakes(None, &x));
        assert!(!wakes(None, &y));
        assert!(!wakes(None, &bare));
        assert!(wakes(Some(&y), &x));
        assert!(!wakes(Some(&x), &y));
        assert!(!wakes(Some(&x), &other_label));
        // Whatever takes its taint off may have hidden the node.
        assert!(listener.wakes_on_node(Action::UPDATE_NODE_TAINT, pod, Some(&y), Some(&y)));
    }
    let by_name = pod(&requiring(&format!(r#"{{"matchFields":[{}]}}"#, field("In", r#""n""#))));
    assert!(listener.wakes_on_node(Action::ADD, &by_name, None, Some(&bare)));
    let unparseable = pod(&requiring(&expression("zone", "Gt", r#""much""#)));
    assert!(!listener.wakes_on_node(Action::ADD, &unparseable, None, Some(&x)));
    let by_other_name = pod(&requiring(&format!(r#"{{"matchFields":[{}]}}"#, field("In", r#""m""#))));
    assert!(!listener.wakes_on_node(Action::ADD, &by_other_name, None, Some(&bare)));
}

#[test]
fn a_node_that_comes_to_match_the_profile_brings_pods_back() {
    let added = pod(&requiring(&expression("disk", "In", r#""ssd""#)))
        .spec
        .affinity
        .clone()
        .unwrap();
    let args = NodeAffinityArgs {
        added_affinity: added.node_affinity,
        ..NodeAffinityArgs::default()
    };
    let listener = Listener::of(&made_of(construct, &PluginArgs::NodeAffinity(args)));
    let labelled = |labels: &str| node("n", &labelled(labels));
    let both = labelled(r#"{"zone":"x","disk":"ssd"}"#);
    let only_pods = labelled(r#"{"zone":"x"}"#);
    let only_profiles = labelled(r#"{"disk":"ssd"}"#);
    let pod = pod(r#"{"nodeSelector":{"zone":"x"}}"#);
    let wakes = |old, new| listener.wakes_on_node(Action::UPDATE_NODE_LABEL, &pod, Some(old), Some(new));
    assert!(wakes(&only_pods, &both));
    assert!(wakes(&only_profiles, &both));
    assert!(!wakes(&only_profiles, &only_pods));
    assert!(!wakes(&both, &both));
    assert!(!listener.wakes_on_node(Action::ADD, &pod, None, Some(&only_pods)));
}
