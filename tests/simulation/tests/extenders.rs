//! Extenders in a whole replica: a script in place of the network.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "a test that cannot go on fails"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use plimsoll_actors::effects::{Effects, PerformEffect};
use plimsoll_actors::supervisor::Exit;
use plimsoll_apiserver::{ApiServer, resource};
use plimsoll_config::{ExtenderConfig, GoDuration};
use plimsoll_framework::{
    EXTENDER, EffectReply, EffectRequest, ExtenderAnswer, ExtenderCall, ExtenderNodes, ExtenderRequest,
};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{invariants, run, workload};
use tokio_util::task::TaskTracker;

const SECOND: Duration = Duration::from_secs(1);
const NEVER: Duration = Duration::from_hours(1000);

type Answer = Result<ExtenderAnswer, String>;

/// What the extender does about one call.
#[derive(Clone)]
enum Act {
    Answer(Answer),
    /// Takes so long for it.
    After(Duration, Answer),
    /// Binds the pod after so long, and answers after so long again.
    Bind(Duration, Duration, Answer),
}

type Action = Box<dyn Fn(&ExtenderRequest) -> Act + Send>;

/// An extender that does what the test says, and notes what it was asked.
struct Script {
    server: ApiServer,
    asked: Mutex<Vec<String>>,
    act: Mutex<Action>,
    /// What it does goes on when nobody listens any more.
    acting: TaskTracker,
}

impl Script {
    fn new(world: &World, act: impl Fn(&ExtenderRequest) -> Act + Send + 'static) -> Arc<Self> {
        Arc::new(Self {
            server: world.server().clone(),
            asked: Mutex::default(),
            act: Mutex::new(Box::new(act)),
            acting: TaskTracker::new(),
        })
    }

    /// From now on the extender does this.
    fn follow(&self, act: impl Fn(&ExtenderRequest) -> Act + Send + 'static) {
        *self.act.lock().unwrap() = Box::new(act);
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// As a performer of calls does, it gives up at the extender's limit of time.
    fn call(&self, request: ExtenderRequest) -> BoxFuture<'static, Answer> {
        let act = self.act.lock().unwrap()(&request);
        let word = format!(
            "{} {} {}",
            request.extender.url(),
            request.call.verb(),
            pod_of(&request)
        );
        self.asked.lock().unwrap().push(word);
        let server = self.server.clone();
        let limit = request.extender.time_limit();
        let acting = async move {
            match act {
                Act::Answer(answer) => answer,
                Act::After(time, answer) => {
                    tokio::time::sleep(time).await;
                    answer
                }
                Act::Bind(before, after, answer) => {
                    let ExtenderCall::Bind { pod, node } = &request.call else {
                        panic!("{request:?}")
                    };
                    tokio::time::sleep(before).await;
                    let _ = server.bind(&pod.name.namespace, &pod.name.name, node);
                    tokio::time::sleep(after).await;
                    answer
                }
            }
        };
        let acting = self.acting.spawn(acting);
        async move {
            match tokio::time::timeout(limit, acting).await {
                Ok(answer) => answer.unwrap(),
                Err(_) => Err("context deadline exceeded".to_owned()),
            }
        }
        .boxed()
    }
}

impl PerformEffect for Performer {
    fn perform(&self, request: EffectRequest) -> BoxFuture<'static, EffectReply> {
        let requests = *request.downcast::<Vec<ExtenderRequest>>().unwrap();
        let calls: Vec<_> = requests.into_iter().map(|request| self.0.call(request)).collect();
        async move {
            let reply: EffectReply = Ok(Box::new(join_all(calls).await));
            reply
        }
        .boxed()
    }
}

struct Performer(Arc<Script>);

fn pod_of(request: &ExtenderRequest) -> String {
    let (ExtenderCall::Filter { pod, .. }
    | ExtenderCall::Prioritize { pod, .. }
    | ExtenderCall::Bind { pod, .. }
    | ExtenderCall::Preempt { pod, .. }) = &request.call;
    pod.name.name.to_string()
}

/// Lets every node pass.
fn all(request: &ExtenderRequest) -> Act {
    let ExtenderCall::Filter { nodes, .. } = &request.call else {
        panic!("{request:?}")
    };
    let ExtenderNodes::Names(nodes) = nodes else {
        panic!("{request:?}")
    };
    Act::Answer(Ok(ExtenderAnswer::Filtered {
        nodes: nodes.clone(),
        failed: Vec::new(),
        unresolvable: Vec::new(),
    }))
}

