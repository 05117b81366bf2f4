use plimsoll_model::ResourceVersion;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const RENEW: Duration = Duration::from_secs(10);
/// Between two renewals.
const RETRY: Duration = Duration::from_secs(2);

/// A term that is looked at every two seconds.
struct Term {
    progress: Progress,
    now: Moment,
    pulses: BTreeMap<Respondent, u64>,
    counts: WatchCounts,
}

impl Term {
    fn new(renew_deadline: Duration) -> Self {
        let now = Moment::ZERO + Duration::from_hours(3);
        Self {
            progress: Progress::new(renew_deadline, now),
            now,
            pulses: BTreeMap::new(),
            counts: WatchCounts {
                delivered: 0,
                listed: 0,
                excused: 0,
                marked: 0,
                forbidden: false,
                applied: ResourceVersion::new(0),
                behind: true,
            },
        }
    }

    fn running(renew_deadline: Duration) -> Self {
        let mut term = Self::new(renew_deadline);
        term.counts.behind = false;
        term.progress.running();
        term
    }

    fn look(&mut self) -> Look {
        let pulses = &self.pulses;
        self.progress
            .look(self.now, |who| pulses.get(&who).copied().unwrap_or_default())
    }

    fn tell_watches(&mut self) {
        let told: Vec<_> = Kind::ALL.into_iter().map(|kind| (kind, self.counts)).collect();
        self.progress.take_watches(&told);
    }

    /// One renewal to which everybody answers but one.
    fn beat(&mut self, silent: Option<Respondent>) -> Option<(Resignation, String)> {
        self.now = self.now + RETRY;
        match self.look() {
            Look::Resign(resignation, words) => Some((resignation, words)),
            Look::GoesOn(ask) => {
                for who in ask.into_iter().filter(|who| Some(*who) != silent) {
                    if who == Respondent::InformerCache {
                        self.tell_watches();
                    } else {
                        self.progress.answered(who);
                    }
                }
                None
            }
        }
    }

    /// Renewals until leadership is given up: why, and after how long.
    fn until_resigned(&mut self, silent: Option<Respondent>, limit: Duration) -> Option<(Resignation, Duration)> {
        let begun = self.now;
        while self.now.since(begun) < limit {
            if let Some((resignation, _)) = self.beat(silent) {
                return Some((resignation, self.now.since(begun)));
            }
        }
        None
    }
}

#[test]
fn whoever_stays_silent_costs_the_lease_within_its_patience_and_two_renewals() {
    use Respondent::{BindingWorkers, Evictor, InformerCache, SchedulingCycle, SchedulingQueue};
    for who in [InformerCache, SchedulingQueue, SchedulingCycle, BindingWorkers, Evictor] {
        let mut term = Term::running(RENEW);
        for _ in 0..20 {
            assert_eq!(term.beat(None), None);
        }
        let (resignation, after) = term.until_resigned(Some(who), 60 * SECOND).unwrap();
        assert_eq!(resignation, who.resignation());
        assert!(after > RENEW && after <= RENEW + 2 * RETRY, "{who}: {after:?}");
    }
}

#[test]
fn one_that_takes_up_messages_is_busy_and_not_silent_however_long_its_answer_takes() {
    let mut term = Term::running(RENEW);
    for beat in 0..100 {
        term.pulses.insert(Respondent::SchedulingCycle, beat);
        assert_eq!(term.beat(Some(Respondent::SchedulingCycle)), None, "{beat}");
    }
    let (resignation, _) = term
        .until_resigned(Some(Respondent::SchedulingCycle), 60 * SECOND)
        .unwrap();
    assert_eq!(resignation, Resignation::Cycle);
}

#[test]
fn a_short_lease_does_not_make_anyone_impatient_and_a_long_one_makes_everyone_patient() {
    for (renew_deadline, patience) in [(2, 10), (10, 10), (40, 40)] {
        let mut term = Term::running(renew_deadline * SECOND);
        let (_, after) = term.until_resigned(Some(Respondent::Evictor), 100 * SECOND).unwrap();
        assert!(
            after >= patience * SECOND && after <= patience * SECOND + 2 * RETRY,
            "{after:?}"
        );
    }
}

#[test]
fn time_that_the_elector_itself_did_not_see_pass_is_nobodys_fault() {
    let mut term = Term::running(RENEW);
    assert_eq!(term.beat(Some(Respondent::SchedulingQueue)), None);
    // The whole machine sleeps with a probe under way.
    term.now = term.now + Duration::from_hours(8);
    assert_eq!(term.beat(Some(Respondent::SchedulingQueue)), None);
    term.progress.answered(Respondent::SchedulingQueue);
    for _ in 0..100 {
        assert_eq!(term.beat(None), None);
    }
}

