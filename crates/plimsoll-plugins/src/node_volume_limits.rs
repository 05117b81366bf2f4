//! `NodeVolumeLimits`: a node attaches no more volumes of a CSI driver than the driver says it can.
//!
//! The columns keep for each driver how many volumes each node has; a cycle compares two columns. In-tree volumes count as
//! the CSI volumes that they have become, wherever CSI drivers say something of the node.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_config::Gate;
use plimsoll_framework::{
    Action, ClusterEvent, Construction, CycleContext, CycleState, EnqueueExtensions, EventObjects, EventResource,
    Extensions, Filter, FilterPass, Plugin, PreFilter, PreFilterOutcome, QueueingHint, ReasonCode, Resolvability,
};
use plimsoll_model::columns::{AttachableVolume, Columns, NodeIndex, NodeSet};
use plimsoll_model::{Pod, VolumeKind};
use smallvec::{SmallVec, smallvec};

mod queueing_hint;
#[cfg(test)]
mod tests;
mod wanted;

use wanted::{Trouble, Wanted};

/// Name in profiles, metrics and messages.
pub const NAME: &str = "NodeVolumeLimits";

/// What users read of a node that can't attach the pod's volumes too.
pub const REASON: &str = "node(s) exceed max volume count";

const FULL: ReasonCode = ReasonCode(0);
/// A claim of the pod is not there.
const NO_CLAIM: ReasonCode = ReasonCode(1);
/// The first of the codes for drivers that are not there: for each of the pod's volumes one on nodes of which CSI drivers say
/// something, and one on others.
const NO_DRIVER: u32 = 2;

/// Rejects nodes that can't attach the pod's volumes.
#[derive(Debug, Clone, Copy)]
pub struct NodeVolumeLimits {
    /// Gate `VolumeLimitScaling`: drivers may insist on being on the node.
    drivers_may_insist: bool,
}

/// Makes it.
pub fn construct(with: &Construction<'_>) -> Result<Extensions, String> {
    let plugin = Arc::new(NodeVolumeLimits {
        drivers_may_insist: with.gates.enabled(Gate::VolumeLimitScaling),
    });
    Ok(Extensions::new()
        .enqueue(plugin.clone())
        .pre_filter(plugin.clone())
        .filter(plugin))
}

/// Whether a volume may be one that a CSI driver attaches.
fn may_be_attached(volume: &VolumeKind) -> bool {
    match volume {
        VolumeKind::PersistentVolumeClaim { .. }
        | VolumeKind::Ephemeral { .. }
        | VolumeKind::GcePersistentDisk { .. }
        | VolumeKind::AwsElasticBlockStore { .. }
        | VolumeKind::InTree(_) => true,
        VolumeKind::Image { .. } | VolumeKind::Csi { .. } | VolumeKind::Iscsi { .. } | VolumeKind::Rbd { .. } => false,
    }
}

impl Plugin for NodeVolumeLimits {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl PreFilter for NodeVolumeLimits {
    fn pre_filter(&self, cycle: CycleContext<'_>, state: &mut CycleState) -> PreFilterOutcome {
        if !cycle.pod.spec.volumes.iter().any(may_be_attached) {
            return PreFilterOutcome::Skip;
        }
        state.insert(WantedVolumes::of(cycle.pod, cycle.columns));
        PreFilterOutcome::Continue
    }
}

/// What a pod wants attached, on nodes of which CSI drivers say something and on others.
struct WantedVolumes {
    on_csi_nodes: Wanted,
    elsewhere: Wanted,
}

impl WantedVolumes {
    fn of(pod: &Pod, columns: &Columns) -> Self {
        Self {
            on_csi_nodes: Wanted::of(pod, columns.storage(), true),
            elsewhere: Wanted::of(pod, columns.storage(), false),
        }
    }
}

impl Filter for NodeVolumeLimits {
    fn filter(&self, cycle: CycleContext<'_>, state: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        let made;
        let wanted = if let Some(wanted) = state.get::<WantedVolumes>() {
            wanted
        } else {
            made = WantedVolumes::of(cycle.pod, cycle.columns);
            &made
        };
        let mut on_csi_nodes = pass.feasible().clone();
        on_csi_nodes.intersect_with(cycle.columns.csi_nodes());
        let mut elsewhere = pass.feasible().clone();
        elsewhere.subtract(cycle.columns.csi_nodes());
        let halves = [(&wanted.on_csi_nodes, on_csi_nodes), (&wanted.elsewhere, elsewhere)];
        for (first_code, (wanted, nodes)) in (NO_DRIVER..).zip(halves) {
            if nodes.is_empty() {
                continue;
            }
            let volumes = match wanted {
                Wanted::Volumes(volumes) => volumes,
                Wanted::Trouble(Trouble::Failure(text)) => return Err(text.clone()),
                Wanted::Trouble(Trouble::NoClaim(_)) => {
                    pass.reject_set(&nodes, NO_CLAIM, Resolvability::Unresolvable);
                    continue;
                }
            };
            if self.drivers_may_insist {
                insist(volumes, first_code, &nodes, cycle.columns, pass);
            }
            for of_driver in volumes.chunk_by(|one, other| one.driver == other.driver) {
                keep_limit(of_driver, &nodes, cycle.columns, pass);
            }
        }
        Ok(())
    }

    fn judges_nodes_alone(&self) -> bool {
        true
    }

    fn reasons(&self, cycle: CycleContext<'_>, _: &CycleState, code: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        let reason = match code {
            FULL => Cow::Borrowed(REASON),
            code => Cow::Owned(other_reason(code, cycle).unwrap_or_default()),
        };
        smallvec![reason]
    }

