//! What is told of leader election: client-go's families, under the name of kube-scheduler.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

use crate::registrar::{Registrar, alpha};
use crate::vector::Vector;

/// The only value of the label: it names the component, whatever its Lease is called.
const COMPONENT: &str = "kube-scheduler";

/// `leader_election_*`. Neither family has a line before its first call.
#[derive(Debug)]
pub struct ElectionMetrics {
    master_status: Vector<Gauge>,
    slow_path: Vector<Counter>,
}

impl ElectionMetrics {
    pub(crate) fn new(registrar: &mut Registrar<'_>) -> Self {
        Self {
            master_status: registrar.many(
                alpha(
                    "leader_election_master_status",
                    "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates \
                     master. 'name' is the string used to identify the lease. Please make sure to group by name.",
                ),
                &["name"],
                Gauge::default,
            ),
            slow_path: registrar.many(
                alpha(
                    "leader_election_slowpath_total",
                    "Total number of slow path exercised in renewing leader leases. 'name' is the string used to \
                     identify the lease. Please make sure to group by name.",
                ),
                &["name"],
                Counter::default,
            ),
        }
    }

    /// Whether this replica leads.
    pub fn leading(&self, leading: bool) {
        self.master_status.with([COMPONENT.into()]).set(i64::from(leading));
    }

    /// So many renewals had to read the lease first.
    pub fn slow_paths(&self, times: u64) {
        self.slow_path.with([COMPONENT.into()]).inc_by(times);
    }

    /// What `leader_election_master_status` shows; none when there is no election.
    pub fn master_status(&self) -> Option<i64> {
        self.master_status.find([COMPONENT.into()]).map(|gauge| gauge.get())
    }

    /// What `leader_election_slowpath_total` shows.
    pub fn slow_path_total(&self) -> u64 {
        self.slow_path
            .find([COMPONENT.into()])
            .map_or(0, |counter| counter.get())
    }
}
