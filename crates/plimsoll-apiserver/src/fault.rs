//! Injected faults: rules that match requests and say what goes wrong with them.
//!
//! Rules are tried in the order in which they were added; every rule that fires adds to what happens, and for what can
//! happen only once the first one wins. Probabilities are drawn from a generator seeded with the server, so that a seed
//! replays.

mod gate;
mod rule;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

pub use rule::{Action, Failure, Match, Rule};

use crate::{request::Request, status::ApiError};
use gate::Gates;

/// Names a rule that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct RuleId(pub u64);

struct Active {
    rule: Rule,
    /// Requests matched so far, fired or not.
    matched: u64,
    fired: u64,
}

struct State {
    rules: BTreeMap<RuleId, Active>,
    next: u64,
    rng: ChaCha8Rng,
}

/// The handle through which rules are added and removed while the server runs.
#[derive(Clone)]
pub struct Faults {
    state: Arc<Mutex<State>>,
    gates: Arc<Gates>,
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Faults").finish_non_exhaustive()
    }
}

/// What happens after a write was applied.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Aftermath {
    Answer(ApiError),
    LoseReply,
}

/// What goes wrong with one request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) delay: Duration,
    pub(crate) holds: Vec<String>,
    /// Apply this long after arrival, whether or not the client still waits.
    pub(crate) apply_late: Option<Duration>,
    pub(crate) before: Option<ApiError>,
    pub(crate) after: Option<Aftermath>,
    pub(crate) watch: WatchFaults,
}

/// What goes wrong with a watch (and, for the stale version, with a list).
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchFaults {
    pub(crate) cut_after: Option<u64>,
    pub(crate) stale_by: u64,
    pub(crate) bookmark_period: Option<Duration>,
    /// The watch opens and tells this error as its only event.
    pub(crate) error: Option<ApiError>,
}

impl Faults {
    pub(crate) fn new(seed: u64) -> Self {
        let state = State {
            rules: BTreeMap::new(),
            next: 1,
            rng: ChaCha8Rng::seed_from_u64(seed),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            gates: Arc::default(),
        }
    }

