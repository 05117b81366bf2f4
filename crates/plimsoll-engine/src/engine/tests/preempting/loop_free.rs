//! Evictions that brought nothing are not done again for a while, where a profile says so.

use plimsoll_model::ControllerReference;

use super::*;

const WINDOW: u64 = 600;

fn loop_free() -> Profile {
    profile_of(ProfileExtras {
        preemption_loop_window: Some(Duration::from_secs(WINDOW)),
        ..ProfileExtras::default()
    })
}

fn made_by(controller: &str, pod: PodBuilder) -> PodBuilder {
    let controller = ControllerReference {
        uid: controller.into(),
        ..ControllerReference::default()
    };
    pod.with(|pod| pod.controller = Some(controller.into()))
}

/// A pod of the controller `app` that wants the whole of a node.
fn wanting(name: &str) -> Arc<Pod> {
    Arc::new(made_by("app", pod(name).cpu("2").priority(100)).build())
}

/// A pod of the controller `rs` that has a whole node.
fn filling(name: &str, on: &str) -> Arc<Pod> {
    Arc::new(made_by("rs", guest(name, on, "2", 0)).build())
}

fn delete(cluster: &mut Cluster, pod: &Arc<Pod>) {
    cluster.apply(Delta::PodDeleted(Arc::clone(pod)));
}

/// `wants` has had `v` evicted from n1, and somebody else has bound `w` there.
fn undone(profile: Profile, wants: &Arc<Pod>, w: &Arc<Pod>) -> Cluster {
    let mut cluster = Cluster::with_nodes(profile, &["n1"]);
    let v = filling("v", "n1");
    cluster.add(&v);
    assert_eq!(chosen(&cluster.refuse(wants)), ("n1", vec!["v"]));
    delete(&mut cluster, &v);
    cluster.add(w);
    cluster.wait(1);
    cluster
}

#[test]
fn a_replacement_in_the_freed_room_is_not_evicted_before_the_window_is_over() {
    let (p, w) = (wanting("p"), filling("w", "n1"));
    let mut cluster = undone(loop_free(), &p, &w);
    let diagnosis = cluster.refuse(&p);
    assert_eq!(diagnosis.preemption, None);
    assert_eq!(
        said(&diagnosis),
        "0/1 nodes are available: 1 Replacements of pods evicted for this pod are back."
    );
    let over = Moment::ZERO + Duration::from_secs(WINDOW);
    assert_eq!(diagnosis.retry_at, Some(over));
    assert_eq!(
        cluster.refuse(&wanting("q")).preemption,
        None,
        "another pod of the controller"
    );
    cluster.now = Moment::from_nanos(over.as_nanos() - 1);
    assert_eq!(cluster.refuse(&p).preemption, None);
    cluster.now = over;
    let diagnosis = cluster.refuse(&p);
    assert_eq!(chosen(&diagnosis), ("n1", vec!["w"]));
    assert_eq!(diagnosis.retry_at, None);
}

#[test]
fn without_a_window_replacements_are_evicted_again_and_again() {
    let (p, w) = (wanting("p"), filling("w", "n1"));
    let mut cluster = undone(profile(), &p, &w);
    assert_eq!(chosen(&cluster.refuse(&p)), ("n1", vec!["w"]));
}

#[test]
fn the_evictions_of_others_do_not_count() {
    let (p, w) = (wanting("p"), filling("w", "n1"));
    let mut cluster = undone(loop_free(), &p, &w);
    // Its nomination counts for its equals.
    delete(&mut cluster, &p);
    let other = Arc::new(preemptor("2").build());
    assert_eq!(chosen(&cluster.refuse(&other)), ("n1", vec!["w"]));
}

#[test]
fn another_node_is_taken_instead() {
    let (p, w) = (wanting("p"), filling("w", "n1"));
    let mut cluster = undone(loop_free(), &p, &w);
    cluster.set_node(node("n2").cpu("2").memory("8Gi").pods(10).build());
    cluster.add(&filling("x", "n2"));
    assert_eq!(chosen(&cluster.refuse(&p)), ("n2", vec!["x"]));
}

#[test]
fn a_pod_that_evictions_did_not_help_has_no_others_evicted_there() {
    let p = wanting("p");
    let stranger = Arc::new(guest("stranger", "n1", "2", 0).build());
    let mut cluster = undone(loop_free(), &p, &stranger);
    let diagnosis = cluster.refuse(&p);
    assert_eq!(
        (said(&diagnosis), diagnosis.preemption.is_some()),
        (
            "0/1 nodes are available: 1 Evictions there did not help this pod.",
            false
        )
    );
    assert!(diagnosis.retry_at.is_some());
    delete(&mut cluster, &p);
    assert_eq!(chosen(&cluster.refuse(&wanting("q"))), ("n1", vec!["stranger"]));
}

#[test]
fn a_preemption_whose_victims_are_still_there_may_be_tried_again() {
    let mut cluster = Cluster::with_nodes(loop_free(), &["n1"]);
    cluster.add(&filling("v", "n1"));
    let p = wanting("p");
    for _ in 0..2 {
        assert_eq!(chosen(&cluster.refuse(&p)), ("n1", vec!["v"]));
        cluster.wait(1);
    }
}

#[test]
fn on_a_node_that_is_full_of_pods_the_loop_of_two_schedulers_ends() {
    let mut cluster = Cluster::new(loop_free());
    cluster.set_node(node("n1").cpu("64").memory("64Gi").pods(2).build());
    cluster.run(guest("daemon", "n1", "10m", 1_000));
    let victim = |round: u32| Arc::new(made_by("rs", guest(&format!("v{round}"), "n1", "10m", 0)).build());
    let mut there = victim(0);
    cluster.add(&there);
    let p = wanting("p");
    let mut evicted = Vec::new();
    for round in 1..1_000_u32 {
        if let Some(plan) = cluster.refuse(&p).preemption {
            evicted.push(cluster.now);
            assert_eq!(victims(&plan), [there.name.name.as_str()]);
            delete(&mut cluster, &there);
            // The other scheduler knows nothing of the nomination.
            there = victim(round);
            cluster.add(&there);
        }
        cluster.wait(10);
    }
    let apart = evicted.windows(2).map(|pair| pair[1].since(pair[0]).as_secs());
    assert!(apart.clone().all(|seconds| seconds >= WINDOW), "{evicted:?}");
    assert_eq!(evicted.len(), 17, "one for each window");
}

#[test]
fn what_is_remembered_outlives_another_configuration() {
    let (p, w) = (wanting("p"), filling("w", "n1"));
    let mut cluster = undone(loop_free(), &p, &w);
    cluster.reconfigure(loop_free());
    assert_eq!(cluster.refuse(&p).preemption, None);
    cluster.reconfigure(profile());
    assert_eq!(chosen(&cluster.refuse(&p)), ("n1", vec!["w"]));
}

#[test]
fn what_is_remembered_is_lost_with_the_engine() {
    let (p, w) = (wanting("p"), filling("w", "n1"));
    drop(undone(loop_free(), &p, &w));
    let mut next = Cluster::with_nodes(loop_free(), &["n1"]);
    next.add(&w);
    assert_eq!(chosen(&next.refuse(&p)), ("n1", vec!["w"]));
}
