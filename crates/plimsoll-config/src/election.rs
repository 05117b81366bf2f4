use std::time::Duration;

use crate::GoDuration;

/// client-go multiplies the retry period by up to this factor, so that candidates do not act in step.
pub const JITTER_FACTOR: f64 = 1.2;

/// The only kind of lock that there still is.
const LEASES: &str = "leases";

/// Leader election on a `coordination.k8s.io/v1` Lease, as kube-scheduler's `leaderElection` block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElectionConfig {
    /// Whether replicas elect a leader; without it this process always leads.
    pub leader_elect: bool,
    /// How long a lease that is not renewed keeps others away.
    pub lease_duration: Duration,
    /// How long the leader tries to renew before it gives up.
    pub renew_deadline: Duration,
    /// Wait between two tries.
    pub retry_period: Duration,
    /// The three durations as they were written, if any of them is negative. Only without an election, where they mean
    /// nothing, may one be.
    pub negative: Option<[GoDuration; 3]>,
    /// Kind of the lock: `leases`, or any text while there is no election.
    pub resource_lock: String,
    /// Name of the Lease object.
    pub resource_name: String,
    /// Namespace of the Lease object.
    pub resource_namespace: String,
}

impl Default for ElectionConfig {
    fn default() -> Self {
        Self {
            leader_elect: true,
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            negative: None,
            resource_lock: LEASES.to_owned(),
            resource_name: "kube-scheduler".to_owned(),
            resource_namespace: "kube-system".to_owned(),
        }
    }
}

/// Durations that cannot work together; the texts are client-go's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ElectionConfigError {
    /// Others could take the lease while the leader still tries to renew it.
    #[error("leaseDuration must be greater than renewDeadline")]
    LeaseNotAboveRenew,
    /// The leader would not get a second try.
    #[error("renewDeadline must be greater than retryPeriod*JitterFactor")]
    RenewNotAboveRetry,
    /// A duration is zero.
    #[error("{0} must be greater than zero")]
    Zero(&'static str),
}

/// A lock of another kind than Leases; the texts are client-go's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourceLockError {
    /// There was one.
    #[error("{kind} lock is removed, {advice} to leases")]
    Removed {
        /// Its kind.
        kind: String,
        /// The word for what to do.
        advice: &'static str,
    },
    /// There never was one.
    #[error("Invalid lock-type {0}")]
    Unknown(String),
}

impl ElectionConfig {
    /// Checks the kind of the lock as client-go does when it makes one.
    pub fn validate_lock(&self) -> Result<(), ResourceLockError> {
        let kind = self.resource_lock.clone();
        let advice = match kind.as_str() {
            LEASES => return Ok(()),
            "endpoints" | "configmaps" | "endpointsleases" => "migrate",
            "configmapsleases" => "migrated",
            _ => return Err(ResourceLockError::Unknown(kind)),
        };
        Err(ResourceLockError::Removed { kind, advice })
    }

    /// Checks the three durations as client-go's elector constructor does.
    pub fn validate(&self) -> Result<(), ElectionConfigError> {
        if self.lease_duration <= self.renew_deadline {
            return Err(ElectionConfigError::LeaseNotAboveRenew);
        }
        // The factor in whole numbers: client-go cuts fractions of a nanosecond off, which `mul_f64` does not.
        if self.renew_deadline <= self.retry_period.saturating_mul(6) / 5 {
            return Err(ElectionConfigError::RenewNotAboveRetry);
        }
        for (name, value) in [
            ("leaseDuration", self.lease_duration),
            ("renewDeadline", self.renew_deadline),
            ("retryPeriod", self.retry_period),
        ] {
            if value.is_zero() {
                return Err(ElectionConfigError::Zero(name));
            }
        }
        Ok(())
    }

    /// The longest server-side time-out a fenced write may carry: a write sent at the last moment of a term is decided
    /// before another replica can take the lease.
    pub fn write_timeout(&self) -> Duration {
        self.lease_duration.saturating_sub(self.renew_deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_of_other_kinds_are_refused_in_the_words_of_client_go() {
        let cases = [
            ("leases", ""),
            ("endpoints", "endpoints lock is removed, migrate to leases"),
            (
                "configmapsleases",
                "configmapsleases lock is removed, migrated to leases",
            ),
            ("", "Invalid lock-type "),
            ("Leases", "Invalid lock-type Leases"),
        ];
        for (kind, expected) in cases {
            let config = ElectionConfig {
                resource_lock: kind.to_owned(),
                ..ElectionConfig::default()
            };
            let said = config
                .validate_lock()
                .map_or_else(|error| error.to_string(), |()| String::new());
            assert_eq!(said, expected, "{kind}");
        }
    }

    #[test]
    fn defaults_are_valid_and_leave_five_seconds_for_a_last_write() {
        let config = ElectionConfig::default();
        assert_eq!(config.validate(), Ok(()));
        assert_eq!(config.write_timeout(), Duration::from_secs(5));
    }

    #[test]
    fn durations_that_cannot_work_together_are_refused_as_client_go_refuses_them() {
        let lease = "leaseDuration must be greater than renewDeadline";
        let renew = "renewDeadline must be greater than retryPeriod*JitterFactor";
        let second = 1_000_000_000;
        // Asked of kube-scheduler 1.36.3, in nanoseconds: lease duration, renew deadline, retry period.
        let cases = [
            ([15 * second, 10 * second, 2 * second], ""),
            ([10 * second, 10 * second, 2 * second], lease),
            ([0, 10 * second, 2 * second], lease),
            ([15 * second, 2 * second, 2 * second], renew),
            ([15 * second, 10 * second, 9 * second], renew),
            ([15 * second, 10 * second, 8_333_333_334], renew),
            ([15 * second, 10 * second, 8_333_333_333], ""),
            ([15 * second, 0, 0], renew),
            ([15 * second, 10 * second, 0], "retryPeriod must be greater than zero"),
            ([100, 50, 1], ""),
        ];
        for (durations, expected) in cases {
            let [lease_duration, renew_deadline, retry_period] = durations.map(Duration::from_nanos);
            let config = ElectionConfig {
                lease_duration,
                renew_deadline,
                retry_period,
                ..ElectionConfig::default()
            };
            let said = config
                .validate()
                .map_or_else(|error| error.to_string(), |()| String::new());
            assert_eq!(said, expected, "{durations:?}");
        }
        assert!((JITTER_FACTOR - 6.0 / 5.0).abs() < f64::EPSILON);
    }
}
