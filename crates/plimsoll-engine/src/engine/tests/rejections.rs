//! Which nodes were rejected by whom, as a failed attempt tells.

use plimsoll_framework::{Code, PreFilterOutcome, Status};

use super::*;

/// Plugin, count, examples and reason.
fn told(diagnosis: &Diagnosis) -> Vec<(&str, u32, Vec<&str>, &str)> {
    let each = diagnosis.rejections.iter().map(|rejection| {
        let examples = rejection.examples.iter().map(AsRef::as_ref).collect();
        (rejection.plugin, rejection.nodes, examples, rejection.reason.as_str())
    });
    each.collect()
}

#[test]
fn a_failed_attempt_tells_how_many_nodes_each_plugin_rejected_and_names_three() {
    let profile = ProfileBuilder::new().oracle().build();
    let mut cluster = Cluster::new(profile);
    for name in ["a", "b", "c", "d", "e"] {
        cluster.add_node(name, 100);
    }
    cluster.add_node("large", 1000);
    let pod = pod("p", 600);
    cluster.add(&pod);
    assert!(matches!(cluster.begin(&pod), Step::Needs(_)));
    let Step::Done(Outcome::Unschedulable(diagnosis)) = cluster.resume(Ok(Box::new(vec!["large"]))) else {
        panic!("placed")
    };
    assert_eq!(
        told(&diagnosis),
        [
            ("Fit", 5, vec!["a", "b", "c"], "Insufficient cpu"),
            ("Oracle", 1, vec!["large"], "the oracle said no")
        ]
    );
}

#[test]
fn nodes_that_a_pre_filter_leaves_out_are_its_rejections() {
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
    let diagnosis = cluster.refuse(&pod("a", 600));
    assert_eq!(
        told(&diagnosis),
        [
            ("Fit", 1, vec!["n1"], "Insufficient cpu"),
            ("Picky", 1, vec!["n2"], "node(s) didn't satisfy plugin(s) [Picky]")
        ]
    );
    let diagnosis = cluster.refuse(&pod("unwanted", 600));
    assert_eq!(told(&diagnosis), [("Picky", 2, vec!["n1", "n2"], "not that one")]);
}