    fn lacking(&self, cycle: CycleContext<'_>, _: &CycleState, node: NodeIndex) -> Vec<String> {
        let on_csi_node = cycle.columns.csi_nodes().contains(node);
        let Wanted::Volumes(volumes) = Wanted::of(cycle.pod, cycle.columns.storage(), on_csi_node) else {
            return Vec::new();
        };
        let by_driver = volumes.chunk_by(|one, other| one.driver == other.driver);
        by_driver
            .filter_map(|of_driver| shortage(of_driver, node, cycle.columns))
            .collect()
    }
}

/// Of how many volumes of one driver the node has too many, in words.
fn shortage(volumes: &[AttachableVolume], node: NodeIndex, columns: &Columns) -> Option<String> {
    let driver = &volumes.first()?.driver;
    let column = columns.attach_column(driver)?;
    let limit = i64::from(column.limit(node)?);
    let is_new = |volume: &&AttachableVolume| !columns.nodes_using(volume).any(|user| user == node);
    let new = i64::try_from(volumes.iter().filter(is_new).count()).unwrap_or(i64::MAX);
    let used = i64::from(column.used(node));
    let short = new > 0 && new.saturating_add(used) > limit;
    short.then(|| format!("CSI driver {driver}: needs {new} more volumes, {used} of {limit} are in use"))
}

/// Rejects nodes without a driver that wants pods nowhere else.
fn insist(
    volumes: &[AttachableVolume],
    first_code: u32,
    nodes: &NodeSet,
    columns: &Columns,
    pass: &mut FilterPass<'_>,
) {
    for (code, volume) in (first_code..).step_by(2).zip(volumes) {
        let driver = columns.storage().driver(&volume.driver);
        if !driver.is_some_and(|driver| driver.prevents_scheduling_if_missing) {
            continue;
        }
        let mut without = nodes.clone();
        if let Some(column) = columns.attach_column(&volume.driver) {
            without.subtract(column.installed());
        }
        pass.reject_set(&without, ReasonCode(code), Resolvability::Resolvable);
    }
}

/// Rejects nodes that can't attach these volumes of one driver. What pods there use already is no new volume; what is merely
/// attached is one, as in kube-scheduler.
fn keep_limit(volumes: &[AttachableVolume], nodes: &NodeSet, columns: &Columns, pass: &mut FilterPass<'_>) {
    let Some(column) = volumes.first().and_then(|volume| columns.attach_column(&volume.driver)) else {
        return;
    };
    let mut in_use: Vec<NodeIndex> = volumes.iter().flat_map(|volume| columns.nodes_using(volume)).collect();
    in_use.sort_unstable();
    for node in nodes {
        let Some(limit) = column.limit(node) else { continue };
        let is_full = |new: usize| {
            let new = i64::try_from(new).unwrap_or(i64::MAX);
            new > 0 && new.saturating_add(column.used(node).into()) > limit.into()
        };
        if is_full(volumes.len()) && is_full(volumes.len() - occurrences(&in_use, node)) {
            pass.reject(node, FULL, Resolvability::Resolvable);
        }
    }
}

/// How often a node is in a sorted list.
fn occurrences(nodes: &[NodeIndex], node: NodeIndex) -> usize {
    let first = nodes.partition_point(|other| *other < node);
    nodes[first..].iter().take_while(|other| **other == node).count()
}

/// The text of a code that depends on the pod.
fn other_reason(code: ReasonCode, cycle: CycleContext<'_>) -> Option<String> {
    let WantedVolumes {
        on_csi_nodes,
        elsewhere,
    } = WantedVolumes::of(cycle.pod, cycle.columns);
    let either = [on_csi_nodes, elsewhere];
    if code == NO_CLAIM {
        return either.into_iter().find_map(|wanted| match wanted {
            Wanted::Trouble(Trouble::NoClaim(text)) => Some(text),
            _ => None,
        });
    }
    let place = usize::try_from(code.0.checked_sub(NO_DRIVER)?).ok()?;
    match &either[place % 2] {
        Wanted::Volumes(volumes) => {
            let driver = &volumes.get(place / 2)?.driver;
            Some(format!("{driver} CSI driver is not installed on the node"))
        }
        Wanted::Trouble(_) => None,
    }
}

impl EnqueueExtensions for NodeVolumeLimits {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        let mut events = vec![
            ClusterEvent::new(EventResource::Node, Action::ADD),
            ClusterEvent::new(EventResource::CsiNode, Action::ADD | Action::UPDATE | Action::DELETE),
            ClusterEvent::new(EventResource::Pod, Action::DELETE),
            ClusterEvent::new(EventResource::PersistentVolumeClaim, Action::ADD | Action::UPDATE),
            ClusterEvent::new(EventResource::VolumeAttachment, Action::DELETE),
        ];
        if self.drivers_may_insist {
            events.push(ClusterEvent::new(
                EventResource::CsiDriver,
                Action::UPDATE | Action::DELETE,
            ));
        }
        events
    }

    fn may_help_some_pod(&self, registered: ClusterEvent, _: ClusterEvent, objects: &EventObjects) -> bool {
        queueing_hint::may_help_some_pod(registered, objects)
    }

    fn reads_labels(&self) -> bool {
        false
    }

    fn queueing_hint(
        &self,
        registered: ClusterEvent,
        _: ClusterEvent,
        pod: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        queueing_hint::hint(registered, pod, objects)
    }
}
