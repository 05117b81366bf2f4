//! What plugins and others say of pods that wait at Permit.

use plimsoll_framework::{
    Code, CycleContext, CycleState, Permit, PermitOutcome, Plugin, Reserve, Status, WaitingPod, WaitingPods,
};

use super::*;

/// Holds pods whose names begin with the same letter until so many are there. The others go with one that is given up.
struct Gang(usize);

impl Plugin for Gang {
    fn name(&self) -> &'static str {
        "Gang"
    }
}

fn letter(pod: &Pod) -> Option<char> {
    pod.name.name.chars().next()
}

struct Others(Vec<Uid>);

impl Permit for Gang {
    fn permit(&self, cycle: CycleContext<'_>, state: &mut CycleState, _: &str, waiting: &WaitingPods) -> PermitOutcome {
        let same = |other: &&WaitingPod| letter(&other.pod) == letter(cycle.pod) && other.waits_for("Gang");
        let others: Vec<Uid> = waiting.iter().filter(same).map(|other| other.pod.uid.clone()).collect();
        state.insert(Others(others.clone()));
        match cycle.pod.name.name.as_str() {
            "a-panics" => panic!("permit"),
            "a-is-refused" => PermitOutcome::Stop(Status::new(Code::Unschedulable, "", "no")),
            _ if others.len() + 1 < self.0 => PermitOutcome::Wait(Duration::from_mins(1)),
            _ => {
                for other in others {
                    state.allow_waiting(other, "Gang");
                }
                PermitOutcome::Allow
            }
        }
    }
}

impl Reserve for Gang {
    fn reserve(&self, _: CycleContext<'_>, _: &mut CycleState, _: &str) -> Result<(), Status> {
        Ok(())
    }

    fn unreserve(&self, _: &Pod, state: &mut CycleState, _: &str) {
        let others = state.get_mut::<Others>().map(|others| std::mem::take(&mut others.0));
        for other in others.unwrap_or_default() {
            state.reject_waiting(other, "Gang", "a member was given up");
        }
    }
}

fn gangs_of(members: usize) -> Cluster {
    let with_gang = |profile: &mut Profile| {
        profile.permit.push(Arc::new(Gang(members)));
        profile.reserve.push(Arc::new(Gang(members)));
    };
    let mut cluster = Cluster::new(ProfileBuilder::new().with(with_gang).build());
    cluster.add_node("n1", 1000);
    cluster
}

fn waiting(cluster: &Cluster) -> Vec<&str> {
    let pods = cluster.engine.waiting_pods().iter();
    pods.map(|waiting| waiting.pod.name.name.as_str()).collect()
}

#[test]
fn the_last_of_a_gang_lets_the_others_go_and_nobody_else() {
    let mut cluster = gangs_of(3);
    for name in ["a1", "b1", "a2"] {
        assert!(cluster.place(&pod(name, 10)).waits_on_permit);
    }
    cluster.said();
    assert_eq!(waiting(&cluster), ["a1", "b1", "a2"]);
    assert!(!cluster.place(&pod("a3", 10)).waits_on_permit);
    assert_eq!(cluster.said(), ["send", "waited", "send", "waited", "send"]);
    assert_eq!(waiting(&cluster), ["b1"]);
}

#[test]
fn a_pod_that_is_given_up_takes_those_along_that_its_plugin_names() {
    for last in ["a-is-refused", "a-panics"] {
        let mut cluster = gangs_of(9);
        for name in ["a1", "b1", "a2"] {
            cluster.place(&pod(name, 10));
        }
        cluster.said();
        let last = pod(last, 10);
        cluster.add(&last);
        let begun = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| cluster.begin(&last)));
        if begun.is_err() {
            cluster.engine.abandon();
            cluster.engine.rebuild(cluster.now, &mut cluster.out);
        }
        // The later of the two names the earlier too, which does no more.
        assert_eq!(
            cluster.said(),
            ["waited", "failed", "released", "waited", "failed", "released"]
        );
        assert_eq!(waiting(&cluster), ["b1"]);
        assert_eq!(cluster.used("n1"), 10);
    }
}

