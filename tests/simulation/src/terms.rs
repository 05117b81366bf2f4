//! Who may write: the tokens of all terms of a run, each by the clock of the machine it was won on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_client::{Clock, TermToken, VirtualClock};

/// The tokens of a run. Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Terms(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    held: Vec<Held>,
    begun: u64,
    problems: Vec<String>,
}

#[derive(Debug)]
struct Held {
    replica: String,
    clock: Arc<VirtualClock>,
    token: Arc<TermToken>,
}

impl Held {
    fn can_write(&self) -> bool {
        self.token.may_write(self.clock.now())
    }
}

impl Terms {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A term has begun.
    pub fn began(&self, replica: &str, clock: &Arc<VirtualClock>, token: &Arc<TermToken>) {
        let mut state = self.lock();
        state.begun += 1;
        state.held.push(Held {
            replica: replica.to_owned(),
            clock: Arc::clone(clock),
            token: Arc::clone(token),
        });
        drop(state);
        self.check();
    }

    /// The process of this replica is gone, and what it held with it.
    pub fn died(&self, replica: &str) {
        self.lock().held.retain(|held| held.replica != replica);
    }

    /// Looks whether two may write now.
    pub fn check(&self) {
        let mut state = self.lock();
        if state.held.len() < 2 {
            return;
        }
        state.held.retain(|held| !held.token.is_cancelled());
        let able: Vec<String> = state
            .held
            .iter()
            .filter(|held| held.can_write())
            .map(|held| format!("{} (term {})", held.replica, held.token.number()))
            .collect();
        if able.len() > 1 {
            let problem = format!("more than one may write: {}", able.join(", "));
            if !state.problems.contains(&problem) {
                state.problems.push(problem);
            }
        }
    }

    /// How many terms have begun.
    pub fn begun(&self) -> u64 {
        self.lock().begun
    }

    /// Each pair that could write at one time.
    pub fn problems(&self) -> Vec<String> {
        self.lock().problems.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use plimsoll_model::Moment;

    use super::*;
    use crate::run;

    #[test]
    fn two_tokens_that_allow_writing_at_one_time_are_found_each_by_its_own_clock() {
        run(async {
            let terms = Terms::default();
            let clock = || Arc::new(VirtualClock::new(Timestamp::UNIX_EPOCH));
            let token = || TermToken::new(1, Moment::ZERO, Duration::from_secs(10), Duration::from_secs(5));
            let asleep = clock();
            asleep.suspend(Duration::from_secs(10));
            terms.began("a", &asleep, &token());
            let second = token();
            terms.began("b", &clock(), &second);
            assert_eq!(terms.problems(), Vec::<String>::new());
            terms.began("c", &clock(), &token());
            assert_eq!(terms.problems(), ["more than one may write: b (term 1), c (term 1)"]);
        });
    }
}
