//! One test per line of what the informer handlers do, and of what updates and deletes mean in each place.

use plimsoll_model::testing::PodBuilder;
use plimsoll_model::{
    Labels, Namespace, ObjectName, Raw, ResourceVersion, Timestamp, Uid, WorkloadKind, WorkloadSelector,
};

use super::*;

#[test]
fn an_unassigned_pod_of_ours_becomes_active() {
    let mut f = Fixture::new();
    let ours = f.add(pod("a"));
    let second = f.add(pod("b").scheduler("second"));
    assert_eq!(f.place(&ours), Some(Place::Active));
    assert_eq!(f.place(&second), Some(Place::Active));
    assert_eq!(f.queue.seen(), Seq::new(2));
    assert_eq!(
        f.queue.take_metrics().incoming,
        [(("active", "UnschedulablePodAdd".to_owned()), 2)]
    );
}

#[test]
fn pods_of_other_schedulers_and_assigned_pods_do_not_wait() {
    let mut f = Fixture::new();
    let foreign = f.add(pod("a").scheduler("other"));
    let assigned = f.add(pod("b").on("n"));
    f.update(&foreign, |pod| pod.labels = [("k", "v")].into_iter().collect());
    f.update(&assigned, |pod| pod.labels = [("k", "v")].into_iter().collect());
    assert_eq!(f.place(&foreign), None);
    assert_eq!(f.place(&assigned), None);
    assert_eq!(f.queue.counts().pending(), 0);
}

#[test]
fn a_pod_told_twice_is_one_pod() {
    let mut f = Fixture::new();
    let first = f.add(pod("a"));
    f.add(pod("a").priority(7));
    assert_eq!(f.queue.counts().active, 1);
    assert_eq!(f.pop().unwrap().pod.priority(), 7);
    assert_eq!(f.place(&first), Some(Place::InFlight));
    assert!(f.pop().is_none());
}

#[test]
fn an_update_of_a_pod_not_known_makes_it_active() {
    let mut f = Fixture::new();
    let new = f.update(&Arc::new(pod("a").build()), |_| {});
    assert_eq!(f.place(&new), Some(Place::Active));
    assert_eq!(
        f.queue.take_metrics().incoming,
        [(("active", "UnschedulablePodUpdate".to_owned()), 1)]
    );
}

#[test]
fn a_pod_that_gets_a_node_leaves_from_every_place() {
    for place in PLACES {
        let mut f = Fixture::new();
        let waiting = f.add_at(place, "a");
        let assigned = f.update(&waiting, |pod| pod.node_name = Some("n".into()));
        assert_eq!(f.place(&assigned), None, "{place:?}");
        assert_eq!(f.queue.counts(), crate::Counts::default(), "{place:?}");
        f.settle(&waiting.uid, Outcome::Placed);
        f.update(&assigned, |_| {});
        assert_eq!(f.queue.pods().count(), 0, "{place:?}");
    }
}

#[test]
fn a_deleted_pod_leaves_from_every_place() {
    for place in PLACES {
        let mut f = Fixture::new();
        let waiting = f.add_at(place, "a");
        f.delete(&waiting);
        assert_eq!(f.place(&waiting), None, "{place:?}");
        assert_eq!(f.queue.counts(), crate::Counts::default(), "{place:?}");
        f.settle(&waiting.uid, rejected_at(f.seq));
        f.tick_after(600 * SECOND);
        assert_eq!(f.pop_name(), None, "{place:?}");
        assert_eq!(f.queue.next_deadline(), None, "{place:?}");
    }
}

#[test]
fn a_pod_given_to_another_scheduler_leaves_and_one_given_to_us_enters() {
    for place in PLACES {
        let mut f = Fixture::new();
        let waiting = f.add_at(place, "a");
        let given = f.update(&waiting, |pod| pod.spec.scheduler_name = "other".into());
        assert_eq!(f.place(&given), None, "{place:?}");
        f.settle(&waiting.uid, Outcome::Dropped);
        let back = f.update(&given, |pod| {
            pod.spec.scheduler_name = "second".into();
            pod.spec.scheduling_gates.clear();
        });
        assert_eq!(f.place(&back), Some(Place::Active), "{place:?}");
    }
}

#[test]
fn an_update_keeps_the_place_and_the_newest_object() {
    for place in PLACES {
        let mut f = Fixture::new();
        let waiting = f.add_at(place, "a");
        // Nothing that a plugin reads: what our own condition patch looks like when it comes back.
        let new = f.update(&waiting, |pod| pod.status.pod_scheduled = Some(Box::default()));
        assert_eq!(f.place(&new), Some(place));
        let slot = f.queue.records.find(&new.uid).unwrap();
        assert!(Arc::ptr_eq(&f.queue.records[slot].pod, &new), "{place:?}");
    }
}

