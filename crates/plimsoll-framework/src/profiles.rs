//! All profiles of a scheduler, and which of them a pod belongs to.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_config::{ExtenderConfig, FeatureGates, MatchRule, PluginArgs, ProfileConfig};
use plimsoll_model::{Labels, Pod};

use crate::{Extender, Profile, ProfileError, Registry};

/// Why the profiles of a configuration cannot be assembled; texts are kube-scheduler's. It puts `initializing profiles: `
/// in front of all but [`ProfilesError::None`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfilesError {
    /// One of them cannot.
    #[error("creating profile for scheduler name {scheduler_name}: {cause}")]
    Profile {
        /// The profile.
        scheduler_name: String,
        /// Why.
        cause: ProfileError,
    },
    /// A profile has no name.
    #[error("scheduler name is needed")]
    NoName,
    /// Two profiles would take the same pods.
    #[error("duplicate profile with scheduler name {scheduler_name:?}")]
    Duplicate {
        /// Their name.
        scheduler_name: String,
    },
    /// There is one queue, and this profile would order it differently.
    #[error("different queue sort plugins for profile {scheduler_name:?}: {queue_sort:?}, first: {first:?}")]
    QueueSort {
        /// The profile.
        scheduler_name: String,
        /// Its queue sort.
        queue_sort: String,
        /// That of the first profile.
        first: String,
    },
    /// As above, by other arguments.
    #[error("different queue sort plugin args for profile {scheduler_name:?}")]
    QueueSortArgs {
        /// The profile.
        scheduler_name: String,
    },
    /// There are none.
    #[error("at least one profile is required")]
    None,
}

/// The assembly of all profiles.
#[derive(Debug, Clone, Copy)]
pub struct Profiles;

impl Profiles {
    /// Assembles the profiles in the order of the file and checks that they go together. `percentage_of_nodes_to_score` is
    /// the global value, for profiles without one; `extenders` are those of all profiles, before each one's own.
    ///
    /// Several may have one scheduler name when all but one of these have match rules.
    pub fn assemble(
        configs: &[ProfileConfig],
        percentage_of_nodes_to_score: Option<i32>,
        extenders: &[ExtenderConfig],
        registry: &Registry,
        gates: &FeatureGates,
    ) -> Result<Vec<Arc<Profile>>, ProfilesError> {
        let mut profiles: Vec<Arc<Profile>> = Vec::with_capacity(configs.len());
        let mut first_args = None;
        for config in configs {
            let mut profile = Profile::assemble(config, registry, gates).map_err(|cause| ProfilesError::Profile {
                scheduler_name: config.scheduler_name.clone(),
                cause,
            })?;
            profile.percentage_of_nodes_to_score = config.percentage_of_nodes_to_score.or(percentage_of_nodes_to_score);
            profile.set_extenders(Extender::in_order(extenders, &config.extras.extenders));
            let args = config.args_of(profile.queue_sort.name());
            let first_args = *first_args.get_or_insert(args);
            goes_with(&profile, args, &profiles, first_args)?;
            profiles.push(Arc::new(profile));
        }
        if profiles.is_empty() {
            return Err(ProfilesError::None);
        }
        Ok(profiles)
    }
}

/// Whether the next profile fits to those before it.
fn goes_with(
    profile: &Profile,
    args: Option<&PluginArgs>,
    earlier: &[Arc<Profile>],
    first_args: Option<&PluginArgs>,
) -> Result<(), ProfilesError> {
    let scheduler_name = profile.scheduler_name.clone();
    if scheduler_name.is_empty() {
        return Err(ProfilesError::NoName);
    }
    let takes_the_same = |other: &Arc<Profile>| {
        other.scheduler_name == scheduler_name && other.match_rules.is_empty() && profile.match_rules.is_empty()
    };
    if earlier.iter().any(takes_the_same) {
        return Err(ProfilesError::Duplicate { scheduler_name });
    }
    let Some(first) = earlier.first() else { return Ok(()) };
    if first.queue_sort.name() != profile.queue_sort.name() {
        return Err(ProfilesError::QueueSort {
            scheduler_name,
            queue_sort: profile.queue_sort.name().to_owned(),
            first: first.queue_sort.name().to_owned(),
        });
    }
    if args != first_args {
        return Err(ProfilesError::QueueSortArgs { scheduler_name });
    }
    Ok(())
}

