//! `NodeResourcesFit`: a node must have room for what the pod asks for, and emptier nodes are better (`LeastAllocated`).
//!
//! A node can be short of several things at once. All of them are kept, as bits of the reason code.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_framework::{
    CycleContext, CycleState, Extensions, Filter, FilterPass, MAX_NODE_SCORE, Plugin, PreFilter, PreFilterOutcome,
    ReasonCode, Resolvability, Score,
};
use plimsoll_model::columns::{Columns, NodeIndex};
use plimsoll_model::{Amounts, RequestOptions, pod_requests};
use smallvec::SmallVec;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "NodeResourcesFit";

/// What users read when the node has as many pods as it may have.
pub const TOO_MANY_PODS: &str = "Too many pods";
/// What users read when CPU is short.
pub const INSUFFICIENT_CPU: &str = "Insufficient cpu";
/// What users read when memory is short.
pub const INSUFFICIENT_MEMORY: &str = "Insufficient memory";
/// What users read when ephemeral storage is short.
pub const INSUFFICIENT_EPHEMERAL_STORAGE: &str = "Insufficient ephemeral-storage";

const FIXED: [&str; 4] = [
    TOO_MANY_PODS,
    INSUFFICIENT_CPU,
    INSUFFICIENT_MEMORY,
    INSUFFICIENT_EPHEMERAL_STORAGE,
];
const PODS: u32 = 1;
const CPU: u32 = 1 << 1;
const MEMORY: u32 = 1 << 2;
const EPHEMERAL_STORAGE: u32 = 1 << 3;
/// Bits left for scalar resources; a pod with more of them than that shares the last bit among the rest.
const SCALAR_BITS: usize = ReasonCode::MAX.count_ones() as usize - FIXED.len();

/// Rejects nodes without enough room and prefers emptier ones.
#[derive(Debug, Clone, Copy)]
pub struct NodeResourcesFit;

/// What the pod asks for; written by the pre-filter.
struct PodRequest(Amounts);

/// Where it takes part.
pub fn extensions() -> Extensions {
    let plugin = Arc::new(NodeResourcesFit);
    Extensions::new()
        .pre_filter(plugin.clone())
        .filter(plugin.clone())
        .score(plugin)
}

impl Plugin for NodeResourcesFit {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl PreFilter for NodeResourcesFit {
    fn pre_filter(&self, cycle: CycleContext<'_>, state: &mut CycleState) -> PreFilterOutcome {
        let options = RequestOptions {
            status_aware: false,
            pod_level: true,
            non_zero: false,
        };
        state.insert(PodRequest(pod_requests(cycle.pod, options)));
        PreFilterOutcome::Continue
    }
}

impl Filter for NodeResourcesFit {
    fn filter(&self, cycle: CycleContext<'_>, state: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        let Some(PodRequest(request)) = state.get() else {
            return Err(format!("{NAME} filters without its pre-filter"));
        };
        let demands = Demands::of(request, cycle.columns);
        for node in &pass.feasible().clone() {
            let shortage = demands.shortage(node.as_usize());
            if shortage.bits != 0 {
                pass.reject(node, ReasonCode(shortage.bits), shortage.resolvability());
            }
        }
        Ok(())
    }

    fn judges_nodes_alone(&self) -> bool {
        true
    }

    fn reasons(&self, _: CycleContext<'_>, state: &CycleState, code: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        let mut reasons: SmallVec<[Cow<'static, str>; 1]> = SmallVec::new();
        for (bit, reason) in FIXED.iter().enumerate() {
            if code.0 & (1 << bit) != 0 {
                reasons.push(Cow::Borrowed(reason));
            }
        }
        let Some(PodRequest(request)) = state.get() else {
            return reasons;
        };
        for (position, (name, _)) in request.scalars.iter().filter(|(_, amount)| *amount != 0).enumerate() {
            if code.0 & scalar_bit(position) != 0 {
                reasons.push(Cow::Owned(format!("Insufficient {name}")));
            }
        }
        reasons
    }
}

fn scalar_bit(position: usize) -> u32 {
    1 << (FIXED.len() + position.min(SCALAR_BITS - 1))
}

