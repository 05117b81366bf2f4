//! Pre-bind in steps: writes, waits, and the volumes that a claim holds meanwhile.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use plimsoll_framework::{
    CycleContext, CycleState, Filter, FilterPass, PermitOutcome, Plugin, PreBind, PreBindOutcome, PreBindStep,
    ReasonCode, Reasons, Reserve, Status, VolumeStage,
};
use plimsoll_model::storage::{StorageObject, VolumeReservation, VolumeWrite};
use plimsoll_model::testing::{claim, csi_node, storage_class, volume};
use plimsoll_model::{ObjectName, ResourceVersion};

use super::fixture::with_claim;
use super::*;

mod properties;

/// Reserves `volume-<pod>` for the claim `claim-<pod>` of each pod that has one, and then does what it is told, step by step.
#[derive(Default)]
struct Steps {
    next: Mutex<VecDeque<PreBindStep>>,
    heard: Mutex<Vec<PreBindInput>>,
}

fn has_claim(pod: &Pod) -> bool {
    !pod.spec.volumes.is_empty()
}

fn reservation(pod: &str, node: &str) -> VolumeReservation {
    VolumeReservation {
        volumes: vec![(
            format!("volume-{pod}").into(),
            ObjectName::new("default", format!("claim-{pod}")),
        )],
        provisioned: Vec::new(),
        node: node.into(),
    }
}

fn write(pod: &str) -> VolumeWrite {
    VolumeWrite::SelectNode {
        claim: ObjectName::new("default", format!("claim-{pod}")),
        uid: Uid::from("uid"),
        version: ResourceVersion::new(1),
        node: "n1".into(),
    }
}

fn wait(seconds: u64) -> PreBindStep {
    PreBindStep::Wait {
        until: Moment::ZERO + Duration::from_secs(seconds),
    }
}

impl Plugin for Steps {
    fn name(&self) -> &'static str {
        "Steps"
    }
}

impl Reserve for Steps {
    fn reserve(&self, cycle: CycleContext<'_>, state: &mut CycleState, node: &str) -> Result<(), Status> {
        if has_claim(cycle.pod) {
            state.reserve_volumes(reservation(&cycle.pod.name.name, node));
        }
        assert_ne!(cycle.pod.name.name, "rotten");
        Ok(())
    }

    fn unreserve(&self, _: &Pod, _: &mut CycleState, _: &str) {}
}

impl PreBind for Steps {
    fn pre_bind(&self, pod: &Pod, _: &CycleState, _: &str) -> PreBindOutcome {
        if has_claim(pod) {
            PreBindOutcome::Steps
        } else {
            PreBindOutcome::Skip
        }
    }

    fn step(&self, cycle: CycleContext<'_>, _: &mut CycleState, _: &str, input: PreBindInput) -> PreBindStep {
        let mut reserving = cycle.columns.volume_reservations();
        assert!(reserving.any(|(uid, _)| *uid == cycle.pod.uid));
        self.heard.lock().unwrap().push(input);
        let next = self.next.lock().unwrap().pop_front();
        let next = next.unwrap_or(PreBindStep::Done);
        assert_ne!(next, PreBindStep::Fail("panic".to_owned()));
        next
    }
}

impl Steps {
    fn told(next: impl IntoIterator<Item = PreBindStep>) -> Arc<Self> {
        Arc::new(Self {
            next: Mutex::new(next.into_iter().collect()),
            heard: Mutex::default(),
        })
    }

    fn heard(&self) -> Vec<PreBindInput> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }
}

fn with_steps(builder: ProfileBuilder, steps: &Arc<Steps>) -> Profile {
    let (reserve, pre_bind) = (Arc::clone(steps), Arc::clone(steps));
    let change = |profile: &mut Profile| {
        profile.reserve.push(reserve);
        profile.pre_bind.push(pre_bind);
    };
    builder.with(change).build()
}

fn cluster(steps: &Arc<Steps>) -> Cluster {
    let mut cluster = Cluster::new(with_steps(ProfileBuilder::new(), steps));
    cluster.add_node("n1", 1000);
    cluster
}

