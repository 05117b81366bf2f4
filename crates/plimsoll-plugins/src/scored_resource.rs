//! A resource by which nodes are scored, and the columns that hold it.

use plimsoll_config::ResourceWeight;
use plimsoll_model::columns::{Columns, Figures};
use plimsoll_model::{Amounts, is_scalar_resource};
use smallvec::SmallVec;

/// A resource that a profile names for scoring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScoredResource {
    kind: Kind,
    weight: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Cpu,
    Memory,
    EphemeralStorage,
    Scalar(String),
    /// No node has it and no pod asks for it, as far as the scheduler accounts.
    Unaccounted,
}

/// Whether containers that ask for no cpu or memory count with defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// With kube-scheduler's defaults.
    AsDefault,
    /// As nothing.
    AsZero,
}

impl ScoredResource {
    /// The resources of a profile, in its order.
    pub(crate) fn all(configured: &[ResourceWeight]) -> Vec<Self> {
        configured.iter().map(Self::new).collect()
    }

    fn new(configured: &ResourceWeight) -> Self {
        let kind = match configured.name.as_str() {
            "cpu" => Kind::Cpu,
            "memory" => Kind::Memory,
            "ephemeral-storage" => Kind::EphemeralStorage,
            name if is_scalar_resource(name) => Kind::Scalar(name.to_owned()),
            _ => Kind::Unaccounted,
        };
        Self {
            kind,
            weight: configured.weight,
        }
    }

    /// What a pod with these requests asks of it.
    pub(crate) fn asked(&self, requests: &Amounts) -> i64 {
        match &self.kind {
            Kind::Cpu => requests.milli_cpu,
            Kind::Memory => requests.memory,
            Kind::EphemeralStorage => requests.ephemeral_storage,
            Kind::Scalar(name) => requests.scalar(name),
            Kind::Unaccounted => 0,
        }
    }

    /// Where the columns hold it; none when it counts on no node: scalar resources that the pod does not ask for don't.
    pub(crate) fn load<'a>(&self, requests: &Amounts, columns: &'a Columns, missing: Missing) -> Option<Load<'a>> {
        let defaults = missing == Missing::AsDefault;
        let asked = self.asked(requests);
        let (used, allocatable): (&[i64], &[i64]) = match &self.kind {
            Kind::Cpu if defaults => (columns.non_zero_cpu(), columns.allocatable_cpu()),
            Kind::Cpu => (columns.requested_cpu(), columns.allocatable_cpu()),
            Kind::Memory if defaults => (columns.non_zero_memory(), columns.allocatable_memory()),
            Kind::Memory => (columns.requested_memory(), columns.allocatable_memory()),
            Kind::EphemeralStorage => (
                columns.requested_ephemeral_storage(),
                columns.allocatable_ephemeral_storage(),
            ),
            Kind::Scalar(name) if asked != 0 => {
                let column = columns.scalar(name)?;
                return Some(Load {
                    asked,
                    weight: self.weight,
                    used: column.requested,
                    allocatable: column.allocatable,
                });
            }
            Kind::Scalar(_) | Kind::Unaccounted => return None,
        };
        Some(Load {
            asked,
            weight: self.weight,
            used: used.into(),
            allocatable: allocatable.into(),
        })
    }
}

/// The resources that count for a pod, one entry each.
pub(crate) type Loads<'a> = SmallVec<[Load<'a>; 4]>;

/// The resources of a profile that count for a pod with these requests.
pub(crate) fn loads<'a>(
    resources: &[ScoredResource],
    requests: &Amounts,
    columns: &'a Columns,
    missing: Missing,
) -> Loads<'a> {
    resources
        .iter()
        .filter_map(|resource| resource.load(requests, columns, missing))
        .collect()
}

/// One resource over all nodes, and what the pod adds to its use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load<'a> {
    pub(crate) asked: i64,
    pub(crate) weight: i64,
    used: Figures<'a>,
    allocatable: Figures<'a>,
}

impl Load<'_> {
    /// What is in use on a node and what there is of it; none when the node does not have it.
    pub(crate) fn on(&self, node: usize) -> Option<(i64, i64)> {
        let allocatable = self.allocatable.at(node);
        (allocatable != 0).then(|| (self.used.at(node), allocatable))
    }
}
