use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_model::Moment;

use super::comparison::Discrepancy;

/// Audits on demand may follow each other at once; what a moment explains must have had a moment to go away.
const APART: Duration = Duration::from_secs(10);

/// What the last audit found, and since when it has been found.
#[derive(Debug, Default)]
pub(super) struct Suspicions {
    since: BTreeMap<Discrepancy, Moment>,
}

impl Suspicions {
    /// Takes what an audit found. What the audit before it found as well, long enough ago, is certain, and starts over as if
    /// it were new; what is not found any more is forgotten.
    pub(super) fn confirm(&mut self, found: &[Discrepancy], now: Moment) -> Vec<Discrepancy> {
        let before = std::mem::take(&mut self.since);
        let mut certain = Vec::new();
        for discrepancy in found {
            let since = before.get(discrepancy).copied().unwrap_or(now);
            if before.contains_key(discrepancy) && now.since(since) >= APART {
                certain.push(discrepancy.clone());
            } else {
                self.since.insert(discrepancy.clone(), since);
            }
        }
        certain
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Uid;

    use super::super::comparison::Finding;
    use super::*;

    fn missing(uid: &str) -> Discrepancy {
        Discrepancy {
            uid: Uid::from(uid),
            finding: Finding::Missing,
        }
    }

    fn at(seconds: u64) -> Moment {
        Moment::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn what_two_audits_in_a_row_find_is_certain_and_told_once() {
        let mut suspicions = Suspicions::default();
        let (a, b) = (missing("a"), missing("b"));
        assert!(suspicions.confirm(&[a.clone(), b.clone()], at(60)).is_empty());
        let only = [a.clone()];
        assert_eq!(suspicions.confirm(&only, at(120)), only);
        // Repaired or not, it takes two more; and the other was not found in between.
        assert!(suspicions.confirm(&[a.clone(), b.clone()], at(180)).is_empty());
        assert_eq!(suspicions.confirm(&[a.clone(), b.clone()], at(240)), [a, b]);
    }

    #[test]
    fn audits_in_quick_succession_are_one() {
        let mut suspicions = Suspicions::default();
        let a = [missing("a")];
        for seconds in [60, 61, 65, 69] {
            assert!(suspicions.confirm(&a, at(seconds)).is_empty());
        }
        assert_eq!(suspicions.confirm(&a, at(70)), a);
    }

    #[test]
    fn another_time_makes_it_another_discrepancy() {
        let mut suspicions = Suspicions::default();
        let popped = |seconds| {
            [Discrepancy {
                uid: Uid::from("a"),
                finding: Finding::Abandoned { popped_at: at(seconds) },
            }]
        };
        assert!(suspicions.confirm(&popped(1), at(60)).is_empty());
        assert!(suspicions.confirm(&popped(100), at(120)).is_empty());
        assert_eq!(suspicions.confirm(&popped(100), at(180)), popped(100));
    }
}
