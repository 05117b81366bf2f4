use plimsoll_framework::{CycleContext, Feasible, LastAnswer, MAX_NODE_SCORE, MarkBasis, joint_mark};
use plimsoll_model::columns::{Columns, LabelColumn, NodeIndex, NodeSet, PodCounts, QueryId};
use smallvec::SmallVec;

use super::constraint::Constraint;
use super::eligible::Eligible;

/// The label that tells nodes apart: each node is a domain, so its pods need not be summed.
pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";

/// Of so many nodes each is asked for its pods.
const ONE_BY_ONE: usize = 64;

/// How a pod's like are spread as far as its soft constraints ask.
#[derive(Debug)]
pub(super) struct Soft {
    spreads: Vec<Spread>,
    /// Feasible nodes that lack a label.
    ignored: NodeSet,
}

#[derive(Debug)]
struct Spread {
    topology_key: String,
    counts: Counts,
    /// What one pod more is worth: less where there are few domains, since each has more of them.
    weight: f64,
    /// Added so that small differences weigh less the larger the allowed skew is.
    tolerance: f64,
}

#[derive(Debug)]
enum Counts {
    /// On the node itself; none where no pod counts.
    OfNode(Option<QueryId>),
    /// By the slot of the value; what nodes without the label have comes last.
    OfDomain(Vec<i64>),
}

impl Soft {
    pub(super) fn count(
        cycle: CycleContext<'_>,
        constraints: Vec<Constraint>,
        eligible: &Eligible<'_>,
        feasible: &Feasible<'_>,
        requires_all_keys: bool,
    ) -> Result<Self, String> {
        let columns = cycle.columns;
        let scored = if requires_all_keys {
            eligible.with_all_keys(&constraints)
        } else {
            columns.nodes().clone()
        };
        let (mut registered, mut ignored) = (feasible.nodes().clone(), feasible.nodes().clone());
        registered.intersect_with(&scored);
        ignored.subtract(&scored);
        let count = |constraint: Constraint| {
            let pods = constraint.counts(cycle.pod, columns)?;
            let (counts, size) = if constraint.topology_key == HOSTNAME {
                let query = pods.and_then(|_| constraint.query(cycle.pod));
                (
                    Counts::OfNode(query.and_then(|query| columns.id_of(&query))),
                    registered.len(),
                )
            } else {
                let column = columns.label_key(&constraint.topology_key);
                let nodes = eligible.among(&scored, &constraint);
                let all_count =
                    column.filter(|column| nodes == *column.nodes() && registered.is_subset_of(column.nodes()));
                let known =
                    all_count.and_then(|column| sum_domains(column, &constraint.topology_key, &registered, pods));
                let (counts, size) = known.unwrap_or_else(|| count_domains(column, &registered, &nodes, pods));
                (Counts::OfDomain(counts), size)
            };
            Ok(Spread {
                topology_key: constraint.topology_key,
                counts,
                weight: weight(size),
                tolerance: f64::from(constraint.max_skew.wrapping_sub(1)),
            })
        };
        let spreads = constraints.into_iter().map(count).collect::<Result<_, String>>()?;
        Ok(Self { spreads, ignored })
    }

    /// The more like pods near a node, the higher its raw score.
    pub(super) fn score(&self, columns: &Columns, feasible: &[NodeIndex], scores: &mut [i64]) {
        let mut sums = vec![0.0; feasible.len()];
        for spread in &self.spreads {
            let Some(column) = columns.label_key(&spread.topology_key) else {
                continue;
            };
            match &spread.counts {
                Counts::OfNode(query) => {
                    let counts = on_nodes(pods_of(columns, *query), feasible);
                    let mut part = LastAnswer::of(|count: u32| spread.part(count.into()));
                    for ((node, sum), count) in feasible.iter().zip(&mut sums).zip(counts) {
                        if column.value(*node).is_some() {
                            *sum += part.to(count);
                        }
                    }
                }
                Counts::OfDomain(counts) => {
                    let parts: Vec<f64> = counts.iter().map(|count| spread.part(*count)).collect();
                    for (node, sum) in feasible.iter().zip(&mut sums) {
                        if let Some(value) = column.value(*node) {
                            *sum += parts[column.slot(value)];
                        }
                    }
                }
            }
        }
        for ((node, sum), score) in feasible.iter().zip(sums).zip(scores) {
            *score = if self.ignored.contains(*node) { 0 } else { rounded(sum) };
        }
    }

    /// Marks follow from the pods on a node that count, and from its labels: which labels, and what counts, is in the pod and in
    /// the queries.
    pub(super) fn mark_basis(&self) -> MarkBasis {
        let mut basis = MarkBasis::default();
        for spread in &self.spreads {
            match &spread.counts {
                Counts::OfNode(query) => basis.numbers.extend(query.map_or([u64::MAX; 2], QueryId::numbers)),
                Counts::OfDomain(_) => {}
            }
            basis.keys.push(spread.topology_key.as_str().into());
        }
        basis
    }

    /// Nodes in the same domains and, where each is a domain of its own, with as many pods.
    pub(super) fn mark(&self, columns: &Columns, nodes: &[NodeIndex], marks: &mut [u64]) -> bool {
        let each: SmallVec<[_; 2]> = self
            .spreads
            .iter()
            .map(|spread| (columns.label_key(&spread.topology_key), &spread.counts))
            .collect();
        for (node, mark) in nodes.iter().zip(marks) {
            let part = |(column, counts): &(Option<LabelColumn<'_>>, &Counts)| {
                let Some((column, value)) = column.and_then(|column| Some((column, column.value(*node)?))) else {
                    return 0;
                };
                match counts {
                    Counts::OfNode(query) => {
                        let pods = pods_of(columns, *query).map_or(0, |pods| pods.on(*node));
                        u64::from(pods) + 1
                    }
                    Counts::OfDomain(_) => column.slot(value) as u64 + 1,
                }
            };
            let parts: SmallVec<[u64; 4]> = each.iter().map(part).collect();
            let Some(joint) = joint_mark(&parts) else {
                return false;
            };
            *mark = joint;
        }
        true
    }

