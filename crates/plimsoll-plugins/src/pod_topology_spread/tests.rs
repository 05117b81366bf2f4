use std::sync::OnceLock;

use plimsoll_config::{DefaultSpreadConstraint, FeatureGates, PodTopologySpreadArgs};
use plimsoll_framework::{PreFilterOutcome, Verdicts};
use plimsoll_model::columns::NodeSet;
use plimsoll_model::{Footprint, Moment, ObjectName, WorkloadKind, decode_pod, decode_workload_selector};
use serde_json::{Value, json};

use super::*;
use crate::fixture::{Cluster, Rejection, made, made_of, made_with, resolvable, terminating, unresolvable};

mod objects;
mod scores;

const FITS: &str = "fits";
const NO_LABEL: &str = "in no domain";
const FULL: &str = "in a domain with too many";

/// A pod with these labels and this spec.
fn pod_in(namespace: &str, labels: &Value, spec: &Value) -> Pod {
    let object = json!({
        "metadata": {"namespace": namespace, "name": "p", "uid": "u", "resourceVersion": "1", "labels": labels},
        "spec": spec,
    });
    decode_pod(object.to_string().as_bytes()).unwrap()
}

fn app(name: &str) -> Pod {
    pod_in("default", &json!({"app": name}), &json!({}))
}

/// A constraint over the pods of app `web`, with some fields set otherwise.
fn hard(max_skew: i32, key: &str, fields: &Value) -> Value {
    let mut constraint = json!({
        "maxSkew": max_skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    });
    let fields = fields.as_object().unwrap().clone();
    constraint.as_object_mut().unwrap().extend(fields);
    constraint
}

/// A pod of app `web` with these constraints.
fn spread(constraints: &[Value]) -> Pod {
    pod_in(
        "default",
        &json!({"app": "web"}),
        &json!({"topologySpreadConstraints": constraints}),
    )
}

