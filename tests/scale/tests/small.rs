//! A small cluster filled: what is promised holds, and what is known from other pods changes nothing.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

use plimsoll_oracle::{Availability, find};
use plimsoll_scale::{Plan, Report, run};

fn plan() -> Plan {
    Plan {
        nodes: 60,
        pods: 900,
        seed: 5,
        at_once: 4,
        looking_at_all: false,
        upstream: None,
        compare_at: 300,
        compared: 5,
    }
}

fn told(plan: &Plan) -> (Report, Vec<String>) {
    let mut lines = Vec::new();
    let report = run(plan, &mut |line: &str| lines.push(line.to_owned())).unwrap();
    (report, lines)
}

#[test]
fn every_pod_of_a_cluster_with_room_is_placed_where_it_may_be() {
    let (report, lines) = told(&plan());
    assert_eq!((report.faults.as_slice(), report.unplaced), (&[] as &[String], 0));
    assert_eq!(report.all.pods, 900);
    assert_eq!(report.decisions.len(), 9, "of each kind some");
    assert!(lines.iter().any(|line| line.starts_with("900 pods")), "{lines:?}");
    let table = report.to_string();
    assert!(table.contains("| hard zone spreading | "), "{table}");
}

#[test]
fn kube_schedulers_own_code_places_the_same_pods() {
    let program = match find().unwrap() {
        Availability::Ready(program) => program,
        Availability::Skip(reason) => return eprintln!("skipped: {reason}"),
    };
    let upstream = Some(program);
    let (report, lines) = told(&Plan { upstream, ..plan() });
    let compared = report.compared.unwrap();
    assert_eq!((compared.before, compared.kinds.len()), (300, 9));
    assert!(
        compared
            .kinds
            .iter()
            .all(|(_, ours, theirs)| (ours.pods, theirs.pods) == (5, 5))
    );
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.ends_with("(without a place: 0)"))
            .count(),
        9
    );
}
