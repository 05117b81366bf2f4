use std::time::Duration;

use plimsoll_framework::{
    CycleContext, CycleState, Extensions, PreBindInput, PreBindOutcome, PreBindStep, VolumeStage,
};
use plimsoll_model::storage::{ClaimReference, PersistentVolume, VolumeWrite, VolumeWritten};
use plimsoll_model::testing::{ClaimBuilder, VolumeBuilder, claim, node};
use plimsoll_model::{Moment, ObjectName, Pod, ResourceVersion, Uid};

use super::super::construct;
use super::{World, local, user, waiting};
use crate::fixture::made;

const TIMEOUT: Duration = Duration::from_mins(10);

/// A pod that has a node and is about to be bound.
struct Attempt {
    world: World,
    pod: Pod,
    node: &'static str,
    plugin: Extensions,
    state: CycleState,
    now: Moment,
}

impl Attempt {
    fn new(world: World, claims: &[&str], node: &'static str) -> Self {
        let mut attempt = Self {
            world,
            pod: user(claims),
            node,
            plugin: made(construct),
            state: CycleState::new(),
            now: Moment::from_nanos(1),
        };
        attempt
            .world
            .pre_filter(&attempt.plugin, &attempt.pod, &mut attempt.state);
        attempt
            .world
            .judge(&attempt.plugin, &attempt.pod, &attempt.state)
            .unwrap();
        let reserve = attempt.plugin.reserve.as_ref().unwrap();
        reserve
            .reserve(attempt.world.cycle(&attempt.pod), &mut attempt.state, node)
            .unwrap();
        if let Some(reservation) = attempt.state.take_reservation() {
            attempt.world.columns.reserve_volumes(&attempt.pod.uid, &reservation);
        }
        attempt
    }

    fn outcome(&self) -> PreBindOutcome {
        let pre_bind = self.plugin.pre_bind.as_ref().unwrap();
        pre_bind.pre_bind(&self.pod, &self.state, self.node)
    }

    fn hear(&mut self, input: PreBindInput) -> PreBindStep {
        let cycle = CycleContext {
            pod: &self.pod,
            columns: &self.world.columns,
            now: self.now,
        };
        let pre_bind = self.plugin.pre_bind.as_ref().unwrap();
        pre_bind.step(cycle, &mut self.state, self.node, input)
    }

    fn begin(&mut self) -> PreBindStep {
        assert!(matches!(self.outcome(), PreBindOutcome::Steps));
        self.hear(PreBindInput::Begin)
    }

    fn done(&mut self, version: u64) -> PreBindStep {
        self.hear(PreBindInput::Written(VolumeWritten::Done(ResourceVersion::new(
            version,
        ))))
    }

    fn refused(&mut self, text: &str) -> PreBindStep {
        self.hear(PreBindInput::Written(VolumeWritten::Refused(text.to_owned())))
    }

    fn wait(&self) -> PreBindStep {
        PreBindStep::Wait {
            until: self.now + TIMEOUT,
        }
    }
}

fn name(claim: &str) -> ObjectName {
    ObjectName::new("default", claim)
}

fn fail(cause: &str) -> PreBindStep {
    PreBindStep::Fail(format!("binding volumes: {cause}"))
}

fn bind(volume: &str, version: u64, claim: &str, claim_version: u64, by_controller: bool) -> PreBindStep {
    PreBindStep::Write(VolumeWrite::BindVolume {
        volume: volume.into(),
        uid: Uid::new(format!("uid-{volume}")),
        version: ResourceVersion::new(version),
        claim: name(claim),
        claim_uid: Uid::new(format!("uid-{claim}")),
        claim_version: ResourceVersion::new(claim_version),
        by_controller,
    })
}

fn select(claim: &str, version: u64, node: &str) -> PreBindStep {
    PreBindStep::Write(VolumeWrite::SelectNode {
        claim: name(claim),
        uid: Uid::new(format!("uid-{claim}")),
        version: ResourceVersion::new(version),
        node: node.into(),
    })
}

fn to_be_made(name: &str) -> ClaimBuilder {
    claim(name).class("made")
}

/// A volume as it is once this plugin has made it over to a claim.
fn made_over(volume: VolumeBuilder, claim: &str) -> VolumeBuilder {
    volume.with(|volume: &mut PersistentVolume| {
        volume.claim = Some(ClaimReference {
            name: name(claim),
            uid: Some(Uid::new(format!("uid-{claim}"))),
        });
    })
}