/// Two nodes in zone `a`, one in zone `b` and one without a zone; each has its name as `host`.
fn zones() -> Cluster {
    Cluster::of_nodes([
        ("a1", r#"{"labels":{"zone":"a","host":"a1","disk":"ssd"}}"#),
        ("a2", r#"{"labels":{"zone":"a","host":"a2"}}"#),
        (
            "b1",
            r#"{"labels":{"zone":"b","host":"b1","disk":"ssd"},"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]}}"#,
        ),
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

fn of_rejection(rejection: Option<&Rejection>) -> &'static str {
    match rejection {
        None => FITS,
        Some(rejection) if *rejection == unresolvable([MISSING_LABEL]) => NO_LABEL,
        Some(rejection) if *rejection == resolvable([TOO_MANY]) => FULL,
        Some(other) => panic!("{other:?}"),
    }
}

/// What the plugin says of the nodes of [`zones`].
fn verdicts(cluster: &Cluster, pod: &Pod, plugin: &Extensions) -> [&'static str; 4] {
    let filtered = cluster.filter(plugin, pod);
    assert!(!filtered.skipped());
    ["a1", "a2", "b1", "none"].map(|node| of_rejection(filtered.of(node).as_ref()))
}

#[test]
fn reasons_are_those_of_kube_scheduler() {
    assert_eq!(
        MISSING_LABEL,
        "node(s) didn't match pod topology spread constraints (missing required label)"
    );
    assert_eq!(TOO_MANY, "node(s) didn't match pod topology spread constraints");
}

#[test]
fn a_domain_takes_no_more_pods_than_the_emptiest_and_the_skew() {
    let zone = |max_skew, fields| hard(max_skew, "zone", &fields);
    let none = json!({});
    let b_is_full = [FITS, FITS, FULL, NO_LABEL];
    let a_is_full = [FULL, FULL, FITS, NO_LABEL];
    let all_fit = [FITS, FITS, FITS, NO_LABEL];
    let all_full = [FULL, FULL, FULL, NO_LABEL];
    let cases: [(&[&str], Vec<Value>, [&str; 4]); 20] = [
        (&[], vec![zone(1, none.clone())], all_fit),
        (&["a1"], vec![zone(1, none.clone())], a_is_full),
        (&["a1", "a2", "b1"], vec![zone(1, none.clone())], a_is_full),
        (&["a1", "a2", "b1"], vec![zone(2, none.clone())], all_fit),
        (&["b1"], vec![zone(1, none.clone())], b_is_full),
        // Pods where there is no zone do not count.
        (&["none", "none"], vec![zone(1, none.clone())], all_fit),
        // Two domains are not three, so it is as if one were empty.
        (&["a1", "b1"], vec![zone(1, json!({"minDomains": 3}))], all_full),
        (&["a1", "b1"], vec![zone(1, json!({"minDomains": 2}))], all_fit),
        // A pod that the selector does not select does not count itself.
        (
            &["a1"],
            vec![zone(1, json!({"labelSelector": {"matchLabels": {"app": "db"}}}))],
            all_fit,
        ),
        // No selector selects nothing; an empty one selects the pod itself but counts no other.
        (&["a1", "a1"], vec![zone(1, json!({"labelSelector": null}))], all_fit),
        (&["a1", "a1"], vec![zone(1, json!({"labelSelector": {}}))], all_fit),
        // Nodes that the pod cannot use do not count, but are judged all the same.
        (
            &["a1"],
            vec![zone(1, json!({"nodeTaintsPolicy": "Honor"}))],
            [FITS, FITS, FITS, NO_LABEL],
        ),
        (
            &["a1", "b1", "b1"],
            vec![zone(1, json!({"nodeTaintsPolicy": "Honor"}))],
            [FITS, FITS, FITS, NO_LABEL],
        ),
        (
            &["a1", "b1", "b1"],
            vec![zone(1, json!({"nodeTaintsPolicy": "Ignore"}))],
            b_is_full,
        ),
        // Each node is a domain.
        (&["a1", "b1"], vec![hard(1, "host", &none)], [FULL, FITS, FULL, FITS]),
        // Nodes without a zone count for neither constraint: `none` is not the emptiest host.
        (
            &["a1", "a2", "b1"],
            vec![hard(1, "host", &none), zone(2, none.clone())],
            [FITS, FITS, FITS, NO_LABEL],
        ),
        // The first constraint that is not met speaks.
        (
            &["a1"],
            vec![zone(1, none.clone()), hard(1, "rack", &none)],
            [NO_LABEL; 4],
        ),
        (
            &["a1", "a1", "b1"],
            vec![hard(2, "host", &none), zone(1, none.clone())],
            [FULL, FULL, FITS, NO_LABEL],
        ),
        // No node has the label.
        (&["a1"], vec![hard(1, "rack", &none)], [NO_LABEL; 4]),
        // A soft constraint beside it rejects nothing.
        (
            &["a1"],
            vec![
                zone(1, json!({"whenUnsatisfiable": "ScheduleAnyway"})),
                hard(5, "zone", &none),
            ],
            all_fit,
        ),
    ];
    for (placed, constraints, expected) in cases {
        let mut cluster = zones();
        for node in placed {
            cluster.add_pod(node, &app("web"));
        }
        let pod = spread(&constraints);
        assert_eq!(
            verdicts(&cluster, &pod, &made(construct)),
            expected,
            "{placed:?} {constraints:?}"
        );
    }
}

#[test]
fn only_living_pods_of_the_namespace_count() {
    let mut cluster = zones();
    cluster.add_pod("a1", &terminating(&app("web")));
    cluster.add_pod("a1", &pod_in("other", &json!({"app": "web"}), &json!({})));
    cluster.add_pod("a1", &app("db"));
    let pod = spread(&[hard(1, "zone", &json!({}))]);
    assert_eq!(verdicts(&cluster, &pod, &made(construct)), [FITS, FITS, FITS, NO_LABEL]);
    cluster.add_pod("a1", &app("web"));
    assert_eq!(verdicts(&cluster, &pod, &made(construct)), [FULL, FULL, FITS, NO_LABEL]);
}

#[test]
fn nodes_that_the_pod_does_not_select_do_not_count() {
    let mut cluster = zones();
    cluster.add_pod("a2", &app("web"));
    let pod = |fields: Value| {
        let spec = json!({"nodeSelector": {"disk": "ssd"}, "topologySpreadConstraints": [hard(1, "zone", &fields)]});
        pod_in("default", &json!({"app": "web"}), &spec)
    };
    let honoured = [FITS, FITS, FITS, NO_LABEL];
    assert_eq!(verdicts(&cluster, &pod(json!({})), &made(construct)), honoured);
    let ignored = [FULL, FULL, FITS, NO_LABEL];
    let fields = json!({"nodeAffinityPolicy": "Ignore"});
    assert_eq!(verdicts(&cluster, &pod(fields), &made(construct)), ignored);
}

#[test]
fn tolerated_taints_keep_no_node_from_counting() {
    let mut cluster = zones();
    cluster.add_pod("a1", &app("web"));
    let pod = |toleration: Value| {
        let constraint = hard(1, "zone", &json!({"nodeTaintsPolicy": "Honor"}));
        let spec = json!({"tolerations": [toleration], "topologySpreadConstraints": [constraint]});
        pod_in("default", &json!({"app": "web"}), &spec)
    };
    let tolerated = pod(json!({"key": "k", "operator": "Exists"}));
    assert_eq!(
        verdicts(&cluster, &tolerated, &made(construct)),
        [FULL, FULL, FITS, NO_LABEL]
    );
    let other = pod(json!({"key": "l", "operator": "Exists"}));
    assert_eq!(
        verdicts(&cluster, &other, &made(construct)),
        [FITS, FITS, FITS, NO_LABEL]
    );
}

#[test]
fn labels_of_the_pod_narrow_the_selector_if_the_gate_is_on() {
    let labels = |version: &str| json!({"app": "web", "version": version});
    let mut cluster = zones();
    cluster.add_pod("a1", &pod_in("default", &labels("1"), &json!({})));
    let constraint = hard(1, "zone", &json!({"matchLabelKeys": ["version", "absent"]}));
    let pod = |version: &str| {
        pod_in(
            "default",
            &labels(version),
            &json!({"topologySpreadConstraints": [constraint]}),
        )
    };
    let with_gate = |on| {
        let gates = FeatureGates::default().with(Gate::MatchLabelKeysInPodTopologySpread, on);
        made_with(construct, None, &gates).unwrap()
    };
    let counted = [FULL, FULL, FITS, NO_LABEL];
    let apart = [FITS, FITS, FITS, NO_LABEL];
    assert_eq!(verdicts(&cluster, &pod("1"), &with_gate(true)), counted);
    assert_eq!(verdicts(&cluster, &pod("2"), &with_gate(true)), apart);
    assert_eq!(verdicts(&cluster, &pod("2"), &with_gate(false)), counted);
    // A label that the selector wants otherwise leaves nothing to select.
    let contrary = hard(
        1,
        "zone",
        &json!({"labelSelector": {"matchLabels": {"version": "1"}}, "matchLabelKeys": ["version"]}),
    );
    let pod = pod_in(
        "default",
        &labels("2"),
        &json!({"topologySpreadConstraints": [contrary]}),
    );
    assert_eq!(verdicts(&cluster, &pod, &with_gate(true)), apart);
}

#[test]
fn a_pod_without_hard_constraints_is_not_looked_at() {
    let soft = hard(1, "zone", &json!({"whenUnsatisfiable": "ScheduleAnyway"}));
    for pod in [app("web"), spread(&[soft])] {
        assert!(zones().filter(&made(construct), &pod).skipped());
    }
}

#[test]
fn a_selector_that_cannot_be_parsed_fails_the_attempt() {
    let junk = json!({"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Near"}]}});
    let plugin = made(construct);
    let mut columns = zones().columns;
    let hard_junk = spread(&[hard(1, "zone", &junk)]);
    plugin.prepare.as_ref().unwrap().prepare(&hard_junk, &mut columns);
    let outcome = plugin
        .pre_filter
        .as_ref()
        .unwrap()
        .pre_filter(cycle(&hard_junk, &columns), &mut CycleState::new());
    let PreFilterOutcome::Stop(status) = outcome else {
        panic!("{outcome:?}");
    };
    let error = "obtaining pod's hard topology spread constraints: \"Near\" is not a valid label selector operator";
    assert_eq!(
        (status.code, status.message()),
        (Code::Error, format!("get constraints from pod: {error}"))
    );
    let mut soft_junk = hard_junk.clone();
    soft_junk.spec.topology_spread_constraints[0].when_unsatisfiable = WhenUnsatisfiable::ScheduleAnyway;
    let outcome = plugin.pre_score.as_ref().unwrap().pre_score(
        cycle(&soft_junk, &columns),
        &mut CycleState::new(),
        &Feasible::new(&NodeSet::new(), &OnceLock::new()),
    );
    let error = error.replace("hard", "soft");
    assert_eq!(
        outcome,
        PreScoreOutcome::Error(format!("calculating preScoreState: {error}"))
    );
}

/// What the filter says of one node when pods came to it after the pre-filter.
fn contested(cluster: &Cluster, pod: &Pod, node: &str, nominated: &[&Pod]) -> &'static str {
    let plugin = made(construct);
    let mut columns = cluster.columns.clone();
    plugin.prepare.as_ref().unwrap().prepare(pod, &mut columns);
    let mut state = CycleState::new();
    let pre_filter = plugin.pre_filter.as_ref().unwrap();
    let outcome = pre_filter.pre_filter(cycle(pod, &columns), &mut state);
    assert!(matches!(outcome, PreFilterOutcome::Continue));
    for pod in nominated {
        columns.add_pod(node, &Footprint::of(pod));
    }
    let node = columns.index_of(node).unwrap();
    let mut verdicts = Verdicts::default();
    verdicts.begin(&[node].into_iter().collect::<NodeSet>(), columns.capacity());
    let filter = plugin.filter.as_ref().unwrap();
    filter
        .filter(cycle(pod, &columns), &state, &mut verdicts.pass(0))
        .unwrap();
    match verdicts.of(node).filter().map(|_| verdicts.of(node).code().0) {
        None => FITS,
        Some(0) => NO_LABEL,
        Some(_) => FULL,
    }
}

