//! How long it takes until another replica binds.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::fault::Kind;
use crate::ledger::Ledger;

/// One change of leaders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandOver {
    /// The last fault before the lease changed hands; `None` when nothing had been done.
    pub cause: Option<Kind>,
    /// From the fault until the lease names the next leader, in seconds.
    pub fault_to_lease: Option<f64>,
    /// From then until its first Binding is answered; `None` when it bound nothing before the next change.
    pub lease_to_bind: Option<f64>,
    /// The new leader's own measurements since it won, in seconds, by stage.
    #[serde(default)]
    pub stages: BTreeMap<String, f64>,
    /// Which replica leads then, by its audit group.
    #[serde(default)]
    pub group: String,
}

impl HandOver {
    /// From the fault to the first Binding, in seconds.
    pub fn total(&self) -> Option<f64> {
        Some(self.fault_to_lease? + self.lease_to_bind?)
    }
}

/// When something was done to the control plane or a replica.
#[derive(Clone, Debug)]
pub(crate) struct Blow {
    pub(crate) kind: Kind,
    /// The audit group of the replica that it hit, if it was one.
    pub(crate) hit: Option<String>,
    /// In microseconds since 1970.
    pub(crate) at: i64,
}

/// The changes of leaders of a round, the first leader of which was `leader`.
pub(crate) fn hand_overs(ledger: &Ledger, mut leader: String, blows: &[Blow]) -> Vec<HandOver> {
    let mut taken: Vec<(String, String, i64)> = Vec::new();
    for write in ledger.lease_writes.iter().filter(|write| !write.holder.is_empty()) {
        if write.group != leader {
            let old = std::mem::replace(&mut leader, write.group.clone());
            taken.push((old, write.group.clone(), write.at));
        }
    }
    let ends = taken.iter().skip(1).map(|(_, _, at)| *at).chain([i64::MAX]);
    let each = taken.iter().zip(ends);
    each.map(|((old, group, at), end)| {
        let before = || blows.iter().rev().filter(|blow| blow.at <= *at);
        let blow = before()
            .find(|blow| blow.hit.as_ref() == Some(old))
            .or_else(|| before().next());
        let of_theirs = |bound: &&crate::ledger::Bound| bound.group == *group && (*at..end).contains(&bound.at);
        let first = ledger.bound.iter().find(of_theirs);
        HandOver {
            cause: blow.map(|blow| blow.kind),
            fault_to_lease: blow.map(|blow| seconds(at - blow.at)),
            lease_to_bind: first.map(|bound| seconds(bound.at - at)),
            stages: BTreeMap::new(),
            group: group.clone(),
        }
    })
    .collect()
}

#[expect(clippy::cast_precision_loss, reason = "a few seconds")]
fn seconds(microseconds: i64) -> f64 {
    microseconds as f64 / 1e6
}

/// Counts of times in steps that grow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// Sorted.
    times: Vec<f64>,
}

/// Upper ends of the steps, in seconds.
const STEPS: [f64; 14] = [0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 7.5, 10.0, 20.0];

/// The longest bar, in characters.
const BAR: usize = 50;

impl Histogram {
    /// From times in seconds, in any order.
    pub fn new(times: impl IntoIterator<Item = f64>) -> Self {
        let mut times: Vec<f64> = times.into_iter().collect();
        times.sort_by(f64::total_cmp);
        Self { times }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.times.len()
    }

    /// The time that so many in a hundred do not exceed.
    pub fn percentile(&self, of_hundred: usize) -> Option<f64> {
        let last = self.times.len().checked_sub(1)?;
        let place = (self.times.len() * of_hundred).div_ceil(100).saturating_sub(1);
        self.times.get(place.min(last)).copied()
    }

    /// Upper ends in seconds and how many are below, above the step before; the last step has no end.
    pub fn steps(&self) -> Vec<(Option<f64>, usize)> {
        let mut low = f64::NEG_INFINITY;
        let mut steps = Vec::new();
        for high in STEPS.into_iter().map(Some).chain([None]) {
            let end = high.unwrap_or(f64::INFINITY);
            let within = self.times.iter().filter(|time| low < **time && **time <= end);
            steps.push((high, within.count()));
            low = end;
        }
        steps
    }