#[test]
fn an_update_of_the_priority_moves_an_active_pod() {
    let mut f = Fixture::new();
    let low = f.add(pod("low").priority(1));
    f.add(pod("high").priority(5));
    f.update(&low, |pod| pod.spec.priority = Some(9));
    assert_eq!(f.pop_name().as_deref(), Some("low"));
}

#[test]
fn an_update_without_a_new_version_is_ignored() {
    let mut f = Fixture::new();
    let waiting = f.add_at(Place::Unschedulable, "a");
    let mut same = Pod::clone(&waiting);
    same.labels = [("k", "v")].into_iter().collect();
    f.apply(Delta::PodUpdated {
        old: Arc::clone(&waiting),
        new: Arc::new(same),
    });
    assert_eq!(f.place(&waiting), Some(Place::Unschedulable));
}

#[test]
fn own_updates_wake_a_parked_pod_if_a_plugin_that_rejected_it_listens_to_them() {
    type Edit = fn(&mut Pod);
    let cases: [(&str, Edit, [bool; 4]); 6] = [
        ("requests", shrink, [true, false, false, true]),
        (
            "label",
            |pod| pod.labels = [("k", "v")].into_iter().collect(),
            [false, false, true, true],
        ),
        (
            "toleration",
            |pod| pod.spec.tolerations.push(Toleration::default()),
            [false, true, false, true],
        ),
        (
            "spec",
            |pod| pod.spec.node_selector = Some([("k", "v")].into_iter().collect()),
            [false, false, false, true],
        ),
        (
            "status",
            |pod| pod.status.pod_scheduled = Some(Box::default()),
            [false; 4],
        ),
        (
            "nomination",
            |pod| pod.status.nominated_node_name = Some("n".into()),
            [false; 4],
        ),
    ];
    for (what, edit, expected) in cases {
        let plugins = ["NodeResourcesFit", "TaintToleration", "PodTopologySpread", "OfMyOwn"];
        let woken = plugins.map(|plugin| {
            let mut f = Fixture::new();
            let waiting = f.add(pod("a").cpu("2"));
            f.pop();
            f.settle(&waiting.uid, rejected_by(plugin, f.seq));
            f.update(&waiting, edit);
            f.place(&waiting) == Some(Place::Backoff)
        });
        assert_eq!(woken, expected, "{what}");
    }
}

#[test]
fn an_update_of_one_pod_does_not_wake_another() {
    let mut f = Fixture::new();
    let parked = f.add_at(Place::Unschedulable, "a");
    let other = f.add(pod("b").cpu("2"));
    f.update(&other, shrink);
    assert_eq!(f.place(&parked), Some(Place::Unschedulable));
}

#[test]
fn node_events_that_the_plugin_reads_wake_parked_pods() {
    type Edit = fn(&mut Node);
    let cases: [(&str, Edit, bool); 9] = [
        ("uncordon", |node| node.spec.unschedulable = false, true),
        ("allocatable", |node| node.status.allocatable.pods += 1, true),
        ("label", |node| node.labels = [("k", "v")].into_iter().collect(), false),
        ("taint", |node| node.spec.taints.clear(), true),
        ("heartbeat", |_| {}, false),
        ("annotation", |node| node.annotations_hash = 1, false),
        ("features", |node| node.status.declared_features.push("f".into()), false),
        ("condition", |node| node.status.conditions.clear(), false),
        ("image", |node| node.status.images.clear(), false),
    ];
    let condition = plimsoll_model::NodeCondition {
        kind: "Ready".into(),
        status: "True".into(),
    };
    let old = node("n")
        .unschedulable()
        .taint("t", "", plimsoll_model::Effect::NoSchedule)
        .image("i", 1);
    let old = Arc::new(old.with(|node| node.status.conditions.push(condition)).build());
    for (what, edit, wakes) in cases {
        let mut f = Fixture::new();
        f.apply(Delta::NodeAdded(Arc::clone(&old)));
        let parked = f.add_at(Place::Unschedulable, "a");
        let mut new = Node::clone(&old);
        edit(&mut new);
        f.apply(Delta::NodeUpdated {
            old: Arc::clone(&old),
            new: Arc::new(new),
        });
        let place = if wakes { Place::Backoff } else { Place::Unschedulable };
        assert_eq!(f.place(&parked), Some(place), "{what}");
    }
}