#[test]
fn pods_nominated_to_the_judged_node_count() {
    let mut cluster = zones();
    cluster.add_pod("a1", &app("web"));
    let web = app("web");
    let db = app("db");
    let zone = spread(&[hard(1, "zone", &json!({}))]);
    assert_eq!(contested(&cluster, &zone, "b1", &[]), FITS);
    assert_eq!(contested(&cluster, &zone, "b1", &[&db]), FITS);
    // One each: with the newcomer there are two here and one there.
    assert_eq!(contested(&cluster, &zone, "b1", &[&web]), FITS);
    assert_eq!(contested(&cluster, &zone, "b1", &[&web, &web]), FULL);
    assert_eq!(contested(&cluster, &zone, "a2", &[]), FULL);
    assert_eq!(contested(&cluster, &zone, "none", &[&web]), NO_LABEL);
    // Those on a node that does not count do not either.
    let tainted = spread(&[hard(1, "zone", &json!({"nodeTaintsPolicy": "Honor"}))]);
    assert_eq!(contested(&cluster, &tainted, "b1", &[&web, &web]), FITS);
    // An empty selector counts no pod that is there, but every one that is nominated.
    let all = spread(&[hard(1, "zone", &json!({"labelSelector": {}}))]);
    assert_eq!(contested(&cluster, &all, "a2", &[]), FITS);
    assert_eq!(contested(&cluster, &all, "a2", &[&db]), FULL);
    // A pod that has been told to go will not come.
    let going = terminating(&web);
    assert_eq!(contested(&cluster, &zone, "b1", &[&going, &going]), FITS);
}

