//! What goes wrong in a round, all of it drawn from the seed and the round's number.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::dice::Dice;
use crate::lease::LeaseTimes;

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// SIGKILL to the leader; it is started anew.
    LeaderKilled,
    /// SIGKILL to a standby; it is started anew.
    StandbyKilled,
    /// SIGSTOP, and SIGCONT well before the lease runs out.
    LeaderPausedShortly,
    /// SIGSTOP, and SIGCONT only after the lease has run out.
    LeaderPausedLong,
    /// The leader's connections to one of two API servers are cut.
    LeaderCutFromOne,
    /// A standby's are.
    StandbyCutFromOne,
    /// The leader's connections to both are cut for longer than its lease.
    LeaderCutOff,
    /// The same for less than its lease.
    LeaderCutOffShortly,
    /// A standby's are.
    StandbyCutOff,
    /// SIGKILL to an API server; it is started again.
    ServerKilled,
    /// SIGKILL to etcd; it is started again with the data it had.
    EtcdRestarted,
    /// SIGTERM to the leader, which must release the lease; it is started anew.
    LeaderAskedToGo,
    /// Each replica in turn gets SIGTERM and is started anew.
    RollingUpgrade,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::LeaderKilled,
        Self::StandbyKilled,
        Self::LeaderPausedShortly,
        Self::LeaderPausedLong,
        Self::LeaderCutFromOne,
        Self::StandbyCutFromOne,
        Self::LeaderCutOff,
        Self::LeaderCutOffShortly,
        Self::StandbyCutOff,
        Self::ServerKilled,
        Self::EtcdRestarted,
        Self::LeaderAskedToGo,
        Self::RollingUpgrade,
    ];

    /// For people.
    pub fn label(self) -> &'static str {
        match self {
            Self::LeaderKilled => "leader killed",
            Self::StandbyKilled => "standby killed",
            Self::LeaderPausedShortly => "leader paused for less than its lease",
            Self::LeaderPausedLong => "leader paused for longer than its lease",
            Self::LeaderCutFromOne => "leader cut off from one API server",
            Self::StandbyCutFromOne => "standby cut off from one API server",
            Self::LeaderCutOff => "leader cut off from both API servers for longer than its lease",
            Self::LeaderCutOffShortly => "leader cut off from both API servers for less than its lease",
            Self::StandbyCutOff => "standby cut off from both API servers",
            Self::ServerKilled => "API server killed",
            Self::EtcdRestarted => "etcd killed and restarted",
            Self::LeaderAskedToGo => "leader asked to go",
            Self::RollingUpgrade => "rolling upgrade",
        }
    }

    /// Whether it is the leader that it is about.
    pub(crate) fn is_about_leader(self) -> bool {
        !matches!(
            self,
            Self::StandbyKilled
                | Self::StandbyCutFromOne
                | Self::StandbyCutOff
                | Self::ServerKilled
                | Self::EtcdRestarted
        )
    }
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What.
    pub kind: Kind,
    /// For how long, in milliseconds, where it lasts.
    pub millis: u64,
    /// Which API server, where one is meant.
    pub server: usize,
    /// Whether connections are cut without a word, where they are cut.
    pub silent: bool,
}

impl Fault {
    /// For how long it lasts.
    pub fn lasts(&self) -> Duration {
        Duration::from_millis(self.millis)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.label())?;
        match self.kind {
            Kind::LeaderCutFromOne | Kind::StandbyCutFromOne | Kind::ServerKilled => {
                write!(f, " ({})", self.server + 1)?;
            }
            _ => {}
        }
        if matches!(
            self.kind,
            Kind::LeaderCutFromOne
                | Kind::StandbyCutFromOne
                | Kind::LeaderCutOff
                | Kind::LeaderCutOffShortly
                | Kind::StandbyCutOff
        ) {
            f.write_str(if self.silent { ", silently" } else { ", with resets" })?;
        }
        if self.millis > 0 {
            write!(f, ", {:.1} s", self.lasts().as_secs_f64())?;
        }
        Ok(())
    }
}

