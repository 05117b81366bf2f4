use plimsoll_framework::{Code, MatchRule, PreFilterOutcome, Status};
use plimsoll_model::{LabelSelector, Labels, Namespace, ResourceVersion, Uid, testing};

use super::*;

fn team(team: &str) -> Labels {
    [("team", team)].into_iter().collect()
}

fn selector(name: &str) -> LabelSelector {
    LabelSelector::of_labels(team(name))
}

fn by_pod(name: &str) -> MatchRule {
    MatchRule {
        pod_selector: Some(selector(name)),
        namespace_selector: None,
    }
}

fn by_namespace(name: &str) -> MatchRule {
    MatchRule {
        pod_selector: None,
        namespace_selector: Some(selector(name)),
    }
}

/// A profile that refuses every pod by its own name.
fn refusing(name: &'static str, rules: Vec<MatchRule>) -> Profile {
    let stop = move |_| PreFilterOutcome::Stop(Status::new(Code::Unschedulable, "", "no"));
    let profile = ProfileBuilder::new().pre_filter(name, stop);
    profile.with(|profile| profile.match_rules = rules).build()
}

fn cluster(profiles: Vec<Profile>) -> Cluster {
    let mut cluster = Cluster::of(profiles);
    cluster.add_node("n1", 1000);
    cluster
}

fn of_team(name: &str) -> Arc<Pod> {
    Arc::new(testing::pod("a").label("team", name).build())
}

impl Cluster {
    /// The namespace of all pods has this team now.
    fn label_namespace(&mut self, before: Option<&str>, after: Option<&str>) {
        let namespace = |name| {
            Arc::new(Namespace {
                name: "default".into(),
                uid: Uid::new("default"),
                resource_version: ResourceVersion::new(1),
                labels: team(name),
            })
        };
        self.apply(Delta::NamespaceChanged {
            old: before.map(namespace),
            new: after.map(namespace),
        });
    }

    /// Which profile refuses the pod; none when no profile takes it.
    fn refused_by(&mut self, pod: &Arc<Pod>) -> Option<&'static str> {
        match self.begin(pod) {
            Step::Done(Outcome::Unschedulable(diagnosis)) => diagnosis.plugins.first().copied(),
            Step::Done(Outcome::Dropped(DropReason::UnknownProfile)) => None,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_pod_follows_its_labels_from_profile_to_profile() {
    let profiles = vec![
        refusing("Rest", Vec::new()),
        refusing("Red", vec![by_pod("red")]),
        refusing("Both", vec![by_pod("red"), by_pod("blue")]),
    ];
    let mut cluster = cluster(profiles);
    let mut before = of_team("red");
    cluster.add(&before);
    assert_eq!(cluster.refused_by(&before), Some("Red"));
    for (team, profile) in [("blue", "Both"), ("green", "Rest"), ("red", "Red")] {
        let after = of_team(team);
        cluster.apply(Delta::PodUpdated {
            old: before,
            new: Arc::clone(&after),
        });
        assert_eq!(cluster.refused_by(&after), Some(profile), "{team}");
        before = after;
    }
    assert!(cluster.said().is_empty());
}

#[test]
fn a_pod_follows_the_labels_of_its_namespace_once_that_is_known() {
    let profiles = vec![refusing("Red", vec![by_namespace("red")]), refusing("Rest", Vec::new())];
    let mut cluster = cluster(profiles);
    let pod = of_team("any");
    cluster.add(&pod);
    assert_eq!(cluster.refused_by(&pod), None);
    cluster.label_namespace(None, Some("red"));
    assert_eq!(cluster.refused_by(&pod), Some("Red"));
    cluster.label_namespace(Some("red"), Some("blue"));
    assert_eq!(cluster.refused_by(&pod), Some("Rest"));
    // Nobody is told of a pod that only waits for its namespace.
    assert!(cluster.said().is_empty());
}

#[test]
fn a_pod_that_no_profile_takes_is_told_of_once_and_not_tried() {
    let mut cluster = cluster(vec![refusing("Red", vec![by_pod("red"), by_namespace("red")])]);
    cluster.label_namespace(None, Some("blue"));
    let green = of_team("green");
    cluster.add(&green);
    assert_eq!(cluster.said(), ["unmatched"]);
    assert_eq!(cluster.refused_by(&green), None);
    let still_green = of_team("green");
    cluster.apply(Delta::PodUpdated {
        old: green,
        new: Arc::clone(&still_green),
    });
    cluster.label_namespace(Some("blue"), Some("green"));
    assert!(cluster.said().is_empty());
    cluster.label_namespace(Some("green"), Some("red"));
    assert_eq!(cluster.refused_by(&still_green), Some("Red"));
    assert!(cluster.said().is_empty());
    cluster.label_namespace(Some("red"), Some("blue"));
    assert_eq!(cluster.said(), ["unmatched"]);
}

#[test]
fn a_nomination_ends_with_the_membership_and_comes_back_with_it() {
    let mut cluster = cluster(vec![refusing("Red", vec![by_namespace("red")])]);
    cluster.label_namespace(None, Some("red"));
    cluster.add(&nominated("a", 1, 0, "n1"));
    assert_eq!(cluster.engine.nominations().count(), 1);
    cluster.label_namespace(Some("red"), Some("blue"));
    assert_eq!(cluster.engine.nominations().count(), 0);
    cluster.label_namespace(Some("blue"), Some("red"));
    assert_eq!(cluster.engine.nominations().count(), 1);
}

#[test]
fn other_profiles_may_leave_a_pod_without_one() {
    let mut cluster = cluster(vec![refusing("Rest", Vec::new())]);
    cluster.add(&of_team("green"));
    cluster.reconfigure(refusing("Red", vec![by_pod("red")]));
    assert_eq!(cluster.said(), ["unmatched"]);
}