fn workload(kind: WorkloadKind, name: &str, selector: &Value) -> plimsoll_model::WorkloadSelector {
    let object = json!({
        "metadata": {"namespace": "default", "name": name, "uid": name, "resourceVersion": "1"},
        "spec": {"selector": selector},
    });
    decode_workload_selector(kind, object.to_string().as_bytes()).unwrap()
}

type Workloads<'a> = &'a [(WorkloadKind, &'a str, Value)];

fn owned(kind: &str, api_version: &str, labels: &Value) -> Pod {
    let owner = json!([{"apiVersion": api_version, "kind": kind, "name": "w", "uid": "w", "controller": true}]);
    let object = json!({"metadata": {"namespace": "default", "name": "p", "uid": "u", "resourceVersion": "1",
        "labels": labels, "ownerReferences": owner}});
    decode_pod(object.to_string().as_bytes()).unwrap()
}

#[test]
fn default_constraints_count_the_pods_of_the_services_and_the_controller() {
    let web = json!({"app": "web"});
    let both = json!({"app": "web", "tier": "front"});
    let matching = |labels: &Value| json!({"matchLabels": labels});
    let set = WorkloadKind::ReplicaSet;
    let cases: [(Workloads<'_>, Pod, Option<Value>); 12] = [
        (&[], app("web"), None),
        (
            &[(WorkloadKind::Service, "s", web.clone())],
            app("web"),
            Some(matching(&web)),
        ),
        (&[(WorkloadKind::Service, "s", web.clone())], app("db"), None),
        (&[(WorkloadKind::Service, "s", json!({}))], app("web"), None),
        (
            &[
                (WorkloadKind::Service, "s", web.clone()),
                (WorkloadKind::Service, "t", json!({"tier": "front"})),
                (WorkloadKind::Service, "u", json!({"tier": "back"})),
            ],
            pod_in("default", &both, &json!({})),
            Some(matching(&both)),
        ),
        (
            &[(set, "w", matching(&web))],
            owned("ReplicaSet", "apps/v1", &web),
            Some(matching(&web)),
        ),
        // Of another group, another name, or no controller at all.
        (
            &[(set, "w", matching(&web))],
            owned("ReplicaSet", "extensions/v1", &web),
            None,
        ),
        (
            &[(set, "x", matching(&web))],
            owned("ReplicaSet", "apps/v1", &web),
            None,
        ),
        (&[(set, "w", matching(&web))], app("web"), None),
        (
            &[(WorkloadKind::StatefulSet, "w", matching(&web))],
            owned("StatefulSet", "apps/v1", &web),
            Some(matching(&web)),
        ),
        (
            &[
                (WorkloadKind::Service, "s", json!({"tier": "front"})),
                (WorkloadKind::ReplicationController, "w", web.clone()),
            ],
            owned("ReplicationController", "v1", &both),
            Some(matching(&both)),
        ),
        (
            &[
                (WorkloadKind::Service, "s", json!({"tier": "front"})),
                (
                    set,
                    "w",
                    json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
                ),
            ],
            owned("ReplicaSet", "apps/v1", &both),
            Some(json!({"matchLabels": {"tier": "front"}, "matchExpressions": [{"key": "app", "operator": "Exists"}]})),
        ),
    ];
    for (workloads, pod, expected) in cases {
        let mut columns = Columns::new();
        for (kind, name, selector) in workloads {
            columns.set_workload_selector(&workload(*kind, name, selector));
        }
        let defaults = defaults::of_system();
        let selectors: Vec<_> = defaults::for_pod(defaults.iter(), &pod, &columns)
            .into_iter()
            .map(|constraint| constraint.selector.unwrap())
            .collect();
        let expected: Option<plimsoll_model::LabelSelector> =
            expected.map(|json| serde_json::from_value(json).unwrap());
        let expected: Vec<_> = expected
            .into_iter()
            .flat_map(|selector| [selector.clone(), selector])
            .collect();
        assert_eq!(selectors, expected, "{workloads:?}");
    }
}

#[test]
fn a_list_of_default_constraints_may_be_hard() {
    let args = PluginArgs::PodTopologySpread(PodTopologySpreadArgs {
        defaulting_type: DefaultingType::List,
        default_constraints: vec![DefaultSpreadConstraint {
            max_skew: 1,
            topology_key: "zone".to_owned(),
            when_unsatisfiable: "DoNotSchedule".to_owned(),
            ..DefaultSpreadConstraint::default()
        }],
    });
    let mut cluster = zones();
    cluster.add_pod("a1", &app("web"));
    let plugin = made_of(construct, &args);
    assert!(
        cluster.filter(&plugin, &app("web")).skipped(),
        "it belongs to no workload"
    );
    let service = workload(WorkloadKind::Service, "s", &json!({"app": "web"}));
    cluster.columns.set_workload_selector(&service);
    assert_eq!(verdicts(&cluster, &app("web"), &plugin), [FULL, FULL, FITS, NO_LABEL]);
    // Constraints of the pod's own take their place, whatever they say.
    let own = spread(&[hard(1, "zone", &json!({"whenUnsatisfiable": "ScheduleAnyway"}))]);
    assert!(cluster.filter(&plugin, &own).skipped());
    let name = ObjectName::new("default", "s");
    cluster.columns.remove_workload_selector(WorkloadKind::Service, &name);
    assert!(cluster.filter(&plugin, &app("web")).skipped());
}

#[test]
fn args_of_another_plugin_are_refused() {
    let args = PluginArgs::default_of("InterPodAffinity", &FeatureGates::default());
    let error = made_with(construct, args.as_ref(), &FeatureGates::default()).unwrap_err();
    assert_eq!(error, "args are not of type PodTopologySpreadArgs");
}
