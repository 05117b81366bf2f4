//! A plugin that writes to storage before a pod is bound, and may wait for what others make of it: what the real ones do, by
//! itself. And the objects that it writes to.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::PluginRef;
use plimsoll_framework::{
    CycleContext, CycleState, Extensions, Plugin, PreBind, PreBindInput, PreBindOutcome, PreBindStep, Reserve, Status,
};
use plimsoll_model::storage::{PersistentVolumeClaim, VolumeReservation, VolumeWrite, VolumeWritten};
use plimsoll_model::{Moment, ObjectName, Pod, VolumeKind};
use serde_json::{Value, json};

use crate::world::Setup;

/// The name of the plugin.
pub const WRITER: &str = "Writer";

/// Which object is written for a pod with a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    /// The volume that is called like the claim.
    Volume,
    /// The claim.
    Claim,
}

/// Writes for each pod with a claim, and lets it be bound when the write is done; with patience, when the claim is bound. The
/// plugins that know volumes are switched off.
pub fn add_to(setup: &mut Setup, object: Object, patience: Option<Duration>) {
    setup.registry.add(WRITER, move |_| {
        let writer = Arc::new(Writer { object, patience });
        Ok(Extensions::new().reserve(Arc::clone(&writer) as _).pre_bind(writer))
    });
    let enabled = &mut setup.profile.plugins.multi_point.enabled;
    let known = ["VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"];
    enabled.retain(|plugin| !known.contains(&plugin.name.as_str()));
    enabled.push(PluginRef::new(WRITER, 0));
}

struct Writer {
    object: Object,
    patience: Option<Duration>,
}

/// Until when a pod waits.
struct Until(Moment);

fn claim_of(pod: &Pod) -> Option<ObjectName> {
    pod.spec.volumes.iter().find_map(|volume| match volume {
        VolumeKind::PersistentVolumeClaim { claim } => Some(ObjectName::new(pod.name.namespace.clone(), claim.clone())),
        _ => None,
    })
}

impl Writer {
    /// The write, unless somebody has made it before.
    fn write(
        &self,
        cycle: CycleContext<'_>,
        claim: &PersistentVolumeClaim,
        node: &str,
    ) -> Result<Option<VolumeWrite>, String> {
        if self.object == Object::Claim {
            return Ok(
                (claim.selected_node.as_deref() != Some(node)).then(|| VolumeWrite::SelectNode {
                    claim: claim.name.clone(),
                    uid: claim.uid.clone(),
                    version: claim.resource_version,
                    node: node.into(),
                }),
            );
        }
        let volume = cycle.columns.storage().volume(&claim.name.name);
        let volume = volume.ok_or("there is no volume")?;
        Ok(volume.claim.is_none().then(|| VolumeWrite::BindVolume {
            volume: volume.name.name.clone(),
            uid: volume.uid.clone(),
            version: volume.resource_version,
            claim: claim.name.clone(),
            claim_uid: claim.uid.clone(),
            claim_version: claim.resource_version,
            by_controller: true,
        }))
    }

    fn wait(&self, cycle: CycleContext<'_>, state: &mut CycleState, claim: &PersistentVolumeClaim) -> PreBindStep {
        let Some(patience) = self.patience.filter(|_| !claim.bind_completed) else {
            return PreBindStep::Done;
        };
        if state.get::<Until>().is_none() {
            state.insert(Until(cycle.now + patience));
        }
        match state.get::<Until>() {
            Some(Until(until)) => PreBindStep::Wait { until: *until },
            None => PreBindStep::Done,
        }
    }
}

impl Plugin for Writer {
    fn name(&self) -> &'static str {
        WRITER
    }
}

impl Reserve for Writer {
    fn reserve(&self, cycle: CycleContext<'_>, state: &mut CycleState, node: &str) -> Result<(), Status> {
        if let Some(claim) = claim_of(cycle.pod) {
            state.reserve_volumes(VolumeReservation {
                volumes: Vec::new(),
                provisioned: vec![claim],
                node: node.into(),
            });
        }
        Ok(())
    }

    fn unreserve(&self, _: &Pod, _: &mut CycleState, _: &str) {}
}

impl PreBind for Writer {
    fn pre_bind(&self, pod: &Pod, _: &CycleState, _: &str) -> PreBindOutcome {
        match claim_of(pod) {
            Some(_) => PreBindOutcome::Steps,
            None => PreBindOutcome::Skip,
        }
    }

    fn step(&self, cycle: CycleContext<'_>, state: &mut CycleState, node: &str, input: PreBindInput) -> PreBindStep {
        let name = claim_of(cycle.pod);
        let Some(claim) = name.and_then(|name| cycle.columns.storage().claim(&name)) else {
            return PreBindStep::Fail("there is no claim".to_owned());
        };
        match input {
            PreBindInput::Begin | PreBindInput::Written(VolumeWritten::PutOff) => {
                match self.write(cycle, claim, node) {
                    Ok(Some(write)) => PreBindStep::Write(write),
                    Ok(None) => self.wait(cycle, state, claim),
                    Err(error) => PreBindStep::Fail(error),
                }
            }
            PreBindInput::Written(VolumeWritten::Refused(error) | VolumeWritten::Unknown(error)) => {
                PreBindStep::Fail(error)
            }
            PreBindInput::Written(VolumeWritten::TermOver) => PreBindStep::Fail("the term is over".to_owned()),
            PreBindInput::Written(VolumeWritten::Done(_)) | PreBindInput::Changed => self.wait(cycle, state, claim),
            PreBindInput::Due => PreBindStep::Fail("in vain".to_owned()),
        }
    }
}

/// A volume that every node reaches.
pub fn volume(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": { "name": name },
        "spec": {
            "capacity": { "storage": "1Gi" },
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "manual",
            "hostPath": { "path": "/data" },
        },
        "status": { "phase": "Available" },
    })
}

/// A claim of namespace `default` that nobody has bound.
pub fn claim(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": { "name": name, "namespace": "default" },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": "1Gi" } },
            "storageClassName": "manual",
        },
    })
}

/// The pod with a claim.
pub fn with_claim(mut pod: Value, claim: &str) -> Value {
    pod["spec"]["volumes"] = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": claim } }]);
    pod
}