/// Which volumes are reserved for which pods.
fn reserved(engine: &Engine) -> BTreeMap<String, VolumeReservation> {
    let reservations = engine.columns().volume_reservations();
    reservations
        .map(|(uid, reservation)| (uid.to_string(), reservation.clone()))
        .collect()
}

fn change(cluster: &mut Cluster, object: StorageObject) {
    cluster.apply(Delta::StorageChanged {
        old: None,
        new: Some(object),
    });
}

fn written(cluster: &mut Cluster, claim: ClaimId, written: VolumeWritten) {
    cluster
        .engine
        .volume_written(claim, written, cluster.now, &mut cluster.out);
}

fn done(version: u64) -> VolumeWritten {
    VolumeWritten::Done(ResourceVersion::new(version))
}

/// The pod's claim is over, and with it everything that it held.
fn nothing_is_held(cluster: &Cluster) {
    assert_eq!((cluster.used("n1"), cluster.engine.claims().count()), (0, 0));
    assert_eq!(reserved(&cluster.engine), BTreeMap::new());
    assert_eq!(cluster.engine.next_deadline(), None);
}

#[test]
fn writes_are_made_one_by_one_then_others_are_waited_for_and_then_the_pod_is_bound() {
    let steps = Steps::told([
        PreBindStep::Write(write("a")),
        PreBindStep::Write(write("b")),
        wait(60),
        PreBindStep::Done,
    ]);
    let mut cluster = cluster(&steps);
    let id = cluster.place(&with_claim("a", 600)).claim;
    assert_eq!(cluster.said(), ["expect", "write"]);
    assert_eq!(
        reserved(&cluster.engine),
        BTreeMap::from([("uid-a".to_owned(), reservation("a", "n1"))])
    );
    change(&mut cluster, claim("claim-a").object());
    assert_eq!(steps.heard(), [PreBindInput::Begin], "a write is waited for alone");
    written(&mut cluster, id, done(5));
    assert_eq!(cluster.said(), ["write"]);
    written(&mut cluster, id, done(6));
    assert_eq!(cluster.said(), [""; 0]);
    assert_eq!(
        cluster.engine.next_deadline(),
        Some(Moment::ZERO + Duration::from_mins(1))
    );
    written(&mut cluster, id, done(7));
    assert_eq!(
        steps.heard(),
        [PreBindInput::Written(done(5)), PreBindInput::Written(done(6))],
        "an answer that nobody waits for is not told"
    );
    change(&mut cluster, claim("claim-a").bound("volume-a").object());
    assert_eq!(cluster.said(), ["send"]);
    assert_eq!(steps.heard(), [PreBindInput::Changed]);
    assert_eq!(cluster.engine.next_deadline(), None);
    cluster.answer(id, ClaimInput::Bound);
    assert_eq!(reserved(&cluster.engine).len(), 1, "until the watch shows the pod");
    cluster.show(&with_claim("a", 600), "n1");
    assert_eq!(reserved(&cluster.engine), BTreeMap::new());
    assert_eq!(cluster.said(), ["bound"]);
}