/// Lets no node pass, for this reason.
fn none(reason: &'static str) -> impl Fn(&ExtenderRequest) -> Act {
    move |request| {
        let Act::Answer(Ok(ExtenderAnswer::Filtered { nodes, .. })) = all(request) else {
            unreachable!()
        };
        Act::Answer(Ok(ExtenderAnswer::Filtered {
            nodes: Vec::new(),
            failed: nodes.into_iter().map(|node| (node, reason.to_owned())).collect(),
            unresolvable: Vec::new(),
        }))
    }
}

fn extender(change: impl FnOnce(&mut ExtenderConfig)) -> ExtenderConfig {
    let mut config = ExtenderConfig {
        url_prefix: "http://extender".to_owned(),
        node_cache_capable: true,
        http_timeout: GoDuration::from_secs(5),
        ..ExtenderConfig::default()
    };
    change(&mut config);
    config
}

fn filters(config: &mut ExtenderConfig) {
    "filter".clone_into(&mut config.filter_verb);
}

fn binds(config: &mut ExtenderConfig) {
    "bind".clone_into(&mut config.bind_verb);
}

fn setup(extender: ExtenderConfig, script: &Arc<Script>) -> Setup {
    let mut setup = Setup::default();
    setup.config.extenders = vec![extender];
    let mut effects = Effects::default();
    effects.add(EXTENDER, Arc::new(Performer(Arc::clone(script))));
    setup.effects = effects;
    setup
}

fn small_world(seed: u64) -> World {
    let world = World::new(seed);
    world.add_node(workload::node("n1", 1000, 8000, 110));
    world
}

#[test]
fn a_pod_that_an_extender_turned_away_is_told_why_and_woken_by_anything() {
    run(async {
        let world = small_world(200);
        let script = Script::new(&world, none("no device"));
        let _replica = world.start("replica-a", setup(extender(filters), &script)).await;
        world.pass(5 * SECOND).await;
        world.add_pod(workload::pod("a", 100, 10));
        world.pass(5 * SECOND).await;
        let (reason, message) = world.explanation("a").unwrap();
        assert_eq!(reason, "Unschedulable");
        assert!(
            message.starts_with("0/1 nodes are available: 1 no device. "),
            "{message}"
        );
        script.follow(all);
        // Nothing that a plugin would care for.
        world.edit_node("n1", |node| node["metadata"]["labels"]["colour"] = "red".into());
        world.until_bound(1, 15 * SECOND).await;
        world.check();
    });
}

#[test]
fn a_failed_extender_costs_an_attempt_and_the_pod_is_bound_when_it_is_well_again() {
    run(async {
        let world = small_world(201);
        let error = "failed filter with extender at URL http://extender/filter, code 500";
        let script = Script::new(&world, |_| Act::Answer(Err(error.to_owned())));
        let _replica = world.start("replica-a", setup(extender(filters), &script)).await;
        world.pass(5 * SECOND).await;
        world.add_pod(workload::pod("a", 100, 10));
        world.pass(5 * SECOND).await;
        let (reason, message) = world.explanation("a").unwrap();
        assert_eq!((reason.as_str(), message.as_str()), ("SchedulerError", error));
        script.follow(all);
        world.until_bound(1, 15 * SECOND).await;
        world.check();
    });
}

#[test]
fn while_an_extender_hangs_the_lease_is_kept_and_its_time_is_up_in_the_end() {
    run(async {
        let world = small_world(202);
        let script = Script::new(&world, |_| Act::After(NEVER, Err(String::new())));
        let slow = extender(|config| {
            filters(config);
            config.http_timeout = GoDuration::from_secs(40);
        });
        let _replica = world.start("replica-a", setup(slow, &script)).await;
        let _standby = world.start("replica-b", Setup::default()).await;
        world.pass(5 * SECOND).await;
        world.add_pod(workload::pod("a", 100, 10));
        world.pass(39 * SECOND).await;
        assert_eq!(world.explanation("a"), None);
        assert_eq!(world.leader(), "replica-a");
        script.follow(all);
        world.until_bound(1, 20 * SECOND).await;
        let failed = world.events("FailedScheduling");
        assert!(
            failed.iter().any(|(_, note)| note == "context deadline exceeded"),
            "{failed:?}"
        );
        world.check();
    });
}

