use compact_str::CompactString;
use plimsoll_model::testing::{PodBuilder, pod};
use plimsoll_model::{LabelSelector, Labels, ObjectName, ResourceVersion, Uid};

use super::*;

fn budget(app: Option<&str>, allowed: i32) -> Arc<DisruptionBudget> {
    let labels = app.map(|app| ("app", app)).into_iter().collect::<Labels>();
    let name = format!("{}-{allowed}", app.unwrap_or("all"));
    Arc::new(DisruptionBudget {
        uid: Uid::from(name.as_str()),
        name: ObjectName::new("default", name.as_str()),
        resource_version: ResourceVersion::new(1),
        selector: Some(LabelSelector::of_labels(labels)),
        disruptions_allowed: allowed,
        disrupted_pods: vec!["granted".into()],
    })
}

fn of_app(name: &str, app: &str) -> PodBuilder {
    pod(name).label("app", app)
}

fn spared(budgets: &[Arc<DisruptionBudget>], under_way: &UnderWay, pods: &[Pod]) -> Vec<CompactString> {
    let hard = HardBudgets::new(budgets.iter(), under_way, Moment::ZERO);
    let stay = hard.spared(pods.iter());
    let stay = pods.iter().zip(stay).filter(|(_, stays)| *stays);
    stay.map(|(pod, _)| pod.name.name.clone()).collect()
}

type Case<'a> = (&'a str, &'a [Arc<DisruptionBudget>], &'a [Pod], &'a [&'a str]);

#[test]
fn pods_stay_whose_eviction_would_violate_a_budget() {
    let web = budget(Some("web"), 1);
    let db = budget(Some("db"), 0);
    let several = [
        of_app("a", "web").build(),
        of_app("b", "web").build(),
        of_app("c", "none").build(),
        of_app("d", "db").build(),
        pod("bare").build(),
    ];
    let going = [of_app("a", "db").terminating().build(), of_app("b", "db").build()];
    let granted = [of_app("granted", "db").build(), of_app("b", "db").build()];
    let elsewhere = [of_app("a", "db").namespace("shop").build()];
    let cases: [Case<'_>; 6] = [
        (
            "one may go, the most important",
            &[web, db.clone()],
            &several,
            &["b", "d"],
        ),
        ("no budget", &[], &several, &[]),
        ("one goes already", std::slice::from_ref(&db), &going, &["b"]),
        ("one is granted already", std::slice::from_ref(&db), &granted, &["b"]),
        ("another namespace", std::slice::from_ref(&db), &elsewhere, &[]),
        (
            "an empty selector is for all",
            &[budget(None, 0)],
            &several,
            &["a", "b", "c", "d", "bare"],
        ),
    ];
    for (case, budgets, pods, expected) in cases {
        assert_eq!(spared(budgets, &UnderWay::default(), pods), expected, "{case}");
    }
}

#[test]
fn pods_stay_for_which_there_are_several_budgets() {
    let budgets = [budget(Some("web"), 5), budget(None, 5)];
    let pods = [of_app("a", "web").build(), of_app("b", "db").build()];
    assert_eq!(spared(&budgets, &UnderWay::default(), &pods), ["a"]);
}

#[test]
fn evictions_under_way_are_taken_off_what_a_budget_allows() {
    let budgets = [budget(Some("web"), 2)];
    let pods = ["a", "b", "c"].map(|name| of_app(name, "web").build());
    let mut under_way = UnderWay::default();
    assert_eq!(spared(&budgets, &under_way, &pods), ["c"]);
    under_way.begin(&Arc::new(of_app("elsewhere", "web").build()), Moment::ZERO);
    assert_eq!(spared(&budgets, &under_way, &pods), ["b", "c"]);
    under_way.budget_changed(&DisruptionBudget {
        disrupted_pods: vec!["elsewhere".into()],
        ..DisruptionBudget::clone(&budgets[0])
    });
    assert_eq!(spared(&budgets, &under_way, &pods), ["c"]);
}
