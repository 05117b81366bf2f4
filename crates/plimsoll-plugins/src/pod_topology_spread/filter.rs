use plimsoll_framework::{FilterPass, ReasonCode, Resolvability, joint_mark};
use plimsoll_model::columns::{Columns, LabelColumn, NodeIndex, NodeSet, PodCounts};
use plimsoll_model::{Pod, PodQuery};
use smallvec::SmallVec;

use super::NAME;
use super::constraint::{Constraint, kept};
use super::domains::Domains;
use super::eligible::Eligible;

const MISSING_LABEL: ReasonCode = ReasonCode(0);
const TOO_MANY: ReasonCode = ReasonCode(1);

/// As many nodes are judged one by one, more by their domains.
const ONE_BY_ONE: usize = 64;

/// What kube-scheduler takes for the least when there is no domain; seen only by a constraint that wants none.
const NO_LEAST: i64 = 0x7fff_ffff;

/// The hard constraints of one pod, and how its like are spread.
#[derive(Debug)]
pub(super) struct Hard {
    spreads: Vec<Spread>,
}

#[derive(Debug)]
struct Spread {
    constraint: Constraint,
    domains: Domains,
    /// The nodes that count.
    nodes: NodeSet,
    /// Whether the pod counts itself.
    selects_itself: bool,
    query: Option<PodQuery>,
    /// Pods that matched when they were counted.
    total: u64,
}

impl Hard {
    pub(super) fn count(
        pod: &Pod,
        columns: &Columns,
        constraints: Vec<Constraint>,
        eligible: &Eligible<'_>,
    ) -> Result<Self, String> {
        let with_all_keys = eligible.with_all_keys(&constraints);
        let count = |constraint: Constraint| {
            let nodes = eligible.among(&with_all_keys, &constraint);
            let pods = constraint.counts(pod, columns)?;
            let column = columns.label_key(&constraint.topology_key);
            let query = constraint.query(pod);
            let total = query
                .as_ref()
                .map_or(Ok(0), |query| kept(query, columns).map(PodCounts::total))?;
            Ok(Spread {
                domains: column.map_or_else(Domains::default, |column| {
                    Domains::count(column, &constraint.topology_key, &nodes, pods)
                }),
                nodes,
                selects_itself: constraint.selects(&pod.labels),
                query,
                total,
                constraint,
            })
        };
        let spreads = constraints.into_iter().map(count).collect::<Result<_, String>>()?;
        Ok(Self { spreads })
    }

    /// Rejects nodes by the first constraint that they do not meet.
    pub(super) fn judge(&self, columns: &Columns, pass: &mut FilterPass<'_>) -> Result<(), String> {
        for spread in &self.spreads {
            let Some(column) = columns.label_key(&spread.constraint.topology_key) else {
                pass.keep_only(&NodeSet::new(), MISSING_LABEL, Resolvability::Unresolvable);
                return Ok(());
            };
            pass.keep_only(column.nodes(), MISSING_LABEL, Resolvability::Unresolvable);
            let change = spread.change(columns)?;
            if change != 0 && pass.feasible().len() > 1 {
                return Err(format!("{NAME} judges several nodes while pods are moved"));
            }
            let rejected = if change == 0 && pass.feasible().len() > ONE_BY_ONE {
                column.nodes_in_slots(|slot| spread.is_crowded(slot))
            } else {
                let too_many = |node: &NodeIndex| spread.has_too_many(column, *node, change);
                pass.feasible().iter().filter(too_many).collect()
            };
            pass.reject_set(&rejected, TOO_MANY, Resolvability::Resolvable);
        }
        Ok(())
    }
}

impl Hard {
    /// Nodes are crowded or not by their domains, at least where these are large.
    pub(super) fn sort_out(&self, columns: &Columns, nodes: &[NodeIndex], marks: &mut [u64]) -> bool {
        let keys = self
            .spreads
            .iter()
            .map(|spread| columns.label_key(&spread.constraint.topology_key));
        let keys: SmallVec<[LabelColumn<'_>; 2]> = keys.flatten().filter(|column| column.has_few_values()).collect();
        for (node, mark) in nodes.iter().zip(marks) {
            let part = |column: &LabelColumn<'_>| column.value(*node).map_or(0, |value| column.slot(value) as u64 + 1);
            let parts: SmallVec<[u64; 4]> = keys.iter().map(part).collect();
            *mark = joint_mark(&parts).unwrap_or(0);
        }
        !keys.is_empty()
    }

    /// The constraints that a node does not meet, in words.
    pub(super) fn lacking(&self, columns: &Columns, node: NodeIndex) -> Vec<String> {
        let each = self.spreads.iter();
        each.filter_map(|spread| spread.in_words(columns, node)).collect()
    }
}

impl Spread {
    fn in_words(&self, columns: &Columns, node: NodeIndex) -> Option<String> {
        let (key, most) = (&self.constraint.topology_key, self.constraint.max_skew);
        let column = columns.label_key(key);
        let value = column.and_then(|column| Some((column.slot(column.value(node)?), columns.label(node, key)?)));
        let Some((slot, value)) = value else {
            return Some(format!("the node has no label {key}"));
        };
        let (here, fewest) = (self.domains.of(slot), self.fewest(slot, 0));
        let too_many = here + i64::from(self.selects_itself) - fewest > i64::from(most);
        too_many.then(|| {
            let missing = self.missing_domains();
            let domains = missing.map_or_else(String::new, |missing| format!(" ({missing} of minDomains are missing)"));
            format!(
                "{key}={value} has {here} matching pods, the fewest of any {key} is {fewest}{domains}, maxSkew {most}"
            )
        })
    }

    /// How many domains there should be and are not.
    fn missing_domains(&self) -> Option<usize> {
        let wanted = usize::try_from(self.constraint.min_domains).ok()?;
        wanted.checked_sub(self.domains.known()).filter(|missing| *missing > 0)
    }

    /// How many more pods match now, on the node that is judged.
    fn change(&self, columns: &Columns) -> Result<i64, String> {
        let Some(query) = &self.query else { return Ok(0) };
        let now = kept(query, columns)?.total();
        Ok(now.cast_signed() - self.total.cast_signed())
    }

    fn has_too_many(&self, column: LabelColumn<'_>, node: NodeIndex, change: i64) -> bool {
        let Some(value) = column.value(node) else { return true };
        let slot = column.slot(value);
        let change = if self.nodes.contains(node) { change } else { 0 };
        let skew = self.domains.of(slot) + change + i64::from(self.selects_itself) - self.fewest(slot, change);
        skew > i64::from(self.constraint.max_skew)
    }

    /// Whether a domain has too many as it was counted.
    fn is_crowded(&self, slot: usize) -> bool {
        let skew = self.domains.of(slot) + i64::from(self.selects_itself) - self.fewest(slot, 0);
        skew > i64::from(self.constraint.max_skew)
    }

    /// The fewest pods of a domain; with too few domains it is as if there were one more, empty.
    fn fewest(&self, changed: usize, change: i64) -> i64 {
        if self.missing_domains().is_some() {
            return 0;
        }
        let least = if change == 0 {
            self.domains.least()
        } else {
            self.domains.least_with(changed, change)
        };
        least.unwrap_or(NO_LEAST)
    }
}