#[test]
fn nobody_waits_for_a_performer_that_forgets_its_own_limit() {
    struct Forgetful;

    impl PerformEffect for Forgetful {
        fn perform(&self, _: EffectRequest) -> BoxFuture<'static, EffectReply> {
            futures::future::pending().boxed()
        }
    }

    run(async {
        let world = small_world(203);
        let mut setup = Setup::default();
        setup.config.extenders = vec![extender(filters)];
        let mut effects = Effects::default();
        effects.add(EXTENDER, Arc::new(Forgetful));
        setup.effects = effects;
        let _replica = world.start("replica-a", setup).await;
        world.pass(5 * SECOND).await;
        world.add_pod(workload::pod("a", 100, 10));
        world.pass(7 * SECOND).await;
        let (reason, message) = world.explanation("a").unwrap();
        assert_eq!(reason, "SchedulerError");
        assert!(message.contains("got no answer within 6 s"), "{message}");
    });
}

#[test]
fn a_pod_that_its_extender_bound_is_bound_once_and_said_so_once() {
    run(async {
        let world = small_world(204);
        let bound = Act::Bind(SECOND, SECOND, Ok(ExtenderAnswer::Bound));
        let script = Script::new(&world, move |_| bound.clone());
        let _replica = world.start("replica-a", setup(extender(binds), &script)).await;
        world.pass(5 * SECOND).await;
        world.add_pod(workload::pod("a", 100, 10));
        world.until_bound(1, 5 * SECOND).await;
        world.pass(60 * SECOND).await;
        assert_eq!(script.asked(), ["http://extender bind a"]);
        assert_eq!(world.events("Scheduled").len(), 1);
        world.check();
    });
}

#[test]
fn a_slow_extender_is_asked_to_bind_so_many_pods_at_a_time_and_the_others_in_their_turn() {
    run(async {
        let world = World::new(209);
        for node in ["n1", "n2", "n3"] {
            world.add_node(workload::node(node, 100_000, 800_000, 110));
        }
        let slow = Act::Bind(4 * SECOND, Duration::ZERO, Ok(ExtenderAnswer::Bound));
        let script = Script::new(&world, move |_| slow.clone());
        let _replica = world.start("replica-a", setup(extender(binds), &script)).await;
        world.pass(5 * SECOND).await;
        for number in 0..300 {
            world.add_pod(workload::pod(&format!("p{number}"), 100, 10));
        }
        world.pass(3 * SECOND).await;
        assert_eq!(script.asked().len(), 256);
        world.until_bound(300, 30 * SECOND).await;
        assert_eq!(script.asked().len(), 300);
        world.check();
    });
}

/// One node with one place, two pods, and an extender that does this about the first binding: one pod gets the place, the
/// other is told, and gets the next place that there is.
fn one_place_for_two_pods(seed: u64, ignorable: bool, first: Act) {
    run(async move {
        let world = small_world(seed);
        let first = Mutex::new(Some(first));
        let script = Script::new(&world, move |_| {
            let bound = Act::Bind(Duration::ZERO, Duration::ZERO, Ok(ExtenderAnswer::Bound));
            first.lock().unwrap().take().unwrap_or(bound)
        });
        let binder = extender(|config| {
            binds(config);
            config.ignorable = ignorable;
        });
        let _replica = world.start("replica-a", setup(binder, &script)).await;
        world.pass(5 * SECOND).await;
        world.add_pod(workload::pod("a", 600, 100));
        world.pass(SECOND / 4).await;
        world.add_pod(workload::pod("b", 600, 100));
        world.until_bound(1, 60 * SECOND).await;
        world.pass(60 * SECOND).await;
        world.check();
        world.check_nothing_forgotten();
        assert_eq!(invariants::placements(world.server()).len(), 1);
        world.add_node(workload::node("n2", 1000, 8000, 110));
        world.until_bound(2, 15 * SECOND).await;
        world.pass(10 * SECOND).await;
        world.check();
    });
}

#[test]
fn an_answer_lost_after_the_binding_gives_no_room_away() {
    let bound_in_silence = Act::Bind(SECOND, NEVER, Err(String::new()));
    one_place_for_two_pods(205, false, bound_in_silence.clone());
    one_place_for_two_pods(206, true, bound_in_silence);
}

#[test]
fn a_call_that_binds_just_before_its_time_is_up_gives_no_room_away() {
    let late = Act::Bind(SECOND * 49 / 10, NEVER, Err(String::new()));
    one_place_for_two_pods(207, false, late.clone());
    one_place_for_two_pods(208, true, late);
}

