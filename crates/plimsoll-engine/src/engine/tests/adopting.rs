//! What an earlier leader left half done and plugins find among the API server's objects.

use std::collections::BTreeMap;
use std::sync::Mutex;

use compact_str::CompactString;
use plimsoll_framework::{Adopt, CycleContext, CycleState, Plugin, Reserve, Status};
use plimsoll_model::testing;
use plimsoll_model::{PodCondition, Timestamp};

use super::fixture::assigned;
use super::*;

/// Keeps one thing for each pod that has something on a node; what was promised outside it knows by pod.
#[derive(Default)]
struct Shelf {
    outside: BTreeMap<&'static str, &'static str>,
    kept: Mutex<BTreeMap<String, String>>,
    calls: Mutex<Vec<String>>,
}

impl Shelf {
    fn with(outside: &[(&'static str, &'static str)]) -> Arc<Self> {
        Arc::new(Self {
            outside: outside.iter().copied().collect(),
            ..Self::default()
        })
    }

    fn keep(&self, what: &str, pod: &Pod, node: &str) {
        let name = pod.name.name.to_string();
        self.calls.lock().unwrap().push(format!("{what} {name} {node}"));
        let before = self.kept.lock().unwrap().insert(name, node.to_owned());
        assert_eq!(before, None, "kept twice");
    }

    fn kept(&self) -> Vec<(String, String)> {
        self.kept.lock().unwrap().clone().into_iter().collect()
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }
}

impl Plugin for Shelf {
    fn name(&self) -> &'static str {
        "Shelf"
    }
}

impl Reserve for Shelf {
    fn reserve(&self, cycle: CycleContext<'_>, _: &mut CycleState, node: &str) -> Result<(), Status> {
        self.keep("reserve", cycle.pod, node);
        Ok(())
    }

    fn unreserve(&self, pod: &Pod, _: &mut CycleState, node: &str) {
        self.calls
            .lock()
            .unwrap()
            .push(format!("unreserve {} {node}", pod.name.name));
        self.kept.lock().unwrap().remove(pod.name.name.as_str());
    }
}

impl Adopt for Shelf {
    fn adopt(&self, pod: &Pod, _: &Columns) -> Option<CompactString> {
        assert_ne!(pod.name.name, "poison");
        let node = self.outside.get(pod.name.name.as_str())?;
        self.keep("adopt", pod, node);
        Some((*node).into())
    }
}

fn profile(shelf: &Arc<Shelf>) -> Profile {
    let (reserve, adopt) = (Arc::clone(shelf), Arc::clone(shelf));
    ProfileBuilder::new()
        .with(|profile| {
            profile.reserve.push(reserve);
            profile.adopt.push(adopt);
        })
        .build()
}

/// Two nodes with room for one pod each, of which `n2` is liked better.
fn cluster(shelf: &Arc<Shelf>) -> Cluster {
    let mut cluster = Cluster::new(profile(shelf));
    cluster.add_node("n1", 1000);
    cluster.add_node("n2", 1000);
    cluster
}

#[test]
fn what_was_reserved_outside_is_held_again_and_its_room_not_given_away() {
    let shelf = Shelf::with(&[("a", "n2")]);
    let mut cluster = cluster(&shelf);
    let (a, b) = (pod("a", 800), pod("b", 800));
    cluster.add(&a);
    assert_eq!(cluster.engine.adopt(), []);
    assert_eq!(shelf.kept(), [("a".to_owned(), "n2".to_owned())]);
    let nominations: Vec<_> = cluster.engine.nominations().collect();
    assert_eq!(nominations, [(&a.uid, "n2")]);
    assert_eq!(cluster.place(&b).node, "n1");
    let Step::Done(Outcome::Placed(placement)) = cluster.begin(&a) else {
        panic!("no place for it");
    };
    assert_eq!(placement.node, "n2");
    let calls = shelf.calls();
    assert_eq!(
        calls,
        ["adopt a n2", "reserve b n1", "unreserve a n2", "reserve a n2"],
        "given up for the cycle's own reservation and nothing in between"
    );
    cluster.engine.close();
}

#[test]
fn room_is_kept_for_nobody_who_will_not_be_tried() {
    let gated = testing::pod("a").cpu("800m").gate("example.com/hold").build();
    let going = testing::pod("a").cpu("800m").terminating().build();
    for pod in [gated, going] {
        let shelf = Shelf::with(&[("a", "n2")]);
        let mut cluster = cluster(&shelf);
        cluster.add(&Arc::new(pod));
        cluster.engine.adopt();
        assert_eq!(cluster.engine.nominations().count(), 0);
        assert_eq!(shelf.calls(), [""; 0]);
    }
}

#[test]
fn the_node_in_the_status_counts_before_that_of_a_plugin() {
    let shelf = Shelf::with(&[("a", "n2")]);
    let mut cluster = cluster(&shelf);
    cluster.add(&nominated("a", 800, 0, "n1"));
    cluster.engine.adopt();
    let nominations: Vec<_> = cluster.engine.nominations().map(|(_, node)| node.to_owned()).collect();
    assert_eq!(nominations, ["n1"]);
    assert_eq!(shelf.kept().len(), 1);
}

/// Room that is kept no more, and for whom it was.
fn freed(cluster: &mut Cluster) -> Vec<(String, String)> {
    let freed = cluster.out.drain(..).filter_map(|notice| match notice {
        Notice::Released { pod, node } => Some((pod.name.name.to_string(), node.to_string())),
        _ => None,
    });
    freed.collect()
}

