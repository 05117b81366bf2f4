//! `NodeResourcesFit`: a node must have room for what the pod asks for, and emptier (or fuller) nodes are better.
//!
//! A node can be short of several things at once. All of them are kept, as bits of the reason code.
//!
//! Requests of a pod as a whole count whatever the gate `PodLevelResources` says: the columns count them for pods on nodes,
//! and a kubelet that knows them holds to them.

use std::borrow::Cow;
use std::sync::Arc;

use compact_str::CompactString;
use plimsoll_config::{Gate, NodeResourcesFitArgs, PluginArgs};
use plimsoll_framework::{
    Construction, CycleContext, CycleState, Extensions, Feasible, Filter, FilterPass, Plugin, PodsSeen, PreFilter,
    PreFilterOutcome, PreScore, PreScoreOutcome, ReasonCode, Resolvability, Score,
};
use plimsoll_model::columns::{Columns, Figures, NodeIndex};
use plimsoll_model::{Amounts, Pod, RequestOptions, is_extended_resource, pod_requests};
use smallvec::SmallVec;

use crate::validated::validated;

mod lacking;
mod queueing_hint;
mod strategy;

pub(crate) use strategy::ResourceScore;

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

/// Rejects nodes without enough room and prefers emptier or fuller ones.
#[derive(Debug, Clone)]
pub struct NodeResourcesFit {
    ignored_resources: Vec<String>,
    ignored_groups: Vec<String>,
    scoring: ResourceScore,
    /// Whether device classes may stand for extended resources.
    device_classes: bool,
}

/// What the pod asks for; written by the pre-filter.
struct PodRequest(Amounts);

/// What the pod counts for in scores; written by the pre-score.
struct ScoredRequest(Amounts);

/// Makes the plugin with the arguments of a profile, or with the default ones.
pub fn construct(with: &Construction<'_>) -> Result<Extensions, String> {
    validated(with)?;
    let defaults = NodeResourcesFitArgs::default();
    let args = match with.args {
        None => &defaults,
        Some(PluginArgs::NodeResourcesFit(args)) => args,
        Some(_) => return Err("want args to be of type NodeResourcesFitArgs".to_owned()),
    };
    let plugin = Arc::new(NodeResourcesFit {
        device_classes: with.gates.enabled(Gate::DRAExtendedResource),
        ..NodeResourcesFit::new(args)?
    });
    Ok(Extensions::new()
        .enqueue(plugin.clone())
        .pre_filter(plugin.clone())
        .filter(plugin.clone())
        .pre_score(plugin.clone())
        .score(plugin))
}

impl NodeResourcesFit {
    fn new(args: &NodeResourcesFitArgs) -> Result<Self, String> {
        let Some(scoring) = &args.scoring_strategy else {
            return Err("scoring strategy not specified".to_owned());
        };
        Ok(Self {
            ignored_resources: args.ignored_resources.clone(),
            ignored_groups: args.ignored_resource_groups.clone(),
            scoring: ResourceScore::new(scoring)?,
            device_classes: false,
        })
    }

    /// The scalar resources that a node must have, in the order of their bits.
    fn wanted_scalars<'a>(&self, request: &'a Amounts) -> impl Iterator<Item = (u32, &'a CompactString, i64)> {
        let wanted = request
            .scalars
            .iter()
            .filter(|(name, amount)| *amount != 0 && !self.ignores(name));
        wanted
            .enumerate()
            .map(|(position, (name, amount))| (scalar_bit(position), name, *amount))
    }

    /// Only extended resources can be left to others.
    fn ignores(&self, name: &str) -> bool {
        let group = name.split('/').next().unwrap_or_default();
        is_extended_resource(name)
            && (self.ignored_resources.iter().any(|ignored| ignored == name)
                || self.ignored_groups.iter().any(|ignored| ignored == group))
    }
}

impl Plugin for NodeResourcesFit {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl PreFilter for NodeResourcesFit {
    fn pre_filter(&self, cycle: CycleContext<'_>, state: &mut CycleState) -> PreFilterOutcome {
        state.insert(PodRequest(pod_requests(cycle.pod, RequestOptions::INCOMING)));
        PreFilterOutcome::Continue
    }
}

impl Filter for NodeResourcesFit {
    fn filter(&self, cycle: CycleContext<'_>, state: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        let Some(PodRequest(request)) = state.get() else {
            return Err(format!("error reading \"PreFilter{NAME}\" from cycleState: not found"));
        };
        let demands = self.demands(request, cycle.columns);
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

