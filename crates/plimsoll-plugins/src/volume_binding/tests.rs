use std::collections::BTreeMap;

use plimsoll_config::{FeatureGates, PluginArgs, VolumeBindingArgs};
use plimsoll_framework::{
    Code, CycleContext, CycleState, Extensions, PreBindOutcome, PreFilterOutcome, Resolvability, Status, Verdicts,
};
use plimsoll_model::columns::Columns;
use plimsoll_model::storage::{ClaimPhase, StorageObject, VolumeBindingMode, VolumeReservation, VolumeSource};
use plimsoll_model::testing::{
    ClaimBuilder, VolumeBuilder, claim, csi_driver, csi_node, node, pod, storage_class, volume,
};
use plimsoll_model::{Moment, Pod, Uid, VolumeKind};

use super::{BIND_CONFLICT, NAME, NODE_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING, construct};
use crate::fixture::{made, made_with};

mod adopting;
mod matching;
mod naive;
mod pre_binding;
mod queueing_hint;
mod scores;
mod waking;

/// A cluster and the plugin in it.
#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) columns: Columns,
}

impl World {
    /// Nodes `a1`, `a2`, `b1` in zones `a`, `a`, `b`, and a class of each binding mode.
    pub(super) fn new(objects: impl IntoIterator<Item = StorageObject>) -> Self {
        let mut world = Self::default();
        for name in ["a1", "a2", "b1"] {
            let node = node(name).label("zone", &name[..1]).label("host", name);
            world.columns.set_node(&node.build());
        }
        let delayed = |name: &str, provisioner: &'static str| {
            storage_class(name).with(|class| {
                class.binding_mode = Some(VolumeBindingMode::WaitForFirstConsumer);
                class.provisioner = provisioner.into();
            })
        };
        world.set(storage_class("now").object());
        world.set(delayed("local", "kubernetes.io/no-provisioner").object());
        world.set(delayed("made", "driver").object());
        for object in objects {
            world.set(object);
        }
        world
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "what is built for it alone reads best without a reference"
    )]
    pub(super) fn set(&mut self, object: StorageObject) {
        self.columns.set_storage(&object);
    }

    pub(super) fn cycle<'a>(&'a self, pod: &'a Pod) -> CycleContext<'a> {
        CycleContext {
            pod,
            columns: &self.columns,
            now: Moment::ZERO,
        }
    }

    fn pre_filter(&mut self, plugin: &Extensions, pod: &Pod, state: &mut CycleState) -> PreFilterOutcome {
        plugin.prepare.as_ref().unwrap().prepare(pod, &mut self.columns);
        plugin.pre_filter.as_ref().unwrap().pre_filter(self.cycle(pod), state)
    }

    /// Why the pod cannot be placed at all.
    pub(super) fn stopped(&mut self, pod: &Pod) -> Option<Status> {
        match self.pre_filter(&made(construct), pod, &mut CycleState::new()) {
            PreFilterOutcome::Stop(status) => Some(status),
            _ => None,
        }
    }

    /// Each node with the reasons against it.
    pub(super) fn filter(&mut self, pod: &Pod) -> Result<BTreeMap<String, Vec<&'static str>>, String> {
        let (plugin, mut state) = (made(construct), CycleState::new());
        let outcome = self.pre_filter(&plugin, pod, &mut state);
        assert!(matches!(outcome, PreFilterOutcome::Continue), "{outcome:?}");
        let verdicts = self.judge(&plugin, pod, &state)?;
        let of_node = |node| {
            let verdict = verdicts.of(node);
            let rejected = verdict.filter().is_some();
            assert_eq!(rejected, !verdicts.feasible().contains(node));
            assert!(!rejected || verdict.resolvability() == Resolvability::Unresolvable);
            let code = if rejected { verdict.code().0 } else { 0 };
            let texts = super::REASONS.iter().filter(|(bit, _)| code & bit != 0);
            (
                self.columns.name(node).to_owned(),
                texts.map(|(_, text)| *text).collect(),
            )
        };
        Ok(self.columns.nodes().iter().map(of_node).collect())
    }

    /// The nodes that can take the pod.
    fn feasible(&mut self, pod: &Pod) -> Vec<String> {
        let filtered = self.filter(pod).unwrap().into_iter();
        filtered
            .filter(|(_, reasons)| reasons.is_empty())
            .map(|(node, _)| node)
            .collect()
    }

    /// What the pod reserves on a node.
    pub(super) fn reserve(&mut self, pod: &Pod, node: &str) -> VolumeReservation {
        let (plugin, mut state) = (made(construct), CycleState::new());
        self.pre_filter(&plugin, pod, &mut state);
        self.judge(&plugin, pod, &state).unwrap();
        let reserved = plugin
            .reserve
            .as_ref()
            .unwrap()
            .reserve(self.cycle(pod), &mut state, node);
        reserved.unwrap();
        state.take_reservation().unwrap_or_default()
    }

    fn judge(&self, plugin: &Extensions, pod: &Pod, state: &CycleState) -> Result<Verdicts, String> {
        let mut verdicts = Verdicts::default();
        verdicts.begin(self.columns.nodes(), self.columns.capacity());
        let filter = plugin.filter.as_ref().unwrap();
        filter.filter(self.cycle(pod), state, &mut verdicts.pass(0))?;
        Ok(verdicts)
    }
}