#[test]
fn a_new_node_wakes_and_a_vanished_one_does_not() {
    let mut f = Fixture::new();
    let parked = f.add_at(Place::Unschedulable, "a");
    let n = Arc::new(node("n").build());
    f.apply(Delta::NodeDeleted(Arc::clone(&n)));
    assert_eq!(f.place(&parked), Some(Place::Unschedulable));
    f.queue.take_metrics();
    f.apply(Delta::NodeAdded(n));
    assert_eq!(f.place(&parked), Some(Place::Backoff));
    assert_eq!(
        f.queue.take_metrics().incoming,
        [(("backoff", "NodeAdd".to_owned()), 1)]
    );
}

#[test]
fn assigned_pods_wake_others_when_they_leave_or_shrink_only() {
    let assigned = Arc::new(pod("busy").on("n").cpu("2").build());
    let smaller = pod("busy").on("n").cpu("1").resource_version(2).build();
    let relabelled = pod("busy").on("n").cpu("2").label("k", "v").resource_version(2).build();
    let update = |new: Pod| Delta::PodUpdated {
        old: Arc::clone(&assigned),
        new: Arc::new(new),
    };
    let cases = [
        (Delta::PodAdded(Arc::clone(&assigned)), Place::Unschedulable),
        (update(relabelled), Place::Unschedulable),
        (update(smaller), Place::Backoff),
        (Delta::PodDeleted(Arc::clone(&assigned)), Place::Backoff),
    ];
    for (delta, place) in cases {
        let mut f = Fixture::new();
        let parked = f.add_at(Place::Unschedulable, "a");
        f.apply(delta.clone());
        assert_eq!(f.place(&parked), Some(place), "{delta:?}");
    }
}

#[test]
fn a_deleted_pod_without_a_node_wakes_nobody_since_the_cycle_tells_of_its_claim() {
    for place in PLACES {
        let mut f = Fixture::new();
        let parked = f.add_at(Place::Unschedulable, "parked");
        let deleted = f.add_at(place, "deleted");
        f.delete(&deleted);
        assert_eq!(f.place(&parked), Some(Place::Unschedulable), "{place:?}");
        let old = Some(Arc::new(pod("deleted").on("n").build()));
        f.queue.observe(ROOM, EventObjects::Pod { old, new: None }, f.now);
        assert_eq!(f.place(&parked), Some(Place::Backoff), "{place:?}");
    }
}

#[test]
fn the_end_of_a_nomination_wakes_pods_of_no_higher_priority() {
    type End = fn(&mut Fixture, &Arc<Pod>);
    let ends: [(&str, End); 3] = [
        ("deleted", |f, pod| f.delete(pod)),
        ("withdrawn", |f, pod| {
            f.update(pod, |pod| pod.status.nominated_node_name = None);
        }),
        ("assigned elsewhere", |f, pod| {
            f.update(pod, |pod| pod.node_name = Some("other".into()));
        }),
    ];
    for (what, end) in ends {
        let mut f = Fixture::new();
        let parked = [4, 5, 6].map(|priority| {
            let parked = f.add(pod(&format!("p{priority}")).priority(priority));
            f.pop();
            f.reject(&parked.uid);
            parked
        });
        let nominated = f.add(pod("nominated").priority(5).nominated("n"));
        end(&mut f, &nominated);
        let places = parked.each_ref().map(|pod| f.place(pod));
        assert_eq!(
            places,
            [Place::Backoff, Place::Backoff, Place::Unschedulable].map(Some),
            "{what}"
        );
    }
}

#[test]
fn a_pod_made_again_under_its_name_is_another_pod() {
    let mut f = Fixture::new();
    let first = f.add_at(Place::InFlight, "a");
    f.delete(&first);
    let second = f.add(pod("a").uid("again"));
    assert_eq!(f.pop().unwrap().pod.uid, second.uid);
    f.reject(&first.uid);
    assert_eq!(f.place(&first), None);
    assert_eq!(f.place(&second), Some(Place::InFlight));
}

#[test]
fn a_terminating_pod_is_handed_out_once_and_dropped() {
    let mut f = Fixture::new();
    let leaving = f.add(pod("a").terminating());
    f.pop().unwrap();
    f.settle(&leaving.uid, Outcome::Dropped);
    f.update(&leaving, |pod| pod.labels = [("k", "v")].into_iter().collect());
    f.tick_after(3600 * SECOND);
    assert_eq!(f.pop_name(), None);
    f.delete(&leaving);
    assert_eq!(f.queue.pods().count(), 0);
}

/// Whether a pod that the plugin rejected is woken.
fn wakes(plugin: &'static str, before: &[Delta], event: &Delta) -> bool {
    let mut f = Fixture::new();
    for delta in before {
        f.apply(delta.clone());
    }
    let waiting = f.add(pod("waiting"));
    f.pop();
    f.settle(&waiting.uid, rejected_by(plugin, f.seq));
    assert_eq!(f.place(&waiting), Some(Place::Unschedulable));
    f.apply(event.clone());
    f.place(&waiting) == Some(Place::Backoff)
}

