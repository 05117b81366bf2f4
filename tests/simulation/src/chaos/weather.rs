//! Faults that come and go.

use plimsoll_apiserver::fault::{Action, Failure, Match, Rule, RuleId};

use super::Chaos;
use crate::rules;

/// Rules in force at most: with more hardly any request comes through.
const RULES: usize = 4;
/// Kinds whose watches and lists fail as those of pods and nodes do, where there are volumes.
const STORAGE: [&str; 3] = ["persistentvolumes", "persistentvolumeclaims", "csinodes.storage.k8s.io"];

impl Chaos {
    pub(super) fn add_rule(&mut self) {
        if self.climate.extender.is_some() && self.dice.percent(40) {
            return self.upset_extender();
        }
        if self.rules.len() >= RULES {
            self.remove_rule();
        }
        let (matching, action) = self.draw_fault();
        self.let_fault_befall(matching, action);
    }

    /// A fault of writes to volumes, or to claims.
    pub(super) fn add_rule_for_volumes(&mut self) {
        if self.rules.len() >= RULES {
            self.remove_rule();
        }
        let (volumes, action) = (self.dice.percent(50), self.fault_of_a_write_to_storage());
        let matching = if volumes {
            rules::volume_patches()
        } else {
            rules::claim_patches()
        };
        self.let_fault_befall(matching, action);
    }

    /// From now on, in all replicas or in one, always or now and then.
    fn let_fault_befall(&mut self, mut matching: Match, action: Action) {
        if self.dice.percent(40)
            && let Some(at) = self.dice.index(self.replicas.len())
        {
            matching = matching.user_agent(self.replicas[at].0.name());
        }
        let chance = self.dice.pick(&[0.1, 0.3, 0.6, 1.0]).copied();
        let rule = Rule {
            probability: chance,
            ..Rule::new(matching, action)
        };
        self.note(&format!("fault {rule:?}"));
        self.rules.push(self.world.server().faults().add(rule));
    }

    pub(super) fn remove_rule(&mut self) {
        if let Some(at) = self.dice.index(self.rules.len()) {
            let id = self.rules.remove(at);
            self.note(&format!("fault {} ends", id.0));
            self.count(id);
            self.world.server().faults().remove(id);
        }
    }

    /// All of them, those of the climate too.
    pub(super) fn end_rules(&mut self) {
        for id in std::mem::take(&mut self.rules) {
            self.count(id);
        }
        self.world.server().faults().clear();
        if self.climate.is_silent() {
            self.set_bookmarks();
        }
    }

    fn count(&mut self, id: RuleId) {
        let rules = self.world.server().faults().rules();
        let Some((_, rule, fired)) = rules.into_iter().find(|(other, ..)| *other == id) else {
            return;
        };
        self.counters.faults += fired;
        let resource = rule.matching.resource.unwrap_or_default();
        if resource.starts_with("persistentvolume") && rule.matching.verbs == ["patch"] {
            self.counters.faults_of_volume_writes += fired;
        }
    }

    /// Where there are volumes, nearly half of all faults befall those and their claims.
    fn draw_fault(&mut self) -> (Match, Action) {
        let kinds = if self.storage.is_some() { 23 } else { 13 };
        match self.dice.below(kinds) {
            13..17 => (rules::volume_patches(), self.fault_of_a_write_to_storage()),
            17..20 => (rules::claim_patches(), self.fault_of_a_write_to_storage()),
            20..23 => (self.reads_of(&STORAGE), self.fault_of_a_watch()),
            12 => (Match::default(), self.refusal_of_a_read()),
            10 => (rules::deletions(), self.fault_of_a_write()),
            11 => (rules::evictions(), self.fault_of_a_write()),
            0..4 => (rules::bindings(), self.fault_of_a_write()),
            4 => (rules::status_patches(), self.fault_of_a_write()),
            5 => (rules::pod_reads(), self.refusal_of_a_read()),
            6 => (rules::lease_requests(), self.fault_of_a_write()),
            7 => (Match::default(), self.latency(800)),
            _ => (self.reads_of(&["pods", "nodes"]), self.fault_of_a_watch()),
        }
    }

    fn reads_of(&mut self, plurals: &[&'static str]) -> Match {
        let plural = *self.dice.pick(plurals).unwrap_or(&"pods");
        if self.dice.percent(30) {
            rules::lists(plural)
        } else {
            rules::watches(plural)
        }
    }

    fn fault_of_a_write(&mut self) -> Action {
        self.what_a_write_suffers().unwrap_or_else(|| self.refusal())
    }

    fn fault_of_a_write_to_storage(&mut self) -> Action {
        self.what_a_write_suffers().unwrap_or_else(|| self.refusal_of_a_read())
    }

    /// Something other than a refusal, in two of three cases.
    fn what_a_write_suffers(&mut self) -> Option<Action> {
        let late = self.dice.below(6_000);
        match self.dice.below(6) {
            0 => Some(Action::LoseReply),
            1 => Some(Action::ApplyLate { millis: late }),
            2 => Some(Action::FailAfter {
                failure: Failure::code(500),
            }),
            3 => Some(self.latency(7_000)),
            _ => None,
        }
    }

    fn refusal(&mut self) -> Action {
        self.refusal_with([400, 403, 404, 409, 429, 500, 503, 504])
    }

    /// No server says of an object that is there that it is not. Of a binding it may: whoever doubts that reads.
    fn refusal_of_a_read(&mut self) -> Action {
        self.refusal_with([400, 403, 400, 409, 429, 500, 503, 504])
    }

    fn refusal_with(&mut self, codes: [u16; 8]) -> Action {
        let code = self.dice.pick(&codes).copied().unwrap_or(500);
        let wait = u32::try_from(self.dice.below(4)).unwrap_or(1);
        let failure = Failure::code(code);
        Action::Fail {
            failure: if code == 429 {
                failure.retry_after(wait)
            } else {
                failure
            },
        }
    }

    fn fault_of_a_watch(&mut self) -> Action {
        let events = self.dice.below(6);
        match self.dice.below(6) {
            0 | 1 => Action::CutWatch { after_events: events },
            2 => {
                let code = self.dice.pick(&[410, 410, 500, 504]).copied().unwrap_or(410);
                Action::WatchError {
                    failure: Failure::code(code),
                }
            }
            3 => Action::StaleRead { versions: 5 * events },
            4 => self.latency(5_000),
            _ => self.refusal(),
        }
    }

    fn latency(&mut self, most: u64) -> Action {
        Action::Latency {
            millis: self.dice.below(most),
        }
    }
}
