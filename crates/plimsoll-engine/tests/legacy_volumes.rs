//! The volume predicates of the legacy Policy judge volumes, and preemption makes room for them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail in its helpers too")]

use std::sync::Arc;

use plimsoll_config::{FeatureGates, SchedulerConfig, decode_policy};
use plimsoll_engine::{Diagnosis, Engine, Outcome, Step};
use plimsoll_framework::Profile;
use plimsoll_model::storage::{AccessModes, StorageObject, VolumeBindingMode};
use plimsoll_model::testing::{claim, csi_node, node, pod, storage_class, volume};
use plimsoll_model::{Change, Delta, Moment, Pod, Seq, VolumeKind};

struct Cluster {
    engine: Engine,
    seq: Seq,
}

impl Cluster {
    /// One node, in zone `x`, under a Policy with these predicates.
    fn with_predicates(predicates: &[&str]) -> Self {
        let names: Vec<String> = predicates
            .iter()
            .map(|name| format!(r#"{{"name":"{name}"}}"#))
            .collect();
        let policy = format!(
            r#"{{"kind":"Policy","apiVersion":"v1","predicates":[{}],"priorities":[]}}"#,
            names.join(",")
        );
        let registry = plimsoll_plugins::registry();
        let (policy, _) = decode_policy(&policy).unwrap();
        let known = |name: &str| registry.names().any(|known| known == name);
        let config = policy.convert(&SchedulerConfig::default(), &known).unwrap().config;
        let profile = Profile::assemble(&config.profiles[0], &registry, &FeatureGates::default()).unwrap();
        let mut cluster = Self {
            engine: Engine::new(vec![Arc::new(profile)], 7),
            seq: Seq::ZERO,
        };
        let node = node("n")
            .label("topology.kubernetes.io/zone", "x")
            .allocatable("pods", "10");
        cluster.apply(Delta::NodeAdded(Arc::new(node.build())));
        cluster
    }

    fn apply(&mut self, delta: Delta) {
        self.seq = self.seq.next();
        let change = Change { seq: self.seq, delta };
        self.engine.apply(&change, Moment::ZERO, &mut Vec::new());
    }

    fn learn(&mut self, objects: impl IntoIterator<Item = StorageObject>) {
        for new in objects {
            self.apply(Delta::StorageChanged {
                old: None,
                new: Some(new),
            });
        }
    }

    /// The pod gets a node, or not.
    fn place(&mut self, pod: Pod) -> Result<(), Box<Diagnosis>> {
        let pod = Arc::new(pod);
        self.apply(Delta::PodAdded(Arc::clone(&pod)));
        match self.engine.begin(&pod, Moment::ZERO, &mut Vec::new()) {
            Step::Done(Outcome::Placed(_)) => Ok(()),
            Step::Done(Outcome::Unschedulable(diagnosis)) => Err(Box::new(diagnosis)),
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn refuses(&mut self, pod: Pod, reason: &str) -> Box<Diagnosis> {
        let diagnosis = self.place(pod).unwrap_err();
        let expected = format!("0/1 nodes are available: 1 {reason}.");
        assert!(diagnosis.message.starts_with(&expected), "{}", diagnosis.message);
        diagnosis
    }
}

fn ebs(name: &str, disk: &str) -> Pod {
    let volume = VolumeKind::AwsElasticBlockStore {
        volume: "v".into(),
        volume_id: disk.into(),
    };
    pod(name).volume(volume).build()
}

#[test]
fn no_disk_conflict_keeps_two_pods_from_one_disk() {
    let mut cluster = Cluster::with_predicates(&["NoDiskConflict"]);
    cluster.place(ebs("a", "vol-1")).unwrap();
    cluster.place(ebs("b", "vol-2")).unwrap();
    cluster.refuses(ebs("c", "vol-1"), "node(s) had no available disk");
}

#[test]
fn no_volume_zone_conflict_keeps_a_pod_with_its_volumes_zone() {
    let mut cluster = Cluster::with_predicates(&["NoVolumeZoneConflict"]);
    for zone in ["x", "y"] {
        let here = volume(zone).label("topology.kubernetes.io/zone", zone).object();
        cluster.learn([here, claim(zone).bound(zone).object()]);
    }
    cluster.place(pod("a").claim("x").build()).unwrap();
    cluster.refuses(pod("b").claim("y").build(), "node(s) had no available volume zone");
}

#[test]
fn check_volume_binding_keeps_a_pod_with_its_volumes_and_gives_it_one_that_is_free() {
    for predicate in ["CheckVolumeBinding", "NoVolumeNodeConflict"] {
        let mut cluster = Cluster::with_predicates(&[predicate]);
        let class =
            storage_class("local").with(|class| class.binding_mode = Some(VolumeBindingMode::WaitForFirstConsumer));
        let zone = "topology.kubernetes.io/zone";
        cluster.learn([
            class.object(),
            volume("here").reachable(zone, &["x"]).object(),
            volume("there").reachable(zone, &["y"]).object(),
            claim("here").bound("here").object(),
            claim("there").bound("there").object(),
            volume("free").class("local").object(),
            claim("first").class("local").object(),
            claim("second").class("local").object(),
        ]);
        cluster.place(pod("a").claim("here").build()).unwrap();
        cluster.refuses(
            pod("b").claim("there").build(),
            "node(s) didn't match PersistentVolume's node affinity",
        );
        cluster.place(pod("c").claim("first").build()).unwrap();
        cluster.refuses(
            pod("d").claim("second").build(),
            "node(s) didn't find available persistent volumes to bind",
        );
    }
}

#[test]
fn the_predicates_that_count_volumes_keep_every_drivers_limit() {
    let predicates = [
        "MaxEBSVolumeCount",
        "MaxGCEPDVolumeCount",
        "MaxCSIVolumeCountPred",
        "MaxAzureDiskVolumeCount",
        "MaxCinderVolumeCount",
    ];
    for predicate in predicates {
        let mut cluster = Cluster::with_predicates(&[predicate]);
        let limits = csi_node("n").driver("ebs.csi.aws.com", Some(1)).driver("d", Some(1));
        cluster.learn([limits.object()]);
        for name in ["one", "two"] {
            let csi = volume(name).csi("d", name).object();
            cluster.learn([csi, claim(name).bound(name).object()]);
        }
        cluster.place(ebs("a", "vol-1")).unwrap();
        cluster.place(pod("b").claim("one").build()).unwrap();
        cluster.refuses(ebs("c", "vol-2"), "node(s) exceed max volume count");
        cluster.refuses(pod("d").claim("two").build(), "node(s) exceed max volume count");
        cluster.place(pod("e").claim("one").build()).unwrap();
    }
}

/// Driver `d` can attach one volume, and pod `holder` has the claim `one`.
fn held() -> Cluster {
    let mut cluster = Cluster::with_predicates(&["NoDiskConflict", "MaxCSIVolumeCountPred"]);
    cluster.learn([csi_node("n").driver("d", Some(1)).object()]);
    for name in ["one", "two"] {
        let csi = volume(name).csi("d", name).object();
        let exclusive = claim(name).bound(name).access(AccessModes::READ_WRITE_ONCE_POD);
        cluster.learn([csi, exclusive.object()]);
    }
    cluster.place(pod("holder").claim("one").build()).unwrap();
    cluster.place(pod("bystander").build()).unwrap();
    cluster
}

#[test]
fn a_less_important_pod_gives_up_what_only_one_can_have() {
    let cases = [
        (
            "one",
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
        ),
        ("two", "node(s) exceed max volume count"),
    ];
    for (name, reason) in cases {
        let mut cluster = held();
        cluster.refuses(pod("equal").claim(name).build(), reason);
        let important = pod("important").claim(name).priority(9).build();
        let diagnosis = cluster.place(important).unwrap_err();
        let plan = diagnosis.preemption.as_ref().unwrap();
        let victims: Vec<_> = plan
            .victims
            .iter()
            .map(|victim| victim.pod.name.name.as_str())
            .collect();
        assert_eq!(victims, ["holder"], "{name}");
    }
}
