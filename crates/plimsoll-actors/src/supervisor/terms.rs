use std::collections::VecDeque;

use plimsoll_model::Moment;

use crate::debugging::{TermListing, TermRecord};
use crate::wall_times::WallTimes;

/// So many times of leadership are remembered.
const REMEMBERED: usize = 64;

/// When this replica led, and why no more.
#[derive(Debug, Default)]
pub(super) struct Terms(VecDeque<TermRecord>);

impl Terms {
    pub(super) fn began(&mut self, number: u64, now: Moment) {
        self.0.push_front(TermRecord {
            number,
            began: now,
            over: None,
        });
        self.0.truncate(REMEMBERED);
    }

    pub(super) fn over(&mut self, number: u64, now: Moment, reason: String) {
        let term = self.0.iter_mut().find(|term| term.number == number);
        if let Some(term) = term.filter(|term| term.over.is_none()) {
            term.over = Some((now, reason));
        }
    }

    pub(super) fn listing(&self, times: WallTimes) -> TermListing {
        TermListing {
            terms: self.0.iter().cloned().collect(),
            times,
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn the_last_terms_are_remembered_with_the_first_reason_why_they_ended() {
        let mut terms = Terms::default();
        let moment = Moment::from_nanos;
        for number in 0..100 {
            terms.began(number, moment(number));
        }
        terms.over(98, moment(98), "lost".to_owned());
        terms.over(98, moment(99), "again".to_owned());
        terms.over(1, moment(99), "forgotten".to_owned());
        let listing = terms.listing(WallTimes::new(Moment::ZERO, Timestamp::UNIX_EPOCH));
        assert_eq!(listing.terms.len(), REMEMBERED);
        assert_eq!((listing.terms[0].number, &listing.terms[0].over), (99, &None));
        assert_eq!(listing.terms[1].over, Some((moment(98), "lost".to_owned())));
    }
}
