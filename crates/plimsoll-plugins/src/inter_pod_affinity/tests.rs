use std::sync::OnceLock;

use plimsoll_config::{InterPodAffinityArgs, PluginArgs};
use plimsoll_framework::{CycleState, Extensions, Feasible, PreScoreOutcome};
use plimsoll_model::{Footprint, Moment, Namespace, ResourceVersion, Uid, decode_pod};
use serde_json::{Value, json};

use super::*;
use crate::fixture::{Cluster, Rejection, made, made_of, resolvable, unresolvable};

mod objects;
mod scores;

/// A pod in a namespace, with these labels and this `affinity`.
fn pod(namespace: &str, labels: &Value, affinity: &Value) -> Pod {
    let object = json!({
        "metadata": {"namespace": namespace, "name": "p", "uid": "u", "resourceVersion": "1", "labels": labels},
        "spec": {"affinity": affinity},
    });
    decode_pod(object.to_string().as_bytes()).unwrap()
}

fn app(name: &str) -> Pod {
    pod("default", &json!({"app": name}), &json!(null))
}

/// A term towards pods of one app in the owner's namespace.
fn near(app: &str, key: &str) -> Value {
    json!({"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key})
}

fn required(terms: &[Value]) -> Value {
    json!({"requiredDuringSchedulingIgnoredDuringExecution": terms})
}

fn preferred(terms: &[(i32, Value)]) -> Value {
    let terms: Vec<Value> = terms
        .iter()
        .map(|(weight, term)| json!({"weight": weight, "podAffinityTerm": term}))
        .collect();
    json!({"preferredDuringSchedulingIgnoredDuringExecution": terms})
}

fn affine(labels: &Value, terms: &[Value]) -> Pod {
    pod("default", labels, &json!({"podAffinity": required(terms)}))
}

fn averse(labels: &Value, terms: &[Value]) -> Pod {
    pod("default", labels, &json!({"podAntiAffinity": required(terms)}))
}

/// Three nodes in zone `a` and `b` and one without a zone; each has its name as `host`.
fn zones() -> Cluster {
    Cluster::of_nodes([
        ("a1", r#"{"labels":{"zone":"a","host":"a1"}}"#),
        ("a2", r#"{"labels":{"zone":"a","host":"a2"}}"#),
        ("b1", r#"{"labels":{"zone":"b","host":"b1"}}"#),
        ("none", r#"{"labels":{"host":"none"}}"#),
    ])
}

fn cycle<'a>(pod: &'a Pod, columns: &'a Columns) -> CycleContext<'a> {
    CycleContext {
        pod,
        columns,
        now: Moment::ZERO,
    }
}

fn set_namespace(cluster: &mut Cluster, name: &str, labels: &[(&str, &str)]) {
    cluster.columns.set_namespace(&Namespace {
        name: name.into(),
        uid: Uid::from(name),
        resource_version: ResourceVersion::new(1),
        labels: labels.iter().copied().collect(),
    });
}

const FITS: &str = "fits";
const NOT_NEAR: &str = "not near what it needs";
const TOO_NEAR: &str = "too near what it avoids";
const NOT_WANTED: &str = "too near what avoids it";

/// What a node was told, in short.
fn told(rejection: Option<Rejection>) -> &'static str {
    let Some(rejection) = rejection else { return FITS };
    let known = [
        (unresolvable(["node(s) didn't match pod affinity rules"]), NOT_NEAR),
        (resolvable(["node(s) didn't match pod anti-affinity rules"]), TOO_NEAR),
        (
            resolvable(["node(s) didn't satisfy existing pods anti-affinity rules"]),
            NOT_WANTED,
        ),
    ];
    let found = known.iter().find(|(known, _)| *known == rejection);
    found.map_or("something else", |(_, short)| short)
}

const NAMES: [&str; 4] = ["a1", "a2", "b1", "none"];

fn verdicts(cluster: &Cluster, pod: &Pod) -> [&'static str; 4] {
    let filtered = cluster.filter(&made(construct), pod);
    NAMES.map(|name| told(filtered.of(name)))
}

#[test]
fn affinity_wants_a_matching_pod_in_the_same_domain() {
    let mut cluster = zones();
    cluster.add_pod("a1", &app("db"));
    let web = json!({"app": "web"});
    let by_zone = affine(&web, &[near("db", "zone")]);
    assert_eq!(verdicts(&cluster, &by_zone), [FITS, FITS, NOT_NEAR, NOT_NEAR]);
    let by_host = affine(&web, &[near("db", "host")]);
    assert_eq!(verdicts(&cluster, &by_host), [FITS, NOT_NEAR, NOT_NEAR, NOT_NEAR]);
    let both = affine(&web, &[near("db", "zone"), near("db", "host")]);
    assert_eq!(verdicts(&cluster, &both), [FITS, NOT_NEAR, NOT_NEAR, NOT_NEAR]);
}

#[test]
fn one_pod_must_match_all_affinity_terms() {
    let mut cluster = zones();
    cluster.add_pod("a1", &pod("default", &json!({"app": "db"}), &json!(null)));
    cluster.add_pod("a1", &pod("default", &json!({"tier": "back"}), &json!(null)));
    let back = json!({"labelSelector": {"matchLabels": {"tier": "back"}}, "topologyKey": "zone"});
    let wanted = affine(&json!({}), &[near("db", "zone"), back]);
    assert_eq!(verdicts(&cluster, &wanted), [NOT_NEAR, NOT_NEAR, NOT_NEAR, NOT_NEAR]);
    cluster.add_pod(
        "b1",
        &pod("default", &json!({"app": "db", "tier": "back"}), &json!(null)),
    );
    assert_eq!(verdicts(&cluster, &wanted), [NOT_NEAR, NOT_NEAR, FITS, NOT_NEAR]);
}

#[test]
fn the_first_pod_of_its_kind_needs_only_the_labels() {
    let mut cluster = zones();
    let web = affine(&json!({"app": "web"}), &[near("web", "zone")]);
    assert_eq!(verdicts(&cluster, &web), [FITS, FITS, FITS, NOT_NEAR]);
    // It must match all its own terms.
    let db = affine(&json!({"app": "web"}), &[near("web", "zone"), near("db", "zone")]);
    assert_eq!(verdicts(&cluster, &db), [NOT_NEAR, NOT_NEAR, NOT_NEAR, NOT_NEAR]);
    // A pod without the topology label around it does not count.
    cluster.add_pod("none", &app("web"));
    assert_eq!(verdicts(&cluster, &web), [FITS, FITS, FITS, NOT_NEAR]);
    // By either label.
    let by_both = affine(&json!({"app": "web"}), &[near("web", "zone"), near("web", "host")]);
    assert_eq!(verdicts(&cluster, &by_both), [NOT_NEAR, NOT_NEAR, NOT_NEAR, NOT_NEAR]);
    cluster.add_pod("b1", &app("web"));
    assert_eq!(verdicts(&cluster, &web), [NOT_NEAR, NOT_NEAR, FITS, NOT_NEAR]);
}

#[test]
fn a_label_that_no_node_has_can_not_be_near() {
    let mut cluster = zones();
    cluster.add_pod("a1", &app("web"));
    let pod = affine(&json!({"app": "web"}), &[near("web", "rack")]);
    assert_eq!(verdicts(&cluster, &pod), [NOT_NEAR, NOT_NEAR, NOT_NEAR, NOT_NEAR]);
    let pod = averse(&json!({"app": "web"}), &[near("web", "rack")]);
    assert_eq!(verdicts(&cluster, &pod), [FITS, FITS, FITS, FITS]);
}

#[test]
fn anti_affinity_keeps_away_from_domains_with_a_matching_pod() {
    let mut cluster = zones();
    cluster.add_pod("a1", &app("web"));
    cluster.add_pod("none", &app("web"));
    let web = json!({"app": "web"});
    let by_zone = averse(&web, &[near("web", "zone")]);
    assert_eq!(verdicts(&cluster, &by_zone), [TOO_NEAR, TOO_NEAR, FITS, FITS]);
    let by_host = averse(&web, &[near("web", "host")]);
    assert_eq!(verdicts(&cluster, &by_host), [TOO_NEAR, FITS, FITS, TOO_NEAR]);
    // Each term for itself.
    cluster.add_pod("b1", &app("db"));
    let either = averse(&web, &[near("web", "host"), near("db", "zone")]);
    assert_eq!(verdicts(&cluster, &either), [TOO_NEAR, FITS, TOO_NEAR, TOO_NEAR]);
}

#[test]
fn anti_affinity_of_pods_on_nodes_keeps_newcomers_away() {
    let mut cluster = zones();
    cluster.add_pod("a1", &averse(&json!({"app": "db"}), &[near("web", "zone")]));
    assert_eq!(verdicts(&cluster, &app("web")), [NOT_WANTED, NOT_WANTED, FITS, FITS]);
    assert!(cluster.filter(&made(construct), &app("other")).skipped());
    // Another namespace is not meant.
    let elsewhere = pod("other", &json!({"app": "web"}), &json!(null));
    assert!(cluster.filter(&made(construct), &elsewhere).skipped());
    // On a node without the label it forbids nothing.
    let mut cluster = zones();
    cluster.add_pod("none", &averse(&json!({"app": "db"}), &[near("web", "zone")]));
    assert!(cluster.filter(&made(construct), &app("web")).skipped());
}

#[test]
fn the_rules_are_told_in_the_order_of_kube_scheduler() {
    let mut cluster = zones();
    cluster.add_pod("a1", &averse(&json!({"app": "db"}), &[near("web", "host")]));
    cluster.add_pod("a2", &app("db"));
    let wants = pod(
        "default",
        &json!({"app": "web"}),
        &json!({"podAffinity": required(&[near("db", "zone")]), "podAntiAffinity": required(&[near("db", "host")])}),
    );
    assert_eq!(verdicts(&cluster, &wants), [TOO_NEAR, TOO_NEAR, NOT_NEAR, NOT_NEAR]);
    let wants = pod(
        "default",
        &json!({"app": "web"}),
        &json!({"podAffinity": required(&[near("db", "zone")])}),
    );
    assert_eq!(verdicts(&cluster, &wants), [NOT_WANTED, FITS, NOT_NEAR, NOT_NEAR]);
}

#[test]
fn pods_that_have_been_told_to_go_still_count() {
    let mut cluster = zones();
    let going = json!({
        "metadata": {"namespace": "default", "name": "p", "uid": "u", "resourceVersion": "1", "labels": {"app": "web"},
            "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {},
    });
    cluster.add_pod("a1", &decode_pod(going.to_string().as_bytes()).unwrap());
    let pod = averse(&json!({}), &[near("web", "host")]);
    assert_eq!(verdicts(&cluster, &pod), [TOO_NEAR, FITS, FITS, FITS]);
}

#[test]
fn selectors_of_pods_say_which_pods_are_meant() {
    let cases = [
        (json!(null), false),
        (json!({}), true),
        (json!({"matchLabels": {"app": "web"}}), true),
        (json!({"matchLabels": {"app": "db"}}), false),
        (
            json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["db", "web"]}]}),
            true,
        ),
        (
            json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}),
            false,
        ),
        (
            json!({"matchExpressions": [{"key": "gone", "operator": "NotIn", "values": ["x"]}]}),
            true,
        ),
        (
            json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
            true,
        ),
        (
            json!({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}),
            false,
        ),
        (
            json!({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "gone", "operator": "Exists"}]}),
            false,
        ),
    ];
    for (selector, matches) in cases {
        let term = json!({"labelSelector": selector, "topologyKey": "host"});
        let mut cluster = zones();
        cluster.add_pod("a1", &app("web"));
        let own = averse(&json!({}), std::slice::from_ref(&term));
        assert_eq!(
            verdicts(&cluster, &own)[0],
            if matches { TOO_NEAR } else { FITS },
            "{selector}"
        );
        let mut cluster = zones();
        cluster.add_pod("a1", &averse(&json!({}), &[term]));
        assert_eq!(
            verdicts(&cluster, &app("web"))[0],
            if matches { NOT_WANTED } else { FITS },
            "{selector}"
        );
    }
}

