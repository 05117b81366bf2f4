//! Pods whose volumes are bound on the way, from the choice of a node to the binding, with the plugin as it is.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail in its helpers too")]

use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::{FeatureGates, ProfileConfig};
use plimsoll_engine::{ClaimId, Engine, Notice, Outcome, Step};
use plimsoll_framework::Profile;
use plimsoll_model::storage::{ClaimReference, StorageObject, VolumeBindingMode, VolumeWrite, VolumeWritten};
use plimsoll_model::testing::{ClaimBuilder, VolumeBuilder, claim, node, pod, storage_class, volume};
use plimsoll_model::{Change, Delta, Moment, Pod, ResourceVersion, Seq, Uid};

struct Cluster {
    engine: Engine,
    seq: Seq,
    now: Moment,
    notices: Vec<Notice>,
}

impl Cluster {
    /// Nodes `a` and `b`, and classes whose volumes are there (`local`) or made (`made`) once a pod has a node.
    fn new(objects: impl IntoIterator<Item = StorageObject>) -> Self {
        let gates = FeatureGates::default();
        let profile = Profile::assemble(&ProfileConfig::default(), &plimsoll_plugins::registry(), &gates).unwrap();
        let mut cluster = Self {
            engine: Engine::new(vec![Arc::new(profile)], 7),
            seq: Seq::ZERO,
            now: Moment::from_nanos(1),
            notices: Vec::new(),
        };
        for (class, provisioner) in [("local", "kubernetes.io/no-provisioner"), ("made", "driver")] {
            let class = storage_class(class).with(|class| {
                class.binding_mode = Some(VolumeBindingMode::WaitForFirstConsumer);
                class.provisioner = provisioner.into();
            });
            cluster.learn(class.object());
        }
        for object in objects {
            cluster.learn(object);
        }
        for name in ["a", "b"] {
            let node = node(name).label("host", name).cpu("8").memory("8Gi").pods(100);
            cluster.apply(Delta::NodeAdded(Arc::new(node.build())));
        }
        cluster
    }

    fn apply(&mut self, delta: Delta) {
        self.seq = self.seq.next();
        let change = Change { seq: self.seq, delta };
        self.engine.apply(&change, self.now, &mut self.notices);
    }

    /// The watch tells of an object.
    fn learn(&mut self, new: StorageObject) {
        self.apply(Delta::StorageChanged {
            old: None,
            new: Some(new),
        });
    }

    fn forget(&mut self, old: StorageObject) {
        self.apply(Delta::StorageChanged {
            old: Some(old),
            new: None,
        });
    }

    /// Where the pod goes, or why it goes nowhere.
    fn place(&mut self, pod: &Arc<Pod>) -> Result<(ClaimId, String), String> {
        self.apply(Delta::PodAdded(Arc::clone(pod)));
        match self.engine.begin(pod, self.now, &mut self.notices) {
            Step::Done(Outcome::Placed(placement)) => Ok((placement.claim, placement.node.to_string())),
            Step::Done(Outcome::Unschedulable(diagnosis)) => Err(diagnosis.message),
            other => panic!("{other:?}"),
        }
    }

    /// The write that is asked for, if nothing else has happened.
    fn write(&mut self) -> VolumeWrite {
        let mut writes = self.notices.drain(..).filter_map(|notice| match notice {
            Notice::WriteVolume { write, .. } => Some(write),
            Notice::Expect { .. } => None,
            other => panic!("{other:?}"),
        });
        let write = writes.next().unwrap();
        assert!(writes.next().is_none());
        write
    }

    fn written(&mut self, claim: ClaimId, written: VolumeWritten) {
        self.engine.volume_written(claim, written, self.now, &mut self.notices);
    }

    fn done(&mut self, claim: ClaimId, version: u64) {
        self.written(claim, VolumeWritten::Done(ResourceVersion::new(version)));
    }

    /// Whether the pod is to be bound now.
    fn binds(&mut self) -> bool {
        let notices: Vec<_> = self.notices.drain(..).collect();
        notices
            .iter()
            .any(|notice| matches!(notice, Notice::SendBinding { .. }))
    }

    /// Why the attempt has failed.
    fn failure(&mut self) -> String {
        let failures = self.notices.drain(..).filter_map(|notice| match notice {
            Notice::BindFailed { failure, .. } => Some(failure.message),
            _ => None,
        });
        let failures: Vec<String> = failures.collect();
        assert_eq!(failures.len(), 1, "{failures:?}");
        failures.into_iter().next().unwrap()
    }

    fn holds_nothing(&self) -> bool {
        self.engine.claims().next().is_none() && self.engine.columns().volume_reservations().next().is_none()
    }
}

fn user(name: &str, claim: &str) -> Arc<Pod> {
    Arc::new(pod(name).claim(claim).build())
}

fn local(name: &str, node: &str) -> VolumeBuilder {
    volume(name).class("local").reachable("host", &[node])
}

fn waiting(name: &str) -> ClaimBuilder {
    claim(name).class("local")
}

