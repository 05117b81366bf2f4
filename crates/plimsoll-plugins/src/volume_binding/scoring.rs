use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_config::UtilizationShapePoint;
use plimsoll_framework::{CycleContext, CycleState, Feasible, Plugin, PreScore, PreScoreOutcome, Score};
use plimsoll_model::columns::{Columns, NodeIndex, NodeSet};
use plimsoll_model::storage::PersistentVolumeClaim;

use super::claims::PodClaims;
use super::delayed::Delayed;
use super::matching::{Choice, Matcher};
use super::provisioning::needed_room;
use super::{NAME, NO_STATE};
use crate::broken_line::BrokenLine;

const FULL: i64 = 100;

/// Scores nodes by how much of the storage that a pod takes there it uses up, behind the gate `StorageCapacityScoring`.
///
/// Differs from kube-scheduler, which fails when a driver tells the size of the largest volume but not what room there is, or
/// when a claim names its class by the old annotation alone.
#[derive(Debug, Clone)]
pub(super) struct CapacityScore {
    /// From used share to score; none without the gate.
    shape: Option<BrokenLine>,
}

/// What is asked of a class, and what there is.
#[derive(Debug, Clone, Copy, Default)]
struct Use {
    requested: i64,
    capacity: i64,
}

type ByClass<'a> = BTreeMap<&'a str, Use>;

impl CapacityScore {
    pub(super) fn new(shape: Option<&[UtilizationShapePoint]>) -> Self {
        Self {
            shape: shape.map(BrokenLine::new),
        }
    }
}

impl Plugin for CapacityScore {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl PreScore for CapacityScore {
    fn pre_score(&self, _: CycleContext<'_>, state: &mut CycleState, _: &Feasible<'_>) -> PreScoreOutcome {
        match (&self.shape, state.get::<PodClaims>()) {
            (None, _) => PreScoreOutcome::Skip,
            (Some(_), None) => PreScoreOutcome::Error(NO_STATE.to_owned()),
            (Some(_), Some(_)) => PreScoreOutcome::Continue,
        }
    }
}

impl Score for CapacityScore {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        state: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        let Some(shape) = &self.shape else { return Ok(()) };
        let claims = state.get::<PodClaims>().ok_or(NO_STATE)?;
        if claims.delayed.is_empty() || !claims.judged.get() {
            return Ok(());
        }
        let nodes: NodeSet = feasible.iter().copied().collect();
        let mut column = vec![0; cycle.columns.capacity()];
        fill(cycle.columns, claims, shape, &nodes, &mut column)?;
        for (node, score) in feasible.iter().zip(scores) {
            *score = column[node.as_usize()];
        }
        Ok(())
    }
}

fn fill(
    columns: &Columns,
    claims: &PodClaims,
    shape: &BrokenLine,
    nodes: &NodeSet,
    column: &mut [i64],
) -> Result<(), String> {
    let delayed = Delayed::of(columns, &claims.delayed);
    let matcher = Matcher::new(columns, delayed.unselected.clone(), delayed.node())?;
    let mut rooms = Rooms::of(columns, claims, nodes);
    matcher.for_each_group(nodes, |group, choice| {
        let mut group_nodes = NodeSet::new();
        group.add_to(&mut group_nodes);
        let bound = of_bindings(&matcher, choice);
        let static_score = (!bound.is_empty()).then(|| mean(shape, &bound));
        for node in &group_nodes {
            column[node.as_usize()] = static_score.unwrap_or_else(|| {
                let unmatched = matcher.claims().zip(choice).filter(|(_, chosen)| chosen.is_none());
                let to_make = delayed
                    .selected
                    .iter()
                    .copied()
                    .chain(unmatched.map(|(claim, _)| claim));
                mean(shape, &rooms.of_node(to_make, node))
            });
        }
    });
    Ok(())
}

fn of_bindings<'a>(matcher: &Matcher<'a>, choice: &Choice<'a>) -> ByClass<'a> {
    let mut by_class = ByClass::new();
    for (claim, volume) in matcher.claims().zip(choice) {
        if let Some(volume) = volume {
            let class = by_class.entry(volume.class.as_str()).or_default();
            class.requested = class.requested.wrapping_add(claim.requested.unwrap_or(0));
            class.capacity = class.capacity.wrapping_add(volume.capacity.unwrap_or(0));
        }
    }
    by_class
}

/// For each claim the room on each node that would take its volume.
struct Rooms<'a> {
    of_claim: Vec<(&'a Arc<PersistentVolumeClaim>, Vec<Option<i64>>)>,
}

impl<'a> Rooms<'a> {
    fn of(columns: &'a Columns, claims: &'a PodClaims, nodes: &NodeSet) -> Self {
        let column = |claim: &Arc<PersistentVolumeClaim>| {
            let mut column = vec![None; columns.capacity()];
            let Some(class) = columns.storage().class(&claim.class) else {
                return column;
            };
            let Some(bytes) = needed_room(columns, claim, class) else {
                return column;
            };
            let mut left = nodes.clone();
            for room in columns.storage().rooms(&claim.class, bytes) {
                let reached = columns.reach(room.topology).within(&left);
                for node in &reached {
                    column[node.as_usize()] = Some(room.capacity.unwrap_or(0));
                }
                left.subtract(&reached);
            }
            column
        };
        Self {
            of_claim: claims.delayed.iter().map(|claim| (claim, column(claim))).collect(),
        }
    }

    /// Of several claims of a class, the room of the last one counts once.
    fn of_node<'c>(
        &mut self,
        claims: impl Iterator<Item = &'c Arc<PersistentVolumeClaim>>,
        node: NodeIndex,
    ) -> ByClass<'c> {
        let mut by_class = ByClass::new();
        for claim in claims {
            let column = self.of_claim.iter().find(|(of, _)| Arc::ptr_eq(of, claim));
            let Some(capacity) = column.and_then(|(_, column)| column[node.as_usize()]) else {
                continue;
            };
            let class = by_class.entry(claim.class.as_str()).or_default();
            class.requested = class.requested.wrapping_add(claim.requested.unwrap_or(0));
            class.capacity = capacity;
        }
        by_class
    }
}

/// The rounded mean over classes.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "kube-scheduler computes this in float64 and rounds, and equal scores matter"
)]
fn mean(shape: &BrokenLine, by_class: &ByClass<'_>) -> i64 {
    if by_class.is_empty() {
        return 0;
    }
    let sum: i64 = by_class.values().map(|class| shape.at(class.share())).sum();
    (sum as f64 / by_class.len() as f64).round() as i64
}

impl Use {
    /// In percent. Wraps where Go does.
    fn share(self) -> i64 {
        if self.capacity == 0 || self.requested > self.capacity {
            return FULL;
        }
        self.requested.wrapping_mul(FULL).wrapping_div(self.capacity)
    }
}