#[test]
fn a_claim_that_waits_is_asked_again_when_something_changes_that_concerns_it_and_at_no_other_time() {
    let made_over = |name: &str, to: &str| volume(name).bound(&claim(to).build()).object();
    let storage = |object: StorageObject| Delta::StorageChanged {
        old: None,
        new: Some(object),
    };
    let gone = |object: StorageObject| Delta::StorageChanged {
        old: Some(object),
        new: None,
    };
    let cases = [
        (storage(claim("claim-a").object()), true),
        (gone(claim("claim-a").object()), true),
        (storage(claim("claim-a").namespace("other").object()), false),
        (storage(claim("claim-b").object()), false),
        (storage(volume("volume-a").object()), true),
        (gone(volume("volume-a").object()), true),
        (storage(volume("volume-b").object()), false),
        (storage(made_over("made-for-it", "claim-a")), true),
        (storage(made_over("made-for-other", "claim-b")), false),
        (storage(csi_node("n1").object()), true),
        (storage(csi_node("n2").object()), false),
        (storage(storage_class("class").object()), false),
        (Delta::NodeAdded(node("n2", 1)), false),
        (Delta::NodeAdded(node("n1", 900)), true),
        (Delta::NodeDeleted(node("n1", 900)), true),
        (Delta::PodAdded(pod("b", 1)), false),
        (
            Delta::PodUpdated {
                old: with_claim("a", 600),
                new: with_claim("a", 600),
            },
            true,
        ),
    ];
    let steps = Steps::told((0..cases.len()).map(|_| wait(60)));
    let mut cluster = cluster(&steps);
    cluster.place(&with_claim("a", 600));
    steps.heard();
    for (delta, concerned) in cases {
        let text = format!("{delta:?}");
        cluster.apply(delta);
        let expected: &[PreBindInput] = if concerned { &[PreBindInput::Changed] } else { &[] };
        assert_eq!(steps.heard(), expected, "{text}");
    }
}

