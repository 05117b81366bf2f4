use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use plimsoll_engine::ClaimState;
use plimsoll_model::{Seq, Uid};
use plimsoll_queue::Place;

use super::accounts::{Accounts, CacheAccount};
use super::comparison::Discrepancy;

/// More of what is wrong is not shown one by one.
const SHOWN: usize = 100;

/// What an audit has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditReport {
    /// Counted from the beginning of the term.
    pub number: u64,
    /// The change after which it was made.
    pub seq: Seq,
    /// How long the marker was on its way.
    pub took: Duration,
    /// Pods of ours without a node.
    pub pending: usize,
    /// Pods without a node that no profile of ours takes.
    pub others: usize,
    /// Where the queue has pods.
    pub places: BTreeMap<Place, usize>,
    /// Pods that are being decided.
    pub attempts: usize,
    /// Claims by where they stand.
    pub claims: BTreeMap<&'static str, usize>,
    /// For how long the oldest request about a claim has been out.
    pub oldest_request: Option<Duration>,
    /// Pods that came back to the queue while the marker was on its way.
    pub settled_meanwhile: usize,
    /// What does not fit together.
    pub found: Vec<Discrepancy>,
    /// What of it two audits in a row have found, so that it is being repaired.
    pub certain: Vec<Discrepancy>,
    /// The names of the pods that something is wrong with, as far as they are known.
    pub names: BTreeMap<Uid, String>,
}

impl AuditReport {
    pub(super) fn new(
        number: u64,
        took: Duration,
        accounts: &Accounts,
        found: Vec<Discrepancy>,
        certain: Vec<Discrepancy>,
    ) -> Self {
        let Accounts {
            cache,
            queue,
            cycle,
            back,
        } = accounts;
        let pending = cache.unassigned.iter().filter(|pod| pod.ours).count();
        let mut places = BTreeMap::new();
        for (_, place, _) in &queue.pods {
            *places.entry(*place).or_insert(0) += 1;
        }
        let mut claims = BTreeMap::new();
        for claim in &cycle.claims {
            *claims.entry(state(claim.state)).or_insert(0) += 1;
        }
        let asked = cycle.claims.iter().filter_map(|claim| claim.asked);
        let names = names_of(&found, cache);
        Self {
            number,
            seq: cache.seq,
            took,
            pending,
            others: cache.unassigned.len() - pending,
            places,
            attempts: cycle.attempts.len(),
            claims,
            oldest_request: asked.map(|asked| cycle.at.since(asked)).max(),
            settled_meanwhile: back.settled.len(),
            names,
            found,
            certain,
        }
    }

    /// The pod's name, or its UID when that is all that is known.
    pub(super) fn name<'a>(&'a self, uid: &'a Uid) -> &'a str {
        self.names.get(uid).map_or_else(|| uid.as_str(), String::as_str)
    }
}

/// The names of the pods that something is wrong with, as far as the cache knows them.
fn names_of(found: &[Discrepancy], cache: &CacheAccount) -> BTreeMap<Uid, String> {
    let wrong: HashSet<&Uid, FixedState> = found.iter().map(|discrepancy| &discrepancy.uid).collect();
    let known = cache.unassigned.iter().map(|unassigned| &unassigned.pod);
    known
        .filter(|pod| wrong.contains(&pod.uid))
        .map(|pod| (pod.uid.clone(), pod.name.to_string()))
        .collect()
}

fn state(state: ClaimState) -> &'static str {
    match state {
        ClaimState::Waiting => "waiting for a permit or for pre-bind work",
        ClaimState::Sent => "binding sent",
        ClaimState::Seen => "bound, the answer to its binding has not come yet",
        ClaimState::Unknown { .. } => "to be sent again",
        ClaimState::Checking { .. } => "pod being read",
        ClaimState::Doubtful { .. } => "pod to be read again",
        ClaimState::Bound => "bound, not shown by the watch yet",
        ClaimState::Moved => "on another node, not shown by the watch yet",
        ClaimState::Stopped => "stopped",
        ClaimState::Ended => "over",
    }
}

fn place(place: Place) -> &'static str {
    match place {
        Place::Active => "active",
        Place::Backoff => "backing off",
        Place::ErrorBackoff => "backing off to the end",
        Place::Unschedulable => "unschedulable",
        Place::Gated => "gated",
        Place::InFlight => "in flight",
        Place::Placed => "placed",
    }
}

impl fmt::Display for AuditReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.took.as_secs_f64();
        writeln!(
            f,
            "audit {} at change {}, {seconds:.3} s",
            self.number,
            self.seq.as_u64()
        )?;
        writeln!(f, "\npods without a node")?;
        writeln!(f, "{:8}  of ours", self.pending)?;
        writeln!(f, "{:8}  of others", self.others)?;
        writeln!(f, "\nin the queue")?;
        for (of, count) in &self.places {
            writeln!(f, "{count:8}  {}", place(*of))?;
        }
        writeln!(f, "\nin flight")?;
        writeln!(f, "{:8}  being decided", self.attempts)?;
        for (state, count) in &self.claims {
            writeln!(f, "{count:8}  {state}")?;
        }
        writeln!(f, "{:8}  on the way back to the queue", self.settled_meanwhile)?;
        if let Some(age) = self.oldest_request {
            writeln!(f, "{:8.1}  seconds is the oldest request about them", age.as_secs_f64())?;
        }
        if self.found.is_empty() {
            return writeln!(f, "\nnothing wrong");
        }
        writeln!(f, "\n{} wrong", self.found.len())?;
        for discrepancy in self.found.iter().take(SHOWN) {
            let certain = if self.certain.contains(discrepancy) {
                "again, and repaired"
            } else {
                "once"
            };
            let name = self.name(&discrepancy.uid);
            writeln!(f, "{:>14}  {name} ({certain})", discrepancy.finding.kind())?;
        }
        if self.found.len() > SHOWN {
            writeln!(f, "{:>14}  {} more", "", self.found.len() - SHOWN)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Moment;
    use plimsoll_model::testing::pod;
    use std::sync::Arc;

    use super::super::accounts::Unassigned;
    use super::super::comparison::compare;
    use super::*;

    #[test]
    fn an_operator_reads_who_has_what_and_what_is_wrong() {
        let lost = Arc::new(pod("lost").uid("1").build());
        let mut accounts = Accounts::default();
        accounts.cache.unassigned.push(Unassigned { pod: lost, ours: true });
        let stale = (Uid::from("2"), Place::Backoff, Moment::ZERO);
        accounts.queue.pods.push(stale);
        accounts.cycle.waiting.push(Uid::from("1"));
        let found = compare(&accounts);
        let certain = found[..1].to_vec();
        let report = AuditReport::new(7, Duration::from_millis(12), &accounts, found, certain);
        let text = report.to_string();
        for line in [
            "audit 7 at change 0, 0.012 s",
            "       1  of ours",
            "       1  backing off",
            "2 wrong",
            "       missing  default/lost (again, and repaired)",
            "         stale  2 (once)",
        ] {
            assert!(text.lines().any(|found| found == line), "missing {line:?} in\n{text}");
        }
    }
}