#[test]
fn what_counts_pods_by_domain_hears_of_pods_and_nodes_that_come_and_go() {
    let placed = Arc::new(pod("placed").on("n").build());
    let update = |new: PodBuilder| Delta::PodUpdated {
        old: Arc::clone(&placed),
        new: Arc::new(new.resource_version(2).build()),
    };
    let known = [Delta::PodAdded(Arc::clone(&placed))];
    let gone = Delta::NodeDeleted(Arc::new(node("n").build()));
    let label = update(pod("placed").on("n").label("k", "v"));
    let going = update(pod("placed").on("n").terminating());
    let status = update(
        pod("placed")
            .on("n")
            .with(|pod| pod.status.start_time = Some(Timestamp::new("t"))),
    );
    let cases: [(&Delta, [bool; 4]); 5] = [
        (&known[0], [true, true, false, true]),
        (&label, [true, true, false, true]),
        (&going, [true, false, false, true]),
        (&status, [false, false, false, true]),
        (&gone, [true, true, false, true]),
    ];
    for (event, expected) in cases {
        let before = if matches!(event, Delta::PodAdded(_)) {
            &[]
        } else {
            &known[..]
        };
        let plugins = ["PodTopologySpread", "InterPodAffinity", "NodeResourcesFit", "OfMyOwn"];
        assert_eq!(
            plugins.map(|plugin| wakes(plugin, before, event)),
            expected,
            "{event:?}"
        );
    }
}

#[test]
fn changes_of_namespaces_and_workloads_wake_pods_whose_plugins_read_them() {
    let namespace = Arc::new(Namespace {
        name: "shop".into(),
        uid: Uid::from("1"),
        resource_version: ResourceVersion::new(1),
        labels: Labels::new(),
    });
    let service = Arc::new(WorkloadSelector {
        kind: WorkloadKind::Service,
        name: ObjectName::new("shop", "web"),
        uid: Uid::from("2"),
        resource_version: ResourceVersion::new(1),
        selector: None,
    });
    let namespaces = |old: bool, new: bool| Delta::NamespaceChanged {
        old: old.then(|| Arc::clone(&namespace)),
        new: new.then(|| Arc::clone(&namespace)),
    };
    let services = |old: bool, new: bool| Delta::WorkloadSelectorChanged {
        old: old.then(|| Arc::clone(&service)),
        new: new.then(|| Arc::clone(&service)),
    };
    for (old, new) in [(false, true), (true, true), (true, false)] {
        let plugins = ["InterPodAffinity", "PodTopologySpread", "NodeResourcesFit"];
        let event = namespaces(old, new);
        assert_eq!(plugins.map(|plugin| wakes(plugin, &[], &event)), [true, false, false]);
        let event = services(old, new);
        assert_eq!(plugins.map(|plugin| wakes(plugin, &[], &event)), [false, true, false]);
    }
    let mut f = Fixture::new();
    let waiting = f.add(pod("waiting"));
    f.pop();
    f.settle(&waiting.uid, rejected_by("PodTopologySpread", f.seq));
    f.queue.take_metrics();
    f.apply(services(false, true));
    assert_eq!(
        f.queue.take_metrics().incoming,
        [(("backoff", "ServiceAdd".to_owned()), 1)]
    );
}

#[test]
fn a_pod_read_anew_to_be_whole_stays_where_it_is_and_wakes_nobody() {
    for place in PLACES {
        let mut f = Fixture::listening(|| {
            let changed = ClusterEvent::new(EventResource::AssignedPod, Action::UPDATE);
            vec![Rejector::new("Rejector", &[changed], always())]
        });
        let parked = f.add_rejected(pod("parked"), &["Rejector"]);
        let known = f.add_at(place, "a");
        let busy = Arc::new(pod("busy").on("n").build());
        let whole = |part: &Arc<Pod>| {
            let raw = Some(Raw::of_object(b"{}").unwrap());
            let new = Arc::new(Pod {
                raw,
                ..(**part).clone()
            });
            let old = Arc::clone(part);
            Delta::PodUpdated { old, new }
        };
        f.apply(whole(&busy));
        f.apply(whole(&known));
        assert_eq!(f.place(&parked), Some(Place::Unschedulable), "{place:?}");
        assert_eq!(f.place(&known), Some(place));
        let slot = f.queue.records.find(&known.uid).unwrap();
        assert!(f.queue.records[slot].pod.raw.is_some(), "{place:?}");
    }
}
