//! What holds for a whole run: how long messages and requests take, what the election's durations are, who else is there.

use std::time::Duration;

use jiff::SignedDuration;
use plimsoll_actors::elector::progress::WATCH_PATIENCE;
use plimsoll_apiserver::fault::{Action, Match, Rule};
use plimsoll_config::{ElectionConfig, ExtenderConfig, GoDuration, PodDisruptionBudgetPolicy};

use super::Chaos;
use super::dice::Dice;
use super::telling::Traced;
use crate::extender::SimulatedExtender;
use crate::link::Delays;
use crate::post::Pace;
use crate::slow_plugins;
use crate::world::{ClockFault, Setup};

/// Which part of a run draws it.
const CLIMATE: u64 = 3_000_000;
/// The same, for what was thought of later: a seed keeps what it had.
const MORE: u64 = CLIMATE + 1;
/// The period of bookmarks that never come.
const NEVER: Duration = Duration::from_hours(1_000_000);
/// What a leader that resigns because of a silent watch costs at most: it stands aside, another one or itself begins with an
/// empty cache, and each kind is listed once more.
const RESIGNING: Duration = Duration::from_secs(45);
/// A clock that runs fast or slow does so by less than this many parts per million, as real ones do.
const DRIFT: u64 = 500;

/// The climate of one run.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each goes with any other")]
pub(super) struct Climate {
    pace: Pace,
    delays: Delays,
    election: ElectionConfig,
    /// When bookmarks come, where not as usual.
    bookmarks: Option<Duration>,
    /// Who reads nothing while it stands by.
    cold: Cold,
    /// Who is asked about pods, and how.
    pub(super) extender: Option<Asked>,
    /// Whether pods come with volumes.
    pub(super) volumes: bool,
    clocks_differ: bool,
    asks_outside: Option<Duration>,
    hard_budgets: bool,
    /// Whether another scheduler is at work.
    pub(super) others: bool,
    /// Replicas at most.
    pub(super) replicas: u64,
    /// Whether somebody is told of all this, and how.
    pub(super) traced: Option<Traced>,
}

/// Which replicas have `delayCacheUntilActive`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cold {
    None,
    Some,
    All,
}

/// What an extender is asked, and how long each answer takes.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "any verb goes with any other")]
pub(super) struct Asked {
    pub(super) filters: bool,
    prioritizes: bool,
    pub(super) binds: bool,
    ignorable: bool,
    knows_nodes: bool,
    pub(super) latency: Duration,
}

impl Asked {
    fn of(dice: &mut Dice) -> Self {
        let verbs = dice.below(7) + 1;
        Self {
            filters: verbs & 1 > 0,
            prioritizes: verbs & 2 > 0,
            binds: verbs & 4 > 0,
            ignorable: dice.percent(40),
            knows_nodes: dice.percent(50),
            latency: Duration::from_millis(dice.below(30)),
        }
    }

    /// Its answer is waited for no longer than a lost lease is: see `docs/high-availability.md`.
    fn config(&self, election: &ElectionConfig) -> ExtenderConfig {
        let verb = |asked: bool, verb: &str| if asked { verb.to_owned() } else { String::new() };
        let limit = limit(election);
        ExtenderConfig {
            url_prefix: "http://extender".to_owned(),
            filter_verb: verb(self.filters, "filter"),
            prioritize_verb: verb(self.prioritizes, "prioritize"),
            // Whoever keeps pods off nodes must be able to say so before anybody goes there in vain.
            preempt_verb: verb(self.filters, "preempt"),
            bind_verb: verb(self.binds, "bind"),
            weight: 1,
            http_timeout: GoDuration::from_nanos(i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX)),
            node_cache_capable: self.knows_nodes,
            ignorable: self.ignorable,
            ..ExtenderConfig::default()
        }
    }

    /// The verbs it is asked.
    pub(super) fn verbs(&self) -> Vec<&'static str> {
        let verbs = [
            ("filter", self.filters),
            ("preempt", self.filters),
            ("prioritize", self.prioritizes),
            ("bind", self.binds),
        ];
        verbs
            .into_iter()
            .filter(|(_, asked)| *asked)
            .map(|(verb, _)| verb)
            .collect()
    }
}

impl Climate {
    pub(super) fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed, CLIMATE);
        let mut more = Dice::new(seed, MORE);
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
            bookmarks: if more.percent(12) { Some(NEVER) } else { bookmarks },
            cold: *more
                .pick(&[Cold::None, Cold::None, Cold::Some, Cold::All])
                .unwrap_or(&Cold::None),
            extender: more.percent(35).then(|| Asked::of(&mut more)),
            volumes: more.percent(40),
            clocks_differ: dice.percent(50),
            asks_outside,
            // Half of the runs ask the API server before they evict anybody.
            hard_budgets: seed.is_multiple_of(2),
            others: dice.percent(40),
            replicas: 1 + dice.below(3),
            traced: Traced::of(seed),
        }
    }

    /// What it takes to ask outside about so many pods, one after the other.
    pub(super) fn time_for(&self, pods: u32) -> Duration {
        let extender = self.extender.as_ref().map_or(Duration::ZERO, |asked| 3 * asked.latency);
        (self.asks_outside.unwrap_or_default() + extender) * pods
    }

    /// How long a leader that gives up may be waited for: it does so every few minutes where no bookmarks come.
    pub(super) fn time_to_resign(&self) -> Duration {
        if self.is_silent() { RESIGNING } else { Duration::ZERO }
    }

    /// How long a write that was sent may still be applied, whatever holds it up.
    pub(super) fn time_to_decide(&self) -> Duration {
        self.election.write_timeout() + Duration::from_secs(1)
    }

    /// Whether no bookmarks come, from the first step to the end.
    pub(super) fn is_silent(&self) -> bool {
        self.bookmarks == Some(NEVER)
    }

    /// How long nothing happens before the end, beyond what it takes to settle: long enough for a leader to give up.
    pub(super) fn quiet_end(&self) -> Duration {
        if self.is_silent() {
            WATCH_PATIENCE
        } else {
            Duration::ZERO
        }
    }

    /// How long an extender's answer is waited for.
    pub(super) fn extender_limit(&self) -> Duration {
        limit(&self.election)
    }

    /// Whether a replica that is started now reads nothing while it stands by.
    pub(super) fn is_cold(&self, dice: &mut Dice) -> bool {
        match self.cold {
            Cold::None => false,
            Cold::Some => dice.percent(50),
            Cold::All => true,
        }
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
        if let Some(asked) = &self.extender {
            setup.config.extenders.push(asked.config(&self.election));
        }
        if let Some(answer) = self.asks_outside {
            slow_plugins::add_to(&mut setup, Duration::ZERO, answer);
            let ask = plimsoll_config::PluginRef::new(slow_plugins::ASK, 0);
            setup.profile.plugins.multi_point.enabled.push(ask);
        }
        setup
    }
}

fn limit(election: &ElectionConfig) -> Duration {
    election.write_timeout() * 4 / 5
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
        let climate = format!("{:?}", self.climate);
        self.note(&format!("climate {climate}"));
        if let Some(asked) = &self.climate.extender {
            self.extender = Some(SimulatedExtender::new(&self.world, self.seed, asked.latency));
        }
        self.set_bookmarks();
    }

    /// Watches that are opened from now on get their bookmarks as the climate says.
    pub(super) fn set_bookmarks(&self) {
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