/// One claim with a volume, and one whose volume is made.
fn both() -> Attempt {
    let world = World::new([
        waiting("data").resource_version(3).object(),
        local("v", "a1").resource_version(4).object(),
        to_be_made("more").resource_version(5).object(),
    ]);
    Attempt::new(world, &["more", "data"], "a1")
}

#[test]
fn volumes_are_written_then_claims_and_then_all_are_waited_for() {
    let mut attempt = both();
    assert_eq!(attempt.begin(), bind("v", 4, "data", 3, true));
    assert_eq!(attempt.done(10), select("more", 5, "a1"));
    let wait = attempt.wait();
    assert_eq!(attempt.done(11), wait);
    attempt
        .world
        .set(made_over(local("v", "a1"), "data").resource_version(10).object());
    attempt
        .world
        .set(waiting("data").bound("v").resource_version(12).object());
    assert_eq!(attempt.hear(PreBindInput::Changed), wait);
    attempt.world.set(local("w", "a1").resource_version(13).object());
    let more = || to_be_made("more").selected_node("a1");
    attempt.world.set(more().wants("w").resource_version(14).object());
    assert_eq!(attempt.hear(PreBindInput::Changed), wait);
    attempt.world.set(more().bound("w").resource_version(15).object());
    assert_eq!(attempt.hear(PreBindInput::Changed), PreBindStep::Done);
    assert_eq!(attempt.state.take_volume_errors().count(), 0);
}

#[test]
fn pods_whose_claims_are_bound_have_nothing_to_do() {
    let world = World::new([local("v", "a1").object(), waiting("data").bound("v").object()]);
    let attempt = Attempt::new(world, &["data"], "a1");
    assert!(matches!(attempt.outcome(), PreBindOutcome::Skip));
}

#[test]
fn what_the_objects_say_already_is_not_written() {
    let world = World::new([
        waiting("data").object(),
        made_over(local("v", "a1"), "data").resource_version(7).object(),
        to_be_made("more").selected_node("a1").resource_version(8).object(),
        waiting("kept").object(),
        local("w", "a1").kept_for("kept").resource_version(9).object(),
    ]);
    let mut attempt = Attempt::new(world, &["data", "more", "kept"], "a1");
    assert_eq!(attempt.begin(), bind("w", 9, "kept", 1, false));
    assert_eq!(attempt.done(10), attempt.wait());
}

#[test]
fn a_version_that_has_come_since_is_written_to_as_long_as_the_object_is_still_free() {
    let mut attempt = both();
    attempt
        .world
        .set(local("v", "a1").label("new", "label").resource_version(20).object());
    attempt.world.set(waiting("data").resource_version(21).object());
    assert_eq!(attempt.begin(), bind("v", 20, "data", 21, true));
    attempt.world.set(to_be_made("more").resource_version(22).object());
    assert_eq!(attempt.done(23), select("more", 22, "a1"));

    // The API server has the last word on what has been taken meanwhile.
    let mut attempt = both();
    attempt
        .world
        .set(made_over(local("v", "a1"), "another").resource_version(20).object());
    assert_eq!(attempt.begin(), bind("v", 4, "data", 3, true));
    let conflict = r#"Operation cannot be fulfilled on persistentvolumes "v": the object has been modified"#;
    assert_eq!(attempt.refused(conflict), PreBindStep::Fail(conflict.to_owned()));
    let errors: Vec<_> = attempt.state.take_volume_errors().collect();
    assert_eq!(errors, [(VolumeStage::Bind, 1)]);
}

#[test]
fn a_write_that_fails_ends_the_attempt_with_its_own_words() {
    let cases = [
        (VolumeWritten::Refused("no".to_owned()), "no"),
        (
            VolumeWritten::Unknown("connection reset".to_owned()),
            "connection reset",
        ),
        (VolumeWritten::TermOver, "the term is over"),
    ];
    for (written, text) in cases {
        let mut attempt = both();
        attempt.begin();
        let step = attempt.hear(PreBindInput::Written(written));
        assert_eq!(step, PreBindStep::Fail(text.to_owned()));
    }
}

