use std::sync::Arc;

use plimsoll_framework::{Bind, Profile};

/// A profile with what a cycle would otherwise look up by name each time.
pub(crate) struct Plan {
    pub(crate) profile: Arc<Profile>,
    /// For each pre-filter the position of the filter that it can switch off.
    pub(crate) filter_of: Vec<Option<usize>>,
    /// For each pre-score the position of the score that it can switch off.
    pub(crate) score_of: Vec<Option<usize>>,
}

impl Plan {
    pub(crate) fn new(profile: Arc<Profile>) -> Self {
        let filter_of = profile
            .pre_filter
            .iter()
            .map(|pre| profile.filter.iter().position(|filter| filter.name() == pre.name()))
            .collect();
        let score_of = profile
            .pre_score
            .iter()
            .map(|pre| profile.score.iter().position(|score| score.plugin.name() == pre.name()))
            .collect();
        Self {
            profile,
            filter_of,
            score_of,
        }
    }

    /// The name of a filter, with or without I/O, by its number in verdicts.
    pub(crate) fn filter_name(&self, number: u8) -> Option<&'static str> {
        let number = usize::from(number);
        let filters = &self.profile.filter;
        match filters.get(number) {
            Some(filter) => Some(filter.name()),
            None => self
                .profile
                .effect_filter
                .get(number - filters.len())
                .map(|filter| filter.name()),
        }
    }

    pub(crate) fn binds(&self) -> impl Iterator<Item = &Arc<dyn Bind>> {
        self.profile.bind.iter()
    }
}
