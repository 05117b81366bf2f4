use std::fmt;

/// Where a pod is. Each pod the queue knows is in exactly one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// Ready to be popped.
    Active,
    /// Rejected by plugins, backing off; popped early when nothing is active.
    Backoff,
    /// Failed for another reason than not fitting, or rejected while its victims are going, and backing off; never popped
    /// early.
    ErrorBackoff,
    /// Rejected; waits for an event that could help, or for its deadline.
    Unschedulable,
    /// Held back by a pre-enqueue plugin; waits like an unschedulable pod.
    Gated,
    /// Popped and not settled: the scheduling cycle or a binding worker owns it.
    InFlight,
    /// Settled as placed or dropped; stays known until the watch shows it assigned or deleted.
    Placed,
}

impl Place {
    /// Its name in reports of audits and in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Backoff => "backoff",
            Self::ErrorBackoff => "error backoff",
            Self::Unschedulable => "unschedulable",
            Self::Gated => "gated",
            Self::InFlight => "in flight",
            Self::Placed => "placed",
        }
    }
}

impl fmt::Display for Place {
    /// As kube-scheduler's errors name it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "the active queue",
            Self::Backoff | Self::ErrorBackoff => "the backoff queue",
            Self::Unschedulable | Self::Gated => "unschedulable queue",
            Self::InFlight => "flight",
            Self::Placed => "place",
        })
    }
}

/// How many pods are in each place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// `pending_pods{queue="active"}`.
    pub active: usize,
    /// With `error_backoff`, `pending_pods{queue="backoff"}`.
    pub backoff: usize,
    /// With `backoff`, `pending_pods{queue="backoff"}`.
    pub error_backoff: usize,
    /// `pending_pods{queue="unschedulable"}`.
    pub unschedulable: usize,
    /// `pending_pods{queue="gated"}`.
    pub gated: usize,
    /// Popped and not settled.
    pub in_flight: usize,
    /// Settled, not yet seen assigned or deleted.
    pub placed: usize,
}

impl Counts {
    /// Pods that wait in the queue: all but those in flight and placed.
    pub fn pending(&self) -> usize {
        self.active + self.backoff + self.error_backoff + self.unschedulable + self.gated
    }

    pub(crate) fn of(&mut self, place: Place) -> &mut usize {
        match place {
            Place::Active => &mut self.active,
            Place::Backoff => &mut self.backoff,
            Place::ErrorBackoff => &mut self.error_backoff,
            Place::Unschedulable => &mut self.unschedulable,
            Place::Gated => &mut self.gated,
            Place::InFlight => &mut self.in_flight,
            Place::Placed => &mut self.placed,
        }
    }
}
