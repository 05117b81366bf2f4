use std::sync::Arc;

use plimsoll_framework::{FilterPass, ReasonCode, Resolvability};
use plimsoll_model::columns::{Columns, NodeSet};
use plimsoll_model::storage::PersistentVolumeClaim;
use smallvec::{SmallVec, smallvec};

use super::claims::PodClaims;
use super::delayed::Delayed;
use super::matching::{Matcher, nodes_with_a_volume};
use super::provisioning::Provisioning;
use super::reaching::reached_within;

/// What users read where the volume of a bound claim cannot be reached.
pub const NODE_CONFLICT: &str = "node(s) didn't match PersistentVolume's node affinity";
/// What users read where a claim finds no volume, and none can be made.
pub const BIND_CONFLICT: &str = "node(s) didn't find available persistent volumes to bind";
/// What users read where there is no room for a volume that has to be made.
pub const NOT_ENOUGH_SPACE: &str = "node(s) did not have enough free storage";
/// What users read when the volume of a bound claim is not there.
pub const VOLUME_MISSING: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

/// Each reason is a bit: the first two may hold together with others, and users read them in this order.
pub(super) const REASONS: [(u32, &str); 4] = [
    (1, NODE_CONFLICT),
    (1 << 1, BIND_CONFLICT),
    (1 << 2, NOT_ENOUGH_SPACE),
    (1 << 3, VOLUME_MISSING),
];

/// Why nodes cannot take a pod.
#[derive(Debug, Default)]
pub(super) struct Rejected {
    node_conflict: NodeSet,
    bind_conflict: NodeSet,
    not_enough_space: NodeSet,
    volume_missing: NodeSet,
}

/// Judges nodes for a pod with these claims; `Err` is an internal failure.
pub(super) fn rejected(columns: &Columns, claims: &PodClaims, nodes: &NodeSet) -> Result<Rejected, String> {
    let mut rejected = Rejected::default();
    rejected.judge_bound(columns, &claims.bound, nodes)?;
    rejected.judge_delayed(columns, &claims.delayed, nodes)?;
    Ok(rejected)
}

impl Rejected {
    pub(super) fn tell(&self, pass: &mut FilterPass<'_>) {
        let sets = [
            &self.node_conflict,
            &self.bind_conflict,
            &self.not_enough_space,
            &self.volume_missing,
        ];
        // Most nodes are rejected for one reason, all at once; a walk is left for those with several.
        let mut several = NodeSet::new();
        for (at, ((bit, _), set)) in REASONS.iter().zip(sets).enumerate() {
            let mut only = set.clone();
            for (_, other) in sets.iter().enumerate().filter(|(other, _)| *other != at) {
                only.subtract(other);
            }
            let mut shared = set.clone();
            shared.subtract(&only);
            several.union_with(&shared);
            if !only.is_empty() {
                pass.reject_set(&only, ReasonCode(*bit), Resolvability::Unresolvable);
            }
        }
        for node in &several {
            let held = REASONS.iter().zip(sets).filter(|(_, set)| set.contains(node));
            let code = held.fold(0, |code, ((bit, _), _)| code | bit);
            pass.reject(node, ReasonCode(code), Resolvability::Unresolvable);
        }
    }

    /// The first claim whose volume is missing or out of reach decides.
    fn judge_bound(
        &mut self,
        columns: &Columns,
        claims: &[Arc<PersistentVolumeClaim>],
        nodes: &NodeSet,
    ) -> Result<(), String> {
        let mut left = nodes.clone();
        for claim in claims {
            if left.is_empty() {
                break;
            }
            let Some(within) = reached_within(columns, &claim.volume, &left)? else {
                self.volume_missing = left;
                break;
            };
            left.subtract(&within);
            self.node_conflict.union_with(&left);
            left = within;
        }
        Ok(())
    }

    fn judge_delayed(
        &mut self,
        columns: &Columns,
        claims: &[Arc<PersistentVolumeClaim>],
        nodes: &NodeSet,
    ) -> Result<(), String> {
        let delayed = Delayed::of(columns, claims);
        let mut left = nodes.clone();
        if let Some(only) = delayed.only() {
            left = only.filter(|node| nodes.contains(*node)).collect();
            let mut elsewhere = nodes.clone();
            elsewhere.subtract(&left);
            self.bind_conflict.union_with(&elsewhere);
        }
        if left.is_empty() || claims.is_empty() {
            return Ok(());
        }
        for (unmatched, nodes) in by_unmatched(columns, &delayed, left)? {
            let to_make = delayed.selected.iter().copied().chain(unmatched);
            self.judge_provisioning(columns, to_make, nodes)?;
        }
        Ok(())
    }

    fn judge_provisioning<'a>(
        &mut self,
        columns: &Columns,
        claims: impl Iterator<Item = &'a Arc<PersistentVolumeClaim>>,
        mut nodes: NodeSet,
    ) -> Result<(), String> {
        for claim in claims {
            if nodes.is_empty() {
                break;
            }
            let provisioning = Provisioning::of(columns, claim)?;
            provisioning.narrow(&mut nodes, &mut self.bind_conflict, &mut self.not_enough_space);
        }
        Ok(())
    }
}

type Claims<'a> = SmallVec<[&'a Arc<PersistentVolumeClaim>; 4]>;

/// The nodes by which of the claims find no volume there.
fn by_unmatched<'a>(
    columns: &'a Columns,
    delayed: &Delayed<'a>,
    nodes: NodeSet,
) -> Result<Vec<(Claims<'a>, NodeSet)>, String> {
    match delayed.unselected.as_slice() {
        [] => Ok(vec![(Claims::new(), nodes)]),
        [only] => {
            let with_a_volume = nodes_with_a_volume(columns, only)?;
            let (mut matched, mut unmatched) = (nodes.clone(), nodes);
            matched.intersect_with(&with_a_volume);
            unmatched.subtract(&with_a_volume);
            Ok(vec![(Claims::new(), matched), (smallvec![*only], unmatched)])
        }
        several => {
            let matcher = Matcher::new(columns, several.to_vec(), delayed.node())?;
            Ok(patterns(&matcher, &nodes))
        }
    }
}

fn patterns<'a>(matcher: &Matcher<'a>, nodes: &NodeSet) -> Vec<(Claims<'a>, NodeSet)> {
    let mut patterns: Vec<(SmallVec<[bool; 4]>, NodeSet)> = Vec::new();
    matcher.for_each_group(nodes, |group, choice| {
        let same = |pattern: &[bool]| {
            let mut pairs = pattern.iter().zip(choice);
            pairs.all(|(unmatched, chosen)| *unmatched == chosen.is_none())
        };
        let at = patterns.iter().position(|(pattern, _)| same(pattern));
        let at = at.unwrap_or_else(|| {
            patterns.push((choice.iter().map(Option::is_none).collect(), NodeSet::new()));
            patterns.len() - 1
        });
        group.add_to(&mut patterns[at].1);
    });
    let claims_of = |pattern: &[bool]| -> Claims<'a> {
        let claims = matcher.claims().zip(pattern).filter(|(_, unmatched)| **unmatched);
        claims.map(|(claim, _)| claim).collect()
    };
    let patterns = patterns.into_iter();
    patterns.map(|(pattern, nodes)| (claims_of(&pattern), nodes)).collect()
}
