use plimsoll_config::ExtenderConfig;
use plimsoll_framework::{
    EXTENDER, EffectReply, Extender, ExtenderAnswer, ExtenderCall, ExtenderChoice, ExtenderRequest, Nomination,
};

use super::*;

fn extender(url: &str, ignorable: bool) -> ExtenderConfig {
    ExtenderConfig {
        url_prefix: url.to_owned(),
        preempt_verb: "preempt".to_owned(),
        ignorable,
        ..ExtenderConfig::default()
    }
}

fn choice(node: &str, pods: &[&str]) -> ExtenderChoice {
    ExtenderChoice {
        node: node.into(),
        pods: pods.iter().map(|pod| Uid::new(format!("uid-{pod}"))).collect(),
        violations: 0,
    }
}

fn preempts(choices: Vec<ExtenderChoice>) -> EffectReply {
    reply(Ok(ExtenderAnswer::Preempted(choices)))
}

#[expect(clippy::unnecessary_wraps, reason = "the reply of an effect")]
fn reply(answer: Result<ExtenderAnswer, String>) -> EffectReply {
    Ok(Box::new(vec![answer]))
}

/// Two full nodes, of which the first would be chosen: its pods are less important.
fn cluster(extenders: &[ExtenderConfig]) -> Cluster {
    let extenders = Extender::in_order(extenders, &[]);
    let profile = profile_with(&FeatureGates::default(), |profile| profile.set_extenders(extenders));
    let mut cluster = Cluster::with_nodes(profile, &["n1", "n2"]);
    cluster.run(guest("a", "n1", "1", 1));
    cluster.run(guest("b", "n1", "1", 1));
    cluster.run(guest("c", "n2", "1500m", 5));
    cluster.run(guest("d", "n2", "500m", 5));
    cluster.run(guest("vip", "n2", "0", 1000));
    cluster
}

/// Looks for room, and stops at the question: who is asked, and for each node whom it would cost.
fn ask(cluster: &mut Cluster, pod: PodBuilder) -> (String, Vec<(String, Vec<String>)>) {
    let pod = Arc::new(pod.build());
    cluster.add(&pod);
    let step = cluster.begin(&pod);
    question(step)
}

#[track_caller]
fn question(step: Step) -> (String, Vec<(String, Vec<String>)>) {
    let Step::Needs(effect) = step else { panic!("{step:?}") };
    assert_eq!(effect.plugin, EXTENDER);
    let requests = effect.request.downcast::<Vec<ExtenderRequest>>().unwrap();
    let [request] = requests.as_slice() else {
        panic!("{requests:?}")
    };
    let ExtenderCall::Preempt { candidates, .. } = &request.call else {
        panic!("{requests:?}")
    };
    let mut asked: Vec<_> = candidates
        .iter()
        .map(|candidate| {
            let names = candidate.pods.iter().map(|pod| pod.name.name.to_string());
            (candidate.node.to_string(), names.collect())
        })
        .collect();
    asked.sort();
    (request.extender.url().to_owned(), asked)
}

