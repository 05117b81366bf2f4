//! What is told of taking the lead over.

use std::time::Duration;

use crate::registrar::{Fraction, Registrar, plain};
use crate::vector::Vector;

/// How far a hand-over has come. Each stage follows the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandOverStage {
    /// The API server told which versions it holds.
    VersionRead,
    /// The caches hold everything of those versions.
    CaughtUp,
    /// Columns and queue hold everything that the caches hold; the first pod may be tried.
    QueueBuilt,
    /// The first binding was answered with success. It may be long after: there may be no pod to bind.
    FirstBind,
}

impl HandOverStage {
    /// As metrics and traces call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::VersionRead => "version_read",
            Self::CaughtUp => "caught_up",
            Self::QueueBuilt => "queue_built",
            Self::FirstBind => "first_bind",
        }
    }

    /// What comes after it.
    pub fn next(self) -> Option<Self> {
        match self {
            Self::VersionRead => Some(Self::CaughtUp),
            Self::CaughtUp => Some(Self::QueueBuilt),
            Self::QueueBuilt => Some(Self::FirstBind),
            Self::FirstBind => None,
        }
    }
}

/// `plimsoll_hand_over_seconds` and `plimsoll_hand_over_vacancy_seconds`.
#[derive(Debug)]
pub struct HandOverMetrics {
    stages: Vector<Fraction>,
    vacancy: Fraction,
}

impl HandOverMetrics {
    pub(crate) fn new(registrar: &mut Registrar<'_>) -> Self {
        Self {
            stages: registrar.many(
                plain(
                    "plimsoll_hand_over_seconds",
                    "How long it took to come to each stage of the last hand-over, from winning the lease.",
                ),
                &["stage"],
                Fraction::default,
            ),
            vacancy: registrar.one(
                plain(
                    "plimsoll_hand_over_vacancy_seconds",
                    "How long this replica saw the lease released or run out before it won it the last time.",
                ),
                Fraction::default(),
            ),
        }
    }

    /// A hand-over begins: what is told is about this one from now on.
    pub fn begun(&self) {
        self.stages.clear();
    }

    /// A stage is reached.
    pub fn reached(&self, stage: HandOverStage, since_won: Duration) {
        self.stages.with([stage.as_str().into()]).set(since_won.as_secs_f64());
    }

    /// The lease was won, and nobody held it for so long before.
    pub fn vacant_for(&self, vacancy: Duration) {
        self.vacancy.set(vacancy.as_secs_f64());
    }

    /// When a stage of the last hand-over was reached, in seconds after the lease was won.
    pub fn seconds(&self, stage: HandOverStage) -> Option<f64> {
        self.stages.find([stage.as_str().into()]).map(|gauge| gauge.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metrics;

    #[test]
    fn what_is_told_is_about_the_last_hand_over_alone() {
        let metrics = Metrics::new();
        let metrics = metrics.hand_over();
        metrics.begun();
        for (millis, stage) in [
            (10, HandOverStage::VersionRead),
            (20, HandOverStage::CaughtUp),
            (30, HandOverStage::QueueBuilt),
            (40, HandOverStage::FirstBind),
        ] {
            metrics.reached(stage, Duration::from_millis(millis));
        }
        assert_eq!(metrics.seconds(HandOverStage::FirstBind), Some(0.04));
        metrics.begun();
        metrics.reached(HandOverStage::VersionRead, Duration::from_millis(5));
        assert_eq!(metrics.seconds(HandOverStage::VersionRead), Some(0.005));
        assert_eq!(metrics.seconds(HandOverStage::FirstBind), None);
    }
}
