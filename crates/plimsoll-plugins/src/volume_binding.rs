//! `VolumeBinding`: a pod goes where its volumes are, or where they can be made, and is bound once it has them.
//!
//! Claims that have a volume hold the pod to the nodes that reach it. Claims that wait for a pod to get a node
//! (`WaitForFirstConsumer`) find a volume there, the smallest that suits, or have one made. What the pod's node gets is
//! reserved with the pod's claim on the node, written before it is bound, and waited for.
//!
//! Differs from kube-scheduler in what is written in `docs/differences.md` under its name.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::{FeatureGates, Gate, PluginArgs, VolumeBindingArgs};
use plimsoll_framework::{
    Construction, CycleContext, CycleState, Extensions, Filter, FilterPass, Plugin, PodsSeen, PreFilter,
    PreFilterOutcome, Prepare, ReasonCode, Reasons, Reserve, Status, VolumeStage,
};
use plimsoll_model::Pod;
use plimsoll_model::columns::Columns;

use crate::validated::validated;

mod adopting;
mod claims;
mod delayed;
mod filtering;
mod matching;
mod pre_binding;
mod provisioning;
mod queueing_hint;
mod reaching;
mod reserving;
mod scoring;
#[cfg(test)]
mod tests;

pub use claims::UNBOUND_IMMEDIATE;
pub use filtering::{BIND_CONFLICT, NODE_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING};

use claims::{PodClaims, claim_names};
use filtering::{REASONS, rejected};
use pre_binding::Binding;
use reserving::Decided;
use scoring::CapacityScore;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "VolumeBinding";

/// What kube-scheduler says when an extension point is asked without the pre-filter of the same cycle.
const NO_STATE: &str = "not found";

/// Finds, reserves and binds the volumes of pods.
#[derive(Debug, Clone)]
pub struct VolumeBinding {
    bind_timeout: Duration,
}

/// Makes the plugin with the arguments of a profile, or without any.
pub fn construct(with: &Construction<'_>) -> Result<Extensions, String> {
    validated(with)?;
    let defaults = VolumeBindingArgs::with_gates(with.gates);
    let args = match with.args {
        None => &defaults,
        Some(PluginArgs::VolumeBinding(args)) => args,
        Some(_) => return Err("args are not of type VolumeBindingArgs".to_owned()),
    };
    let seconds = u64::try_from(args.bind_timeout_seconds).unwrap_or_default();
    let plugin = Arc::new(VolumeBinding {
        bind_timeout: Duration::from_secs(seconds),
    });
    let scoring = Arc::new(CapacityScore::new(shape(args, with.gates)));
    Ok(Extensions::new()
        .enqueue(plugin.clone())
        .prepare(plugin.clone())
        .pre_filter(plugin.clone())
        .filter(plugin.clone())
        .pre_score(scoring.clone())
        .score(scoring)
        .reserve(plugin.clone())
        .adopt(plugin.clone())
        .pre_bind(plugin))
}

impl Plugin for VolumeBinding {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Prepare for VolumeBinding {
    fn prepare(&self, pod: &Pod, columns: &mut Columns) {
        for (claim, _) in claim_names(pod) {
            columns.prepare_claim(&claim);
        }
    }
}

impl PreFilter for VolumeBinding {
    fn pre_filter(&self, cycle: CycleContext<'_>, state: &mut CycleState) -> PreFilterOutcome {
        match PodClaims::of(cycle) {
            Ok(Some(claims)) => {
                state.insert(claims);
                PreFilterOutcome::Continue
            }
            Ok(None) => {
                state.insert(PodClaims::default());
                PreFilterOutcome::Skip
            }
            Err(status) => PreFilterOutcome::Stop(status),
        }
    }
}

impl Filter for VolumeBinding {
    fn filter(&self, cycle: CycleContext<'_>, state: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        let claims = state.get::<PodClaims>().ok_or(NO_STATE)?;
        claims.judged.set(true);
        match rejected(cycle.columns, claims, pass.feasible()) {
            Ok(rejected) => rejected.tell(pass),
            Err(error) => {
                state.note_volume_error(VolumeStage::Predicate);
                return Err(error);
            }
        }
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, code: ReasonCode) -> Reasons {
        let held = REASONS.iter().filter(|(bit, _)| code.0 & bit != 0);
        held.map(|(_, text)| Cow::Borrowed(*text)).collect()
    }

    fn judges_nodes_alone(&self) -> bool {
        true
    }

    fn pods_seen(&self) -> PodsSeen {
        PodsSeen::Nothing
    }
}

impl Reserve for VolumeBinding {
    fn reserve(&self, cycle: CycleContext<'_>, state: &mut CycleState, node: &str) -> Result<(), Status> {
        let Some(claims) = state.get::<PodClaims>() else {
            return Err(Status::error(NAME, NO_STATE));
        };
        if claims.delayed.is_empty() || !claims.judged.get() {
            return Ok(());
        }
        let index = cycle.columns.index_of(node);
        let index = index.ok_or_else(|| Status::error(NAME, format!("no pod volume found for node {node:?}")))?;
        let decided = Decided::on(cycle.columns, claims, index).map_err(|error| {
            state.note_volume_error(VolumeStage::Assume);
            Status::error(NAME, error)
        })?;
        state.reserve_volumes(decided.reservation(node));
        state.insert(Binding::new(decided));
        Ok(())
    }

    /// What was reserved ends with the pod's claim on the node.
    fn unreserve(&self, _: &Pod, _: &mut CycleState, _: &str) {}
}

fn shape<'a>(
    args: &'a VolumeBindingArgs,
    gates: &FeatureGates,
) -> Option<&'a [plimsoll_config::UtilizationShapePoint]> {
    let with_gate = gates.enabled(Gate::StorageCapacityScoring);
    with_gate.then(|| args.shape.as_deref().unwrap_or_default())
}
