//! What holds for a whole run: how long messages and requests take, what the election's durations are, who else is there.

use std::time::Duration;

use jiff::SignedDuration;
use plimsoll_apiserver::fault::{Action, Match, Rule};
use plimsoll_config::{ElectionConfig, PodDisruptionBudgetPolicy};

use super::Chaos;
use super::dice::Dice;
use crate::link::Delays;
use crate::post::Pace;
use crate::slow_plugins;
use crate::world::{ClockFault, Setup};

/// Which part of a run draws it.
const CLIMATE: u64 = 3_000_000;
/// A clock that runs fast or slow does so by less than this many parts per million, as real ones do.
const DRIFT: u64 = 500;

/// The climate of one run.
#[derive(Debug, Clone)]
pub(super) struct Climate {
    pace: Pace,
    delays: Delays,
    election: ElectionConfig,
    /// When bookmarks come, where not as usual.
    bookmarks: Option<Duration>,
    clocks_differ: bool,
    asks_outside: Option<Duration>,
    hard_budgets: bool,
    /// Whether another scheduler is at work.
    pub(super) others: bool,
    /// Replicas at most.
    pub(super) replicas: u64,
}

impl Climate {
    pub(super) fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed, CLIMATE);
        let pace = [Pace::Instant, Pace::Quick, Pace::Fitful, Pace::Slow];
        let pace = dice.pick(&pace).copied().unwrap_or_default();
        let election = election(&mut dice);
        let delays = delays(&mut dice, &election);
        let periods = [None, None, None, Some(200), Some(5_000), Some(90_000)];
        let bookmarks = dice.pick(&periods).copied().flatten().map(Duration::from_millis);
        let asks_outside = dice.percent(15).then(|| Duration::from_millis(dice.below(600)));
        Self {
            pace,
            delays,
            election,
            bookmarks,
            clocks_differ: dice.percent(50),
            asks_outside,
            // Half of the runs ask the API server before they evict anybody.
            hard_budgets: seed.is_multiple_of(2),
            others: dice.percent(40),
            replicas: 1 + dice.below(3),
        }
    }

    /// What it takes to ask outside about so many pods, one after the other.
    pub(super) fn time_for(&self, pods: u32) -> Duration {
        self.asks_outside.unwrap_or_default() * pods
    }

    /// How long a lease holds.
    pub(super) fn lease(&self) -> Duration {
        self.election.lease_duration
    }

    /// The clock of one machine.
    pub(super) fn clock(&self, dice: &mut Dice) -> ClockFault {
        if !self.clocks_differ {
            return ClockFault::default();
        }
        let minutes = i64::try_from(dice.below(120)).unwrap_or(0) - 60;
        let drift = i64::try_from(dice.below(2 * DRIFT)).unwrap_or(0);
        ClockFault {
            skew: SignedDuration::from_mins(minutes),
            drift: drift - i64::try_from(DRIFT).unwrap_or(0),
        }
    }

    /// How a replica is configured.
    pub(super) fn setup(&self) -> Setup {
        let mut setup = Setup::default();
        setup.config.leader_election = self.election.clone();
        if self.hard_budgets {
            setup.profile.extras.pod_disruption_budget_policy = PodDisruptionBudgetPolicy::Hard;
        }
        if let Some(answer) = self.asks_outside {
            slow_plugins::add_to(&mut setup, Duration::ZERO, answer);
            let ask = plimsoll_config::PluginRef::new(slow_plugins::ASK, 0);
            setup.profile.plugins.multi_point.enabled.push(ask);
        }
        setup
    }
}

/// The defaults, and shorter ones.
fn election(dice: &mut Dice) -> ElectionConfig {
    let (lease, renew, retry) = match dice.below(4) {
        0 => (3_000, 2_000, 500),
        1 => (8_000, 5_000, 1_000),
        _ => (15_000, 10_000, 2_000),
    };
    ElectionConfig {
        lease_duration: Duration::from_millis(lease),
        renew_deadline: Duration::from_millis(renew),
        retry_period: Duration::from_millis(retry),
        ..ElectionConfig::default()
    }
}

/// None, short ones, or such that now and then something takes seconds. What is on the wire stays within the allowance
/// of a write's time-out.
fn delays(dice: &mut Dice, election: &ElectionConfig) -> Delays {
    let millis = Duration::from_millis;
    let allowance = (election.write_timeout() / 5).min(Duration::from_secs(1)) * 4 / 5;
    match dice.below(4) {
        0 => Delays::default(),
        1 => Delays {
            before_sending: millis(2),
            on_the_wire: millis(3),
            of_answers: millis(3),
            one_is_slow_of: 0,
        },
        2 => Delays {
            before_sending: millis(10),
            on_the_wire: allowance.min(millis(100)),
            of_answers: millis(20),
            one_is_slow_of: 150,
        },
        _ => Delays {
            before_sending: millis(30),
            on_the_wire: allowance,
            of_answers: millis(40),
            one_is_slow_of: 80,
        },
    }
}

impl Chaos {
    /// Lets it begin, as far as the API server makes it.
    pub(super) fn set_in(&mut self) {
        self.note(&format!("climate {:?}", self.climate));
        if let Some(period) = self.climate.bookmarks {
            let millis = u64::try_from(period.as_millis()).unwrap_or(u64::MAX);
            let rule = Rule::new(Match::verbs(&["watch"]), Action::BookmarkEvery { millis });
            self.world.server().faults().add(rule);
        }
    }

    /// The machine at this place takes its time as the climate says.
    pub(super) fn expose(&self, at: usize) {
        let machine = &self.replicas[at].0;
        machine.slow_down(self.climate.pace, self.climate.delays);
    }
}
