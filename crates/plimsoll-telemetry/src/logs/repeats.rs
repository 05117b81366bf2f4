//! Keeps a fault that repeats itself from filling the log: what is said over and over is left out, and counted.

use std::time::Duration;

use super::line::{Place, Severity};

/// Lines are counted for so long, and then anew.
pub(super) const WINDOW: Duration = Duration::from_secs(10);

/// The same words from one place are told so often in a window.
pub(super) const SAME_WORDS: u32 = 10;

/// One place is told so often in a window, whatever it says. What is told at level 1 and above was asked for and goes on.
pub(super) const SAME_PLACE: u32 = 100;

/// What is being counted at a time. Few things repeat at once, and what is not counted is told.
const SLOTS: usize = 256;

/// Lines that were left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Omitted {
    pub(super) place: Place,
    pub(super) message: String,
    pub(super) lines: u64,
}

#[derive(Debug, Clone)]
struct Slot {
    key: u64,
    began: Duration,
    told: u32,
    omitted: Option<Omitted>,
}

/// How often what was said of late.
#[derive(Debug)]
pub(super) struct Repeats {
    words: Vec<Option<Slot>>,
    places: Vec<Option<Slot>>,
}

impl Default for Repeats {
    fn default() -> Self {
        Self {
            words: vec![None; SLOTS],
            places: vec![None; SLOTS],
        }
    }
}

impl Repeats {
    /// Whether a line is to be told. `words` and `at` stand for what it says and for its place; `now` counts from any moment.
    /// What was left out and can be told of now goes to `over`.
    pub(super) fn admits(
        &mut self,
        place: Place,
        (words, at): (u64, u64),
        message: &str,
        now: Duration,
        over: &mut Vec<Omitted>,
    ) -> bool {
        if !Self::counts(&mut self.words, words, SAME_WORDS, (place, message), now, over) {
            return false;
        }
        let asked_for = place.severity == Severity::Info && place.level > 0;
        asked_for || Self::counts(&mut self.places, at, SAME_PLACE, (place, message), now, over)
    }

    fn counts(
        slots: &mut [Option<Slot>],
        key: u64,
        limit: u32,
        (place, message): (Place, &str),
        now: Duration,
        over: &mut Vec<Omitted>,
    ) -> bool {
        let index = usize::try_from(key % SLOTS as u64).unwrap_or(0);
        let Some(slot) = slots.get_mut(index) else { return true };
        let current = slot
            .take()
            .filter(|slot| {
                let current = slot.key == key && now.saturating_sub(slot.began) < WINDOW;
                if !current {
                    over.extend(slot.omitted.clone());
                }
                current
            })
            .unwrap_or(Slot {
                key,
                began: now,
                told: 0,
                omitted: None,
            });
        let current = slot.insert(current);
        if current.told < limit {
            current.told += 1;
            return true;
        }
        let omitted = current.omitted.get_or_insert_with(|| Omitted {
            place,
            message: message.to_owned(),
            lines: 0,
        });
        omitted.lines += 1;
        false
    }

    /// What was left out in windows that are over.
    pub(super) fn over(&mut self, now: Duration) -> Vec<Omitted> {
        let mut over = Vec::new();
        for slot in self.words.iter_mut().chain(&mut self.places) {
            if let Some(ended) = slot.take_if(|slot| now.saturating_sub(slot.began) >= WINDOW) {
                over.extend(ended.omitted);
            }
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place {
        severity: Severity::Warning,
        level: 0,
        file: "a.rs",
        line: 1,
    };

    fn told(repeats: &mut Repeats, place: Place, lines: impl Iterator<Item = u64>, at: u64) -> usize {
        let now = Duration::from_secs(at);
        lines
            .filter(|words| repeats.admits(place, (*words, 7), "m", now, &mut Vec::new()))
            .count()
    }

    #[test]
    fn the_same_words_are_told_ten_times_in_ten_seconds_and_then_counted() {
        let mut repeats = Repeats::default();
        assert_eq!(told(&mut repeats, PLACE, std::iter::repeat_n(3, 25), 0), 10);
        assert_eq!(told(&mut repeats, PLACE, std::iter::repeat_n(3, 5), 9), 0);
        assert_eq!(repeats.over(Duration::from_secs(9)), []);
        let omitted = Omitted {
            place: PLACE,
            message: "m".to_owned(),
            lines: 20,
        };
        assert_eq!(repeats.over(Duration::from_secs(10)), [omitted]);
        assert_eq!(repeats.over(Duration::from_secs(20)), []);
        assert_eq!(told(&mut repeats, PLACE, std::iter::repeat_n(3, 25), 11), 10);
    }

    #[test]
    fn a_place_is_told_a_hundred_times_in_ten_seconds_whatever_it_says() {
        let mut repeats = Repeats::default();
        assert_eq!(told(&mut repeats, PLACE, 0..250, 0), 100);
        assert_eq!(repeats.over(Duration::from_secs(10))[0].lines, 150);
    }

    #[test]
    fn what_a_level_asks_for_is_told_of_each_pod() {
        let place = Place {
            severity: Severity::Info,
            level: 2,
            ..PLACE
        };
        assert_eq!(told(&mut Repeats::default(), place, 0..5000, 0), 5000);
    }

    #[test]
    fn a_window_that_is_over_is_told_of_by_the_next_line_too() {
        let mut repeats = Repeats::default();
        told(&mut repeats, PLACE, std::iter::repeat_n(3, 11), 0);
        let mut over = Vec::new();
        assert!(repeats.admits(PLACE, (3, 7), "m", Duration::from_secs(10), &mut over));
        assert_eq!(over.len(), 1);
    }

    #[test]
    fn other_words_in_the_same_slot_are_told_and_end_the_count() {
        let mut repeats = Repeats::default();
        told(&mut repeats, PLACE, std::iter::repeat_n(3, 11), 0);
        let mut over = Vec::new();
        assert!(repeats.admits(PLACE, (3 + SLOTS as u64, 7), "m", Duration::ZERO, &mut over));
        assert_eq!(over[0].lines, 1);
    }
}
