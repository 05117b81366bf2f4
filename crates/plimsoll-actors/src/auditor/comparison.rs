//! Holds what the cache, the queue and the cycle say against each other. Pure: no messages, no time of its own.

use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use plimsoll_engine::{ClaimId, ClaimState};
use plimsoll_model::{Moment, Uid};
use plimsoll_queue::Place;

use super::accounts::{Accounts, ClaimAccount, Unassigned};

/// A look that is due comes with the next whole second, and an actor that answers nothing for the renew deadline (10 s
/// unless configured) costs the term. What is later than this was forgotten.
const OVERDUE: Duration = Duration::from_secs(30);

/// What is wrong, with what makes it the same thing in two audits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// A pod of ours waits for a node, and the queue does not know it.
    Missing,
    /// The queue has a pod that waits for no node, or is not ours.
    Stale,
    /// A pod in flight that neither the cycle nor a worker has, popped at this time.
    Abandoned {
        /// When.
        popped_at: Moment,
    },
    /// A pod waits in the queue while the cycle decides it or its binding is under way.
    TwoOwners,
    /// A pod waits for a node, and the cycle has not heard of it, so that it takes it for gone.
    Unheard,
    /// The time at which the pod was to be looked at again is long past.
    Overdue {
        /// When that was.
        due: Moment,
    },
    /// A claim of a pod that is gone or has a node.
    OrphanedClaim {
        /// The claim.
        claim: ClaimId,
    },
    /// A claim waits for an answer that nobody owes it, or that got lost.
    Unanswered {
        /// The claim.
        claim: ClaimId,
        /// Since when it waits, if it asked at all.
        asked: Option<Moment>,
    },
    /// Volumes are reserved for a pod whose claim, if it has one, holds none: nobody else may have them, and nobody gives them
    /// back.
    OrphanedReservation,
    /// A claim holds volumes that are not reserved for its pod: somebody else may get them.
    MissingReservation,
    /// The cycle has nothing to do, and the queue waits for it to ask for a pod.
    Unasked {
        /// How many pods had been handed out.
        handed_out: u64,
    },
}

impl Finding {
    /// The label of the metric.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Stale => "stale",
            Self::Abandoned { .. } => "abandoned",
            Self::TwoOwners => "two_owners",
            Self::Unheard => "unheard",
            Self::Overdue { .. } => "overdue",
            Self::OrphanedClaim { .. } => "orphaned_claim",
            Self::Unanswered { .. } => "unanswered",
            Self::OrphanedReservation => "orphaned_reservation",
            Self::MissingReservation => "missing_reservation",
            Self::Unasked { .. } => "unasked",
        }
    }

    /// Every label.
    pub const KINDS: [&'static str; 11] = [
        "missing",
        "stale",
        "abandoned",
        "two_owners",
        "unheard",
        "overdue",
        "orphaned_claim",
        "unanswered",
        "orphaned_reservation",
        "missing_reservation",
        "unasked",
    ];
}

/// Something that is wrong with a pod; with none in particular when the UID is empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Discrepancy {
    /// The pod.
    pub uid: Uid,
    /// What is wrong.
    pub finding: Finding,
}

type Set<'a> = HashSet<&'a Uid, FixedState>;

/// The accounts, by pod.
struct Ledgers<'a> {
    accounts: &'a Accounts,
    /// Pods of ours that wait for a node.
    pending: Set<'a>,
    /// All that wait for a node.
    unassigned: Set<'a>,
    attempts: Set<'a>,
    settled: Set<'a>,
    claims: HashMap<&'a Uid, &'a ClaimAccount, FixedState>,
    found: Vec<Discrepancy>,
}

/// Everything that does not fit together, in a stable order. The docs say why a pod on its way between two actors is not
/// among it.
pub fn compare(accounts: &Accounts) -> Vec<Discrepancy> {
    let unassigned = || accounts.cache.unassigned.iter();
    let mut ledgers = Ledgers {
        accounts,
        pending: unassigned().filter(|pod| pod.ours).map(|pod| &pod.pod.uid).collect(),
        unassigned: unassigned().map(|pod| &pod.pod.uid).collect(),
        attempts: accounts.cycle.attempts.iter().collect(),
        settled: accounts.back.settled.iter().collect(),
        claims: accounts.cycle.claims.iter().map(|claim| (&claim.uid, claim)).collect(),
        found: Vec::new(),
    };
    ledgers.look_for_missing();
    ledgers.look_for_unheard();
    for (uid, place, next_look) in &accounts.queue.pods {
        ledgers.look_at_queued(uid, *place, *next_look);
    }
    for claim in &accounts.cycle.claims {
        ledgers.look_at_claim(claim);
    }
    ledgers.look_at_reservations();
    ledgers.look_at_turns();
    ledgers.found.sort_unstable();
    ledgers.found
}

