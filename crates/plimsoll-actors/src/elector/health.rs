//! What health checks are told.

use std::time::Duration;

use plimsoll_config::ElectionConfig;
use plimsoll_model::Moment;

use super::coordination::Coordination;
use super::{ElectorState, Phase};

/// A term that is not over so long after its lease ran out has gone wrong; as kube-scheduler's health check allows.
const OVERDUE: Duration = Duration::from_secs(20);

/// Leadership as health checks and the Lease annotation show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElectorView {
    /// Whether this replica leads.
    pub leading: bool,
    /// Who held the lease when it was last read.
    pub holder: String,
    /// Where the holder serves, if it has said so in the lease.
    pub holder_address: Option<String>,
    /// The term is not over, although its lease was last renewed longer ago than the lease duration and 20 s.
    pub overdue: bool,
    /// With coordinated leader election, whether the API server has told of our candidate.
    pub candidate_known: Option<bool>,
}

impl ElectorState {
    pub(super) fn view(&self, now: Moment) -> ElectorView {
        let in_term = matches!(self.phase, Phase::Standing | Phase::Ending);
        ElectorView {
            leading: self.token.is_some() && self.phase == Phase::Standing,
            holder: self.election.holder().to_owned(),
            holder_address: self
                .election
                .observed()
                .and_then(|lease| lease.leader_address().map(str::to_owned)),
            overdue: in_term
                && self
                    .token
                    .as_ref()
                    .is_some_and(|token| is_overdue(token.deadline(), &self.config, now)),
            candidate_known: self.coordination.as_ref().map(Coordination::is_known),
        }
    }
}

/// Whether the last renewal, a renew deadline before `deadline`, is longer ago than kube-scheduler's health check allows.
fn is_overdue(deadline: Moment, config: &ElectionConfig, now: Moment) -> bool {
    config.leader_elect && now.since(deadline) > config.write_timeout() + OVERDUE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_overdue_twenty_seconds_after_its_lease_ran_out() {
        let config = ElectionConfig::default();
        // Last renewed at 100 s: the deadline is at 110 s, the lease runs out at 115 s.
        let at = |seconds| Moment::ZERO + Duration::from_secs(seconds);
        let overdue = |config: &ElectionConfig, now| is_overdue(at(110), config, at(now));
        assert_eq!(
            [105, 115, 135, 136].map(|now| overdue(&config, now)),
            [false, false, false, true]
        );
        let without = ElectionConfig {
            leader_elect: false,
            ..config
        };
        assert!(!overdue(&without, 1000));
    }
}
