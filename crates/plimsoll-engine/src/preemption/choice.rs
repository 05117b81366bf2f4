use std::cmp::Reverse;

use plimsoll_model::Timestamp;

use super::Candidate;
use super::importance::started;

/// Added to each priority, so that none counts for less than nothing: else many victims could seem better than few.
const OFFSET: i64 = 1 << 31;

/// The candidate that hurts least: fewest violated budgets; then the lowest priority of its first victim; then the smallest
/// sum of priorities; then fewest victims; then the one whose most important victims have started last. Of several that are
/// equal in all this the first.
pub(crate) fn choose(candidates: &[Candidate]) -> Option<&Candidate> {
    // Of several least ones this is the first.
    candidates.iter().min_by_key(|candidate| hurt(candidate))
}

type Hurt<'a> = (
    i64,
    Option<i32>,
    i64,
    usize,
    Reverse<Option<(bool, Option<&'a Timestamp>)>>,
);

fn hurt(candidate: &Candidate) -> Hurt<'_> {
    let victims = &candidate.victims;
    let priorities = victims.iter().map(|victim| i64::from(victim.priority()) + OFFSET);
    (
        candidate.violations,
        victims.first().map(|victim| victim.priority()),
        priorities.sum(),
        victims.len(),
        Reverse(earliest_start(candidate)),
    )
}

/// When the first of the victims with the highest priority started.
fn earliest_start(candidate: &Candidate) -> Option<(bool, Option<&Timestamp>)> {
    let victims = &candidate.victims;
    let highest = victims.iter().map(|victim| victim.priority()).max()?;
    let most_important = victims.iter().filter(|victim| victim.priority() == highest);
    most_important.map(|victim| started(victim)).min()
}

#[cfg(test)]
mod tests;
