//! When pods are due.

use std::time::Duration;

use anyhow::ensure;

/// How pods that are measured come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Arrivals {
    /// As fast as the API server takes them, a fixed number of requests at a time.
    Rapid,
    /// At a constant rate a second, whatever becomes of those before: what a pod waits is counted from when it was due,
    /// so that a server or scheduler that stands still is not measured by fewer pods.
    Rate(f64),
}

impl Arrivals {
    /// How long after the first one the pod with that index is due; `None` where it comes when there is a worker for
    /// it.
    pub(crate) fn due(self, index: usize) -> anyhow::Result<Option<Duration>> {
        let Self::Rate(rate) = self else {
            return Ok(None);
        };
        ensure!(rate > 0.0, "a rate of {rate} pods a second");
        let index = f64::from(u32::try_from(index)?);
        Ok(Some(Duration::try_from_secs_f64(index / rate)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_a_rate_pods_are_due_at_even_distances_whatever_happens() {
        let due = |index| Arrivals::Rate(50.0).due(index).unwrap();
        assert_eq!(due(0), Some(Duration::ZERO));
        assert_eq!(due(75), Some(Duration::from_millis(1500)));
        assert_eq!(Arrivals::Rapid.due(75).unwrap(), None);
        assert!(Arrivals::Rate(0.0).due(1).is_err());
    }
}
