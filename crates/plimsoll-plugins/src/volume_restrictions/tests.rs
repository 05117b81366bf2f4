use plimsoll_framework::Verdicts;
use plimsoll_model::testing::claim;
use plimsoll_model::{Footprint, Moment};

use super::*;
use crate::fixture::{Cluster, Listener, named_pod, node, pod, resolvable};

fn with_volumes(volumes: &[&str]) -> String {
    let volumes: Vec<String> = (volumes.iter().enumerate())
        .map(|(at, source)| format!(r#"{{"name":"v{at}",{source}}}"#))
        .collect();
    format!(r#"{{"volumes":[{}]}}"#, volumes.join(","))
}

fn naming(claims: &[&str]) -> String {
    let claims: Vec<String> = (claims.iter())
        .map(|claim| format!(r#""persistentVolumeClaim":{{"claimName":"{claim}"}}"#))
        .collect();
    with_volumes(&claims.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_disk_that_cannot_be_shared_rejects_its_node() {
    let gce = r#""gcePersistentDisk":{"pdName":"d"}"#;
    let gce_read = r#""gcePersistentDisk":{"pdName":"d","readOnly":true}"#;
    let ebs = r#""awsElasticBlockStore":{"volumeID":"d"}"#;
    let ebs_read = r#""awsElasticBlockStore":{"volumeID":"d","readOnly":true}"#;
    let iscsi = r#""iscsi":{"iqn":"d"}"#;
    let iscsi_read = r#""iscsi":{"iqn":"d","readOnly":true}"#;
    let rbd = r#""rbd":{"monitors":["a","b"],"image":"d"}"#;
    let rbd_read = r#""rbd":{"monitors":["b","c"],"image":"d","pool":"rbd","readOnly":true}"#;
    let elsewhere = r#""rbd":{"monitors":["c"],"image":"d"}"#;
    let other_pool = r#""rbd":{"monitors":["a"],"image":"d","pool":"p"}"#;
    let cases = [
        (gce, gce, true),
        (gce, gce_read, true),
        (gce_read, gce, true),
        (gce_read, gce_read, false),
        (gce, r#""gcePersistentDisk":{"pdName":"other"}"#, false),
        (ebs, ebs, true),
        (ebs_read, ebs_read, true),
        (ebs, r#""awsElasticBlockStore":{"volumeID":"aws://z/d"}"#, false),
        (ebs, gce, false),
        (iscsi, iscsi_read, true),
        (iscsi_read, iscsi_read, false),
        (rbd, rbd, true),
        (rbd, rbd_read, true),
        (rbd_read, rbd_read, false),
        (rbd, elsewhere, false),
        (rbd, other_pool, false),
        (r#""emptyDir":{}"#, gce, false),
    ];
    for (taken, wanted, rejected) in cases {
        let mut cluster = Cluster::of_nodes([("free", "{}"), ("busy", "{}")]);
        cluster.add_pod("busy", &pod(&with_volumes(&[taken])));
        let verdicts = cluster.filter(&extensions(), &pod(&with_volumes(&[r#""emptyDir":{}"#, wanted])));
        assert!(!verdicts.skipped());
        assert_eq!(verdicts.of("free"), None);
        let expected = rejected.then(|| resolvable(["node(s) had no available disk"]));
        assert_eq!(verdicts.of("busy"), expected, "{taken} {wanted}");
    }
}

/// Claim `a` and `b` may be used by one pod alone, and `many` by several.
fn cluster() -> Cluster {
    let exclusive = |name: &str| claim(name).access(AccessModes::READ_WRITE_ONCE_POD);
    Cluster::of_nodes([("x", "{}"), ("y", "{}")]).with([
        exclusive("a").object(),
        exclusive("b").object(),
        exclusive("a").namespace("other").object(),
        claim("many").object(),
    ])
}

const TAKEN: &str =
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";

#[test]
fn a_claim_for_one_pod_rejects_every_node_while_another_pod_has_it() {
    let cases: [(&[&str], &[&str], bool); 6] = [
        (&["a"], &["a"], true),
        (&["a"], &["b"], false),
        (&["many"], &["many"], false),
        (&["many", "b"], &["a", "b"], true),
        (&[], &["a"], false),
        (&["a"], &[], false),
    ];
    for (used, wanted, rejected) in cases {
        let mut cluster = cluster();
        cluster.add_pod("x", &pod(&naming(used)));
        let verdicts = cluster.filter(&extensions(), &pod(&naming(wanted)));
        assert_eq!(verdicts.skipped(), !rejected, "{used:?} {wanted:?}");
        for node in ["x", "y"] {
            assert_eq!(
                verdicts.of(node),
                rejected.then(|| resolvable([TAKEN])),
                "{used:?} {wanted:?}"
            );
        }
    }
}

#[test]
fn only_pods_of_the_namespace_on_nodes_that_are_there_have_the_claim() {
    let wanted = pod(&naming(&["a"]));
    let mut cluster = cluster();
    cluster.add_pod("x", &named_pod("other", "{}", &naming(&["a"])));
    cluster.add_pod("ghost", &wanted);
    assert!(cluster.filter(&extensions(), &wanted).skipped());
    cluster.columns.set_node(&node("ghost", "{}"));
    assert!(cluster.filter(&extensions(), &wanted).of("x").is_some());
}

#[test]
fn a_claim_made_for_an_ephemeral_volume_is_not_named() {
    let mut cluster = cluster().with([claim("pod-a").access(AccessModes::READ_WRITE_ONCE_POD).object()]);
    let ephemeral = pod(r#"{"volumes":[{"name":"a","ephemeral":{"volumeClaimTemplate":{}}}]}"#);
    cluster.add_pod("x", &ephemeral);
    assert!(cluster.filter(&extensions(), &ephemeral).skipped());
    assert!(cluster.filter(&extensions(), &pod(&naming(&["pod-a"]))).skipped());
}

#[test]
fn a_claim_that_is_not_there_stops_the_pod() {
    let cases: [(&[&str], &str); 3] = [
        (&["gone"], r#"persistentvolumeclaim "gone" not found"#),
        (&["a", "gone", "lost"], r#"persistentvolumeclaim "gone" not found"#),
        (&[""], r#"persistentvolumeclaim "" not found"#),
    ];
    for (wanted, expected) in cases {
        let status = cluster().stopped(&extensions(), &pod(&naming(wanted))).unwrap();
        assert_eq!(status, Status::new(Code::UnschedulableAndUnresolvable, NAME, expected));
    }
    assert_eq!(cluster().stopped(&extensions(), &pod(&naming(&["a", "many"]))), None);
}

/// Whether the pod passes on a node once a trial has changed the columns, as preemption does.
fn passes_after(cluster: &mut Cluster, wanted: &Pod, trial: impl FnOnce(&mut Columns)) -> bool {
    let mut state = CycleState::new();
    let cycle = CycleContext {
        pod: wanted,
        columns: &cluster.columns,
        now: Moment::ZERO,
    };
    let outcome = VolumeRestrictions.pre_filter(cycle, &mut state);
    assert!(matches!(outcome, PreFilterOutcome::Continue), "{outcome:?}");
    trial(&mut cluster.columns);
    let cycle = CycleContext {
        pod: wanted,
        columns: &cluster.columns,
        now: Moment::ZERO,
    };
    let mut verdicts = Verdicts::default();
    verdicts.begin(cluster.columns.nodes(), cluster.columns.capacity());
    VolumeRestrictions.filter(cycle, &state, &mut verdicts.pass(0)).unwrap();
    let node = cluster.columns.index_of("x").unwrap();
    verdicts.feasible().contains(node)
}

#[test]
fn a_pod_that_is_evicted_in_a_trial_gives_its_claim_up() {
    let wanted = pod(&naming(&["a"]));
    let user = Footprint::of(&wanted);
    let other = Footprint::of(&pod(&naming(&["many"])));
    let mut cluster = cluster();
    cluster.columns.add_pod("x", &user);
    cluster.columns.add_pod("y", &other);
    assert!(!passes_after(&mut cluster, &wanted, |columns| columns.remove_pod("y", &other)));
    assert!(passes_after(&mut cluster, &wanted, |columns| columns.remove_pod("x", &user)));
}

#[test]
fn in_a_trial_claims_are_told_apart_by_name_alone_as_kube_scheduler_does() {
    let wanted = pod(&naming(&["a"]));
    let foreign = Footprint::of(&named_pod("other", "{}", &naming(&["a"])));
    let mut cluster = cluster();
    cluster.add_pod("x", &wanted);
    cluster.columns.add_pod("y", &foreign);
    assert!(passes_after(&mut cluster, &wanted, |columns| columns.remove_pod("y", &foreign)));
}

#[test]
fn hints_want_the_disk_or_the_claim_that_the_pod_wants() {
    let listener = Listener::of(&extensions());
    let ebs = r#""awsElasticBlockStore":{"volumeID":"d"}"#;
    let waiting = pod(&with_volumes(&[ebs, r#""persistentVolumeClaim":{"claimName":"a"}"#]));
    let gone = [
        (named_pod("default", "{}", &with_volumes(&[ebs])), true),
        (named_pod("other", "{}", &with_volumes(&[ebs])), true),
        (named_pod("default", "{}", &naming(&["b", "a"])), true),
        (named_pod("other", "{}", &naming(&["a"])), false),
        (named_pod("default", "{}", &naming(&["b"])), false),
        (named_pod("default", "{}", "{}"), false),
    ];
    for (gone, expected) in gone {
        assert_eq!(
            listener.wakes_on_pod(Action::DELETE, &waiting, Some(&gone), None),
            expected,
            "{gone:?}"
        );
    }
    let claims = [
        (claim("a").object(), true),
        (claim("b").object(), false),
        (claim("a").namespace("other").object(), false),
    ];
    for (claim, expected) in claims {
        assert_eq!(listener.wakes_on_storage(&waiting, None, Some(claim.clone())), expected);
        assert!(!listener.wakes_on_storage(&waiting, Some(claim.clone()), Some(claim)));
    }
    let new = node("n", "{}");
    assert!(listener.wakes_on_node(Action::ADD, &waiting, None, Some(&new)));
    assert!(!listener.hears_of(EventResource::Node, Action::UPDATE_NODE_LABEL));
}

#[test]
fn a_pod_without_disks_and_claims_that_goes_costs_no_hint() {
    let listener = Listener::of(&extensions());
    let helps = |spec: &str| {
        let gone = pod(spec);
        listener.may_help_some_pod(Action::DELETE, &gone, &gone)
    };
    assert!(helps(&naming(&["a"])) && helps(&with_volumes(&[r#""iscsi":{"iqn":"d"}"#])));
    assert!(!helps("{}") && !helps(&with_volumes(&[r#""cinder":{"volumeID":"d"}"#])));
}