    /// The fewest like pods near get 100; nodes that lack a label get nothing.
    pub(super) fn normalize(&self, feasible: &[NodeIndex], scores: &mut [i64]) {
        let counted = || {
            let nodes = feasible.iter().zip(scores.iter());
            nodes
                .filter(|(node, _)| !self.ignored.contains(**node))
                .map(|(_, score)| *score)
        };
        let min = counted().min().unwrap_or(0);
        let max = counted().max().unwrap_or(0).max(0);
        let mut share = LastAnswer::of(|score: i64| {
            if max == 0 {
                MAX_NODE_SCORE
            } else {
                MAX_NODE_SCORE * (max + min - score) / max
            }
        });
        for (node, score) in feasible.iter().zip(scores) {
            *score = if self.ignored.contains(*node) {
                0
            } else {
                share.to(*score)
            };
        }
    }
}

impl Spread {
    #[expect(clippy::cast_precision_loss, reason = "there are not that many pods")]
    fn part(&self, count: i64) -> f64 {
        count as f64 * self.weight + self.tolerance
    }
}

fn pods_of(columns: &Columns, query: Option<QueryId>) -> Option<PodCounts<'_>> {
    query.and_then(|query| columns.count(query))
}

/// As [`count_domains`] where every registered node has the label, and nodes with the label are those that count: then the columns
/// know the sums already, if they were asked to keep them.
fn sum_domains(
    column: LabelColumn<'_>,
    key: &str,
    registered: &NodeSet,
    pods: Option<PodCounts<'_>>,
) -> Option<(Vec<i64>, usize)> {
    let mut counts = vec![0; column.slots() + 1];
    let by_domain = match pods {
        Some(pods) => Some(pods.by_domain(key)?),
        None => None,
    };
    for (value, _) in column.values() {
        let pods = by_domain.map_or(0, |domains| domains.of(value));
        counts[column.slot(value)] = i64::try_from(pods).unwrap_or(i64::MAX);
    }
    let size = column.slots_among(registered).iter().filter(|known| **known).count();
    Some((counts, size))
}

/// Pods by domain, for the domains that a registered node is in, and how many such domains there are.
fn count_domains(
    column: Option<LabelColumn<'_>>,
    registered: &NodeSet,
    nodes: &NodeSet,
    pods: Option<PodCounts<'_>>,
) -> (Vec<i64>, usize) {
    let slots = column.map_or(0, LabelColumn::slots);
    // kube-scheduler does not tell a missing label from an empty one here.
    let empty = column.and_then(|column| Some(column.slot(column.id_of("")?)));
    let slot = |node: NodeIndex| {
        let value = column.and_then(|column| Some(column.slot(column.value(node)?)));
        value.or(empty).unwrap_or(slots)
    };
    let mut known = column.map_or_else(Vec::new, |column| column.slots_among(registered));
    known.resize(slots + 1, false);
    let is_labelled = |column: LabelColumn<'_>| registered.is_subset_of(column.nodes());
    if !registered.is_empty() && !column.is_some_and(is_labelled) {
        known[empty.unwrap_or(slots)] = true;
    }
    let mut counts = vec![0; slots + 1];
    let here = pods.into_iter().flat_map(PodCounts::iter);
    for (node, count) in here.filter(|(node, _)| nodes.contains(*node)) {
        if known[slot(node)] {
            counts[slot(node)] += i64::from(count);
        }
    }
    let size = known.iter().filter(|known| **known).count();
    (counts, size)
}

#[expect(clippy::cast_precision_loss, reason = "there are not that many domains")]
fn weight(size: usize) -> f64 {
    ((size + 2) as f64).ln()
}

/// How many of the pods each node has.
fn on_nodes(pods: Option<PodCounts<'_>>, nodes: &[NodeIndex]) -> Vec<u32> {
    let Some(pods) = pods else {
        return vec![0; nodes.len()];
    };
    // Where there are few, it is quicker to look for their nodes than for the pods of each node.
    if nodes.len() <= ONE_BY_ONE || pods.total() > nodes.len() as u64 / 8 {
        return nodes.iter().map(|node| pods.on(*node)).collect();
    }
    let mut counts = vec![0; nodes.len()];
    for (node, count) in pods.iter() {
        if let Ok(at) = nodes.binary_search(&node) {
            counts[at] = count;
        }
    }
    counts
}

/// Halves go away from zero, as in Go.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "scores are far from the limits of both, so that what is behind the point is exact"
)]
fn rounded(score: f64) -> i64 {
    // Not `round`, which is a call of its own for each node.
    let whole = score as i64;
    let rest = score - whole as f64;
    whole + i64::from(rest >= 0.5) - i64::from(rest <= -0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_away_from_zero_and_what_is_next_to_them_is_not() {
        let halves = [0.5_f64, 1.5, 2.5, 1_000_000.5, 4_503_599_627_370_495.5];
        for half in halves.into_iter().flat_map(|half| [half, -half]) {
            let around = [
                half,
                half.next_up(),
                half.next_down(),
                half.trunc(),
                half + 0.25,
                half - 0.25,
            ];
            for score in around {
                #[expect(clippy::cast_possible_truncation, reason = "whole by then")]
                let expected = score.round() as i64;
                assert_eq!(rounded(score), expected, "{score}");
            }
        }
        assert_eq!(rounded(0.0), 0);
    }
}