/// Namespaces `red` and `blue` have a label `team`, `plain` has none, `gone` has no object; a term of a pod in `red`.
/// Which of the four are meant, by a newcomer's term and by that of a pod on a node.
#[test]
fn namespaces_are_meant_by_name_or_by_labels() {
    let labelled = |operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": "team", "operator": operator, "values": values}]});
    let cases = [
        (json!({}), [true, false, false, false], [true, false, false, false]),
        (
            json!({"namespaces": ["blue", "gone"]}),
            [false, true, false, true],
            [false, true, false, true],
        ),
        (json!({"namespaceSelector": {}}), [true; 4], [true; 4]),
        (
            json!({"namespaceSelector": {"matchLabels": {"team": "blue"}}}),
            [false, true, false, false],
            [false, true, false, false],
        ),
        (
            json!({"namespaces": ["gone"], "namespaceSelector": {"matchLabels": {"team": "blue"}}}),
            [false, true, false, true],
            [false, true, false, true],
        ),
        (
            json!({"namespaceSelector": labelled("Exists", &[])}),
            [true, true, false, false],
            [true, true, false, false],
        ),
        // A newcomer's selector that is content with no labels means every namespace; of pods on nodes, only those
        // without the label.
        (
            json!({"namespaceSelector": labelled("DoesNotExist", &[])}),
            [true; 4],
            [false, false, true, true],
        ),
        (
            json!({"namespaceSelector": labelled("NotIn", &["red"])}),
            [true; 4],
            [false, true, true, true],
        ),
    ];
    for (namespaces, by_newcomer, by_existing) in cases {
        let mut term = json!({"labelSelector": {}, "topologyKey": "host"});
        term.as_object_mut()
            .unwrap()
            .extend(namespaces.as_object().unwrap().clone());
        let owner = pod("red", &json!({}), &json!({"podAntiAffinity": required(&[term])}));
        for (at, namespace) in ["red", "blue", "plain", "gone"].into_iter().enumerate() {
            let other = pod(namespace, &json!({}), &json!(null));
            let verdict = |on_node: &Pod, newcomer: &Pod| {
                let mut cluster = zones();
                set_namespace(&mut cluster, "red", &[("team", "red")]);
                set_namespace(&mut cluster, "blue", &[("team", "blue")]);
                set_namespace(&mut cluster, "plain", &[]);
                cluster.add_pod("a1", on_node);
                verdicts(&cluster, newcomer)[0]
            };
            let expected = if by_newcomer[at] { TOO_NEAR } else { FITS };
            assert_eq!(verdict(&other, &owner), expected, "{namespaces} {namespace} newcomer");
            let expected = if by_existing[at] { NOT_WANTED } else { FITS };
            assert_eq!(verdict(&owner, &other), expected, "{namespaces} {namespace} existing");
        }
    }
}

