use std::panic::{AssertUnwindSafe, catch_unwind};

use plimsoll_framework::{CycleContext, CycleState, Filter, FilterPass, PermitOutcome, Plugin, ReasonCode, Reasons};

use super::*;

#[test]
fn room_is_made_and_the_text_says_nothing_of_it() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1"]);
    cluster.run(guest("low", "n1", "2", 0));
    let diagnosis = cluster.refuse_built(preemptor("1"));
    assert_eq!(diagnosis.message, "0/1 nodes are available: 1 Insufficient cpu.");
    assert_eq!(chosen(&diagnosis), ("n1", vec!["low"]));
    let plan = diagnosis.preemption.unwrap();
    assert_eq!(
        (plan.chosen, plan.removal, plan.asynchronous),
        (1, Removal::Delete, true)
    );
    assert_eq!(plan.preemptor.name.name, "p");
    let nominations: Vec<_> = cluster.engine.nominations().collect();
    assert_eq!(nominations, [(&Uid::from("uid-p"), "n1")]);
}

#[test]
fn whoever_can_stay_stays_the_most_important_first() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1"]);
    cluster.run(guest("young", "n1", "500m", 5).started("2026-01-02T00:00:00Z"));
    cluster.run(guest("old", "n1", "500m", 5).started("2026-01-01T00:00:00Z"));
    cluster.run(guest("not-started", "n1", "500m", 5));
    cluster.run(guest("low", "n1", "100m", 1));
    cluster.run(guest("big", "n1", "400m", 9));
    // 900m is left for those that stay: big and old; nobody else fits beside them.
    let diagnosis = cluster.refuse_built(preemptor("1100m"));
    assert_eq!(chosen(&diagnosis), ("n1", vec!["young", "not-started", "low"]));
    let mut cluster = Cluster::with_nodes(profile(), &["n1"]);
    for (name, cpu, priority) in [("a", "1", 9), ("b", "800m", 5), ("c", "200m", 1)] {
        cluster.run(guest(name, "n1", cpu, priority));
    }
    // a does not fit beside it, b does, and then c does too.
    let diagnosis = cluster.refuse_built(preemptor("1"));
    assert_eq!(chosen(&diagnosis), ("n1", vec!["b", "c"]));
}

#[test]
fn equals_stay_in_the_order_in_which_they_came_also_after_a_rebuild() {
    for rebuilt in [false, true] {
        let mut cluster = Cluster::with_nodes(profile(), &["n1"]);
        for name in ["c", "a", "b"] {
            cluster.run(guest(name, "n1", "600m", 0));
        }
        if rebuilt {
            cluster.engine.rebuild(cluster.now, &mut cluster.out);
        }
        let diagnosis = cluster.refuse_built(preemptor("800m"));
        assert_eq!(chosen(&diagnosis), ("n1", vec!["b"]), "{rebuilt}");
    }
}

#[test]
fn a_node_where_no_budget_is_violated_wins_whatever_the_priorities() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1", "n2"]);
    cluster.set_budget("b", "web", 0, &[]);
    cluster.run(guest("guarded", "n1", "2", 0).label("app", "web"));
    cluster.run(guest("important", "n2", "2", 99));
    let diagnosis = cluster.refuse_built(preemptor("1"));
    assert_eq!(chosen(&diagnosis), ("n2", vec!["important"]));
}

#[test]
fn budgets_are_violated_when_nothing_else_helps() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1"]);
    cluster.set_budget("b", "web", 1, &["granted"]);
    for (name, priority) in [("first", 9), ("second", 5), ("granted", 3)] {
        cluster.run(guest(name, "n1", "600m", priority).label("app", "web"));
    }
    cluster.run(guest("free", "n1", "200m", 50));
    let pod = Arc::new(preemptor("1400m").build());
    let trial = cluster.engine.preemption_trial(&pod, cluster.now).unwrap();
    let candidate = &trial.candidates[0];
    // The first is within the budget, the second beyond it and therefore spared first, the third is counted already.
    let names: Vec<_> = candidate.victims.iter().map(|pod| pod.name.name.as_str()).collect();
    assert_eq!(names, ["free", "first", "granted"]);
    assert_eq!(candidate.violations, 0);
    let pod = Arc::new(preemptor("1800m").build());
    let trial = cluster.engine.preemption_trial(&pod, cluster.now).unwrap();
    let candidate = &trial.candidates[0];
    let names: Vec<_> = candidate.victims.iter().map(|pod| pod.name.name.as_str()).collect();
    assert_eq!(names, ["first", "second", "granted"]);
    assert_eq!(candidate.violations, 1);
}

