use plimsoll_model::testing::pod;
use plimsoll_model::{LabelSelector, Labels, ObjectName, ResourceVersion};

use super::*;

fn at(seconds: u64) -> Moment {
    Moment::ZERO + Duration::from_secs(seconds)
}

fn web(name: &str) -> Arc<Pod> {
    Arc::new(pod(name).label("app", "web").build())
}

fn budget(disrupted: &[&str]) -> DisruptionBudget {
    let labels = [("app", "web")].into_iter().collect::<Labels>();
    DisruptionBudget {
        name: ObjectName::new("default", "b"),
        uid: Uid::from("b"),
        resource_version: ResourceVersion::new(1),
        selector: Some(LabelSelector::of_labels(labels)),
        disruptions_allowed: 1,
        disrupted_pods: disrupted.iter().map(|name| (*name).into()).collect(),
    }
}

/// An eviction of `a` decided at second 0.
fn decided() -> UnderWay {
    let mut under_way = UnderWay::default();
    under_way.begin(&web("a"), at(0));
    under_way
}

#[test]
fn an_eviction_counts_for_the_budgets_that_guard_the_pod() {
    let mut under_way = decided();
    under_way.begin(&Arc::new(pod("c").label("app", "db").build()), at(0));
    assert_eq!(under_way.hidden_from(&budget(&[]), at(1)), 1);
    under_way.begin(&web("b"), at(1));
    under_way.begin(&web("b"), at(1));
    assert_eq!(under_way.hidden_from(&budget(&[]), at(1)), 2);
}

#[test]
fn an_eviction_counts_until_the_budget_shows_it_granted() {
    let mut under_way = decided();
    under_way.budget_changed(&budget(&["other"]));
    assert_eq!(
        under_way.hidden_from(&budget(&["other"]), at(1)),
        1,
        "another was granted"
    );
    under_way.budget_changed(&budget(&["a", "other"]));
    assert_eq!(under_way.hidden_from(&budget(&["a", "other"]), at(1)), 0);
    // The controller has counted the pod as gone before our watch of pods says so.
    under_way.budget_changed(&budget(&[]));
    assert_eq!(under_way.hidden_from(&budget(&[]), at(1)), 0);
}

#[test]
fn a_deletion_counts_until_the_budget_has_changed_after_it_was_seen() {
    let mut under_way = decided();
    under_way.budget_changed(&budget(&[]));
    under_way.goes(&web("a").uid);
    assert_eq!(under_way.hidden_from(&budget(&[]), at(1)), 1, "the status is older");
    under_way.budget_changed(&budget(&[]));
    assert_eq!(under_way.hidden_from(&budget(&[]), at(1)), 0);
}

#[test]
fn what_one_budget_shows_another_need_not() {
    let mut under_way = decided();
    let other = DisruptionBudget {
        name: ObjectName::new("default", "c"),
        uid: Uid::from("c"),
        ..budget(&[])
    };
    under_way.budget_changed(&budget(&["a"]));
    assert_eq!(under_way.hidden_from(&budget(&["a"]), at(1)), 0);
    assert_eq!(under_way.hidden_from(&other, at(1)), 1);
}

#[test]
fn an_eviction_that_failed_or_takes_too_long_counts_no_more() {
    let mut under_way = decided();
    under_way.failed(&web("a").uid);
    assert_eq!(under_way.hidden_from(&budget(&[]), at(1)), 0);
    let under_way = decided();
    assert_eq!(under_way.hidden_from(&budget(&[]), at(119)), 1);
    assert_eq!(under_way.hidden_from(&budget(&[]), at(120)), 0);
}

#[test]
fn what_is_over_is_forgotten_with_the_next_one() {
    let mut under_way = decided();
    under_way.begin(&web("b"), at(120));
    assert_eq!(under_way.evictions.len(), 1);
}
