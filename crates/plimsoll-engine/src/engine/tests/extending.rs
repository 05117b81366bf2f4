//! Extenders: a script in place of the network.

use std::collections::BTreeMap;
use std::sync::Mutex;

use compact_str::CompactString;
use plimsoll_config::{ExtenderConfig, ManagedResource};
use plimsoll_framework::{
    Code, CycleContext, CycleState, EXTENDER, EffectReply, Extender, ExtenderAnswer, ExtenderCall, ExtenderNodes,
    ExtenderRequest, Plugin, PostFilter, PostFilterOutcome, Profile, Rejections, Status,
};

use super::*;

mod binding;

type Answer = Result<ExtenderAnswer, String>;

fn extender(url: &str, change: impl FnOnce(&mut ExtenderConfig)) -> ExtenderConfig {
    let mut config = ExtenderConfig {
        url_prefix: url.to_owned(),
        node_cache_capable: true,
        ..ExtenderConfig::default()
    };
    change(&mut config);
    config
}

fn filters(config: &mut ExtenderConfig) {
    config.filter_verb = "filter".to_owned();
}

fn may_fail(config: &mut ExtenderConfig) {
    filters(config);
    config.ignorable = true;
}

fn prioritizes(weight: i64) -> impl FnOnce(&mut ExtenderConfig) {
    move |config| {
        config.prioritize_verb = "prioritize".to_owned();
        config.weight = weight;
    }
}

fn binds(ignorable: bool) -> impl FnOnce(&mut ExtenderConfig) {
    move |config| {
        config.bind_verb = "bind".to_owned();
        config.ignorable = ignorable;
    }
}

fn asking(extenders: &[ExtenderConfig]) -> ProfileBuilder {
    let extenders = Extender::in_order(extenders, &[]);
    ProfileBuilder::new().with(move |profile| profile.set_extenders(extenders))
}

/// A cluster of `n1`, `n2` and `n3`, all with room, the last preferred.
fn cluster_of(profile: Profile) -> Cluster {
    let mut cluster = Cluster::new(profile);
    for name in ["n1", "n2", "n3"] {
        cluster.add_node(name, 1000);
    }
    cluster
}

fn cluster(extenders: &[ExtenderConfig]) -> Cluster {
    cluster_of(asking(extenders).build())
}

#[track_caller]
fn requests(step: Step) -> Vec<ExtenderRequest> {
    let Step::Needs(effect) = step else { panic!("{step:?}") };
    assert_eq!(effect.plugin, EXTENDER);
    *effect.request.downcast().unwrap()
}

/// What is asked of the one extender: its address, the verb and the names of the nodes.
#[track_caller]
fn asked(step: Step) -> (String, &'static str, Vec<CompactString>) {
    let requests = requests(step);
    let [request] = requests.as_slice() else {
        panic!("{requests:?}")
    };
    let url = request.extender.url().to_owned();
    let nodes = match &request.call {
        ExtenderCall::Filter { nodes, .. } | ExtenderCall::Prioritize { nodes, .. } => nodes,
        other => panic!("{other:?}"),
    };
    let names = match nodes {
        ExtenderNodes::Names(names) => names.clone(),
        ExtenderNodes::Objects(nodes) => nodes.iter().map(|node| node.name.clone()).collect(),
    };
    (url, request.call.verb(), names)
}

fn reasons(texts: &[(&str, &str)]) -> Vec<(CompactString, String)> {
    texts
        .iter()
        .map(|(node, text)| ((*node).into(), (*text).to_owned()))
        .collect()
}

fn keeps(nodes: &[&str]) -> Answer {
    says(nodes, &[], &[])
}

#[expect(clippy::unnecessary_wraps, reason = "the answer of an extender")]
fn says(nodes: &[&str], failed: &[(&str, &str)], unresolvable: &[(&str, &str)]) -> Answer {
    Ok(ExtenderAnswer::Filtered {
        nodes: nodes.iter().map(|node| CompactString::from(*node)).collect(),
        failed: reasons(failed),
        unresolvable: reasons(unresolvable),
    })
}

#[expect(clippy::unnecessary_wraps, reason = "the answer of an extender")]
fn scores(scores: &[(&str, i64)]) -> Answer {
    let scores = scores.iter().map(|(node, score)| ((*node).into(), *score));
    Ok(ExtenderAnswer::Prioritized(scores.collect()))
}

