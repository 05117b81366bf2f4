//! What goes wrong with the extender.

use std::time::Duration;

use super::Chaos;
use crate::extender::{Mood, Trouble};

impl Chaos {
    /// Something goes wrong with it from now on, or nothing any more.
    pub(super) fn upset_extender(&mut self) {
        let Some(extender) = self.extender.clone() else { return };
        if self.dice.percent(25) {
            self.note("heal the extender");
            return extender.recover();
        }
        let verbs = self.climate.extender.as_ref().map(super::climate::Asked::verbs);
        let Some(verb) = self.dice.pick(&verbs.unwrap_or_default()).copied() else {
            return;
        };
        let limit = u64::try_from(self.climate.extender_limit().as_millis()).unwrap_or(1_000);
        let millis = Duration::from_millis;
        let trouble = match self.dice.below(if verb == "bind" { 14 } else { 6 }) {
            0 => Trouble::Fails,
            1 | 2 => Trouble::Slow(millis(self.dice.below(limit))),
            3 => Trouble::CallLost,
            4 | 5 => Trouble::AnswerLost,
            6..10 => Trouble::TooLate(millis(self.dice.below(5_000))),
            10 => Trouble::Refuses,
            _ => Trouble::Denies,
        };
        let percent = self.dice.pick(&[10, 30, 60, 100]).copied().unwrap_or(30);
        let mood = Mood { verb, trouble, percent };
        self.note(&format!("upset the extender {mood:?}"));
        extender.upset(mood);
    }
}
