//! No disruption budget is violated, where a profile says so.

use plimsoll_config::PodDisruptionBudgetPolicy;
use proptest::prelude::*;

use super::*;

fn hard() -> Profile {
    profile_of(ProfileExtras {
        pod_disruption_budget_policy: PodDisruptionBudgetPolicy::Hard,
        ..ProfileExtras::default()
    })
}

fn web(name: &str, on: &str) -> PodBuilder {
    guest(name, on, "2", 0).label("app", "web")
}

fn wanting(name: &str) -> PodBuilder {
    pod(name).cpu("2").priority(100)
}

#[test]
fn nobody_is_evicted_whom_a_budget_protects_and_the_pod_says_so() {
    let mut cluster = Cluster::with_nodes(hard(), &["n1"]);
    cluster.set_budget("b", "web", 0, &[]);
    cluster.run(web("guarded", "n1"));
    let diagnosis = cluster.refuse_built(wanting("p"));
    assert_eq!(diagnosis.preemption, None);
    assert_eq!(
        said(&diagnosis),
        "0/1 nodes are available: 1 Pod disruption budgets spare all victims."
    );
    // It is for that plugin to hear when a budget allows more.
    assert_eq!(diagnosis.plugins, ["DefaultPreemption", "NodeResourcesFit"]);
    assert_eq!(diagnosis.retry_at, None);
    cluster.set_budget("b", "web", 1, &[]);
    assert_eq!(chosen(&cluster.refuse_built(wanting("p"))), ("n1", vec!["guarded"]));
}

#[test]
fn victims_are_evicted_through_the_api_that_guards_budgets_and_none_counts_as_violated() {
    let mut cluster = Cluster::with_nodes(hard(), &["n1"]);
    cluster.set_budget("b", "web", 0, &[]);
    cluster.run(web("going", "n1").cpu("500m").terminating());
    cluster.run(guest("free", "n1", "1", 0));
    let p = Arc::new(pod("p").cpu("2").priority(100).build());
    let trial = cluster.engine.preemption_trial(&p, cluster.now).unwrap();
    assert_eq!((trial.candidates.len(), trial.candidates[0].violations), (1, 0));
    let plan = cluster.refuse(&p).preemption.unwrap();
    assert_eq!((plan.removal, victims(&plan)), (Removal::Evict, vec!["free"]));
}

#[test]
fn a_pod_waits_for_victims_whose_eviction_a_dead_leader_could_not_explain() {
    let mut cluster = Cluster::with_nodes(hard(), &["n1", "n2"]);
    let granted = |pod: &mut Pod| {
        if let Some(condition) = &mut pod.status.disruption_target {
            condition.reason = "EvictionByEvictionAPI".into();
        }
    };
    cluster.run(being_preempted(web("going", "n1")).with(granted));
    cluster.run(guest("cheap", "n2", "2", -1));
    let diagnosis = cluster.refuse_built(wanting("p").nominated("n1"));
    assert_eq!(
        said(&diagnosis),
        "not eligible due to a terminating pod on the nominated node."
    );
    assert_eq!(diagnosis.preemption, None);
}

#[test]
fn a_pod_that_does_not_fit_beside_the_protected_ones_says_what_it_lacks() {
    let mut cluster = Cluster::with_nodes(hard(), &["n1"]);
    cluster.set_budget("b", "web", 0, &[]);
    cluster.run(guest("guarded", "n1", "1", 0).label("app", "web"));
    cluster.run(guest("free", "n1", "1", 0));
    let diagnosis = cluster.refuse_built(wanting("p"));
    assert_eq!(said(&diagnosis), "0/1 nodes are available: 1 Insufficient cpu.");
    assert!(diagnosis.plugins.contains(&"DefaultPreemption"));
    assert_eq!(
        chosen(&cluster.refuse_built(pod("q").cpu("1").priority(100))),
        ("n1", vec!["free"])
    );
}

#[test]
fn a_pod_that_budgets_do_not_concern_does_not_wait_for_them() {
    let mut cluster = Cluster::with_nodes(hard(), &["n1"]);
    cluster.run(guest("equal", "n1", "2", 100));
    let diagnosis = cluster.refuse_built(wanting("p"));
    assert_eq!(diagnosis.plugins, ["NodeResourcesFit"]);
}

#[test]
fn evictions_that_the_status_does_not_show_yet_are_counted() {
    let mut cluster = Cluster::with_nodes(hard(), &["n1", "n2"]);
    cluster.set_budget("b", "web", 1, &[]);
    let a = Arc::new(web("a", "n1").build());
    cluster.add(&a);
    cluster.run(web("b", "n2"));
    let first = cluster.refuse_built(wanting("p")).preemption.unwrap();
    let gone = victims(&first)[0].to_owned();
    let spares = |cluster: &mut Cluster| cluster.refuse_built(wanting("q")).preemption.is_none();
    assert!(spares(&mut cluster), "decided");
    cluster.set_budget("b", "web", 0, &[&gone]);
    assert!(spares(&mut cluster), "granted");
    cluster.set_budget("b", "web", 0, &[]);
    assert!(spares(&mut cluster), "counted as gone");
    cluster.set_budget("b", "web", 1, &[]);
    assert!(!spares(&mut cluster), "replaced");
}

