use std::sync::Arc;

use plimsoll_framework::{Bind, EXTENDER, Extender, Membership, Profile, ProfileIndex};
use plimsoll_model::{Labels, Pod};

use crate::sampling::nodes_to_find;

/// A profile with what a cycle would otherwise look up by name each time.
pub(crate) struct Plan {
    pub(crate) profile: Arc<Profile>,
    /// For each pre-filter the numbers of the filters that it can switch off: its own, with or without I/O.
    pub(crate) filters_of: Vec<Vec<usize>>,
    /// For each pre-score the position of the score that it can switch off.
    pub(crate) score_of: Vec<Option<usize>>,
}

impl Plan {
    pub(crate) fn new(profile: Arc<Profile>) -> Self {
        let filters = profile.filter.iter().map(|filter| filter.name());
        let filters: Vec<&str> = filters
            .chain(profile.effect_filter.iter().map(|filter| filter.name()))
            .collect();
        let named = |name: &str| {
            let own = filters.iter().enumerate().filter(|(_, filter)| **filter == name);
            own.map(|(number, _)| number).collect()
        };
        let filters_of = profile.pre_filter.iter().map(|pre| named(pre.name())).collect();
        let score_of = profile
            .pre_score
            .iter()
            .map(|pre| profile.score.iter().position(|score| score.plugin.name() == pre.name()))
            .collect();
        Self {
            profile,
            filters_of,
            score_of,
        }
    }

    /// The name of a filter, with or without I/O, by its number in verdicts.
    pub(crate) fn filter_name(&self, number: u8) -> Option<&'static str> {
        let number = usize::from(number);
        let filters = &self.profile.filter;
        match filters.get(number) {
            Some(filter) => Some(filter.name()),
            None if number == self.extender_number() => Some(EXTENDER),
            None => self
                .profile
                .effect_filter
                .get(number - filters.len())
                .map(|filter| filter.name()),
        }
    }

    /// The number in verdicts under which the extenders reject, after all filters.
    pub(crate) fn extender_number(&self) -> usize {
        self.profile.filter.len() + self.profile.effect_filter.len()
    }

    /// After how many feasible ones of these nodes to look no further; none when all are to be looked at. Without anybody to
    /// tell them apart one will do.
    pub(crate) fn nodes_to_find(&self, nodes: usize) -> Option<usize> {
        let percentage = self.profile.percentage_of_nodes_to_score?;
        let chooses = |extender: &Arc<Extender>| extender.filters() || extender.prioritizes();
        let any_will_do = self.profile.score.is_empty()
            && self.profile.effect_filter.is_empty()
            && !self.profile.extenders.iter().any(chooses);
        Some(if any_will_do {
            1
        } else {
            nodes_to_find(percentage, nodes)
        })
    }

    /// The extenders that have something to say on the pod, with their positions.
    pub(crate) fn extenders<'a>(&'a self, pod: &'a Pod) -> impl Iterator<Item = (usize, &'a Arc<Extender>)> {
        let extenders = self.profile.extenders.iter().enumerate();
        extenders.filter(|(_, extender)| extender.is_interested(pod))
    }

    pub(crate) fn binds(&self) -> impl Iterator<Item = &Arc<dyn Bind>> {
        self.profile.bind.iter()
    }
}

/// The plans of all profiles.
#[derive(Default)]
pub(crate) struct Plans {
    plans: Vec<Arc<Plan>>,
    index: ProfileIndex,
}

impl Plans {
    pub(crate) fn new(profiles: Vec<Arc<Profile>>) -> Self {
        let index = ProfileIndex::new(profiles.iter().map(Arc::as_ref));
        let plans = profiles.into_iter().map(|profile| Arc::new(Plan::new(profile)));
        Self {
            plans: plans.collect(),
            index,
        }
    }

    pub(crate) fn index(&self) -> &ProfileIndex {
        &self.index
    }

    /// The plan of a pod whose namespace has these labels.
    pub(crate) fn of(&self, pod: &Pod, namespace: Option<&Labels>) -> Option<&Arc<Plan>> {
        self.get(self.index.membership(pod, namespace))
    }

    pub(crate) fn contains(&self, plan: &Arc<Plan>) -> bool {
        self.plans.iter().any(|own| Arc::ptr_eq(own, plan))
    }

    fn get(&self, membership: Membership) -> Option<&Arc<Plan>> {
        self.plans.get(membership.profile()?)
    }
}