/// One resource that the pod asks for, with the columns to hold it against; columns that no node has are empty.
struct Demand<'a> {
    bit: u32,
    amount: i64,
    allocatable: &'a [i64],
    requested: &'a [i64],
}

/// Everything that the pod asks of a node.
struct Demands<'a> {
    pod_count: &'a [i64],
    allowed_pods: &'a [i64],
    resources: SmallVec<[Demand<'a>; 4]>,
}

/// What one node is short of.
#[derive(Default)]
struct Shortage {
    bits: u32,
    hopeless: bool,
}

impl<'a> Demands<'a> {
    fn of(request: &Amounts, columns: &'a Columns) -> Self {
        let native = [
            (
                CPU,
                request.milli_cpu,
                columns.allocatable_cpu(),
                columns.requested_cpu(),
            ),
            (
                MEMORY,
                request.memory,
                columns.allocatable_memory(),
                columns.requested_memory(),
            ),
            (
                EPHEMERAL_STORAGE,
                request.ephemeral_storage,
                columns.allocatable_ephemeral_storage(),
                columns.requested_ephemeral_storage(),
            ),
        ];
        let native = native.into_iter().filter(|(_, amount, ..)| *amount > 0);
        let scalars = request.scalars.iter().filter(|(_, amount)| *amount != 0).enumerate();
        let scalars = scalars.map(|(position, (name, amount))| {
            let column = columns.scalar(name);
            let (allocatable, requested) =
                column.map_or((&[][..], &[][..]), |column| (column.allocatable, column.requested));
            (scalar_bit(position), *amount, allocatable, requested)
        });
        let resources = native
            .chain(scalars)
            .map(|(bit, amount, allocatable, requested)| Demand {
                bit,
                amount,
                allocatable,
                requested,
            })
            .collect();
        Self {
            pod_count: columns.pod_count(),
            allowed_pods: columns.allowed_pods(),
            resources,
        }
    }

    fn shortage(&self, node: usize) -> Shortage {
        let mut shortage = Shortage::default();
        if at(self.pod_count, node).saturating_add(1) > at(self.allowed_pods, node) {
            shortage.bits |= PODS;
        }
        for demand in &self.resources {
            let allocatable = at(demand.allocatable, node);
            if demand.amount > allocatable.saturating_sub(at(demand.requested, node)) {
                shortage.bits |= demand.bit;
                shortage.hopeless |= demand.amount > allocatable;
            }
        }
        shortage
    }
}

impl Shortage {
    /// Removing pods cannot help where the pod would not even fit an empty node.
    fn resolvability(&self) -> Resolvability {
        if self.hopeless {
            Resolvability::Unresolvable
        } else {
            Resolvability::Resolvable
        }
    }
}

fn at(column: &[i64], node: usize) -> i64 {
    column.get(node).copied().unwrap_or(0)
}

impl Score for NodeResourcesFit {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        _: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        // As in kube-scheduler, pod-level resources and the status do not count here, though they do in the filter.
        let options = RequestOptions {
            status_aware: false,
            pod_level: false,
            non_zero: true,
        };
        let request = pod_requests(cycle.pod, options);
        let columns = cycle.columns;
        let (cpu, memory) = (columns.allocatable_cpu(), columns.allocatable_memory());
        let (used_cpu, used_memory) = (columns.non_zero_cpu(), columns.non_zero_memory());
        for (node, score) in feasible.iter().zip(scores) {
            let node = node.as_usize();
            *score = least_allocated([
                (at(used_cpu, node).wrapping_add(request.milli_cpu), at(cpu, node)),
                (at(used_memory, node).wrapping_add(request.memory), at(memory, node)),
            ]);
        }
        Ok(())
    }
}

/// Mean free share in percent over (requested, allocatable), resources that the node does not have left out.
fn least_allocated(resources: [(i64, i64); 2]) -> i64 {
    let mut sum = 0;
    let mut weights = 0;
    for (requested, allocatable) in resources {
        if allocatable == 0 {
            continue;
        }
        weights += 1;
        if requested <= allocatable {
            sum += allocatable.wrapping_sub(requested).wrapping_mul(MAX_NODE_SCORE) / allocatable;
        }
    }
    if weights == 0 { 0 } else { sum / weights }
}

#[cfg(test)]
mod tests;