#[test]
fn of_pods_that_share_a_claim_the_one_that_is_refused_goes_on_with_what_the_other_has_written() {
    let shared = || World::new([to_be_made("data").resource_version(3).object()]);
    let begin = || {
        let mut attempt = Attempt::new(shared(), &["data"], "a1");
        let mut reservation = attempt.world.columns.volume_reservations().next().unwrap().1.clone();
        attempt
            .world
            .columns
            .reserve_volumes(&Uid::from("another"), &reservation);
        reservation.node = "a1".into();
        assert_eq!(attempt.begin(), select("data", 3, "a1"));
        attempt
    };
    let soon = |attempt: &Attempt| PreBindStep::Wait {
        until: attempt.now + Duration::from_secs(1),
    };
    let mut attempt = begin();
    assert_eq!(attempt.refused("conflict"), soon(&attempt));
    assert_eq!(attempt.hear(PreBindInput::Changed), soon(&attempt));
    attempt
        .world
        .set(to_be_made("data").selected_node("a1").resource_version(4).object());
    assert_eq!(attempt.hear(PreBindInput::Changed), attempt.wait());

    let mut attempt = begin();
    attempt.refused("conflict");
    assert_eq!(
        attempt.hear(PreBindInput::Due),
        PreBindStep::Fail("conflict".to_owned())
    );

    let mut attempt = begin();
    attempt.world.columns.unreserve_volumes(&Uid::from("another"));
    assert_eq!(attempt.refused("conflict"), PreBindStep::Fail("conflict".to_owned()));
}

#[test]
fn no_volume_is_made_over_to_a_claim_that_is_gone_or_going() {
    type Change = fn(&mut World);
    let cases: [(&str, Change, &str); 3] = [
        (
            "gone",
            |world| world.columns.remove_storage(&waiting("data").object()),
            r#"persistentvolumeclaim "data" not found"#,
        ),
        (
            "another one of that name",
            |world| world.set(waiting("data").uid("another").resource_version(20).object()),
            r#"persistentvolumeclaim "data" not found"#,
        ),
        (
            "going",
            |world| world.set(waiting("data").deleting().resource_version(20).object()),
            r#"persistentvolumeclaim "data" is being deleted"#,
        ),
    ];
    for (what, change, text) in cases {
        for put_off in [false, true] {
            let mut attempt = both();
            if put_off {
                attempt.begin();
            }
            change(&mut attempt.world);
            let step = if put_off {
                attempt.hear(PreBindInput::Written(VolumeWritten::PutOff))
            } else {
                attempt.begin()
            };
            assert_eq!(step, PreBindStep::Fail(text.to_owned()), "{what}, put off: {put_off}");
        }
    }
}

#[test]
fn a_write_that_was_put_off_is_made_again_at_the_version_that_is_known_by_then() {
    let mut attempt = both();
    assert_eq!(attempt.begin(), bind("v", 4, "data", 3, true));
    attempt.world.set(local("v", "a1").resource_version(9).object());
    let again = attempt.hear(PreBindInput::Written(VolumeWritten::PutOff));
    assert_eq!(again, bind("v", 9, "data", 3, true));
}