#[test]
fn budgets_that_are_gone_guard_nobody() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1", "n2"]);
    cluster.set_budget("b", "web", 0, &[]);
    let budget = |cluster: &Cluster| cluster.engine.ledger.budgets_in("default").next().cloned();
    let old = budget(&cluster);
    cluster.apply(Delta::DisruptionBudgetChanged { old, new: None });
    assert_eq!(budget(&cluster), None);
    cluster.run(guest("guarded", "n1", "2", 0).label("app", "web"));
    cluster.run(guest("important", "n2", "2", 99));
    let diagnosis = cluster.refuse_built(preemptor("1"));
    assert_eq!(chosen(&diagnosis), ("n1", vec!["guarded"]));
}

#[test]
fn victims_that_are_going_already_are_left_out_of_the_plan() {
    let going = || guest("going", "n1", "1", 5).terminating();
    for (with_other, asynchronous, expected) in [
        (true, true, Some(vec!["other"])),
        (true, false, Some(vec!["other"])),
        (false, true, None),
        (false, false, Some(vec![])),
    ] {
        let profile = if asynchronous { profile() } else { synchronous() };
        let mut cluster = Cluster::with_nodes(profile, &["n1"]);
        cluster.run(going());
        cluster.run(guest("other", "n1", "1", if with_other { 1 } else { 200 }));
        cluster.run(pod("waiting").cpu("100m").priority(1).nominated("n1"));
        let cpu = if with_other { "2" } else { "1" };
        let diagnosis = cluster.refuse_built(preemptor(cpu));
        assert_eq!(diagnosis.nominate, Nomination::Set("n1".into()));
        let plan = diagnosis.preemption.as_ref();
        assert_eq!(plan.map(victims), expected, "{with_other} {asynchronous}");
        if let Some(plan) = plan {
            assert_eq!(plan.chosen, if with_other { 2 } else { 1 });
            assert_eq!(plan.asynchronous, asynchronous);
        }
        // Without anything to do the nomination of others is left alone too.
        assert_eq!(
            plan.is_some_and(|plan| plan.clear_nominations.len() == 1),
            expected.is_some()
        );
        let others = cluster
            .engine
            .nominations()
            .filter(|(uid, _)| uid.as_str() == "uid-waiting");
        assert_eq!(others.count(), usize::from(expected.is_none()));
    }
}

#[test]
fn less_important_pods_lose_their_nomination_to_the_node() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1", "n2"]);
    cluster.run(guest("low", "n1", "2", 0));
    cluster.run(guest("same", "n2", "2", 100));
    for (name, priority, node) in [("less", 99, "n1"), ("equal", 100, "n1"), ("elsewhere", 0, "n2")] {
        cluster.run(pod(name).cpu("100m").priority(priority).nominated(node));
    }
    let diagnosis = cluster.refuse_built(preemptor("1"));
    assert_eq!(chosen(&diagnosis).0, "n1");
    let cleared = &diagnosis.preemption.as_ref().unwrap().clear_nominations;
    let cleared: Vec<_> = cleared.iter().map(|pod| pod.name.name.as_str()).collect();
    assert_eq!(cleared, ["less"]);
    let left: Vec<_> = cluster.engine.nominations().map(|(uid, _)| uid.as_str()).collect();
    assert_eq!(left, ["uid-equal", "uid-p", "uid-elsewhere"]);
}

#[test]
fn two_preemptions_never_count_on_the_same_room() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1", "n2"]);
    cluster.run(guest("low1", "n1", "2", 0));
    cluster.run(guest("low2", "n2", "2", 1));
    let first = cluster.refuse_built(preemptor("2"));
    assert_eq!(chosen(&first), ("n1", vec!["low1"]));
    // The victim is still there when the next pod, as important, looks for room.
    let second = cluster.refuse_built(preemptor("2").uid("second"));
    assert_eq!(chosen(&second), ("n2", vec!["low2"]));
    let third = cluster.refuse_built(preemptor("2").uid("third"));
    assert_eq!(said(&third), "0/2 nodes are available: 2 Insufficient cpu.");
    // Nor does one that is less important, and one that is more important takes the room away.
    let less = cluster.refuse_built(preemptor("2").uid("less").priority(50));
    assert_eq!(said(&less), "0/2 nodes are available: 2 Insufficient cpu.");
    let more = cluster.refuse_built(preemptor("2").uid("more").priority(200));
    let plan = more.preemption.as_ref().unwrap();
    assert_eq!(chosen(&more), ("n1", vec!["low1"]));
    let cleared: Vec<_> = plan.clear_nominations.iter().map(|pod| pod.uid.as_str()).collect();
    assert_eq!(cleared, ["uid-p"]);
}

