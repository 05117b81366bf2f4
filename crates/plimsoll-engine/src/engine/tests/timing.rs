//! How long things take, and how much there was to look at.

use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_framework::{Code, ExtensionPoint, PermitOutcome, PreFilterOutcome, Status};

use super::*;
use crate::{ClaimTimeline, PluginRun, PointRun};

/// Goes on by a second each time that somebody looks at it.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl Stopwatch for Counting {
    fn now(&self) -> Moment {
        Moment::ZERO + Duration::from_secs(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn cluster(profile: ProfileBuilder) -> Cluster {
    let mut cluster = Cluster::new(profile.build()).timed_by(Arc::new(Counting::default()));
    for name in ["n1", "n2", "n3"] {
        cluster.add_node(name, 1000);
    }
    cluster
}

/// Points with their codes; each ends after it begins, and none begins before the one before it ends.
fn points<'a>(runs: impl IntoIterator<Item = &'a PointRun>) -> Vec<String> {
    let mut last = Moment::ZERO;
    let mut told = Vec::new();
    for run in runs {
        assert!(last <= run.begun && run.begun <= run.ended, "{run:?} after {last:?}");
        last = run.ended;
        told.push(format!("{} {}", run.point, run.code));
    }
    told
}

fn plugins(runs: &[PluginRun]) -> Vec<String> {
    let told = runs.iter().map(|run| {
        assert!(run.begun < run.ended, "{run:?}");
        format!("{} {} {} {}", run.point, run.plugin, run.code, run.nodes)
    });
    told.collect()
}

fn of_claim(cluster: &mut Cluster) -> ClaimTimeline {
    let mut timelines = cluster.out.drain(..).filter_map(|notice| match notice {
        Notice::Bound { timeline, .. } | Notice::BindFailed { timeline, .. } => Some(timeline),
        _ => None,
    });
    timelines.next().unwrap()
}

#[test]
fn the_points_of_an_attempt_are_timed_one_after_the_other() {
    let mut cluster = cluster(ProfileBuilder::new());
    cluster.place(&pod("a", 100));
    let found = [
        "PreFilter Success",
        "Filter Success",
        "PreScore Success",
        "Score Success",
        "Reserve Success",
        "Permit Success",
    ];
    assert_eq!(points(&cluster.engine.timeline().points), found);
    cluster.refuse(&pod("large", 5000));
    let in_vain = ["PreFilter Success", "Filter Success"];
    assert_eq!(points(&cluster.engine.timeline().points), in_vain);
    // Not begun at all.
    cluster.show(&pod("gone", 100), "n1");
    cluster.begin(&pod("gone", 100));
    assert!(cluster.engine.timeline().points.is_empty());
}

#[test]
fn in_a_sampled_attempt_each_plugin_is_timed_once_for_all_nodes() {
    let profile = ProfileBuilder::new().pre_filter("P", |_| PreFilterOutcome::Continue);
    let mut cluster = cluster(profile);
    cluster.place(&pod("a", 100));
    let timeline = cluster.engine.timeline();
    assert!(timeline.sampled);
    let found = [
        "PreFilter P Success 0",
        "Filter Fit Success 3",
        "Score Prefer Success 3",
        "ScoreExtensionNormalize Prefer Success 3",
    ];
    assert_eq!(plugins(&timeline.plugins), found);
    cluster.place(&pod("b", 100));
    let timeline = cluster.engine.timeline();
    assert!(!timeline.sampled && timeline.plugins.is_empty());
    cluster.engine.time_plugins();
    cluster.refuse(&pod("large", 5000));
    let timeline = cluster.engine.timeline();
    assert!(!timeline.sampled, "one that is traced is not one in ten");
    assert_eq!(
        plugins(&timeline.plugins),
        ["PreFilter P Success 0", "Filter Fit Unschedulable 3"]
    );
}

#[test]
fn plugins_are_counted_by_the_nodes_that_reach_them() {
    let profile = ProfileBuilder::new()
        .duel()
        .pre_filter("P", |_| PreFilterOutcome::Continue);
    let mut cluster = cluster(profile);
    cluster.place(&pod("a", 600));
    let counts = |cluster: &Cluster, point| cluster.engine.evaluations().at(point).collect::<Vec<_>>();
    assert_eq!(counts(&cluster, ExtensionPoint::Filter), [3, 3]);
    assert_eq!(counts(&cluster, ExtensionPoint::Score), [3]);
    assert_eq!(counts(&cluster, ExtensionPoint::PreFilter), [1]);
    cluster.place(&pod("b", 600));
    assert_eq!(counts(&cluster, ExtensionPoint::Filter), [3, 2]);
    assert_eq!(counts(&cluster, ExtensionPoint::Score), [2]);
    // Two nodes are full, and the duel turns the third away.
    cluster.refuse(&pod("c", 600));
    assert_eq!(counts(&cluster, ExtensionPoint::Filter), [3, 1]);
    assert_eq!(counts(&cluster, ExtensionPoint::Score), [0]);
}

#[test]
fn what_comes_after_the_choice_of_a_node_is_timed_as_well() {
    let mut cluster = cluster(ProfileBuilder::new());
    let placement = cluster.place(&pod("a", 100));
    cluster.now = Moment::ZERO + Duration::from_secs(1000);
    cluster.answer(placement.claim, ClaimInput::Bound);
    let timeline = of_claim(&mut cluster);
    let found = [
        "PreBindPreFlight Skip",
        "PreBind Success",
        "Bind Success",
        "PostBind Success",
    ];
    let runs = &timeline.points;
    assert_eq!(
        runs.iter()
            .map(|run| format!("{} {}", run.point, run.code))
            .collect::<Vec<_>>(),
        found
    );
    assert_eq!(runs[2].ended, cluster.now);
    assert_eq!(plugins(&timeline.plugins), ["Bind Binder Success 1"]);
}

#[test]
fn work_before_binding_is_timed_until_it_is_done_or_fails() {
    let begin = || {
        let mut cluster = cluster(ProfileBuilder::new().volumes());
        let placement = cluster.place(&pod("a", 100));
        (cluster, placement.claim)
    };
    let told = |timeline: &ClaimTimeline| -> Vec<String> {
        let runs = timeline.points.iter();
        runs.map(|run| format!("{} {}", run.point, run.code)).collect()
    };
    let (mut cluster, claim) = begin();
    cluster
        .engine
        .pre_bind_done(claim, Ok(Box::new(())), cluster.now, &mut cluster.out);
    cluster.answer(claim, ClaimInput::Bound);
    let timeline = of_claim(&mut cluster);
    let found = [
        "PreBindPreFlight Success",
        "PreBind Success",
        "Bind Success",
        "PostBind Success",
    ];
    assert_eq!(told(&timeline), found);
    let worked = |run: &&PluginRun| run.point == ExtensionPoint::PreBind && run.code == Code::Success;
    assert_eq!(timeline.plugins.iter().find(worked).unwrap().plugin, "Volumes");

    let (mut cluster, claim) = begin();
    cluster
        .engine
        .pre_bind_done(claim, Err("no".to_owned()), cluster.now, &mut cluster.out);
    let timeline = of_claim(&mut cluster);
    assert_eq!(
        told(&timeline),
        ["PreBindPreFlight Success", "PreBind Error", "Unreserve Success"]
    );
}

#[test]
fn a_claim_that_is_taken_back_at_once_is_timed_with_its_attempt() {
    let refused = |_| PermitOutcome::Stop(Status::new(Code::Unschedulable, "", "no"));
    let mut cluster = cluster(ProfileBuilder::new().permit("P", refused));
    cluster.refuse(&pod("a", 100));
    let runs = points(&cluster.engine.timeline().points);
    assert_eq!(
        runs[4..],
        ["Reserve Success", "Permit Unschedulable", "Unreserve Success"]
    );
}

#[test]
fn times_of_a_cycle_that_panicked_are_not_told() {
    let mut cluster = cluster(ProfileBuilder::new());
    cluster.place(&pod("a", 100));
    cluster.engine.abandon();
    assert!(cluster.engine.timeline().points.is_empty());
    assert_eq!(cluster.engine.evaluations().at(ExtensionPoint::Filter).count(), 0);
}