/// Whose pod it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Membership {
    /// The profile at this position takes it.
    Of(usize),
    /// Its scheduler name is ours, but no profile takes it: it stays pending until its labels, its namespace's labels or
    /// the configuration change.
    Unmatched,
    /// That depends on its namespace, which is not known yet.
    Undecided,
    /// It is for another scheduler.
    Foreign,
}

impl Membership {
    /// The position of its profile.
    pub fn profile(self) -> Option<usize> {
        match self {
            Self::Of(position) => Some(position),
            Self::Unmatched | Self::Undecided | Self::Foreign => None,
        }
    }

    /// Whether it is ours, with a profile or without.
    pub fn is_ours(self) -> bool {
        self != Self::Foreign
    }
}

/// Finds the profile of a pod: of those with its scheduler name the first in file order with a rule that the pod meets, else
/// the one without rules.
#[derive(Debug, Clone, Default)]
pub struct ProfileIndex {
    by_name: BTreeMap<String, Named>,
    reads_labels: bool,
    reads_namespaces: bool,
}

/// The profiles of one scheduler name.
#[derive(Debug, Clone, Default)]
struct Named {
    with_rules: Vec<(usize, Vec<MatchRule>)>,
    fallback: Option<usize>,
}

impl ProfileIndex {
    /// An index of these profiles by their positions.
    pub fn new<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Self {
        let mut index = Self::default();
        for (position, profile) in profiles.into_iter().enumerate() {
            let named = index.by_name.entry(profile.scheduler_name.clone()).or_default();
            let rules = &profile.match_rules;
            if rules.is_empty() {
                named.fallback.get_or_insert(position);
            } else {
                named.with_rules.push((position, rules.clone()));
            }
            index.reads_labels |= !rules.is_empty();
            index.reads_namespaces |= rules.iter().any(|rule| rule.namespace_selector.is_some());
        }
        index
    }

    /// Whether a pod's labels may decide on its profile.
    pub fn reads_labels(&self) -> bool {
        self.reads_labels
    }

    /// Whether the labels of a pod's namespace may decide on its profile.
    pub fn reads_namespaces(&self) -> bool {
        self.reads_namespaces
    }

    /// Whose the pod is; `namespace` holds the labels of its namespace, if that is known.
    pub fn membership(&self, pod: &Pod, namespace: Option<&Labels>) -> Membership {
        let Some(named) = self.by_name.get(pod.spec.scheduler_name.as_str()) else {
            return Membership::Foreign;
        };
        for (position, rules) in &named.with_rules {
            match rules.iter().map(|rule| meets(rule, pod, namespace)).max() {
                Some(Meets::Yes) => return Membership::Of(*position),
                Some(Meets::Perhaps) => return Membership::Undecided,
                Some(Meets::No) | None => {}
            }
        }
        named.fallback.map_or(Membership::Unmatched, Membership::Of)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Meets {
    No,
    /// If its namespace does.
    Perhaps,
    Yes,
}

fn meets(rule: &MatchRule, pod: &Pod, namespace: Option<&Labels>) -> Meets {
    let pod_meets = rule
        .pod_selector
        .as_ref()
        .is_none_or(|selector| selector.matches(&pod.labels));
    match (&rule.namespace_selector, namespace) {
        _ if !pod_meets => Meets::No,
        (None, _) => Meets::Yes,
        (Some(_), None) => Meets::Perhaps,
        (Some(selector), Some(labels)) if selector.matches(labels) => Meets::Yes,
        (Some(_), Some(_)) => Meets::No,
    }
}

#[cfg(test)]
mod tests;