fn end(cluster: &mut Cluster, reply: EffectReply) -> Diagnosis {
    match cluster.resume(reply) {
        Step::Done(Outcome::Unschedulable(diagnosis)) => diagnosis,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_extender_sees_the_candidates_and_leaves_those_that_it_names() {
    let mut cluster = cluster(&[extender("a", false)]);
    let (url, asked) = ask(&mut cluster, preemptor("500m"));
    assert_eq!(url, "a");
    assert_eq!(
        asked,
        [("n1".into(), vec!["b".to_owned()]), ("n2".into(), vec!["d".to_owned()])]
    );
    let diagnosis = end(&mut cluster, preempts(vec![choice("n2", &["d"])]));
    assert_eq!(chosen(&diagnosis), ("n2", vec!["d"]));
}

#[test]
fn a_victim_that_is_not_seen_bound_yet_is_told_of_as_the_api_server_sent_it() {
    let extenders = Extender::in_order(&[extender("a", false)], &[]);
    let profile = profile_with(&FeatureGates::default(), |profile| profile.set_extenders(extenders));
    let mut cluster = Cluster::with_nodes(profile, &["n1"]);
    let low = Arc::new(pod("low").cpu("2").priority(0).build());
    cluster.place(&low);
    let high = Arc::new(preemptor("2").build());
    cluster.add(&high);
    let Step::Needs(effect) = cluster.begin(&high) else {
        panic!("nobody is asked")
    };
    let requests = effect.request.downcast::<Vec<ExtenderRequest>>().unwrap();
    let ExtenderCall::Preempt { candidates, .. } = &requests[0].call else {
        panic!("{requests:?}")
    };
    assert_eq!(candidates[0].node, "n1");
    assert_eq!(candidates[0].pods, [low]);
    assert_eq!(candidates[0].pods[0].node_name(), None);
}

#[test]
fn an_extender_may_have_other_less_important_pods_evicted() {
    let mut cluster = cluster(&[extender("a", false)]);
    ask(&mut cluster, preemptor("500m"));
    let diagnosis = end(&mut cluster, preempts(vec![choice("n1", &["a", "b"])]));
    assert_eq!(chosen(&diagnosis), ("n1", vec!["a", "b"]));
}

#[test]
fn extenders_are_asked_one_after_the_other_until_nothing_is_left() {
    let mut cluster = cluster(&[extender("a", false), extender("b", false)]);
    ask(&mut cluster, preemptor("500m"));
    let (url, asked) = question(cluster.resume(preempts(vec![choice("n2", &["c"])])));
    assert_eq!((url.as_str(), asked), ("b", vec![("n2".into(), vec!["c".to_owned()])]));
    let diagnosis = end(&mut cluster, preempts(Vec::new()));
    assert_eq!(said(&diagnosis), "no candidate node for preemption");
    assert_eq!(diagnosis.preemption, None);
}

#[test]
fn an_extender_that_leaves_no_candidate_leaves_no_nomination() {
    let mut cluster = cluster(&[extender("a", false)]);
    ask(&mut cluster, preemptor("500m").nominated("n1"));
    let diagnosis = end(&mut cluster, preempts(Vec::new()));
    assert_eq!(said(&diagnosis), "no candidate node for preemption");
    assert_eq!(diagnosis.nominate, Nomination::Clear);
    assert_eq!(cluster.engine.nominations().count(), 0);
}

#[test]
fn what_an_extender_may_not_name_is_an_error_in_the_words_of_kube_scheduler() {
    let gone =
        "extender: a claims to preempt pod (UID: &{uid-nobody}) on node: n1, but the pod is not found on that node";
    let important =
        "extender: a claims to preempt pod (UID: &{uid-vip}) on node: n2, but the pod is not found on that node";
    for (choices, error) in [
        (
            vec![choice("n1", &[])],
            r#"expected at least one victim pod on node "n1""#,
        ),
        (vec![choice("n1", &["nobody"])], gone),
        (vec![choice("n2", &["vip"])], important),
        (vec![choice("n9", &["a"])], r#"nodeinfo not found for node name "n9""#),
    ] {
        let mut cluster = cluster(&[extender("a", false)]);
        ask(&mut cluster, preemptor("500m"));
        let diagnosis = end(&mut cluster, preempts(choices));
        assert_eq!(said(&diagnosis), error);
        assert_eq!((&diagnosis.preemption, &diagnosis.nominate), (&None, &Nomination::Keep));
    }
}

#[test]
fn a_failed_extender_ends_preemption_and_one_that_may_fail_is_passed_over() {
    let mut failing = cluster(&[extender("a", false)]);
    ask(&mut failing, preemptor("500m"));
    let diagnosis = end(&mut failing, reply(Err("down".to_owned())));
    assert_eq!(said(&diagnosis), "down");
    assert_eq!(diagnosis.preemption, None);

    let mut passed_over = cluster(&[extender("a", true)]);
    ask(&mut passed_over, preemptor("500m"));
    let diagnosis = end(&mut passed_over, reply(Err("down".to_owned())));
    assert_eq!(chosen(&diagnosis), ("n1", vec!["b"]));
    assert_eq!(passed_over.said(), ["ignored"]);

    let mut empty = cluster(&[extender("a", true)]);
    ask(&mut empty, preemptor("500m"));
    let diagnosis = end(&mut empty, preempts(vec![choice("n1", &[]), choice("n2", &["d"])]));
    assert_eq!(
        chosen(&diagnosis),
        ("n2", vec!["d"]),
        "a node without victims is left out"
    );
}

#[test]
fn a_pod_whose_extender_failed_is_tried_again_and_one_that_hangs_is_asked_more_seldom() {
    for (seconds, until) in [(0, 1), (4, 40), (20, 60)] {
        let mut cluster = cluster(&[extender("a", false)]);
        ask(&mut cluster, preemptor("500m"));
        cluster.wait(seconds);
        let diagnosis = end(&mut cluster, reply(Err("context deadline exceeded".to_owned())));
        let expected = cluster.now + Duration::from_secs(until);
        assert_eq!(diagnosis.retry_at, Some(expected), "after {seconds} s");
    }
    let mut answered = cluster(&[extender("a", false)]);
    ask(&mut answered, preemptor("500m"));
    assert_eq!(end(&mut answered, preempts(Vec::new())).retry_at, None);
}

/// Asks about 500m on the full `n1` or `n2`, and lets something happen before the extender has answered.
fn while_asked(change: impl FnOnce(&mut Cluster)) -> Cluster {
    let mut cluster = cluster(&[extender("a", false)]);
    ask(&mut cluster, preemptor("500m"));
    change(&mut cluster);
    cluster
}

fn goes(cluster: &mut Cluster, pod: PodBuilder) {
    cluster.apply(Delta::PodDeleted(Arc::new(pod.build())));
}

#[test]
fn nobody_is_evicted_for_a_pod_that_went_while_an_extender_was_asked() {
    for (change, reason) in [
        (Delta::PodDeleted as fn(_) -> _, DropReason::Gone),
        (Delta::PodAdded, DropReason::Assigned),
    ] {
        let mut cluster = while_asked(|cluster| {
            let pod = match reason {
                DropReason::Assigned => preemptor("500m").on("n2"),
                _ => preemptor("500m"),
            };
            cluster.apply(change(Arc::new(pod.build())));
        });
        let step = cluster.resume(preempts(vec![choice("n1", &["b"])]));
        assert!(
            matches!(step, Step::Done(Outcome::Dropped(dropped)) if dropped == reason),
            "{step:?}"
        );
    }
}

#[test]
fn a_pod_that_needs_no_room_any_more_when_the_extender_has_answered_is_placed() {
    let mut cluster = while_asked(|cluster| goes(cluster, guest("a", "n1", "1", 1)));
    let step = cluster.resume(preempts(vec![choice("n1", &["b"])]));
    let Step::Done(Outcome::Placed(placement)) = step else {
        panic!("{step:?}")
    };
    assert_eq!(placement.node, "n1");
}

#[test]
fn a_plan_whose_node_or_victim_went_is_made_anew() {
    let mut no_node = while_asked(|cluster| {
        let n1 = node("n1").cpu("2").memory("8Gi").pods(10).build();
        cluster.apply(Delta::NodeDeleted(Arc::new(n1)));
    });
    let (_, asked) = question(no_node.resume(preempts(vec![choice("n1", &["b"])])));
    assert_eq!(asked, [("n2".into(), vec!["d".to_owned()])]);

    let mut no_victim = while_asked(|cluster| {
        goes(cluster, guest("b", "n1", "1", 1));
        cluster.run(guest("e", "n1", "1", 1));
    });
    let (_, asked) = question(no_victim.resume(preempts(vec![choice("n1", &["b"])])));
    assert_eq!(asked[0], ("n1".into(), vec!["e".to_owned()]));
}

#[test]
fn a_plan_stands_whatever_happens_elsewhere_while_the_extender_is_asked() {
    let mut cluster = while_asked(|cluster| goes(cluster, guest("vip", "n2", "0", 1000)));
    let step = cluster.resume(preempts(vec![choice("n1", &["a"])]));
    let Step::Done(Outcome::Unschedulable(diagnosis)) = step else {
        panic!("{step:?}")
    };
    assert_eq!(chosen(&diagnosis), ("n1", vec!["a"]));
    assert!(
        diagnosis.judged_at < cluster.engine.applied(),
        "the queue hears of what happened since"
    );
}

/// Without a word of extenders about victims the plan has to be the same still.
#[test]
fn victims_that_are_needed_no_more_after_a_filtering_extender_has_answered_stay() {
    let mut config = extender("a", true);
    config.preempt_verb.clear();
    config.filter_verb = "filter".to_owned();
    config.node_cache_capable = true;
    let extenders = Extender::in_order(&[config], &[]);
    let profile = profile_with(&FeatureGates::default(), |profile| profile.set_extenders(extenders));
    let mut cluster = Cluster::with_nodes(profile, &["n1"]);
    cluster.set_node(node("n2").cpu("4").memory("8Gi").pods(10).build());
    cluster.run(guest("a", "n1", "1", 1));
    cluster.run(guest("b", "n1", "1", 1));
    let pod = Arc::new(preemptor("2").build());
    cluster.add(&pod);
    // `n2` alone passes filters, and the extender turns it down for good.
    let step = cluster.begin(&pod);
    assert!(matches!(step, Step::Needs(_)), "{step:?}");
    goes(&mut cluster, guest("a", "n1", "1", 1));
    let answer = ExtenderAnswer::Filtered {
        nodes: Vec::new(),
        failed: Vec::new(),
        unresolvable: vec![("n2".into(), "no".to_owned())],
    };
    let refused = reply(Ok(answer));
    let step = cluster.resume(refused);
    assert!(matches!(step, Step::Needs(_)), "the plan would evict both: {step:?}");
    let answer = ExtenderAnswer::Filtered {
        nodes: Vec::new(),
        failed: Vec::new(),
        unresolvable: vec![("n2".into(), "no".to_owned())],
    };
    let diagnosis = end(&mut cluster, reply(Ok(answer)));
    assert_eq!(chosen(&diagnosis), ("n1", vec!["b"]));
}