#[test]
fn a_namespace_selector_follows_the_labels_of_namespaces() {
    let mut cluster = zones();
    set_namespace(&mut cluster, "other", &[]);
    cluster.add_pod("a1", &pod("other", &json!({"app": "web"}), &json!(null)));
    let mut term = near("web", "host");
    term["namespaceSelector"] = json!({"matchLabels": {"team": "x"}});
    let newcomer = averse(&json!({}), &[term]);
    // Asks for the count before the label is there.
    cluster.columns = {
        let mut columns = cluster.columns.clone();
        made(construct).prepare.unwrap().prepare(&newcomer, &mut columns);
        columns
    };
    assert_eq!(verdicts(&cluster, &newcomer)[0], FITS);
    set_namespace(&mut cluster, "other", &[("team", "x")]);
    assert_eq!(verdicts(&cluster, &newcomer)[0], TOO_NEAR);
    cluster.columns.remove_namespace("other");
    assert_eq!(verdicts(&cluster, &newcomer)[0], FITS);
}

#[test]
fn terms_of_a_newcomer_that_cannot_be_parsed_stop_it() {
    let bad = json!({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
        "topologyKey": "zone"});
    let worse = json!({"labelSelector": {}, "topologyKey": "zone",
        "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}});
    let cases = [
        (
            json!({"podAffinity": required(&[near("web", "zone"), bad.clone()])}),
            r#"requiredAffinityTerms: "Gt" is not a valid label selector operator"#,
        ),
        (
            json!({"podAntiAffinity": preferred(&[(1, bad.clone())])}),
            r#"preferredAntiAffinityTerms: "Gt" is not a valid label selector operator"#,
        ),
        (
            json!({"podAffinity": preferred(&[(1, bad)]), "podAntiAffinity": required(&[worse])}),
            r#"[requiredAntiAffinityTerms: values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty, preferredAffinityTerms: "Gt" is not a valid label selector operator]"#,
        ),
    ];
    for (affinity, fault) in cases {
        let newcomer = pod("default", &json!({}), &affinity);
        let mut columns = Columns::new();
        let plugin = made(construct);
        plugin.prepare.unwrap().prepare(&newcomer, &mut columns);
        let cycle = cycle(&newcomer, &columns);
        let mut state = CycleState::new();
        let PreFilterOutcome::Stop(status) = plugin.pre_filter.unwrap().pre_filter(cycle, &mut state) else {
            panic!("{affinity}")
        };
        assert_eq!(status.code, Code::UnschedulableAndUnresolvable);
        assert_eq!(status.message(), format!("parsing pod: {fault}"));
        let outcome =
            plugin
                .pre_score
                .unwrap()
                .pre_score(cycle, &mut state, &Feasible::new(&NodeSet::new(), &OnceLock::new()));
        assert_eq!(outcome, PreScoreOutcome::Error(format!("failed to parse pod: {fault}")));
    }
}

#[test]
fn a_list_of_a_pod_on_a_node_that_cannot_be_parsed_counts_for_nothing() {
    let bad = json!({"labelSelector": {"matchLabels": {"not a key": "x"}}, "topologyKey": "zone"});
    let mut cluster = zones();
    cluster.add_pod("a1", &averse(&json!({}), &[near("web", "host"), bad]));
    assert!(cluster.filter(&made(construct), &app("web")).skipped());
}

#[test]
fn a_pod_added_after_the_pre_filter_counts_in_the_filter() {
    let mut columns = zones().columns;
    let newcomer = averse(&json!({"app": "web"}), &[near("web", "host")]);
    let plugin = made(construct);
    plugin.prepare.unwrap().prepare(&newcomer, &mut columns);
    let mut state = CycleState::new();
    let outcome = plugin
        .pre_filter
        .unwrap()
        .pre_filter(cycle(&newcomer, &columns), &mut state);
    assert!(matches!(outcome, PreFilterOutcome::Continue));
    let filter = plugin.filter.unwrap();
    let rejected = |columns: &Columns| {
        let mut verdicts = plimsoll_framework::Verdicts::default();
        verdicts.begin(columns.nodes(), columns.capacity());
        filter
            .filter(cycle(&newcomer, columns), &state, &mut verdicts.pass(0))
            .unwrap();
        let rejected = columns
            .nodes()
            .iter()
            .filter(|node| !verdicts.feasible().contains(*node));
        rejected.map(|node| columns.name(node).to_owned()).collect::<Vec<_>>()
    };
    let nominated = Footprint::of(&app("web"));
    let forbidding = Footprint::of(&averse(&json!({}), &[near("web", "zone")]));
    columns.add_pod("a1", &nominated);
    columns.add_pod("b1", &forbidding);
    assert_eq!(rejected(&columns), ["a1", "b1"]);
    columns.remove_pod("a1", &nominated);
    columns.remove_pod("b1", &forbidding);
    assert!(rejected(&columns).is_empty());
}

fn with_args(hard_pod_affinity_weight: i32, ignore_preferred_terms_of_existing_pods: bool) -> Extensions {
    let args = InterPodAffinityArgs {
        hard_pod_affinity_weight,
        ignore_preferred_terms_of_existing_pods,
    };
    made_of(construct, &PluginArgs::InterPodAffinity(args))
}

#[test]
fn a_pod_without_rules_that_nobody_minds_is_skipped() {
    let mut cluster = zones();
    cluster.add_pod("a1", &app("web"));
    assert!(cluster.filter(&made(construct), &app("web")).skipped());
    let likes = json!({"podAffinity": preferred(&[(1, near("web", "zone"))])});
    assert!(
        cluster
            .filter(&made(construct), &pod("default", &json!({}), &likes))
            .skipped()
    );
}

#[test]
fn arguments_of_another_plugin_are_refused() {
    let args = PluginArgs::Raw(json!({}));
    let error = crate::fixture::made_with(construct, Some(&args), &plimsoll_config::FeatureGates::default());
    assert_eq!(error.unwrap_err(), "args are not of type InterPodAffinityArgs");
}