#[test]
fn a_binding_that_failed_or_was_never_made_gives_its_room_back_in_the_end() {
    for (number, act) in [
        Act::Answer(Err("connection reset".to_owned())),
        Act::Answer(Ok(ExtenderAnswer::NotBound("no device".to_owned()))),
        Act::After(NEVER, Err(String::new())),
    ]
    .into_iter()
    .enumerate()
    {
        let seed = 210 + 2 * number as u64;
        one_place_for_two_pods(seed, false, act.clone());
        one_place_for_two_pods(seed + 1, true, act);
    }
}

#[test]
fn an_extender_that_lies_about_its_binding_is_found_out() {
    let refused = Ok(ExtenderAnswer::NotBound("no device".to_owned()));
    one_place_for_two_pods(220, false, Act::Bind(Duration::ZERO, Duration::ZERO, refused.clone()));
    one_place_for_two_pods(221, true, Act::Bind(Duration::ZERO, Duration::ZERO, refused));
}

#[test]
fn a_binding_that_an_extender_refused_is_told_in_its_words() {
    run(async {
        let world = small_world(222);
        let refused = || Act::Answer(Ok(ExtenderAnswer::NotBound("no device".to_owned())));
        let script = Script::new(&world, move |_| refused());
        let _replica = world.start("replica-a", setup(extender(binds), &script)).await;
        world.pass(5 * SECOND).await;
        world.add_pod(workload::pod("a", 100, 10));
        world.pass(5 * SECOND).await;
        let (reason, message) = world.explanation("a").unwrap();
        assert_eq!((reason.as_str(), message.as_str()), ("SchedulerError", "no device"));
        world.check();
    });
}

fn holder(world: &World) -> String {
    let leases = resource::find("coordination.k8s.io", "v1", "leases").unwrap();
    let lease = world.server().get(leases, "kube-system", "kube-scheduler").unwrap();
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_leader_that_is_asked_to_end_keeps_the_lease_until_the_extender_has_bound() {
    run(async {
        let world = small_world(223);
        let bound = Act::Bind(2 * SECOND, SECOND, Ok(ExtenderAnswer::Bound));
        let script = Script::new(&world, move |_| bound.clone());
        let mut replica = world.start("replica-a", setup(extender(binds), &script)).await;
        world.pass(5 * SECOND).await;
        world.add_pod(workload::pod("a", 100, 10));
        world.pass(SECOND).await;
        assert_eq!(script.asked().len(), 1);
        replica.shutdown();
        let ended = async {
            assert_eq!(replica.ended().await, Exit::Terminated);
            assert_eq!(world.node_of("a").as_deref(), Some("n1"));
        };
        let still_held = async {
            world.pass(SECOND / 2).await;
            assert_eq!(holder(&world), "replica-a");
        };
        futures::future::join(ended, still_held).await;
        world.check();
    });
}

#[test]
fn a_leader_killed_in_the_middle_of_a_call_leaves_the_pod_to_the_next_and_nothing_is_bound_twice() {
    run(async {
        let world = small_world(224);
        let slow = Act::Bind(3 * SECOND, NEVER, Err(String::new()));
        let script = Script::new(&world, move |_| slow.clone());
        let first = world.start("replica-a", setup(extender(binds), &script)).await;
        world.pass(5 * SECOND).await;
        let _second = world.start("replica-b", setup(extender(binds), &script)).await;
        world.pass(SECOND).await;
        world.add_pod(workload::pod("a", 600, 10));
        world.pass(SECOND).await;
        first.kill();
        world.add_pod(workload::pod("b", 600, 10));
        world.until_bound(1, 60 * SECOND).await;
        world.pass(60 * SECOND).await;
        world.check();
        world.check_nothing_forgotten();
        assert_eq!(invariants::placements(world.server()).len(), 1);
    });
}

#[test]
fn another_configuration_asks_its_own_extenders_from_the_next_pod_on() {
    run(async {
        let world = small_world(225);
        let script = Script::new(&world, |request| match all(request) {
            Act::Answer(answer) => Act::After(2 * SECOND, answer),
            other => other,
        });
        let first = setup(extender(filters), &script);
        let replica = world.start("replica-a", first).await;
        world.pass(5 * SECOND).await;
        world.add_pod(workload::pod("a", 100, 10));
        world.pass(SECOND).await;
        let second = setup(
            extender(|config| {
                filters(config);
                config.url_prefix = "http://other".to_owned();
            }),
            &script,
        );
        replica
            .reconfigurer()
            .reconfigure(second.assembled(), "another extender".to_owned());
        world.add_pod(workload::pod("b", 100, 10));
        world.until_bound(2, 15 * SECOND).await;
        assert_eq!(script.asked(), ["http://extender filter a", "http://other filter b"]);
        world.check();
    });
}
