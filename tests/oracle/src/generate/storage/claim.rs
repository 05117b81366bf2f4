use serde_json::{Value, json};

use super::{BETA_CLASS, Habits, Store, gibibytes, metadata};
use crate::dice::Dice;
use crate::generate::labels;

const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// How far a claim is on its way to a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Bound,
    /// Its volume is gone, and nobody has seen it yet.
    BoundToNone,
    /// Its volume is gone.
    Lost,
    /// It waits for a pod.
    Waiting,
    /// It should have been bound without one.
    Immediate,
    /// It names its volume, and is not bound yet.
    Named,
    /// It has no class.
    Classless,
    /// Its class is not there.
    Orphaned,
}

impl Store<'_> {
    /// A claim for a pod, with its volume where it has one. The claim of an ephemeral volume tells whose it is.
    pub(super) fn add_claim(&mut self, dice: &mut Dice, pod: &Value, name: &str, owner: Option<&Value>) {
        let state = self.state(dice);
        let namespace = pod["metadata"]["namespace"].clone();
        let mut claim = any_claim(dice, name, &namespace);
        if self.habits == Habits::Contended && dice.percent(35) {
            claim["spec"]["accessModes"] = json!(["ReadWriteOncePod"]);
        }
        if let Some(owner) = owner {
            claim["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "v1", "kind": "Pod", "name": owner["name"], "uid": owner["uid"], "controller": true,
            }]);
        }
        let class = match state {
            State::Classless => String::new(),
            State::Orphaned => "no-such-class".to_owned(),
            State::Immediate => self.class_that(dice, false),
            _ => self.class_that(dice, true),
        };
        self.set_class(dice, &mut claim, &class);
        match state {
            State::Bound | State::BoundToNone | State::Lost => self.bind(dice, &mut claim, &class, state),
            State::Named => claim["spec"]["volumeName"] = json!("volume-0"),
            State::Waiting => self.wait(dice, &mut claim, &class),
            State::Immediate | State::Classless | State::Orphaned => {}
        }
        if dice.percent(2) {
            claim["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
            claim["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        }
        self.case.persistent_volume_claims.push(claim);
    }

    fn state(&self, dice: &mut Dice) -> State {
        if self.habits == Habits::Contended && dice.percent(90) {
            return State::Bound;
        }
        match dice.below(100) {
            0..42 => State::Bound,
            42..45 => State::BoundToNone,
            45..47 => State::Lost,
            47..92 => State::Waiting,
            92..94 => State::Immediate,
            94..96 => State::Named,
            96..98 => State::Classless,
            _ => State::Orphaned,
        }
    }

    fn set_class(&self, dice: &mut Dice, claim: &mut Value, class: &str) {
        if class.is_empty() && dice.percent(50) {
            return;
        }
        claim["spec"]["storageClassName"] = json!(class);
        if !class.is_empty() && dice.percent(5) {
            claim["metadata"]["annotations"][BETA_CLASS] = json!(class);
            if !self.scores_room && dice.percent(40) {
                claim["spec"]["storageClassName"] = json!("another");
            }
        }
    }

    fn bind(&mut self, dice: &mut Dice, claim: &mut Value, class: &str, state: State) {
        claim["metadata"]["annotations"][BIND_COMPLETED] = json!("yes");
        claim["status"] = json!({ "phase": if state == State::Lost { "Lost" } else { "Bound" } });
        if state != State::Bound {
            claim["spec"]["volumeName"] = json!("gone");
            return;
        }
        let mut volume = self.volume(dice, class);
        claim["spec"]["volumeName"] = volume["metadata"]["name"].clone();
        volume["spec"]["claimRef"] = reference(claim);
        volume["spec"]["claimRef"]["uid"] = claim["metadata"]["uid"].clone();
        volume["metadata"]["annotations"][BOUND_BY_CONTROLLER] = json!("yes");
        volume["status"] = json!({ "phase": "Bound" });
        self.case.persistent_volumes.push(volume);
    }

    /// Somebody may have chosen a node for it already, or a volume.
    fn wait(&mut self, dice: &mut Dice, claim: &mut Value, class: &str) {
        if dice.percent(12) {
            claim["metadata"]["annotations"][SELECTED_NODE] = json!(self.some_node(dice));
        }
        if !dice.percent(18) {
            return;
        }
        let mut volume = self.volume(dice, class);
        volume["spec"]["claimRef"] = reference(claim);
        match dice.below(10) {
            0..4 => volume["spec"]["claimRef"]["uid"] = claim["metadata"]["uid"].clone(),
            4 => volume["spec"]["claimRef"]["uid"] = json!("another"),
            _ => {}
        }
        if dice.percent(25) {
            volume["metadata"]["annotations"][BOUND_BY_CONTROLLER] = json!("yes");
        }
        self.case.persistent_volumes.push(volume);
    }
}

fn reference(claim: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim["metadata"]["namespace"],
        "name": claim["metadata"]["name"],
    })
}

/// A claim without a class or a volume.
pub(crate) fn any_claim(dice: &mut Dice, name: &str, namespace: &Value) -> Value {
    let modes: &[&str] = dice.one_of(&[
        &["ReadWriteOnce"],
        &["ReadWriteOnce"],
        &["ReadWriteOnce"],
        &["ReadWriteOnce"],
        &["ReadWriteMany"],
        &["ReadWriteOnce", "ReadOnlyMany"],
        &["ReadWriteOncePod"],
    ]);
    let size = if dice.below(20) == 0 {
        dice.pick(&["1", "1500M", "100Ti", "1e9"]).to_owned()
    } else {
        let amount = dice.between(1, 12);
        gibibytes(dice, amount)
    };
    let mut spec = json!({ "accessModes": modes, "resources": { "requests": { "storage": size } } });
    if dice.percent(10) {
        spec["selector"] = labels::pod_selector(dice);
    }
    if dice.percent(6) {
        spec["volumeMode"] = json!(dice.pick(&["Block", "Filesystem"]));
    }
    if dice.percent(4) {
        spec["volumeAttributesClassName"] = json!(dice.pick(&["gold", "silver", ""]));
    }
    let mut metadata = metadata(name);
    metadata["namespace"] = namespace.clone();
    json!({ "metadata": metadata, "spec": spec, "status": { "phase": "Pending" } })
}