#[test]
fn a_status_that_lags_behind_a_pod_that_is_gone_allows_nothing_more() {
    let mut cluster = Cluster::with_nodes(hard(), &["n1", "n2"]);
    cluster.set_budget("b", "web", 1, &[]);
    let pods = [web("a", "n1"), web("b", "n2")].map(|pod| Arc::new(pod.build()));
    for pod in &pods {
        cluster.add(pod);
    }
    let first = cluster.refuse_built(wanting("p")).preemption.unwrap();
    cluster.apply(Delta::PodDeleted(Arc::clone(&first.victims[0].pod)));
    // p has its node: it does not keep q from the other one.
    cluster.apply(Delta::PodDeleted(Arc::clone(&first.preemptor)));
    cluster.run(guest("p2", &first.node, "2", 100));
    assert_eq!(cluster.refuse_built(wanting("q")).preemption, None);
    cluster.set_budget("b", "web", 1, &[]);
    assert!(cluster.refuse_built(wanting("q")).preemption.is_some());
}

#[test]
fn an_eviction_that_failed_or_that_nobody_hears_of_any_more_does_not_count() {
    for failed in [true, false] {
        let mut cluster = Cluster::with_nodes(hard(), &["n1", "n2"]);
        cluster.set_budget("b", "web", 1, &[]);
        cluster.run(web("a", "n1"));
        cluster.run(web("b", "n2"));
        let first = cluster.refuse_built(wanting("p")).preemption.unwrap();
        assert_eq!(cluster.refuse_built(wanting("q")).preemption, None);
        if failed {
            cluster.engine.eviction_failed(&[first.victims[0].pod.uid.clone()]);
        } else {
            cluster.wait(120);
        }
        assert!(cluster.refuse_built(wanting("q")).preemption.is_some(), "{failed}");
    }
}

#[test]
fn another_configuration_counts_from_the_next_attempt_on() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1"]);
    cluster.set_budget("b", "web", 0, &[]);
    cluster.run(web("guarded", "n1"));
    cluster.reconfigure(hard());
    assert_eq!(cluster.refuse_built(wanting("p")).preemption, None);
    cluster.reconfigure(profile());
    let plan = cluster.refuse_built(wanting("p")).preemption.unwrap();
    assert_eq!((plan.removal, victims(&plan)), (Removal::Delete, vec!["guarded"]));
}

#[test]
fn a_pod_with_several_budgets_stays() {
    let mut cluster = Cluster::with_nodes(hard(), &["n1"]);
    cluster.set_budget("b", "web", 5, &[]);
    cluster.set_budget("c", "web", 5, &[]);
    cluster.run(web("guarded", "n1"));
    assert_eq!(cluster.refuse_built(wanting("p")).preemption, None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_wants_room_no_budget_is_overdrawn(
        guests in prop::collection::vec((0..3_usize, 0..3_usize, 0..3_i32, 1..5_u32), 1..14),
        allowed in prop::array::uniform3(0..3_i32),
        wanted in prop::collection::vec(1..20_u32, 1..6),
    ) {
        let mut cluster = Cluster::with_nodes(hard(), &["n0", "n1", "n2"]);
        let apps = ["a", "b", "none"];
        for (app, allowed) in apps.iter().zip(allowed).take(2) {
            cluster.set_budget(app, app, allowed, &[]);
        }
        for (number, (node, app, priority, tenths)) in guests.into_iter().enumerate() {
            let cpu = format!("{}m", tenths * 100);
            let on = format!("n{node}");
            cluster.run(guest(&format!("g{number}"), &on, &cpu, priority).label("app", apps[app]));
        }
        let mut evicted = [0; 2];
        for (number, tenths) in wanted.into_iter().enumerate() {
            let wants = Arc::new(pod(&format!("p{number}")).cpu(&format!("{}m", tenths * 100)).priority(100).build());
            let Outcome::Unschedulable(Diagnosis { preemption: Some(plan), .. }) = cluster.try_new(&wants) else {
                continue;
            };
            for victim in &plan.victims {
                for (app, evicted) in apps.iter().zip(&mut evicted) {
                    *evicted += i32::from(victim.pod.labels.get("app") == Some(*app));
                }
                cluster.apply(Delta::PodDeleted(Arc::clone(&victim.pod)));
            }
        }
        prop_assert!(evicted.iter().zip(allowed).all(|(evicted, allowed)| *evicted <= allowed), "{evicted:?} {allowed:?}");
    }
}