    fn follows_rows(&self) -> bool {
        true
    }

    fn pods_seen(&self) -> PodsSeen {
        PodsSeen::Requests
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
        for (bit, name, _) in self.wanted_scalars(request) {
            if code.0 & bit != 0 {
                reasons.push(Cow::Owned(format!("Insufficient {name}")));
            }
        }
        reasons
    }

    fn lacking(&self, cycle: CycleContext<'_>, state: &CycleState, node: NodeIndex) -> Vec<String> {
        let request = state.get().map(|PodRequest(request)| request);
        request.map_or_else(Vec::new, |request| {
            self.demands(request, cycle.columns).in_words(node.as_usize())
        })
    }

    fn distance(&self, cycle: CycleContext<'_>, state: &CycleState, node: NodeIndex) -> u32 {
        let request = state.get().map(|PodRequest(request)| request);
        request.map_or(0, |request| {
            self.demands(request, cycle.columns).distance(node.as_usize())
        })
    }
}

fn scalar_bit(position: usize) -> u32 {
    1 << (FIXED.len() + position.min(SCALAR_BITS - 1))
}

/// One resource that the pod asks for, with the columns to hold it against; columns that no node has are zero.
struct Demand<'a> {
    name: &'a str,
    bit: u32,
    amount: i64,
    allocatable: Figures<'a>,
    requested: Figures<'a>,
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

impl NodeResourcesFit {
    fn demands<'a>(&self, request: &'a Amounts, columns: &'a Columns) -> Demands<'a> {
        let native = [
            (
                "cpu",
                CPU,
                request.milli_cpu,
                columns.allocatable_cpu(),
                columns.requested_cpu(),
            ),
            (
                "memory",
                MEMORY,
                request.memory,
                columns.allocatable_memory(),
                columns.requested_memory(),
            ),
            (
                "ephemeral-storage",
                EPHEMERAL_STORAGE,
                request.ephemeral_storage,
                columns.allocatable_ephemeral_storage(),
                columns.requested_ephemeral_storage(),
            ),
        ];
        let native = native.into_iter().filter(|(_, _, amount, ..)| *amount > 0).map(
            |(name, bit, amount, allocatable, requested)| (name, bit, amount, allocatable.into(), requested.into()),
        );
        let scalars = self.wanted_scalars(request).map(|(bit, name, amount)| {
            let column = columns.scalar(name);
            let (allocatable, requested) = column.map_or((Figures::NONE, Figures::NONE), |column| {
                (column.allocatable, column.requested)
            });
            (name.as_str(), bit, amount, allocatable, requested)
        });
        let resources = native
            .chain(scalars)
            .map(|(name, bit, amount, allocatable, requested)| Demand {
                name,
                bit,
                amount,
                allocatable,
                requested,
            })
            .collect();
        Demands {
            pod_count: columns.pod_count(),
            allowed_pods: columns.allowed_pods(),
            resources,
        }
    }
}

impl Demands<'_> {
    fn shortage(&self, node: usize) -> Shortage {
        let mut shortage = Shortage::default();
        if at(self.pod_count, node).saturating_add(1) > at(self.allowed_pods, node) {
            shortage.bits |= PODS;
        }
        for demand in &self.resources {
            let allocatable = demand.allocatable.at(node);
            if demand.amount > allocatable.saturating_sub(demand.requested.at(node)) {
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

/// As in kube-scheduler, pod-level resources and the status do not count here, though they do in the filter.
pub(crate) fn scored_request(pod: &Pod) -> Amounts {
    let options = RequestOptions {
        status_aware: false,
        pod_level: false,
        non_zero: true,
    };
    pod_requests(pod, options)
}

impl PreScore for NodeResourcesFit {
    fn pre_score(&self, cycle: CycleContext<'_>, state: &mut CycleState, _: &Feasible<'_>) -> PreScoreOutcome {
        state.insert(ScoredRequest(scored_request(cycle.pod)));
        PreScoreOutcome::Continue
    }
}

impl Score for NodeResourcesFit {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        state: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        // A profile can leave the pre-score out.
        let request = match state.get() {
            Some(ScoredRequest(request)) => Cow::Borrowed(request),
            None => Cow::Owned(scored_request(cycle.pod)),
        };
        self.scoring.score(&request, cycle.columns, feasible, scores)
    }

    fn follows_rows(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