/// A round's faults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// How long pods and nodes churn before the first, in milliseconds.
    pub after: u64,
    /// One, or two that overlap.
    pub faults: Vec<Fault>,
    /// Pods made at once just before the first fault, so that writes are under way when it comes.
    pub burst: u64,
    /// How long before, in milliseconds.
    pub burst_lead: u64,
    /// For each replica, whether new connections avoid an API server that cannot be reached.
    pub avoids: [bool; 3],
}

impl Plan {
    /// The plan of a round.
    pub fn draw(seed: u64, round: u64, lease: LeaseTimes) -> Self {
        let mut dice = Dice::new(seed, round);
        let mut faults = vec![draw_fault(kind_of(seed, round), &mut dice, lease)];
        if dice.percent(20) {
            let second = Kind::ALL[dice.place(Kind::ALL.len())];
            if second != faults[0].kind {
                faults.push(draw_fault(second, &mut dice, lease));
            }
        }
        Self {
            after: dice.between(200, 1000),
            faults,
            avoids: std::array::from_fn(|_| dice.percent(50)),
            burst: [0, 15, 30][dice.place(3)],
            burst_lead: dice.between(10, 200),
        }
    }
}

/// Kinds come like cards of a shuffled deck: in as many rounds as there are kinds, each is first once.
fn kind_of(seed: u64, round: u64) -> Kind {
    let kinds = Kind::ALL.len() as u64;
    let mut deck = Kind::ALL;
    // Streams of their own, far from those of rounds.
    Dice::new(seed, u64::MAX - round / kinds).shuffle(&mut deck);
    deck[usize::try_from(round % kinds).unwrap_or(0)]
}

fn draw_fault(kind: Kind, dice: &mut Dice, lease: LeaseTimes) -> Fault {
    let (low, high) = match kind {
        Kind::LeaderKilled | Kind::StandbyKilled => (0, 1000),
        // In thousandths of the lease's duration.
        Kind::LeaderPausedShortly | Kind::LeaderCutOffShortly => (100, 500),
        Kind::LeaderPausedLong | Kind::LeaderCutOff => (1150, 1600),
        Kind::LeaderCutFromOne | Kind::StandbyCutFromOne | Kind::StandbyCutOff => (500, 1300),
        Kind::ServerKilled => (0, 500),
        Kind::EtcdRestarted => (0, 800),
        Kind::LeaderAskedToGo | Kind::RollingUpgrade => (0, 0),
    };
    let share = dice.between(low, high);
    let whole = u64::try_from(lease.duration().as_millis()).unwrap_or(u64::MAX);
    Fault {
        kind,
        millis: whole * share / 1000,
        server: dice.place(2),
        silent: dice.percent(60),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_deck_of_rounds_has_every_kind_and_a_seed_gives_the_same_again() {
        let kinds = Kind::ALL.len() as u64;
        let first = |round| Plan::draw(7, round, LeaseTimes::Quick).faults[0].kind;
        let drawn: BTreeSet<Kind> = (kinds..2 * kinds).map(first).collect();
        assert_eq!(drawn, BTreeSet::from(Kind::ALL));
        let plans = |seed| (0..40).map(move |round| Plan::draw(seed, round, LeaseTimes::Quick));
        assert!(plans(1).eq(plans(1)));
        assert!(!plans(1).eq(plans(2)));
        assert!(plans(1).any(|plan| plan.faults.len() == 2));
    }

    #[test]
    fn a_long_pause_outlasts_the_lease_and_a_short_one_does_not() {
        for lease in [LeaseTimes::Quick, LeaseTimes::Default] {
            let mut dice = Dice::new(1, 1);
            for _ in 0..100 {
                let long = draw_fault(Kind::LeaderPausedLong, &mut dice, lease);
                let short = draw_fault(Kind::LeaderPausedShortly, &mut dice, lease);
                assert!(long.lasts() > lease.duration() && short.lasts() < lease.duration());
            }
        }
    }
}
