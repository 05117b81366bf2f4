use std::collections::BTreeMap;

use compact_str::CompactString;

use super::priority_levels::{Level, PriorityLevels};
use super::sparse_column::{Figures, SparseColumn};
use super::sum_column::{SparseSums, SumColumn};
use super::{NodeIndex, NodeSet};
use crate::requests::ScalarAmounts;
use crate::{Allocatable, Footprint};

/// What nodes have and what their pods request.
#[derive(Debug, Clone, Default)]
pub(super) struct ResourceColumns {
    pub(super) allocatable_cpu: Vec<i64>,
    pub(super) allocatable_memory: Vec<i64>,
    pub(super) allocatable_ephemeral_storage: Vec<i64>,
    pub(super) allowed_pods: Vec<i64>,
    pub(super) requested_cpu: SumColumn,
    pub(super) requested_memory: SumColumn,
    pub(super) requested_ephemeral_storage: SumColumn,
    pub(super) non_zero_cpu: SumColumn,
    pub(super) non_zero_memory: SumColumn,
    pod_count: Vec<i64>,
    levels: PriorityLevels,
    scalars: BTreeMap<CompactString, Scalar>,
    /// The scalars that each node names, to take them out again.
    scalars_of_node: Vec<ScalarAmounts>,
}

#[derive(Debug, Clone)]
struct Scalar {
    allocatable: SparseColumn,
    requested: SparseSums,
    /// How many nodes and pods name it; at 0 the column goes away.
    users: usize,
}

/// One scalar resource over all nodes.
#[derive(Debug, Clone, Copy)]
pub struct ScalarColumn<'a> {
    /// What pods may use.
    pub allocatable: Figures<'a>,
    /// What the pods there request.
    pub requested: Figures<'a>,
}

impl ResourceColumns {
    pub(super) fn grow(&mut self, length: usize) {
        for column in [
            &mut self.allocatable_cpu,
            &mut self.allocatable_memory,
            &mut self.allocatable_ephemeral_storage,
            &mut self.allowed_pods,
            &mut self.pod_count,
        ] {
            column.resize(length, 0);
        }
        for column in [
            &mut self.requested_cpu,
            &mut self.requested_memory,
            &mut self.requested_ephemeral_storage,
            &mut self.non_zero_cpu,
            &mut self.non_zero_memory,
        ] {
            column.grow(length);
        }
        for scalar in self.scalars.values_mut() {
            scalar.allocatable.grow(length);
            scalar.requested.grow(length);
        }
        self.scalars_of_node.resize(length, ScalarAmounts::new());
        self.levels.grow(length);
    }

    pub(super) fn pod_count(&self) -> &[i64] {
        &self.pod_count
    }