    /// What there is to say of it.
    pub fn summary(&self) -> Summary {
        let step = |(up_to, count)| Step { up_to, count };
        Summary {
            count: self.count(),
            median: self.percentile(50),
            ninety: self.percentile(90),
            longest: self.percentile(100),
            steps: self.steps().into_iter().map(step).collect(),
        }
    }
}

/// A histogram, written down.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many times there are.
    pub count: usize,
    /// Half of them are not longer, in seconds.
    pub median: Option<f64>,
    /// Nor are ninety in a hundred longer than this.
    pub ninety: Option<f64>,
    /// The longest.
    pub longest: Option<f64>,
    /// From the shortest on.
    pub steps: Vec<Step>,
}

/// Some of the times of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Not longer than this, in seconds, but longer than those of the step before; `None` for all that are.
    pub up_to: Option<f64>,
    /// How many.
    pub count: usize,
}

/// A line per step, without the empty ones at both ends.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = |step: &Step| step.count > 0;
        let (first, last) = (self.steps.iter().position(used), self.steps.iter().rposition(used));
        let Some((first, last)) = first.zip(last) else {
            return writeln!(f, "None.");
        };
        let most = self.steps.iter().map(|step| step.count).max().unwrap_or(1).max(1);
        writeln!(f, "```text")?;
        for Step { up_to, count } in &self.steps[first..=last] {
            let end = up_to.map_or_else(|| "    more".to_owned(), |end| format!("≤{end:5.2} s"));
            let bar = "#".repeat((count * BAR).div_ceil(most));
            writeln!(f, "{}", format!("{end} {count:5} {bar}").trim_end())?;
        }
        writeln!(f, "```")
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_controlplane::{Answered, Asked, Request};

    use super::*;

    fn write(group: &str, asked: Asked, at: i64) -> Request {
        Request {
            id: format!("{group}-{at}"),
            asked,
            namespace: "n".to_owned(),
            name: at.to_string(),
            uid: at.to_string(),
            group: group.to_owned(),
            received: at,
            answered: Some(Answered {
                code: 201,
                at,
                revision: None,
            }),
        }
    }

    #[test]
    fn a_hand_over_lasts_from_the_fault_over_the_lease_to_the_first_binding() {
        let lease = |group, at| write(group, Asked::Lease(format!("host_{group}")), at);
        let bind = |group, at| write(group, Asked::Bind("n1".to_owned()), at);
        let mut ledger = Ledger::default();
        ledger.take(vec![
            lease("replica-1", 1_000_000),
            bind("replica-1", 1_100_000),
            lease("replica-2", 5_000_000),
            bind("replica-2", 5_250_000),
            bind("replica-2", 5_500_000),
            lease("replica-3", 9_000_000),
        ]);
        let blow = |kind, hit: Option<&str>, at| Blow {
            kind,
            hit: hit.map(str::to_owned),
            at,
        };
        let blows = [
            blow(Kind::LeaderKilled, Some("replica-1"), 2_000_000),
            blow(Kind::ServerKilled, None, 2_500_000),
        ];
        let found = hand_overs(&ledger, "replica-1".to_owned(), &blows);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].cause, Some(Kind::LeaderKilled));
        assert_eq!(found[0].total(), Some(3.25));
        assert_eq!(found[1].cause, Some(Kind::ServerKilled));
        assert_eq!((found[1].lease_to_bind, found[1].total()), (None, None));
        assert!(hand_overs(&ledger, "replica-1".to_owned(), &[])[0].cause.is_none());
    }

    #[test]
    fn a_histogram_counts_each_time_once() {
        let histogram = Histogram::new([3.2, 0.05, 3.5, 99.0]);
        assert_eq!(histogram.steps().iter().map(|(_, count)| count).sum::<usize>(), 4);
        assert_eq!(histogram.percentile(50), Some(3.2));
        assert_eq!(histogram.percentile(100), Some(99.0));
        let lines = histogram.summary().to_string();
        assert!(lines.starts_with("```text\n≤ 0.10 s     1 #"), "{lines}");
        assert!(lines.contains("≤ 3.50 s     2 #"), "{lines}");
        assert_eq!(Histogram::default().summary().to_string(), "None.\n");
    }
}