#[test]
fn a_wait_that_was_in_vain_ends_at_its_time_and_gives_up_room_and_volumes() {
    let text = "binding volumes: context deadline exceeded";
    let steps = Steps::told([wait(600), wait(605), PreBindStep::Fail(text.to_owned())]);
    let mut cluster = cluster(&steps);
    cluster.place(&with_claim("a", 600));
    cluster.wait(599);
    assert_eq!(steps.heard(), [PreBindInput::Begin]);
    cluster.wait(1);
    cluster.wait(4);
    assert_eq!(steps.heard(), [PreBindInput::Due]);
    cluster.wait(1);
    let failure = cluster.failure();
    assert_eq!(
        (failure.message, failure.reason),
        (
            format!(r#"running PreBind plugin "Steps": {text}"#),
            FailureReason::SchedulerError
        )
    );
    nothing_is_held(&cluster);
}

#[test]
fn whatever_ends_a_claim_lets_its_volumes_go_and_the_answer_to_its_write_is_not_heard_any_more() {
    type End = (&'static str, fn(&mut Cluster, ClaimId), &'static [&'static str]);
    let ends: [End; 5] = [
        (
            "deleted",
            |cluster, _| cluster.apply(Delta::PodDeleted(with_claim("a", 600))),
            &["gone", "released"],
        ),
        (
            "bound by somebody else",
            |cluster, _| cluster.show(&with_claim("a", 600), "n2"),
            &["elsewhere", "released"],
        ),
        (
            "preempted",
            |cluster, id| {
                let rejected = cluster.engine.reject_for_preemption(id, cluster.now, &mut cluster.out);
                assert!(rejected);
            },
            &["failed", "released"],
        ),
        (
            "end of term",
            |cluster, _| cluster.engine.end_term(cluster.now, &mut cluster.out),
            &["failed", "released"],
        ),
        (
            "a step that panics",
            |cluster, id| written(cluster, id, VolumeWritten::Unknown("lost".to_owned())),
            &["failed", "released"],
        ),
    ];
    for (what, end, said) in ends {
        for waiting in [false, true] {
            let second = PreBindStep::Fail("panic".to_owned());
            let steps = if waiting {
                Steps::told([PreBindStep::Write(write("a")), wait(60), second])
            } else {
                Steps::told([PreBindStep::Write(write("a")), second])
            };
            let mut cluster = cluster(&steps);
            let id = cluster.place(&with_claim("a", 600)).claim;
            if waiting {
                written(&mut cluster, id, done(2));
            }
            cluster.said();
            if waiting && what == "a step that panics" {
                change(&mut cluster, claim("claim-a").object());
            } else {
                end(&mut cluster, id);
            }
            assert_eq!(cluster.said(), said, "{what}, waiting: {waiting}");
            assert_eq!(reserved(&cluster.engine), BTreeMap::new(), "{what}");
            assert_eq!(cluster.used("n1"), 0, "{what}");
            assert_eq!(cluster.engine.next_deadline(), None, "{what}");
            steps.heard();
            written(&mut cluster, id, done(3));
            change(&mut cluster, claim("claim-a").object());
            assert_eq!(steps.heard(), [], "{what}");
            assert_eq!(cluster.said(), [""; 0], "{what}");
        }
    }
}

#[test]
fn users_read_who_was_preempted_while_it_waited_for_volumes_and_which_step_panicked() {
    let steps = Steps::told([wait(60), PreBindStep::Fail("panic".to_owned())]);
    let mut cluster = cluster(&steps);
    let id = cluster.place(&with_claim("a", 600)).claim;
    cluster.engine.reject_for_preemption(id, cluster.now, &mut cluster.out);
    assert_eq!(
        cluster.failure().message,
        r#"running PreBind plugin "Steps": preempted by DefaultPreemption"#
    );
    let Outcome::Placed(_) = cluster.try_new(&with_claim("b", 600)) else {
        panic!("no place for it");
    };
    let message = cluster.failure().message;
    assert!(
        message.starts_with(r#"running PreBind plugin "Steps": panicked: "#),
        "{message}"
    );
    nothing_is_held(&cluster);
}

#[test]
fn volumes_stay_reserved_while_columns_are_made_anew_after_a_panic_and_those_of_the_pod_that_panicked_do_not() {
    let steps = Steps::told([wait(60)]);
    let mut cluster = cluster(&steps);
    let id = cluster.place(&with_claim("a", 600)).claim;
    let before = reserved(&cluster.engine);
    let rotten = with_claim("rotten", 1);
    cluster.add(&rotten);
    assert!(catch_unwind(AssertUnwindSafe(|| cluster.begin(&rotten))).is_err());
    cluster.engine.abandon();
    cluster.engine.rebuild(cluster.now, &mut cluster.out);
    assert_eq!(reserved(&cluster.engine), before);
    assert_eq!(cluster.state(id), Some(ClaimState::Waiting));
    cluster.said();
    change(&mut cluster, claim("claim-a").object());
    assert_eq!(cluster.said(), ["send"]);
}

/// Another pod's cycle waits for an effect meanwhile.
fn while_a_cycle_waits(act: impl FnOnce(&mut Cluster, ClaimId), steps: &Arc<Steps>) -> (Cluster, ClaimId) {
    let mut cluster = Cluster::new(with_steps(ProfileBuilder::new().oracle(), steps));
    cluster.add_node("n1", 1000);
    let (a, b) = (with_claim("a", 600), pod("b", 100));
    cluster.add(&a);
    cluster.add(&b);
    cluster.begin(&a);
    let Step::Done(Outcome::Placed(placement)) = cluster.resume(Ok(Box::new(Vec::<&str>::new()))) else {
        panic!("no place for it");
    };
    assert!(matches!(cluster.begin(&b), Step::Needs(_)));
    steps.heard();
    cluster.said();
    act(&mut cluster, placement.claim);
    (cluster, placement.claim)
}

#[test]
fn while_a_cycle_waits_no_step_is_taken_and_afterwards_each_is() {
    type Act = fn(&mut Cluster, ClaimId);
    let fail = || PreBindStep::Fail("in vain".to_owned());
    let cases: [(PreBindStep, Act, PreBindInput); 3] = [
        (
            PreBindStep::Write(write("a")),
            |cluster, id| written(cluster, id, done(2)),
            PreBindInput::Written(done(2)),
        ),
        (wait(5), |cluster, _| cluster.wait(5), PreBindInput::Due),
        (
            wait(5),
            |cluster, _| change(cluster, claim("claim-a").object()),
            PreBindInput::Changed,
        ),
    ];
    for (first, act, input) in cases {
        let steps = Steps::told([first, fail()]);
        let (mut cluster, _) = while_a_cycle_waits(act, &steps);
        assert_eq!(steps.heard(), []);
        assert_eq!(reserved(&cluster.engine).len(), 1);
        assert_eq!(cluster.engine.next_deadline().filter(|at| *at <= cluster.now), None);
        cluster.wait(1);
        assert_eq!(steps.heard(), []);
        assert!(matches!(
            cluster.resume(Ok(Box::new(Vec::<&str>::new()))),
            Step::Done(Outcome::Placed(_))
        ));
        assert_eq!(steps.heard(), [input]);
        assert!(cluster.said().contains(&"failed"));
        assert_eq!(reserved(&cluster.engine), BTreeMap::new());
        assert_eq!(cluster.used("n1"), 100);
    }
}

#[test]
fn a_claim_that_ends_while_a_cycle_waits_takes_no_step_any_more_and_keeps_its_volumes_as_long_as_its_room() {
    let act = |cluster: &mut Cluster, id| {
        written(cluster, id, done(2));
        let rejected = cluster.engine.reject_for_preemption(id, cluster.now, &mut cluster.out);
        assert!(rejected, "it has sent no binding");
        assert_eq!((reserved(&cluster.engine).len(), cluster.used("n1")), (1, 600));
        assert_eq!(cluster.engine.reserving_pods(), None, "not comparable now");
    };
    let steps = Steps::told([PreBindStep::Write(write("a"))]);
    let (mut cluster, _) = while_a_cycle_waits(act, &steps);
    cluster.resume(Ok(Box::new(Vec::<&str>::new())));
    assert_eq!(steps.heard(), []);
    assert_eq!((reserved(&cluster.engine).len(), cluster.used("n1")), (0, 100));
    assert_eq!(cluster.engine.reserving_pods(), Some(Vec::new()));
}

#[test]
fn the_first_step_waits_for_the_cycle_too_when_the_last_permit_comes_meanwhile() {
    let steps = Steps::told([]);
    let permit = |pod: Pod| match pod.name.name.as_str() {
        "a" => PermitOutcome::Wait(Duration::from_mins(1)),
        _ => PermitOutcome::Allow,
    };
    let mut cluster = Cluster::new(with_steps(
        ProfileBuilder::new().oracle().permit("Gang", permit),
        &steps,
    ));
    cluster.add_node("n1", 1000);
    let (a, b) = (with_claim("a", 600), pod("b", 100));
    for pod in [&a, &b] {
        cluster.add(pod);
        assert!(matches!(cluster.begin(pod), Step::Needs(_)));
        if pod.name.name == "a" {
            cluster.resume(Ok(Box::new(Vec::<&str>::new())));
        }
    }
    cluster.engine.allow(&a.uid, "Gang", cluster.now, &mut cluster.out);
    assert_eq!(steps.heard(), []);
    cluster.resume(Ok(Box::new(Vec::<&str>::new())));
    assert_eq!(steps.heard(), [PreBindInput::Begin]);
}

#[test]
fn a_claim_goes_on_with_the_steps_of_the_plugin_that_it_began_with() {
    let steps = Steps::told([PreBindStep::Write(write("a"))]);
    let mut cluster = cluster(&steps);
    let id = cluster.place(&with_claim("a", 600)).claim;
    cluster.reconfigure(ProfileBuilder::new().build());
    cluster.said();
    written(&mut cluster, id, done(2));
    assert_eq!(cluster.said(), ["send"]);
}

/// Notes a failure at each stage that it sees.
struct Troubled;

impl Plugin for Troubled {
    fn name(&self) -> &'static str {
        "Troubled"
    }
}

impl Filter for Troubled {
    fn filter(&self, cycle: CycleContext<'_>, state: &CycleState, _: &mut FilterPass<'_>) -> Result<(), String> {
        state.note_volume_error(VolumeStage::Predicate);
        if cycle.pod.name.name == "b" {
            return Err("no class".to_owned());
        }
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> Reasons {
        Reasons::new()
    }
}

impl Reserve for Troubled {
    fn reserve(&self, _: CycleContext<'_>, state: &mut CycleState, _: &str) -> Result<(), Status> {
        state.note_volume_error(VolumeStage::Assume);
        Ok(())
    }

    fn unreserve(&self, _: &Pod, _: &mut CycleState, _: &str) {}
}

impl PreBind for Troubled {
    fn pre_bind(&self, _: &Pod, _: &CycleState, _: &str) -> PreBindOutcome {
        PreBindOutcome::Steps
    }

    fn step(&self, _: CycleContext<'_>, state: &mut CycleState, _: &str, _: PreBindInput) -> PreBindStep {
        state.note_volume_error(VolumeStage::Bind);
        PreBindStep::Fail("no".to_owned())
    }
}

fn volume_errors(cluster: &mut Cluster) -> Vec<(VolumeStage, u32)> {
    let errors = cluster.out.drain(..).filter_map(|notice| match notice {
        Notice::VolumeErrors { stage, count } => Some((stage, count)),
        _ => None,
    });
    errors.collect()
}

#[test]
fn what_fails_inside_with_volumes_is_told_by_stage_once() {
    let change = |profile: &mut Profile| {
        profile.filter.push(Arc::new(Troubled));
        profile.reserve.push(Arc::new(Troubled));
        profile.pre_bind.push(Arc::new(Troubled));
    };
    let mut cluster = Cluster::new(ProfileBuilder::new().with(change).build());
    cluster.add_node("n1", 1000);
    cluster.place(&pod("a", 1));
    let each = VolumeStage::ALL.map(|stage| (stage, 1));
    assert_eq!(volume_errors(&mut cluster), each);
    assert!(matches!(cluster.try_new(&pod("b", 1)), Outcome::Failed { .. }));
    assert_eq!(volume_errors(&mut cluster), [(VolumeStage::Predicate, 1)]);
}

/// A reserve plugin that looks at what is reserved already.
struct Onlooker(Mutex<usize>);

impl Plugin for Onlooker {
    fn name(&self) -> &'static str {
        "Onlooker"
    }
}

impl Reserve for Onlooker {
    fn reserve(&self, cycle: CycleContext<'_>, state: &mut CycleState, node: &str) -> Result<(), Status> {
        let volumes = cycle.columns.volume_reservations();
        *self.0.lock().unwrap() = volumes.map(|(_, reservation)| reservation.volumes.len()).sum();
        state.reserve_volumes(reservation("more", node));
        Ok(())
    }

    fn unreserve(&self, _: &Pod, _: &mut CycleState, _: &str) {}
}

#[test]
fn what_one_plugin_reserves_the_next_sees_and_adds_to() {
    let steps = Steps::told([wait(60)]);
    let onlooker = Arc::new(Onlooker(Mutex::default()));
    let mut profile = with_steps(ProfileBuilder::new(), &steps);
    profile.reserve.push(Arc::clone(&onlooker) as _);
    let mut cluster = Cluster::new(profile);
    cluster.add_node("n1", 1000);
    cluster.place(&with_claim("a", 600));
    assert_eq!(*onlooker.0.lock().unwrap(), 1);
    let mut both = reservation("a", "n1");
    both.volumes.extend(reservation("more", "n1").volumes);
    assert_eq!(reserved(&cluster.engine), BTreeMap::from([("uid-a".to_owned(), both)]));
}

#[test]
fn an_audit_sees_who_reserves_and_mends_what_does_not_agree_with_the_claims() {
    let steps = Steps::told([wait(60)]);
    let mut cluster = cluster(&steps);
    let a = with_claim("a", 600);
    let id = cluster.place(&a).claim;
    assert!(cluster.engine.holds_volumes(id));
    assert_eq!(cluster.engine.reserving_pods(), Some(vec![a.uid.clone()]));
    let before = reserved(&cluster.engine);
    let stray = Uid::from("stray");
    let columns = cluster.engine.ledger.columns_mut();
    columns.unreserve_volumes(&a.uid);
    columns.reserve_volumes(&stray, &reservation("stray", "n1"));
    assert_eq!(cluster.engine.reserving_pods(), Some(vec![stray.clone()]));
    for uid in [&a.uid, &stray] {
        cluster.engine.settle_reservation(uid);
        cluster.engine.settle_reservation(uid);
    }
    assert_eq!(reserved(&cluster.engine), before);
}