fn made_over(volume: VolumeBuilder, claim: &str) -> StorageObject {
    let reference = ClaimReference {
        name: plimsoll_model::ObjectName::new("default", claim),
        uid: Some(Uid::new(format!("uid-{claim}"))),
    };
    volume
        .with(|volume| volume.claim = Some(reference))
        .resource_version(10)
        .object()
}

#[test]
fn a_pod_is_bound_once_its_volume_is() {
    let mut cluster = Cluster::new([waiting("data").object(), local("v", "b").object()]);
    let (claim, node) = cluster.place(&user("p", "data")).unwrap();
    assert_eq!(node, "b");
    assert!(matches!(cluster.write(), VolumeWrite::BindVolume { volume, .. } if volume == "v"));
    cluster.done(claim, 10);
    assert!(!cluster.binds());
    cluster.learn(made_over(local("v", "b"), "data"));
    assert!(!cluster.binds());
    cluster.learn(waiting("data").bound("v").resource_version(11).object());
    assert!(cluster.binds());
}

#[test]
fn of_two_pods_that_race_for_a_volume_one_gets_it_and_the_other_when_the_first_gives_up() {
    let mut cluster = Cluster::new([
        waiting("one").object(),
        waiting("two").object(),
        local("v", "b").object(),
    ]);
    let (first, _) = cluster.place(&user("first", "one")).unwrap();
    cluster.write();
    let second = user("second", "two");
    let refusal = cluster.place(&second).unwrap_err();
    let expected = "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.";
    assert!(refusal.starts_with(expected), "{refusal}");
    let conflict = r#"Operation cannot be fulfilled on persistentvolumes "v": the object has been modified"#;
    cluster.written(first, VolumeWritten::Refused(conflict.to_owned()));
    assert_eq!(
        cluster.failure(),
        format!("running PreBind plugin \"VolumeBinding\": {conflict}")
    );
    assert!(cluster.holds_nothing());
    assert_eq!(cluster.place(&second).unwrap().1, "b");
}

#[test]
fn a_claim_that_is_deleted_meanwhile_ends_the_attempt_and_nothing_is_left() {
    let mut cluster = Cluster::new([waiting("data").object(), local("v", "b").object()]);
    let (claim, _) = cluster.place(&user("p", "data")).unwrap();
    cluster.write();
    cluster.done(claim, 10);
    cluster.learn(made_over(local("v", "b"), "data"));
    cluster.forget(waiting("data").object());
    assert_eq!(
        cluster.failure(),
        "running PreBind plugin \"VolumeBinding\": binding volumes: failed to check binding: persistentvolumeclaims \
         \"default/data\" not found"
    );
    assert!(cluster.holds_nothing());
}

#[test]
fn a_provisioner_that_fails_and_one_that_never_answers_end_the_attempt_each_with_its_words() {
    let to_be_made = || claim("data").class("made");
    for fails in [true, false] {
        let mut cluster = Cluster::new([to_be_made().object()]);
        let (claim, node) = cluster.place(&user("p", "data")).unwrap();
        assert!(matches!(cluster.write(), VolumeWrite::SelectNode { node: selected, .. } if selected == node));
        cluster.done(claim, 10);
        cluster.learn(to_be_made().selected_node(&node).resource_version(10).object());
        let expected = if fails {
            cluster.learn(to_be_made().resource_version(11).object());
            "provisioning failed for PVC \"data\""
        } else {
            assert!(cluster.engine.next_deadline().is_some_and(|at| at > cluster.now));
            cluster.now = cluster.now + Duration::from_mins(10);
            cluster.engine.tick(cluster.now, &mut cluster.notices);
            "context deadline exceeded"
        };
        assert_eq!(
            cluster.failure(),
            format!("running PreBind plugin \"VolumeBinding\": binding volumes: {expected}")
        );
        assert!(cluster.holds_nothing());
    }
}

#[test]
fn a_pod_that_is_deleted_while_its_volume_is_bound_leaves_nothing() {
    let mut cluster = Cluster::new([waiting("data").object(), local("v", "b").object()]);
    let pod = user("p", "data");
    let (claim, _) = cluster.place(&pod).unwrap();
    cluster.write();
    cluster.done(claim, 10);
    cluster.apply(Delta::PodDeleted(pod));
    assert!(cluster.holds_nothing());
}

#[test]
fn the_next_leader_takes_up_what_a_killed_one_has_written() {
    // It was killed after the write to the volume, with the pod on its way to `b`.
    let mut cluster = Cluster::new([waiting("data").object(), made_over(local("v", "b"), "data")]);
    let pod = user("p", "data");
    cluster.apply(Delta::PodAdded(Arc::clone(&pod)));
    cluster.engine.adopt();
    let nominations: Vec<_> = cluster
        .engine
        .nominations()
        .map(|(uid, node)| (uid.clone(), node.to_owned()))
        .collect();
    assert_eq!(nominations, [(pod.uid.clone(), "b".to_owned())]);
    let (_, node) = cluster.place(&pod).unwrap();
    assert_eq!(node, "b");
    // The volume says already what would be written.
    assert!(!cluster.binds());
    cluster.learn(waiting("data").bound("v").resource_version(11).object());
    assert!(cluster.binds());
}
