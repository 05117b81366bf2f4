use plimsoll_framework::{Code, CycleContext, CycleState, Permit, PermitOutcome, Plugin, Reserve, Status, WaitingPods};
use plimsoll_model::{Pod, Uid};

use super::*;

/// Wants the pod `other` tried with the pod in hand, then says this about the latter.
struct Pair(fn() -> PermitOutcome);

impl Plugin for Pair {
    fn name(&self) -> &'static str {
        "Pair"
    }
}

impl Reserve for Pair {
    fn reserve(&self, _: CycleContext<'_>, state: &mut CycleState, _: &str) -> Result<(), Status> {
        state.activate(Uid::from("other"));
        Ok(())
    }

    fn unreserve(&self, _: &Pod, _: &mut CycleState, _: &str) {}
}

impl Permit for Pair {
    fn permit(&self, _: CycleContext<'_>, _: &mut CycleState, _: &str, _: &WaitingPods) -> PermitOutcome {
        (self.0)()
    }
}

fn pairing(outcome: fn() -> PermitOutcome) -> Cluster {
    let profile = ProfileBuilder::new().with(|profile| {
        profile.reserve.push(Arc::new(Pair(outcome)));
        profile.permit.push(Arc::new(Pair(outcome)));
    });
    let mut cluster = Cluster::new(profile.build());
    cluster.add_node("n1", 1000);
    cluster
}

#[test]
fn a_cycle_that_finds_a_node_activates_the_pods_that_its_plugins_name() {
    let mut cluster = pairing(|| PermitOutcome::Allow);
    cluster.place(&pod("a", 100));
    let asked = cluster.out.iter().find_map(|notice| match notice {
        Notice::Activate { pods } => Some(pods.clone()),
        _ => None,
    });
    assert_eq!(asked, Some(vec![Uid::from("other")]));
    assert_eq!(cluster.said(), ["activate", "send"]);
    let mut cluster = pairing(|| PermitOutcome::Wait(Duration::from_secs(10)));
    cluster.place(&pod("a", 100));
    assert_eq!(cluster.said(), ["activate", "expect"]);
}

#[test]
fn a_cycle_that_fails_activates_none() {
    let mut cluster = pairing(|| PermitOutcome::Stop(Status::new(Code::Unschedulable, "", "alone")));
    let a = pod("a", 100);
    cluster.apply(Delta::PodAdded(Arc::clone(&a)));
    cluster.said();
    let now = cluster.now;
    let step = cluster.engine.begin(&a, now, &mut cluster.out);
    assert!(matches!(step, Step::Done(Outcome::Unschedulable(_))), "{step:?}");
    assert_eq!(cluster.said(), [""; 0]);
    // Nor does the next cycle, which has the same buffers.
    let b = pod("b", 2000);
    cluster.apply(Delta::PodAdded(Arc::clone(&b)));
    cluster.engine.begin(&b, now, &mut cluster.out);
    assert_eq!(cluster.said(), [""; 0]);
}