impl Ledgers<'_> {
    fn find(&mut self, uid: &Uid, finding: Finding) {
        let uid = uid.clone();
        self.found.push(Discrepancy { uid, finding });
    }

    fn look_for_missing(&mut self) {
        let known: Set<'_> = self.accounts.queue.pods.iter().map(|(uid, _, _)| uid).collect();
        let pending = self.accounts.cache.unassigned.iter().filter(|pod| pod.ours);
        for pod in pending.filter(|pod| !known.contains(&pod.pod.uid)) {
            self.find(&pod.pod.uid, Finding::Missing);
        }
    }

    /// Of a cycle that stands at the marker's change exactly: a later change may have taken the pod away.
    fn look_for_unheard(&mut self) {
        let accounts = self.accounts;
        if accounts.cycle.applied != accounts.cache.seq {
            return;
        }
        let waiting: Set<'_> = accounts.cycle.waiting.iter().collect();
        for Unassigned { pod, .. } in &accounts.cache.unassigned {
            if !waiting.contains(&pod.uid) && !self.claims.contains_key(&pod.uid) {
                self.find(&pod.uid, Finding::Unheard);
            }
        }
    }

    fn look_at_queued(&mut self, uid: &Uid, place: Place, next_look: Moment) {
        if !self.pending.contains(uid) {
            return self.find(uid, Finding::Stale);
        }
        let claim = self.claims.get(uid);
        match place {
            Place::InFlight => {
                let owned = self.attempts.contains(uid) || claim.is_some() || self.settled.contains(uid);
                if !owned {
                    let popped_at = next_look;
                    self.find(uid, Finding::Abandoned { popped_at });
                }
            }
            Place::Active => self.look_for_second_owner(uid),
            Place::Backoff | Place::ErrorBackoff | Place::Unschedulable | Place::Gated => {
                self.look_for_second_owner(uid);
                self.look_at_deadline(uid, next_look, self.accounts.queue.at);
            }
            // The claim may have ended already, when the cycle saw more of the stream than the queue had.
            Place::Placed => self.look_at_deadline(uid, next_look, self.accounts.queue.at),
        }
    }

    /// A claim whose binding took effect is beside the queue's record: that looks again in case the watch never shows it.
    fn look_for_second_owner(&mut self, uid: &Uid) {
        let unsettled =
            |claim: &&ClaimAccount| !matches!(claim.state, ClaimState::Seen | ClaimState::Bound | ClaimState::Moved);
        if self.attempts.contains(uid) || self.claims.get(uid).is_some_and(unsettled) {
            self.find(uid, Finding::TwoOwners);
        }
    }

    fn look_at_deadline(&mut self, uid: &Uid, due: Moment, now: Moment) {
        if due + OVERDUE < now {
            self.find(uid, Finding::Overdue { due });
        }
    }

    fn look_at_claim(&mut self, claim: &ClaimAccount) {
        let cycle = &self.accounts.cycle;
        let (uid, id) = (&claim.uid, claim.id);
        // Changes that a waiting cycle must not see yet may be those that end the claim.
        let has_seen_as_much = cycle.applied >= self.accounts.cache.seq;
        let awaits_answer_alone = claim.state == ClaimState::Seen;
        if has_seen_as_much && !self.unassigned.contains(uid) && !awaits_answer_alone {
            return self.find(uid, Finding::OrphanedClaim { claim: id });
        }
        if let Some(due) = claim.state.deadline() {
            self.look_at_deadline(uid, due, cycle.at);
        }
        let asks = |state| matches!(state, ClaimState::Sent | ClaimState::Seen | ClaimState::Checking { .. });
        let waits = claim.writes_volume || asks(claim.state);
        if waits && (claim.asked.is_none() || cycle.answers_lost) {
            let asked = claim.asked;
            self.find(uid, Finding::Unanswered { claim: id, asked });
        }
    }

    /// The columns hold for pods what their claims hold. While a cycle waits they lag behind.
    fn look_at_reservations(&mut self) {
        let accounts = self.accounts;
        let Some(reserving) = &accounts.cycle.reserving else {
            return;
        };
        for uid in reserving {
            if !self.claims.get(uid).is_some_and(|claim| claim.holds_volumes) {
                self.find(uid, Finding::OrphanedReservation);
            }
        }
        let reserving: Set<'_> = reserving.iter().collect();
        for claim in accounts.cycle.claims.iter().filter(|claim| claim.holds_volumes) {
            if !reserving.contains(&claim.uid) {
                self.find(&claim.uid, Finding::MissingReservation);
            }
        }
    }

    /// An idle cycle has asked before it told its account, and the queue has heard of it when the marker is back: then it
    /// waits for a pod, or got one meanwhile.
    fn look_at_turns(&mut self) {
        let (queue, back) = (&self.accounts.queue, &self.accounts.back);
        let handed_out = queue.handed_out;
        if self.accounts.cycle.idle && back.popping && !back.asked && back.handed_out == handed_out {
            self.find(&Uid::new(""), Finding::Unasked { handed_out });
        }
    }
}

#[cfg(test)]
mod tests;