    pub(super) fn scalar(&self, name: &str) -> Option<ScalarColumn<'_>> {
        let scalar = self.scalars.get(name)?;
        Some(ScalarColumn {
            allocatable: scalar.allocatable.figures(),
            requested: scalar.requested.figures(),
        })
    }

    /// Whether anything changed.
    pub(super) fn set_allocatable(&mut self, row: NodeIndex, allocatable: &Allocatable) -> bool {
        let Allocatable { amounts, pods } = allocatable;
        let cells = [
            (&mut self.allocatable_cpu, amounts.milli_cpu),
            (&mut self.allocatable_memory, amounts.memory),
            (&mut self.allocatable_ephemeral_storage, amounts.ephemeral_storage),
            (&mut self.allowed_pods, *pods),
        ];
        let mut changed = false;
        for (column, amount) in cells {
            changed |= std::mem::replace(&mut column[row.as_usize()], amount) != amount;
        }
        self.set_allocatable_scalars(row, &amounts.scalars) || changed
    }

    fn set_allocatable_scalars(&mut self, row: NodeIndex, scalars: &ScalarAmounts) -> bool {
        if self.scalars_of_node[row.as_usize()] == *scalars {
            return false;
        }
        for (name, amount) in scalars {
            let scalar = self.use_scalar(name);
            scalar.allocatable.set(row, *amount);
        }
        let before = std::mem::replace(&mut self.scalars_of_node[row.as_usize()], scalars.clone());
        for (name, _) in &before {
            let still_named = scalars.iter().any(|(kept, _)| kept == name);
            self.unuse_scalar(name, |scalar| {
                if !still_named {
                    scalar.allocatable.set(row, 0);
                }
            });
        }
        true
    }

    pub(super) fn add_pod(&mut self, row: NodeIndex, footprint: &Footprint) {
        let requests = &footprint.requests;
        self.requested_cpu.add(row, requests.milli_cpu);
        self.requested_memory.add(row, requests.memory);
        self.requested_ephemeral_storage.add(row, requests.ephemeral_storage);
        self.non_zero_cpu.add(row, footprint.non_zero_cpu);
        self.non_zero_memory.add(row, footprint.non_zero_memory);
        for (name, amount) in &requests.scalars {
            self.use_scalar(name).requested.change(row, (*amount).into());
        }
        self.pod_count[row.as_usize()] += 1;
        self.levels.add(row, footprint);
    }

    pub(super) fn remove_pod(&mut self, row: NodeIndex, footprint: &Footprint) {
        let requests = &footprint.requests;
        self.requested_cpu.subtract(row, requests.milli_cpu);
        self.requested_memory.subtract(row, requests.memory);
        self.requested_ephemeral_storage
            .subtract(row, requests.ephemeral_storage);
        self.non_zero_cpu.subtract(row, footprint.non_zero_cpu);
        self.non_zero_memory.subtract(row, footprint.non_zero_memory);
        for (name, amount) in &requests.scalars {
            self.unuse_scalar(name, |scalar| scalar.requested.change(row, -i128::from(*amount)));
        }
        self.pod_count[row.as_usize()] -= 1;
        self.levels.subtract(row, footprint);
    }

    pub(super) fn levels(&self) -> &PriorityLevels {
        &self.levels
    }

    /// Adds to the sums what each of the nodes' pods below a priority request, `times` over: -1 takes it off, 1 brings it
    /// back.
    pub(super) fn change_below(&mut self, nodes: &NodeSet, priority: i32, times: i8) {
        let mut below = Level::default();
        for row in nodes {
            self.levels.sum_below(row, priority, &mut below);
            self.change_by(row, &below, times);
        }
    }

    /// Adds to the sums what one pod requests, `times` over, as if it came or went.
    pub(super) fn change_by_pod(&mut self, row: NodeIndex, footprint: &Footprint, times: i8) {
        let mut one = Level::default();
        one.add(footprint);
        self.change_by(row, &one, times);
    }

    fn change_by(&mut self, row: NodeIndex, level: &Level, times: i8) {
        let wide = i128::from(times);
        self.requested_cpu.change(row, level.milli_cpu * wide);
        self.requested_memory.change(row, level.memory * wide);
        self.requested_ephemeral_storage
            .change(row, level.ephemeral_storage * wide);
        for (name, amount) in &level.scalars {
            if let Some(scalar) = self.scalars.get_mut(name) {
                scalar.requested.change(row, amount * wide);
            }
        }
        self.pod_count[row.as_usize()] += level.pods * i64::from(times);
    }

    fn use_scalar(&mut self, name: &CompactString) -> &mut Scalar {
        let length = self.pod_count.len();
        let scalar = self.scalars.entry(name.clone()).or_insert_with(|| Scalar {
            allocatable: SparseColumn::with_length(length),
            requested: SparseSums::with_length(length),
            users: 0,
        });
        scalar.users += 1;
        scalar
    }

    fn unuse_scalar(&mut self, name: &str, change: impl FnOnce(&mut Scalar)) {
        let Some(scalar) = self.scalars.get_mut(name) else {
            return;
        };
        change(scalar);
        scalar.users -= 1;
        if scalar.users == 0 {
            self.scalars.remove(name);
        }
    }
}