#[test]
fn the_end_of_a_nomination_that_the_stream_does_not_tell_of_is_told() {
    type Happens = fn(&mut Cluster, &Arc<Pod>);
    let refused: Happens = |cluster, pod| {
        let step = cluster.begin(pod);
        assert!(matches!(step, Step::Done(Outcome::Unschedulable(_))), "{step:?}");
    };
    let cases: [(&str, Happens, bool); 6] = [
        ("refused", refused, true),
        (
            "gone",
            |cluster, pod| cluster.apply(Delta::PodDeleted(Arc::clone(pod))),
            true,
        ),
        ("bound elsewhere", |cluster, pod| cluster.show(pod, "n1"), true),
        ("bound there", |cluster, pod| cluster.show(pod, "n2"), false),
        (
            "named by the status",
            |cluster, pod| {
                let mut named = Pod::clone(pod);
                named.status.nominated_node_name = Some("n2".into());
                let (old, new) = (Arc::clone(pod), Arc::new(named));
                cluster.apply(Delta::PodUpdated { old, new });
            },
            false,
        ),
        (
            "of no profile",
            |cluster, _| {
                let of_others = ProfileBuilder::new().with(|profile| profile.scheduler_name = "other".to_owned());
                cluster.reconfigure(of_others.build());
            },
            true,
        ),
    ];
    for (what, happens, is_told) in cases {
        let mut cluster = cluster(&Shelf::with(&[("a", "n2")]));
        // It fits nowhere.
        let a = pod("a", 1200);
        cluster.add(&a);
        cluster.engine.adopt();
        happens(&mut cluster, &a);
        let expected = [("a".to_owned(), "n2".to_owned())];
        let expected = if is_told { &expected[..] } else { &[] };
        assert_eq!(freed(&mut cluster), expected, "{what}");
        assert_eq!(
            cluster.engine.nominations().count(),
            usize::from(what.starts_with("named"))
        );
        // What the stream tells of later is not told again.
        cluster.apply(Delta::PodDeleted(a));
        assert_eq!(freed(&mut cluster), [], "{what}");
    }
}

#[test]
fn a_pod_that_finds_another_node_leaves_its_nomination_and_one_that_takes_it_does_not() {
    for (full, placed, expected) in [
        (true, "n1", vec![("a".to_owned(), "n2".to_owned())]),
        (false, "n2", vec![]),
    ] {
        let mut cluster = cluster(&Shelf::with(&[("a", "n2")]));
        if full {
            cluster.add(&assigned(&pod("b", 300), "n2"));
        }
        let a = pod("a", 800);
        cluster.add(&a);
        cluster.engine.adopt();
        let step = cluster.begin(&a);
        let Step::Done(Outcome::Placed(placement)) = step else {
            panic!("{step:?}")
        };
        assert_eq!(placement.node, placed);
        assert_eq!(freed(&mut cluster), expected);
    }
}

#[test]
fn what_was_adopted_is_given_up_once_with_its_pod_its_profile_or_the_term() {
    let ends: [fn(&mut Cluster, &Arc<Pod>); 5] = [
        |cluster, pod| cluster.apply(Delta::PodDeleted(Arc::clone(pod))),
        |cluster, pod| cluster.show(pod, "n1"),
        |cluster, _| {
            let of_others = ProfileBuilder::new().with(|profile| profile.scheduler_name = "other".to_owned());
            cluster.reconfigure(of_others.build());
        },
        |cluster, _| cluster.engine.close(),
        |_, _| {},
    ];
    for (number, end) in ends.into_iter().enumerate() {
        let shelf = Shelf::with(&[("a", "n2")]);
        let mut cluster = cluster(&shelf);
        let a = pod("a", 800);
        cluster.add(&a);
        cluster.engine.adopt();
        end(&mut cluster, &a);
        if number < 4 {
            assert_eq!(shelf.calls(), ["adopt a n2", "unreserve a n2"], "{number}");
        }
        cluster.engine.close();
        assert_eq!(shelf.kept(), [], "{number}");
        cluster.engine.close();
        assert!(shelf.calls().len() <= 2, "twice");
    }
}

#[test]
fn a_plugin_that_panics_while_it_adopts_costs_nobody_else_what_they_have() {
    let shelf = Shelf::with(&[("a", "n2")]);
    let mut cluster = cluster(&shelf);
    cluster.add(&pod("poison", 100));
    cluster.add(&pod("a", 800));
    cluster.engine.adopt();
    assert_eq!(shelf.kept(), [("a".to_owned(), "n2".to_owned())]);
}

fn going(name: &str, reason: &str) -> Arc<Pod> {
    let mut pod = testing::pod(name).on("n1").build();
    pod.deletion_timestamp = Some(Timestamp::new("2026-11-28T12:00:30Z"));
    pod.status.disruption_target = Some(Box::new(PodCondition {
        status: "True".into(),
        reason: reason.into(),
        ..PodCondition::default()
    }));
    Arc::new(pod)
}

#[test]
fn a_nominated_pod_waits_for_those_who_go_for_it_and_for_nobody_else() {
    let mut cluster = cluster(&Shelf::with(&[]));
    let preemptor = nominated("p", 800, 10, "n1");
    let (ours, evicted) = (
        going("ours", "PreemptionByScheduler"),
        going("evicted", "EvictionByEvictionAPI"),
    );
    for pod in [&ours, &evicted, &going("drained", "TerminationByKubelet")] {
        cluster.add(pod);
    }
    cluster.add(&Arc::new(testing::pod("there").on("n1").build()));
    cluster.add(&nominated("elsewhere", 800, 10, "n2"));
    cluster.add(&preemptor);
    let plans = cluster.engine.adopt();
    let [plan] = &plans[..] else {
        panic!("{plans:?}");
    };
    assert_eq!((&plan.preemptor, plan.node.as_str()), (&preemptor, "n1"));
    let victims: Vec<_> = plan.victims.iter().map(|victim| &victim.pod).collect();
    assert_eq!(victims, [&ours, &evicted]);
}