pub(super) fn user(claims: &[&str]) -> Pod {
    claims.iter().fold(pod("p"), |pod, claim| pod.claim(claim)).build()
}

fn waiting(name: &str) -> ClaimBuilder {
    claim(name).class("local")
}

fn local(name: &str, node: &str) -> VolumeBuilder {
    volume(name).class("local").reachable("host", &[node])
}

#[test]
fn pods_without_claims_are_no_business_of_the_plugin() {
    let (mut world, plugin) = (World::new([]), made(construct));
    let pod = pod("p").volume(VolumeKind::Csi { driver: "d".into() }).build();
    let mut state = CycleState::new();
    let outcome = world.pre_filter(&plugin, &pod, &mut state);
    assert!(matches!(outcome, PreFilterOutcome::Skip), "{outcome:?}");
    let reserve = plugin.reserve.as_ref().unwrap();
    reserve.reserve(world.cycle(&pod), &mut state, "a1").unwrap();
    assert_eq!(state.take_reservation(), None);
}

/// Objects, a pod, and why it cannot be placed.
type Case = (Vec<StorageObject>, Pod, Option<(Code, &'static str)>);

#[test]
fn claims_that_cannot_be_used_stop_the_pod_with_kube_schedulers_words() {
    let unresolvable = Code::UnschedulableAndUnresolvable;
    let other = Uid::from("other");
    let pod_uid = user(&[]).uid;
    let cases: Vec<Case> = vec![
        (
            vec![],
            user(&["data"]),
            Some((unresolvable, r#"persistentvolumeclaim "data" not found"#)),
        ),
        (
            vec![],
            ephemeral(),
            Some((
                unresolvable,
                r#"waiting for ephemeral volume controller to create the persistentvolumeclaim "p-tmp""#,
            )),
        ),
        (
            vec![claim("p-tmp").made_for(&other).class("local").object()],
            ephemeral(),
            Some((
                unresolvable,
                "PVC default/p-tmp was not created for pod default/p (pod is not owner)",
            )),
        ),
        (
            vec![claim("p-tmp").made_for(&pod_uid).class("local").object()],
            ephemeral(),
            None,
        ),
        (
            vec![
                claim("data")
                    .bound("gone")
                    .with(|claim| claim.phase = ClaimPhase::Lost)
                    .object(),
            ],
            user(&["data"]),
            Some((
                unresolvable,
                r#"persistentvolumeclaim "data" bound to non-existent persistentvolume "gone""#,
            )),
        ),
        (
            vec![claim("data").deleting().object()],
            user(&["data"]),
            Some((unresolvable, r#"persistentvolumeclaim "data" is being deleted"#)),
        ),
        (
            vec![claim("data").class("now").object()],
            user(&["data"]),
            Some((unresolvable, "pod has unbound immediate PersistentVolumeClaims")),
        ),
        (
            vec![claim("data").object()],
            user(&["data"]),
            Some((unresolvable, "pod has unbound immediate PersistentVolumeClaims")),
        ),
        (
            vec![claim("data").class("unknown").object()],
            user(&["data"]),
            Some((unresolvable, "pod has unbound immediate PersistentVolumeClaims")),
        ),
        (
            // Bound beforehand, and the volume controller has not seen to it yet.
            vec![waiting("data").wants("v").object()],
            user(&["data"]),
            Some((unresolvable, "pod has unbound immediate PersistentVolumeClaims")),
        ),
        (
            vec![
                storage_class("odd").with(|class| class.binding_mode = None).object(),
                claim("data").class("odd").object(),
            ],
            user(&["data"]),
            Some((Code::Error, r#"VolumeBindingMode not set for StorageClass "odd""#)),
        ),
        (vec![waiting("data").object()], user(&["data"]), None),
        (vec![claim("data").bound("v").object()], user(&["data"]), None),
    ];
    for (objects, pod, expected) in cases {
        let stopped = World::new(objects.clone()).stopped(&pod);
        let expected = expected.map(|(code, reason)| Status::new(code, NAME, reason));
        assert_eq!(stopped, expected, "{objects:?}");
    }
}

fn ephemeral() -> Pod {
    pod("p").volume(VolumeKind::Ephemeral { volume: "tmp".into() }).build()
}

#[test]
fn a_bound_claim_holds_the_pod_to_the_nodes_that_reach_its_volume() {
    let mut world = World::new([
        volume("v").reachable("zone", &["a"]).object(),
        claim("data").bound("v").object(),
    ]);
    let filtered = world.filter(&user(&["data"])).unwrap();
    assert_eq!(filtered["a1"], Vec::<&str>::new());
    assert_eq!(filtered["b1"], [NODE_CONFLICT]);
    assert!(world.reserve(&user(&["data"]), "a1").is_empty());
    world.set(claim("data").bound("gone").object());
    assert_eq!(world.filter(&user(&["data"])).unwrap()["a1"], [VOLUME_MISSING]);
}

#[test]
fn nodes_that_come_and_labels_that_change_count_at_once() {
    let mut world = World::new([
        volume("v").reachable("zone", &["a"]).object(),
        claim("data").bound("v").object(),
    ]);
    let pod = user(&["data"]);
    assert_eq!(world.feasible(&pod), ["a1", "a2"]);
    world.columns.set_node(&node("a3").label("zone", "a").build());
    world.columns.set_node(&node("a1").label("zone", "b").build());
    assert_eq!(world.feasible(&pod), ["a2", "a3"]);
    world.columns.remove_node("a2");
    assert_eq!(world.feasible(&pod), ["a3"]);
}

#[test]
fn an_in_tree_volume_is_reached_in_its_drivers_terms_where_its_plugin_has_moved() {
    let moved = |name: &str| csi_node(name).with(|node| node.migrated_plugins = vec!["kubernetes.io/gce-pd".into()]);
    let disk = |volume: VolumeBuilder| volume.source(VolumeSource::GcePersistentDisk { pd_name: "d".into() });
    let mut world = World::new([
        disk(volume("v").reachable("topology.kubernetes.io/zone", &["z"])).object(),
        claim("data").bound("v").object(),
        moved("new").object(),
    ]);
    let place = |name: &str, key: &str| node(name).label(key, "z").build();
    world.columns.set_node(&place("old", "topology.kubernetes.io/zone"));
    world.columns.set_node(&place("new", "topology.gke.io/zone"));
    assert_eq!(world.feasible(&user(&["data"])), ["new", "old"]);
    world.set(csi_node("new").object());
    assert_eq!(world.feasible(&user(&["data"])), ["old"]);
    // Several zones that are not of one region cannot be translated.
    world.set(disk(volume("v").label("topology.kubernetes.io/zone", "us-a-1__eu-a-1")).object());
    assert_eq!(world.feasible(&user(&["data"])).len(), 5);
    world.set(moved("new").object());
    let error = world.filter(&user(&["data"])).unwrap_err();
    assert!(
        error.starts_with("could not translate pv: failed to get region from zones: "),
        "{error}"
    );
}

#[test]
fn reasons_add_up_in_kube_schedulers_order() {
    let mut world = World::new([
        volume("v").reachable("zone", &["a"]).object(),
        claim("bound").bound("v").object(),
        claim("gone").bound("w").object(),
        waiting("data").object(),
        claim("made").class("made").object(),
        csi_driver("driver")
            .with(|driver| driver.storage_capacity = true)
            .object(),
    ]);
    let filtered = world.filter(&user(&["bound", "data"])).unwrap();
    assert_eq!(filtered["a1"], [BIND_CONFLICT]);
    assert_eq!(filtered["b1"], [NODE_CONFLICT, BIND_CONFLICT]);
    let filtered = world.filter(&user(&["bound", "gone", "made"])).unwrap();
    assert_eq!(filtered["a1"], [NOT_ENOUGH_SPACE, VOLUME_MISSING]);
    assert_eq!(filtered["b1"], [NODE_CONFLICT, NOT_ENOUGH_SPACE]);
}

#[test]
fn without_a_pre_filter_in_the_same_cycle_it_fails_as_kube_schedulers_does() {
    let (world, plugin) = (World::new([]), made(construct));
    let (pod, mut state) = (user(&[]), CycleState::new());
    let filtered = world.judge(&plugin, &pod, &state).map(|_| ());
    assert_eq!(filtered, Err("not found".to_owned()));
    let reserve = plugin.reserve.as_ref().unwrap();
    let reserved = reserve.reserve(world.cycle(&pod), &mut state, "a1");
    assert_eq!(reserved, Err(Status::error(NAME, "not found")));
}

#[test]
fn without_a_filter_in_the_same_cycle_nothing_is_reserved() {
    let mut world = World::new([waiting("data").object(), local("v", "a1").object()]);
    let (plugin, pod, mut state) = (made(construct), user(&["data"]), CycleState::new());
    world.pre_filter(&plugin, &pod, &mut state);
    let reserve = plugin.reserve.as_ref().unwrap();
    reserve.reserve(world.cycle(&pod), &mut state, "a1").unwrap();
    assert_eq!(state.take_reservation(), None);
    let pre_bind = plugin.pre_bind.as_ref().unwrap();
    assert!(matches!(pre_bind.pre_bind(&pod, &state, "a1"), PreBindOutcome::Skip));
}

#[test]
fn arguments_are_checked() {
    let gates = FeatureGates::default();
    let args = |seconds| VolumeBindingArgs {
        bind_timeout_seconds: seconds,
        ..VolumeBindingArgs::default()
    };
    let made = |args| made_with(construct, Some(&PluginArgs::VolumeBinding(args)), &gates);
    assert!(made(args(0)).is_ok());
    let error = made(args(-1)).unwrap_err();
    assert!(
        error.contains("invalid BindTimeoutSeconds, should not be a negative value"),
        "{error}"
    );
    let other = PluginArgs::NodeAffinity(plimsoll_config::NodeAffinityArgs::default());
    assert_eq!(
        made_with(construct, Some(&other), &gates).unwrap_err(),
        "args are not of type VolumeBindingArgs"
    );
}