#[test]
fn objects_that_are_older_than_the_own_write_say_nothing() {
    let mut attempt = both();
    attempt.begin();
    attempt.done(10);
    let wait = attempt.wait();
    // Neither the missing reference nor the missing annotation counts: both are from before.
    assert_eq!(attempt.done(11), wait);
    attempt.world.set(local("v", "a1").resource_version(10).object());
    assert_eq!(
        attempt.hear(PreBindInput::Changed),
        fail(r#"ClaimRef got reset for pv "v""#)
    );
}

/// What happens, and how the attempt ends.
type Case = (&'static str, Box<dyn Fn(&mut World)>, PreBindStep);

fn wrong_with_nodes_and_volumes() -> Vec<Case> {
    vec![
        ("nothing happens", Box::new(|_| {}), fail("context deadline exceeded")),
        (
            "the node goes",
            Box::new(|world| world.columns.remove_node("a1")),
            fail(r#"failed to get node "a1": node "a1" not found"#),
        ),
        (
            "the volume goes",
            Box::new(|world| world.columns.remove_storage(&local("v", "a1").object())),
            fail(r#"failed to check binding: persistentvolumes "v" not found"#),
        ),
        (
            "the claim of a volume goes",
            Box::new(|world| world.columns.remove_storage(&waiting("data").object())),
            fail(r#"failed to check binding: persistentvolumeclaims "default/data" not found"#),
        ),
        (
            "the claim to be made goes",
            Box::new(|world| {
                settle_volume(world);
                world.columns.remove_storage(&to_be_made("more").object());
            }),
            fail(r#"failed to check provisioning pvc: persistentvolumeclaims "default/more" not found"#),
        ),
        (
            "the volume is taken back",
            Box::new(|world| world.set(local("v", "a1").resource_version(20).object())),
            fail(r#"ClaimRef got reset for pv "v""#),
        ),
        (
            "the volume's claim loses its identity",
            Box::new(|world| world.set(local("v", "a1").kept_for("data").resource_version(20).object())),
            fail(r#"ClaimRef got reset for pv "v""#),
        ),
        (
            "the node no longer reaches the volume",
            Box::new(|world| world.columns.set_node(&node("a1").label("zone", "a").build())),
            fail(r#"pv "v" node affinity doesn't match node "a1": no matching NodeSelectorTerms"#),
        ),
    ]
}

fn wrong_with_claims() -> Vec<Case> {
    vec![
        (
            "the provisioner gives up",
            Box::new(|world| {
                settle_volume(world);
                world.set(to_be_made("more").resource_version(20).object());
            }),
            fail(r#"provisioning failed for PVC "more""#),
        ),
        (
            "somebody takes all annotations away",
            Box::new(|world| {
                settle_volume(world);
                let bare = to_be_made("more").with(|claim| claim.annotated = false);
                world.set(bare.resource_version(20).object());
            }),
            fail(r#"selectedNode annotation reset for PVC "more""#),
        ),
        (
            "another node is chosen",
            Box::new(|world| {
                settle_volume(world);
                world.set(to_be_made("more").selected_node("b1").resource_version(20).object());
            }),
            fail(r#"provisioning failed for PVC "more""#),
        ),
        (
            "the claim gets another volume, elsewhere",
            Box::new(|world| {
                settle_claim_to_be_made(world);
                world.set(local("w", "b1").object());
                world.set(waiting("data").bound("w").resource_version(20).object());
            }),
            fail(r#"pv "w" node affinity doesn't match node "a1": no matching NodeSelectorTerms"#),
        ),
        (
            "the claim gets another volume of the node",
            Box::new(|world| {
                settle_claim_to_be_made(world);
                world.set(local("w", "a1").object());
                world.set(waiting("data").bound("w").resource_version(20).object());
            }),
            PreBindStep::Done,
        ),
        (
            "the claim of a volume is another one of that name",
            Box::new(|world| {
                settle_claim_to_be_made(world);
                let another = waiting("data").uid("another").bound("v");
                world.set(another.resource_version(20).object());
            }),
            fail(r#"failed to check binding: persistentvolumeclaims "default/data" not found"#),
        ),
        (
            "the claim to be made is another one of that name",
            Box::new(|world| {
                settle_volume(world);
                let another = to_be_made("more").uid("another").selected_node("a1").bound("v");
                world.set(another.resource_version(20).object());
            }),
            fail(r#"failed to check provisioning pvc: persistentvolumeclaims "default/more" not found"#),
        ),
        (
            "the volume is made elsewhere",
            Box::new(|world| {
                settle_volume(world);
                world.set(local("w", "b1").object());
                world.set(
                    to_be_made("more")
                        .selected_node("a1")
                        .wants("w")
                        .resource_version(20)
                        .object(),
                );
            }),
            fail(r#"pv "w" node affinity doesn't match node "a1": no matching NodeSelectorTerms"#),
        ),
    ]
}

#[test]
fn waiting_ends_with_the_time_or_with_what_has_gone_wrong() {
    let cases = wrong_with_nodes_and_volumes().into_iter().chain(wrong_with_claims());
    for (what, change, expected) in cases {
        let mut attempt = both();
        attempt.begin();
        attempt.done(10);
        assert_eq!(attempt.done(11), attempt.wait(), "{what}");
        attempt
            .world
            .set(made_over(local("v", "a1"), "data").resource_version(10).object());
        change(&mut attempt.world);
        let step = match attempt.hear(PreBindInput::Changed) {
            PreBindStep::Wait { until } => {
                attempt.now = until;
                attempt.hear(PreBindInput::Due)
            }
            step => step,
        };
        assert_eq!(step, expected, "{what}");
    }
}

fn settle_claim_to_be_made(world: &mut World) {
    world.set(local("made", "a1").object());
    let bound = to_be_made("more").selected_node("a1").bound("made");
    world.set(bound.resource_version(20).object());
}

fn settle_volume(world: &mut World) {
    world.set(waiting("data").bound("v").resource_version(12).object());
}

#[test]
fn a_volume_that_is_told_of_after_its_claim_is_waited_for() {
    let mut attempt = Attempt::new(World::new([to_be_made("more").object()]), &["more"], "a1");
    attempt.begin();
    let wait = attempt.wait();
    assert_eq!(attempt.done(11), wait);
    attempt.world.set(
        to_be_made("more")
            .selected_node("a1")
            .bound("w")
            .resource_version(12)
            .object(),
    );
    assert_eq!(attempt.hear(PreBindInput::Changed), wait);
    attempt.world.set(local("w", "a1").object());
    assert_eq!(attempt.hear(PreBindInput::Changed), PreBindStep::Done);
}