#[test]
fn two_small_preemptions_share_a_node_and_spare_each_others_room() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1"]);
    cluster.run(guest("low1", "n1", "1", 1));
    cluster.run(guest("low2", "n1", "1", 0));
    let first = cluster.refuse_built(preemptor("1"));
    assert_eq!(chosen(&first), ("n1", vec!["low2"]));
    let second = cluster.refuse_built(preemptor("1").uid("second"));
    assert_eq!(chosen(&second), ("n1", vec!["low1", "low2"]));
}

#[test]
fn anti_affinity_and_spreading_are_judged_without_the_victims() {
    let mut cluster = Cluster::new(profile());
    for name in ["n1", "n2"] {
        let zone = node(name).label("zone", name).cpu("2").memory("8Gi").pods(10);
        cluster.set_node(zone.build());
    }
    let apart = r#"{"metadata":{"name":"p","namespace":"default","uid":"p","resourceVersion":"1","labels":{"app":"web"}},
        "spec":{"priority":100,"containers":[{"name":"c"}],"affinity":{"podAntiAffinity":{
        "requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"web"}}}]}}}}"#;
    let spread = r#"{"metadata":{"name":"p","namespace":"default","uid":"q","resourceVersion":"1","labels":{"app":"web"}},
        "spec":{"priority":100,"containers":[{"name":"c"}],"topologySpreadConstraints":[{"topologyKey":"zone","maxSkew":1,
        "whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"web"}}}],"nodeSelector":{"zone":"n1"}}}"#;
    cluster.run(guest("web1", "n1", "1", 0).label("app", "web"));
    cluster.run(guest("other", "n1", "1", 0));
    cluster.run(guest("web2", "n2", "1", 100).label("app", "web"));
    let decoded = |json: &str| Arc::new(plimsoll_model::decode_pod(json.as_bytes()).unwrap());
    let diagnosis = cluster.refuse(&decoded(apart));
    assert_eq!(chosen(&diagnosis), ("n1", vec!["web1"]));
    let old = Arc::new(guest("web2", "n2", "1", 100).label("app", "web").build());
    cluster.apply(Delta::PodDeleted(old));
    let mut pod = Pod::clone(&decoded(spread));
    pod.spec.topology_spread_constraints[0].node_affinity_policy = Some(plimsoll_model::NodeInclusionPolicy::Ignore);
    cluster.engine.nominations.remove(&Uid::from("p"));
    let diagnosis = cluster.refuse(&Arc::new(pod));
    assert_eq!(chosen(&diagnosis), ("n1", vec!["web1"]));
}

#[test]
fn claims_are_victims_too_and_give_way_without_an_api_call_while_nothing_is_sent() {
    let wait = |profile: &mut Profile| {
        let waiting = ProfileBuilder::new().permit("Gate", |pod| match pod.name.name.as_str() {
            "parked" => PermitOutcome::Wait(Duration::from_mins(1)),
            _ => PermitOutcome::Allow,
        });
        profile.permit.extend(waiting.build().permit);
        let volumes = ProfileBuilder::new().volumes().build();
        profile.pre_bind.extend(volumes.pre_bind);
    };
    for (name, message) in [
        ("parked", "waiting on permit for pod: preempted"),
        (
            "binding",
            "running PreBind plugin \"Volumes\": preempted by DefaultPreemption",
        ),
    ] {
        let mut cluster = Cluster::with_nodes(profile_with(&FeatureGates::default(), wait), &["n1"]);
        let low = Arc::new(pod(name).cpu("2").priority(0).build());
        let claim = cluster.place(&low).claim;
        let diagnosis = cluster.refuse_built(preemptor("2"));
        let plan = diagnosis.preemption.unwrap();
        assert_eq!(victims(&plan), [name]);
        assert_eq!(plan.victims[0].claim, Some(claim));
        cluster.said();
        let engine = &mut cluster.engine;
        assert!(engine.reject_for_preemption(claim, cluster.now, &mut cluster.out));
        assert!(!engine.reject_for_preemption(claim, cluster.now, &mut cluster.out));
        let waited = cluster.out.iter().find_map(|notice| match notice {
            Notice::PermitWaitEnded { code, .. } => Some(*code),
            _ => None,
        });
        assert_eq!(waited, (name == "parked").then_some(Code::Error));
        let released = |notice: &Notice| matches!(notice, Notice::Released { .. });
        assert!(cluster.out.iter().any(released));
        let failure = cluster.failure();
        assert_eq!(failure.message, message);
        assert_eq!(failure.reason, FailureReason::SchedulerError);
        assert_eq!(cluster.used("n1"), 0);
    }
}

#[test]
fn a_claim_whose_binding_is_sent_does_not_give_way() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1"]);
    let low = Arc::new(pod("low").cpu("2").priority(0).build());
    let claim = cluster.place(&low).claim;
    let diagnosis = cluster.refuse_built(preemptor("2"));
    assert_eq!(diagnosis.preemption.unwrap().victims[0].claim, Some(claim));
    let (now, out) = (cluster.now, &mut cluster.out);
    assert!(!cluster.engine.reject_for_preemption(claim, now, out));
    assert_eq!(cluster.used("n1"), 2000);
}

#[test]
fn a_search_begins_anywhere_and_ends_when_it_has_enough() {
    let few = |profile: &mut Profile| {
        let args = plimsoll_config::DefaultPreemptionArgs {
            min_candidate_nodes_percentage: 0,
            min_candidate_nodes_absolute: 2,
        };
        let args = plimsoll_config::PluginArgs::DefaultPreemption(args);
        let made = default_preemption::construct(&plimsoll_framework::Construction {
            args: Some(&args),
            gates: &FeatureGates::default(),
            scheduler_name: "default-scheduler",
            extras: &plimsoll_config::ProfileExtras::default(),
        });
        profile.post_filter = vec![made.unwrap().post_filter.unwrap()];
    };
    let names: Vec<String> = (0..20).map(|at| format!("n{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut chosen_nodes = std::collections::BTreeSet::new();
    let mut cluster = Cluster::with_nodes(profile_with(&FeatureGates::default(), few), &names);
    for name in &names {
        cluster.run(guest(&format!("low-{name}"), name, "2", 0));
    }
    for attempt in 0..30 {
        let pod = Arc::new(preemptor("2").uid(&format!("p{attempt}")).build());
        let diagnosis = cluster.refuse(&pod);
        chosen_nodes.insert(chosen(&diagnosis).0.to_owned());
        cluster.engine.nominations.remove(&pod.uid);
    }
    assert!(chosen_nodes.len() > 5, "{chosen_nodes:?}");
    let pod = Arc::new(preemptor("2").build());
    let trial = cluster.engine.preemption_trial(&pod, cluster.now).unwrap();
    assert_eq!(trial.candidates.len(), 20);
    assert_eq!(trial.candidates[0].node, chosen(&trial.diagnosis).0);
}

#[test]
fn a_trial_leaves_no_trace() {
    let mut cluster = Cluster::with_nodes(profile(), &["n1", "n2"]);
    cluster.run(guest("low", "n1", "2", 0));
    cluster.run(guest("low-too", "n2", "2", 0));
    cluster.run(pod("waiting").cpu("100m").priority(1).nominated("n1"));
    let before = view(cluster.engine.columns());
    let pod = Arc::new(preemptor("1").build());
    let trial = cluster.engine.preemption_trial(&pod, cluster.now).unwrap();
    assert_eq!(trial.candidates.len(), 2);
    assert_eq!(view(cluster.engine.columns()), before);
    assert_eq!(cluster.engine.nominations().count(), 1);
    assert_eq!(cluster.engine.preemption_trial(&pod, cluster.now), Some(trial));
    let fits = Arc::new(super::preemptor("0").build());
    assert_eq!(cluster.engine.preemption_trial(&fits, cluster.now), None);
    let mut empty = Cluster::new(profile());
    assert_eq!(empty.engine.preemption_trial(&pod, empty.now), None);
}

/// Panics when it sees a node without pods.
struct Afraid;

impl Plugin for Afraid {
    fn name(&self) -> &'static str {
        "Afraid"
    }
}

impl Filter for Afraid {
    fn filter(&self, cycle: CycleContext<'_>, _: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        let counts = cycle.columns.pod_count();
        assert!(pass.feasible().iter().all(|node| counts[node.as_usize()] > 0));
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> Reasons {
        Reasons::new()
    }
}

#[test]
fn a_panic_while_pods_are_taken_off_leaves_no_trace_either() {
    let afraid = |profile: &mut Profile| profile.filter.push(Arc::new(Afraid));
    let mut cluster = Cluster::with_nodes(profile_with(&FeatureGates::default(), afraid), &["n1"]);
    cluster.run(guest("low", "n1", "1", 0));
    cluster.run(guest("lower", "n1", "1", -1));
    let before = view(cluster.engine.columns());
    let pod = Arc::new(preemptor("2").build());
    cluster.add(&pod);
    let caught = catch_unwind(AssertUnwindSafe(|| cluster.begin(&pod)));
    assert!(caught.is_err());
    cluster.engine.abandon();
    cluster.engine.rebuild(cluster.now, &mut cluster.out);
    assert_eq!(view(cluster.engine.columns()), before);
    assert_eq!(cluster.engine.nominations().count(), 0);
}