#[test]
fn who_waits_is_shown_with_the_plugins_that_have_not_allowed_it_yet() {
    let wait = |seconds| move |_: Pod| PermitOutcome::Wait(Duration::from_secs(seconds));
    let profile = ProfileBuilder::new()
        .permit("Gang", wait(10))
        .permit("Quota", wait(3600));
    let mut cluster = Cluster::new(profile.build());
    cluster.add_node("n1", 1000);
    cluster.wait(5);
    let placed = cluster.place(&pod("a", 10));
    let shown = |cluster: &Cluster| -> Vec<_> {
        let of = |pod: &WaitingPod| {
            let waits = pod
                .waits
                .iter()
                .map(|wait| (wait.plugin, wait.until.since(Moment::ZERO).as_secs()));
            (
                pod.node.to_string(),
                pod.since.since(Moment::ZERO).as_secs(),
                waits.collect::<Vec<_>>(),
            )
        };
        cluster.engine.waiting_pods().iter().map(of).collect()
    };
    let until = [("Gang", 15), ("Quota", 905)];
    assert_eq!(shown(&cluster), [("n1".to_owned(), 5, until.to_vec())]);
    let uid = &placed.pod.uid;
    cluster.engine.allow(uid, "Other", cluster.now, &mut cluster.out);
    cluster.engine.allow(uid, "Gang", cluster.now, &mut cluster.out);
    assert_eq!(shown(&cluster), [("n1".to_owned(), 5, until[1..].to_vec())]);
    cluster.engine.allow(uid, "Quota", cluster.now, &mut cluster.out);
    assert_eq!(shown(&cluster), []);
}

/// How the one wait ended, and how long it was.
fn ended(cluster: &mut Cluster) -> (Code, u64) {
    let mut waits = cluster.out.drain(..).filter_map(|notice| match notice {
        Notice::PermitWaitEnded { code, waited, .. } => Some((code, waited.as_secs())),
        _ => None,
    });
    let wait = waits.next().unwrap();
    assert_eq!(waits.next(), None);
    wait
}

#[test]
fn each_wait_ends_once_with_the_code_of_its_end() {
    type End = fn(&mut Cluster, &Arc<Pod>);
    let ends: [(End, Code); 5] = [
        (
            |cluster, pod| cluster.engine.allow(&pod.uid, "Gang", cluster.now, &mut cluster.out),
            Code::Success,
        ),
        (
            |cluster, pod| {
                cluster
                    .engine
                    .reject(&pod.uid, "Anybody", "no", cluster.now, &mut cluster.out);
            },
            Code::Unschedulable,
        ),
        (|cluster, _| cluster.wait(53), Code::Unschedulable),
        (
            |cluster, pod| cluster.apply(Delta::PodDeleted(Arc::clone(pod))),
            Code::Unschedulable,
        ),
        (
            |cluster, _| cluster.engine.end_term(cluster.now, &mut cluster.out),
            Code::Error,
        ),
    ];
    for (end, code) in ends {
        let mut cluster = gangs_of(2);
        let placed = cluster.place(&pod("a1", 10));
        cluster.wait(7);
        end(&mut cluster, &placed.pod);
        let waited = if cluster.now == Moment::ZERO + Duration::from_mins(1) {
            60
        } else {
            7
        };
        assert_eq!(ended(&mut cluster), (code, waited));
        assert_eq!(waiting(&cluster), [""; 0]);
        // Whoever comes too late changes nothing.
        cluster
            .engine
            .reject(&placed.pod.uid, "Gang", "late", cluster.now, &mut cluster.out);
        cluster
            .engine
            .allow(&placed.pod.uid, "Gang", cluster.now, &mut cluster.out);
        assert_eq!(cluster.said(), [""; 0]);
    }
}

#[test]
fn a_pod_deleted_while_it_waits_was_removed_and_another_is_just_gone() {
    let message = |cluster: &mut Cluster| {
        let mut gone = cluster.out.drain(..).filter_map(|notice| match notice {
            Notice::PodGone { message, .. } => Some(message),
            _ => None,
        });
        gone.next().unwrap()
    };
    let mut cluster = gangs_of(2);
    let waits = cluster.place(&pod("a1", 10)).pod;
    cluster.apply(Delta::PodDeleted(waits));
    let removed = "0/1 nodes are available: 1 removed.";
    assert_eq!(message(&mut cluster).as_deref(), Some(removed));
    let mut cluster = gangs_of(1);
    let sent = cluster.place(&pod("a1", 10)).pod;
    cluster.apply(Delta::PodDeleted(sent));
    assert_eq!(message(&mut cluster), None);
}