#[test]
fn a_watch_that_brings_nothing_is_stuck_after_four_minutes_and_each_sign_of_life_counts() {
    let signs: [fn(&mut WatchCounts); 3] = [
        |counts| counts.delivered += 1,
        |counts| counts.listed += 1,
        |counts| counts.excused += 1,
    ];
    for sign in signs {
        let mut term = Term::running(RENEW);
        for _ in 0..20 {
            sign(&mut term.counts);
            assert_eq!(term.until_resigned(None, 100 * SECOND), None);
        }
        let (resignation, after) = term.until_resigned(None, 400 * SECOND).unwrap();
        assert_eq!(resignation, Resignation::Watch);
        assert!(100 * SECOND + after <= WATCH_PATIENCE + 2 * RETRY, "{after:?}");
    }
}

#[test]
fn the_words_name_the_kinds_that_are_stuck_and_no_others() {
    let mut term = Term::running(RENEW);
    let quiet = [Kind::Nodes, Kind::Pods];
    let words = loop {
        term.now = term.now + RETRY;
        match term.look() {
            Look::Resign(Resignation::Watch, words) => break words,
            Look::Resign(other, words) => panic!("{other:?}: {words}"),
            Look::GoesOn(ask) => {
                for who in ask {
                    term.progress.answered(who);
                }
                term.counts.delivered += 1;
                let counts = |kind: Kind| {
                    let delivered = if quiet.contains(&kind) {
                        0
                    } else {
                        term.counts.delivered
                    };
                    WatchCounts {
                        delivered,
                        ..term.counts
                    }
                };
                let told: Vec<_> = Kind::ALL.into_iter().map(|kind| (kind, counts(kind))).collect();
                term.progress.take_watches(&told);
            }
        }
    };
    assert!(
        words.starts_with("the watch of nodes, pods has brought nothing for 240 s"),
        "{words}"
    );
}

#[test]
fn catching_up_may_take_as_long_as_it_gets_on() {
    let mut term = Term::new(RENEW);
    for _ in 0..20 {
        term.counts.listed += 1;
        assert_eq!(term.until_resigned(None, 50 * SECOND), None);
    }
    term.counts.applied = ResourceVersion::new(100);
    assert_eq!(term.until_resigned(None, 50 * SECOND), None);
    // Excuses are none here: another replica may have more luck.
    term.counts.excused += 1;
    let (resignation, after) = term.until_resigned(None, 100 * SECOND).unwrap();
    assert_eq!(resignation, Resignation::CatchUp);
    assert!(50 * SECOND + after <= CATCH_UP_PATIENCE + 2 * RETRY, "{after:?}");
}

#[test]
fn kinds_that_nobody_waits_for_do_not_excuse_a_new_leader_that_does_not_catch_up() {
    let mut term = Term::new(RENEW);
    term.counts.behind = false;
    for _ in 0..29 {
        term.counts.delivered += 1;
        term.counts.applied = ResourceVersion::new(term.counts.delivered);
        assert_eq!(term.beat(None), None);
    }
    let (resignation, _) = term.until_resigned(None, 10 * SECOND).unwrap();
    assert_eq!(resignation, Resignation::Marks);
}

#[test]
fn each_mark_that_comes_and_that_one_may_not_be_read_is_coming_on_and_the_cache_is_not_to_blame() {
    let mut term = Term::new(RENEW);
    term.counts.behind = false;
    for _ in 0..20 {
        term.counts.marked += 1;
        assert_eq!(term.until_resigned(None, 50 * SECOND), None);
    }
    let (resignation, _) = term.until_resigned(None, 100 * SECOND).unwrap();
    assert!(!resignation.distrusts_cache(), "{resignation:?}");
}

#[test]
fn a_kind_that_may_not_be_read_keeps_a_new_leader_waiting_and_does_not_unseat_it() {
    let mut term = Term::new(RENEW);
    term.counts.forbidden = true;
    assert_eq!(term.until_resigned(None, 900 * SECOND), None);
    term.counts.forbidden = false;
    assert_eq!(
        term.until_resigned(None, 10 * SECOND).map(|(why, _)| why),
        Some(Resignation::CatchUp)
    );
}

#[test]
fn each_reason_has_a_label_and_an_advice_of_its_own_kind() {
    let labels: Vec<_> = Resignation::ALL.map(Resignation::as_str).into();
    let mut once = labels.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), labels.len());
    assert!(Resignation::ALL.iter().all(|why| !why.advice().is_empty()));
}