    fn with<R>(&self, read: impl FnOnce(&mut State) -> R) -> R {
        read(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a rule behind all others.
    pub fn add(&self, rule: Rule) -> RuleId {
        self.with(|state| {
            let id = RuleId(state.next);
            state.next += 1;
            state.rules.insert(
                id,
                Active {
                    rule,
                    matched: 0,
                    fired: 0,
                },
            );
            id
        })
    }

    /// Removes a rule; false when it is not there (any more).
    pub fn remove(&self, id: RuleId) -> bool {
        self.with(|state| state.rules.remove(&id).is_some())
    }

    /// Removes all rules and lets everything go that is held.
    pub fn clear(&self) {
        self.with(|state| state.rules.clear());
        self.gates.release_all();
    }

    /// Opens a gate: requests held at it go on, and later ones pass.
    pub fn release(&self, gate: &str) {
        self.gates.release(gate);
    }

    /// Closes a gate that was opened.
    pub fn close(&self, gate: &str) {
        self.gates.close(gate);
    }

    /// How many requests wait at a gate.
    pub fn held(&self, gate: &str) -> usize {
        self.gates.waiting(gate)
    }

    /// How often a rule has fired; `None` once it is removed.
    pub fn fired(&self, id: RuleId) -> Option<u64> {
        self.with(|state| state.rules.get(&id).map(|active| active.fired))
    }

    /// The rules in force, with how often each has fired.
    pub fn rules(&self) -> Vec<(RuleId, Rule, u64)> {
        self.with(|state| {
            state
                .rules
                .iter()
                .map(|(id, a)| (*id, a.rule.clone(), a.fired))
                .collect()
        })
    }

    pub(crate) async fn pass(&self, gate: &str) {
        self.gates.pass(gate).await;
    }

    /// Decides what goes wrong with a request.
    pub(crate) fn plan(&self, request: &Request) -> Plan {
        self.with(|state| {
            let mut plan = Plan::default();
            let State { rules, rng, .. } = state;
            for active in rules.values_mut() {
                if active.rule.matching.matches(request) && active.fires(rng) {
                    plan.add(&active.rule.action);
                }
            }
            plan
        })
    }
}

impl Active {
    fn fires(&mut self, rng: &mut ChaCha8Rng) -> bool {
        self.matched += 1;
        if self.matched <= self.rule.skip || self.rule.times.is_some_and(|times| self.fired >= times) {
            return false;
        }
        if let Some(probability) = self.rule.probability
            && fraction(rng) >= probability
        {
            return false;
        }
        self.fired += 1;
        true
    }
}

/// A number in `0.0..1.0`.
#[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
fn fraction(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

impl Plan {
    fn add(&mut self, action: &Action) {
        match action {
            Action::Latency { millis } => self.delay += Duration::from_millis(*millis),
            Action::Hold { gate } => self.holds.push(gate.clone()),
            Action::Fail { failure } => set_once(&mut self.before, || failure.to_error()),
            Action::FailAfter { failure } => set_once(&mut self.after, || Aftermath::Answer(failure.to_error())),
            Action::LoseReply => set_once(&mut self.after, || Aftermath::LoseReply),
            Action::ApplyLate { millis } => set_once(&mut self.apply_late, || Duration::from_millis(*millis)),
            Action::CutWatch { after_events } => set_once(&mut self.watch.cut_after, || *after_events),
            Action::StaleRead { versions } => self.watch.stale_by = self.watch.stale_by.max(*versions),
            Action::WatchError { failure } => set_once(&mut self.watch.error, || failure.to_error()),
            Action::BookmarkEvery { millis } => {
                set_once(&mut self.watch.bookmark_period, || Duration::from_millis(*millis));
            }
        }
    }
}

fn set_once<T>(slot: &mut Option<T>, value: impl FnOnce() -> T) {
    if slot.is_none() {
        *slot = Some(value());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, path: &str) -> Request {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("user-agent", "sched/1")
            .body(());
        Request::new(request.expect("a request").into_parts().0)
    }

    fn rule(matching: Match, action: Action) -> Rule {
        Rule {
            matching,
            action,
            skip: 0,
            times: None,
            probability: None,
        }
    }

    #[test]
    fn rules_match_every_part_they_name() {
        let bind = request("POST", "/api/v1/namespaces/n/pods/p/binding");
        let on = |json: serde_json::Value| serde_json::from_value::<Match>(json).expect("a match").matches(&bind);
        assert!(on(serde_json::json!({})));
        assert!(on(serde_json::json!({
            "verbs": ["create"], "resource": "pods", "subresource": "binding",
            "namespace": "n", "name": "p", "userAgent": "sched",
        })));
        assert!(!on(serde_json::json!({ "verbs": ["patch"] })));
        assert!(!on(serde_json::json!({ "subresource": "status" })));
        assert!(!on(serde_json::json!({ "name": "q" })));
        assert!(!on(serde_json::json!({ "userAgent": "other" })));
    }

    #[test]
    fn a_rule_fires_after_its_skips_and_only_so_often() {
        let faults = Faults::new(0);
        let fail = serde_json::from_value(serde_json::json!({ "type": "fail", "code": 503 })).expect("an action");
        let id = faults.add(Rule {
            skip: 1,
            times: Some(2),
            ..rule(Match::default(), fail)
        });
        let get = request("GET", "/api/v1/pods");
        let fired: Vec<bool> = (0..5).map(|_| faults.plan(&get).before.is_some()).collect();
        assert_eq!(fired, [false, true, true, false, false]);
        assert_eq!(faults.fired(id), Some(2));
        assert!(faults.remove(id));
    }

    #[test]
    fn the_same_seed_draws_the_same_chances() {
        let draw = |seed| {
            let faults = Faults::new(seed);
            faults.add(Rule {
                probability: Some(0.5),
                ..rule(Match::default(), Action::Latency { millis: 1 })
            });
            let get = request("GET", "/api/v1/pods");
            (0..64).map(|_| !faults.plan(&get).delay.is_zero()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