#[expect(clippy::unnecessary_wraps, reason = "the reply of an effect")]
fn reply(answers: Vec<Answer>) -> EffectReply {
    Ok(Box::new(answers))
}

fn begin(cluster: &mut Cluster, pod: &Arc<Pod>) -> Step {
    cluster.add(pod);
    cluster.begin(pod)
}

fn answer(cluster: &mut Cluster, answer: Answer) -> Step {
    cluster.resume(reply(vec![answer]))
}

#[track_caller]
fn placed(step: Step) -> Placement {
    match step {
        Step::Done(Outcome::Placed(placement)) => placement,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refused(step: Step) -> Diagnosis {
    match step {
        Step::Done(Outcome::Unschedulable(diagnosis)) => diagnosis,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn failed(step: Step) -> String {
    match step {
        Step::Done(Outcome::Failed { message, .. }) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn extenders_are_asked_one_after_the_other_about_what_the_last_one_left() {
    let mut cluster = cluster(&[extender("a", filters), extender("b", filters)]);
    cluster.add_node("full", 1);
    let step = begin(&mut cluster, &pod("p", 100));
    assert_eq!(
        asked(step),
        ("a".into(), "filter", vec!["n1".into(), "n2".into(), "n3".into()])
    );
    let step = answer(&mut cluster, keeps(&["n2", "n1"]));
    assert_eq!(asked(step), ("b".into(), "filter", vec!["n1".into(), "n2".into()]));
    let placement = placed(answer(&mut cluster, keeps(&["n1"])));
    assert_eq!(placement.node, "n1");
    assert_eq!(placement.feasible_nodes, 1);
}

#[test]
fn nobody_is_asked_when_nothing_is_left_or_about_a_pod_of_no_interest() {
    let of_gpus = extender("a", |config| {
        filters(config);
        config.managed_resources = vec![ManagedResource {
            name: "example.com/gpu".to_owned(),
            ignored_by_scheduler: false,
        }];
    });
    let mut cluster = cluster(&[of_gpus, extender("b", filters)]);
    let step = begin(&mut cluster, &pod("p", 100));
    assert_eq!(asked(step).0, "b");
    let diagnosis = refused(answer(&mut cluster, keeps(&[])));
    assert_eq!(diagnosis.plugins, [EXTENDER]);
    assert_eq!(cluster.refuse(&pod("large", 5000)).plugins, ["Fit"]);
}

#[test]
fn one_that_does_not_know_the_nodes_gets_them_whole() {
    let mut cluster = cluster(&[extender("a", |config| {
        filters(config);
        config.node_cache_capable = false;
    })]);
    let requests = requests(begin(&mut cluster, &pod("p", 100)));
    let ExtenderCall::Filter {
        nodes: ExtenderNodes::Objects(nodes),
        ..
    } = &requests[0].call
    else {
        panic!("{requests:?}")
    };
    assert_eq!(nodes[0], node("n1", 1000));
}

#[test]
fn reasons_are_counted_like_those_of_filters_and_nodes_left_out_without_a_word_are_not() {
    let mut cluster = cluster(&[extender("a", filters)]);
    cluster.add_node("full", 1);
    cluster.add_node("n4", 1000);
    begin(&mut cluster, &pod("p", 100));
    let said = says(
        &[],
        &[
            ("n1", "no device"),
            ("n2", "no device"),
            ("unheard-of", "?"),
            ("full", "?"),
        ],
        &[("n2", "broken"), ("n4", "no device")],
    );
    let diagnosis = refused(answer(&mut cluster, said));
    assert_eq!(
        diagnosis.message,
        "0/5 nodes are available: 1 Insufficient cpu, 1 broken, 2 no device."
    );
    assert_eq!(diagnosis.plugins, [EXTENDER, "Fit"]);
}

#[test]
fn long_texts_of_extenders_are_cut() {
    let mut cluster = cluster(&[extender("a", filters)]);
    begin(&mut cluster, &pod("p", 100));
    let long = "\u{fc}".repeat(5000);
    let said = says(&[], &[("n1", &long), ("n2", &long), ("n3", "no device")], &[]);
    let diagnosis = refused(answer(&mut cluster, said));
    let cut = format!("{}\u{2026}", "\u{fc}".repeat(1024));
    let expected = format!("0/3 nodes are available: 1 no device, 2 {cut}.");
    assert_eq!(diagnosis.message, expected);
    begin(&mut cluster, &pod("q", 100));
    assert_eq!(failed(answer(&mut cluster, Err(long))), cut);
}

#[test]
fn what_could_help_a_node_is_what_the_extender_says() {
    let seen = Arc::new(Mutex::new(BTreeMap::new()));
    let told = Arc::clone(&seen);
    let profile = asking(&[extender("a", filters)]).with(move |profile| {
        profile.post_filter.push(Arc::new(Noting(told)));
    });
    let mut cluster = cluster_of(profile.build());
    begin(&mut cluster, &pod("p", 100));
    let said = says(&[], &[("n1", "busy"), ("n2", "busy")], &[("n2", "broken")]);
    refused(answer(&mut cluster, said));
    let seen = seen.lock().unwrap();
    let codes: Vec<_> = seen.iter().map(|(node, code)| (node.as_str(), *code)).collect();
    let unresolvable = Code::UnschedulableAndUnresolvable;
    assert_eq!(
        codes,
        [("n1", Code::Unschedulable), ("n2", unresolvable), ("n3", unresolvable)]
    );
}

/// A post-filter that notes the code of each node.
struct Noting(Arc<Mutex<BTreeMap<String, Code>>>);

impl Plugin for Noting {
    fn name(&self) -> &'static str {
        "Noting"
    }
}

impl PostFilter for Noting {
    fn post_filter(
        &self,
        cycle: CycleContext<'_>,
        _: &mut CycleState,
        rejections: Rejections<'_>,
    ) -> PostFilterOutcome {
        let nodes = cycle.columns.nodes().iter();
        let codes = nodes.map(|node| (cycle.columns.name(node).to_owned(), rejections.code_of(node)));
        self.0.lock().unwrap().extend(codes);
        PostFilterOutcome::rejected(Status::new(Code::Unschedulable, "Noting", ""))
    }
}

#[test]
fn a_failed_extender_fails_the_attempt_with_its_own_words() {
    let mut cluster = cluster(&[extender("a", filters)]);
    begin(&mut cluster, &pod("p", 100));
    let step = answer(&mut cluster, Err("no route to host".to_owned()));
    assert_eq!(failed(step), "no route to host");
}

#[test]
fn a_node_that_was_not_asked_about_is_an_error() {
    let mut cluster = cluster(&[extender("http://a", filters)]);
    for node in ["full", "nowhere"] {
        cluster.add_node("full", 1);
        begin(&mut cluster, &pod(&format!("p-{node}"), 100));
        assert_eq!(
            failed(answer(&mut cluster, keeps(&["n1", node]))),
            format!(r#"extender "http://a" claims a filtered node "{node}" which is not found in the input node list"#)
        );
    }
}

#[test]
fn an_extender_that_may_fail_is_asked_last_and_passed_over() {
    let mut cluster = cluster(&[extender("a", may_fail), extender("b", filters)]);
    let step = begin(&mut cluster, &pod("p", 100));
    assert_eq!(asked(step).0, "b");
    let step = answer(&mut cluster, keeps(&["n1", "n2"]));
    assert_eq!(asked(step).0, "a");
    let placement = placed(answer(&mut cluster, Err("down".to_owned())));
    assert_eq!(placement.node, "n2");
    let ignored: Vec<_> = cluster
        .out
        .iter()
        .filter_map(|notice| match notice {
            Notice::ExtenderIgnored {
                extender, verb, error, ..
            } => Some((extender.url(), *verb, error.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(ignored, [("a", "filter", "down")]);
}

#[test]
fn replies_that_no_performer_should_give_are_errors_too() {
    let odd: [EffectReply; 4] = [
        Ok(Box::new("what")),
        reply(Vec::new()),
        reply(vec![Ok(ExtenderAnswer::Bound)]),
        Err("panicked".to_owned()),
    ];
    let mut cluster = cluster(&[extender("a", filters)]);
    for (number, odd) in odd.into_iter().enumerate() {
        begin(&mut cluster, &pod(&format!("p{number}"), 100));
        assert!(!failed(cluster.resume(odd)).is_empty());
    }
}

#[test]
fn the_node_that_the_pod_is_nominated_to_is_asked_about_first_and_alone() {
    let mut cluster = cluster(&[extender("a", filters)]);
    let nominee = nominated("p", 100, 0, "n1");
    let step = begin(&mut cluster, &nominee);
    assert_eq!(asked(step).2, ["n1"]);
    assert_eq!(placed(answer(&mut cluster, keeps(&["n1"]))).node, "n1");

    let step = begin(&mut cluster, &nominated("q", 100, 0, "n1"));
    assert_eq!(asked(step).2, ["n1"]);
    let step = answer(&mut cluster, Err("hiccup".to_owned()));
    assert_eq!(asked(step).2, ["n1", "n2", "n3"], "then all are tried");
    assert_eq!(placed(answer(&mut cluster, keeps(&["n2"]))).node, "n2");

    begin(&mut cluster, &nominated("r", 100, 0, "n1"));
    answer(&mut cluster, says(&[], &[("n1", "not here")], &[]));
    let diagnosis = refused(answer(&mut cluster, says(&[], &[("n1", "not here")], &[])));
    assert_eq!(diagnosis.message, "0/3 nodes are available: 1 not here.");
}

#[test]
fn scores_of_extenders_count_tenfold_by_weight_beside_those_of_plugins() {
    let mut cluster = cluster(&[extender("a", prioritizes(1)), extender("b", prioritizes(2))]);
    let asked = requests(begin(&mut cluster, &pod("p", 100)));
    let urls: Vec<_> = asked.iter().map(|request| request.extender.url()).collect();
    assert_eq!(urls, ["a", "b"], "both at once");
    // The plugin gives n1 49, n2 50 and n3 51.
    let step = cluster.resume(reply(vec![scores(&[("n1", 2)]), scores(&[("n2", 1), ("nowhere", 9)])]));
    assert_eq!(placed(step).node, "n2", "69, 70, 51");
    begin(&mut cluster, &pod("q", 100));
    let step = cluster.resume(reply(vec![scores(&[("n1", 2)]), Err("down".to_owned())]));
    assert_eq!(placed(step).node, "n1", "69, 50, 51");
}

#[test]
fn scores_out_of_range_count_and_go_round_as_in_go() {
    let mut cluster = cluster(&[extender("a", prioritizes(1))]);
    begin(&mut cluster, &pod("p", 100));
    let step = answer(&mut cluster, scores(&[("n1", 1000), ("n3", -1000), ("n2", i64::MAX)]));
    assert_eq!(placed(step).node, "n1", "10049, 40, -9949");
}

#[test]
fn one_feasible_node_is_not_scored() {
    let mut cluster = cluster(&[extender("a", |config| {
        filters(config);
        prioritizes(1)(config);
    })]);
    begin(&mut cluster, &pod("p", 100));
    assert_eq!(placed(answer(&mut cluster, keeps(&["n2"]))).node, "n2");
}

#[test]
fn extenders_see_only_the_sampled_nodes() {
    let profile = asking(&[extender("a", filters)]).with(|profile| {
        profile.percentage_of_nodes_to_score = Some(10);
        profile.score.clear();
    });
    let mut cluster = Cluster::new(profile.build());
    for number in 0..200 {
        cluster.add_node(&format!("n{number}"), 1000);
    }
    let step = begin(&mut cluster, &pod("p", 100));
    assert_eq!(
        asked(step).2.len(),
        100,
        "an extender chooses, so that one node will not do"
    );
    placed(answer(&mut cluster, keeps(&["n7"])));
    let profile = asking(&[extender("a", binds(false))]).with(|profile| {
        profile.percentage_of_nodes_to_score = Some(10);
        profile.score.clear();
    });
    cluster.reconfigure(profile.build());
    let placement = cluster.place(&pod("q", 100));
    assert_eq!(placement.feasible_nodes, 1, "nobody chooses");
}

#[test]
fn the_chosen_node_is_checked_again_after_an_extender_took_its_time() {
    let mut cluster = cluster(&[extender("a", filters)]);
    begin(&mut cluster, &pod("p", 600));
    cluster.add(&fixture::assigned(&pod("foreign", 600), "n3"));
    let step = answer(&mut cluster, keeps(&["n3"]));
    assert_eq!(asked(step).2, ["n1", "n2"], "n3 is full, so all begins anew");
    assert_eq!(placed(answer(&mut cluster, keeps(&["n1"]))).node, "n1");
}

#[test]
fn a_new_configuration_asks_its_own_extenders_from_the_next_cycle_on() {
    let mut cluster = cluster(&[extender("a", filters)]);
    begin(&mut cluster, &pod("p", 100));
    cluster.reconfigure(asking(&[extender("b", filters)]).build());
    placed(answer(&mut cluster, keeps(&["n3"])));
    let step = begin(&mut cluster, &pod("q", 100));
    assert_eq!(asked(step).0, "b");
}
