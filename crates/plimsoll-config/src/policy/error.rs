use std::fmt;

use super::{predicates, priorities};
use crate::FieldErrors;
use crate::hints::explain;
use crate::listing::aggregate;
use crate::suggest::closest;

/// Why a Policy cannot be used. The texts are kube-scheduler's, from the releases that read Policies.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PolicyError {
    /// Neither Kubernetes nor the registry of plugins ever had it.
    #[error("Invalid predicate name {0:?} specified - no corresponding function found")]
    UnknownPredicate(String),
    /// Neither Kubernetes nor the registry of plugins ever had it.
    #[error("Invalid priority name {0} specified - no corresponding function found")]
    UnknownPriority(String),
    /// The argument of a predicate says nothing, or two things.
    #[error("Exactly 1 predicate argument is required, numArgs: {count}, Predicate: {name}")]
    PredicateArguments {
        /// The predicate.
        name: String,
        /// How many things it says.
        count: usize,
    },
    /// The argument of a priority says nothing, or two things.
    #[error("Exactly 1 priority argument is required, numArgs: {count}, Priority: {name}")]
    PriorityArguments {
        /// The priority.
        name: String,
        /// How many things it says.
        count: usize,
    },
    /// The weight of a priority is 0, negative or too large, alone or with those that are joined with it.
    #[error("priority {0} should have a positive weight applied to it or it has overflown")]
    Weight(String),
    /// There can be one function of the used share.
    #[error("priority {name:?} redeclares custom priority \"RequestedToCapacityRatio\", from: {first:?}")]
    SecondRatio {
        /// The later priority.
        name: String,
        /// The earlier one.
        first: String,
    },
    /// Values that are not allowed.
    #[error(transparent)]
    Invalid(FieldErrors),
}

impl PolicyError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        fn names<T>(known: &[(&'static str, T)]) -> Vec<&'static str> {
            known.iter().map(|(name, _)| *name).collect()
        }
        let own = |name: &str, known: &[&str]| match closest(name, known) {
            Some(near) => format!("did you mean {near:?}?"),
            None => "build a plugin of that name into a program of your own, or remove it".to_owned(),
        };
        match self {
            Self::UnknownPredicate(name) => own(name, &names(predicates::KNOWN)),
            Self::UnknownPriority(name) => own(name, &names(priorities::KNOWN)),
            Self::PredicateArguments { .. } => "give one of serviceAffinity and labelsPresence".to_owned(),
            Self::PriorityArguments { .. } => {
                "give one of serviceAntiAffinity, labelPreference and requestedToCapacityRatioArguments".to_owned()
            }
            Self::Weight(_) => "write a weight of 1 or more, or remove the priority".to_owned(),
            Self::SecondRatio { .. } => "remove one of them".to_owned(),
            Self::Invalid(FieldErrors(errors)) => {
                let hints = errors.iter().filter_map(|error| explain(error.clone(), None).hint);
                hints.collect::<Vec<_>>().join("; ")
            }
        }
    }
}

/// Everything that is wrong with a Policy.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyErrors(pub Vec<PolicyError>);

impl fmt::Display for PolicyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&aggregate(self.0.iter()))
    }
}

impl std::error::Error for PolicyErrors {}
