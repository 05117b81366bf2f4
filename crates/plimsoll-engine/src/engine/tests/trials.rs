use plimsoll_framework::{Code, PreFilterOutcome, Status};

use super::fixture::view;
use super::*;

#[test]
fn a_trial_judges_every_node_and_leaves_no_trace() {
    let mut cluster = Cluster::new(ProfileBuilder::new().build());
    for (name, milli_cpu) in [("n1", 1000), ("n2", 300), ("n3", 1000)] {
        cluster.add_node(name, milli_cpu);
    }
    cluster.add(&nominated("due", 900, 5, "n3"));
    let before = view(cluster.engine.columns());
    let trial = cluster.engine.try_out(&pod("a", 600), cluster.now).unwrap();
    let rejection = Status::new(Code::Unschedulable, "Fit", "Insufficient cpu");
    let verdicts: Vec<_> = trial
        .nodes
        .iter()
        .map(|node| (node.name.as_str(), node.rejection.clone()))
        .collect();
    assert_eq!(
        verdicts,
        [("n1", None), ("n2", Some(rejection.clone())), ("n3", Some(rejection))]
    );
    let score = i64::from(b'1');
    assert_eq!(trial.totals().collect::<Vec<_>>(), [("n1", score)]);
    assert_eq!(
        (&trial.scores[0].raw, &trial.scores[0].normalised),
        (&vec![score], &vec![score])
    );
    assert_eq!(trial.diagnosis, None);
    assert_eq!(view(cluster.engine.columns()), before);
    assert_eq!(cluster.engine.claims().count(), 0);
    assert!(cluster.said().is_empty());
}

#[test]
fn a_trial_explains_itself_as_a_cycle_does() {
    let profile = ProfileBuilder::new().pre_filter("Picky", |(pod, nodes)| {
        if pod.name.name == "unwanted" {
            PreFilterOutcome::Stop(Status::new(Code::UnschedulableAndUnresolvable, "Picky", "not that one"))
        } else {
            PreFilterOutcome::Restrict(nodes.iter().take(1).collect())
        }
    });
    let mut cluster = Cluster::new(profile.build());
    cluster.add_node("n1", 100);
    cluster.add_node("n2", 1000);
    for (name, restriction) in [("a", Some(vec!["n1".into()])), ("unwanted", None)] {
        let pod = pod(name, 600);
        let trial = cluster.engine.try_out(&pod, cluster.now).unwrap();
        assert_eq!(trial.restriction, restriction, "{name}");
        assert_eq!(trial.rejection.is_some(), restriction.is_none(), "{name}");
        let diagnosis = cluster.refuse(&pod);
        assert_eq!(trial.diagnosis.unwrap().message, diagnosis.message, "{name}");
    }
}

#[test]
fn a_pod_of_a_foreign_scheduler_is_not_tried() {
    let mut cluster = Cluster::new(ProfileBuilder::new().build());
    let mut foreign = Pod::clone(&pod("a", 1));
    foreign.spec.scheduler_name = "another".into();
    assert_eq!(cluster.engine.try_out(&Arc::new(foreign), cluster.now), None);
}
