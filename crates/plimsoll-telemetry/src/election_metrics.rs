//! What is told of leader election: client-go's families, under the name of kube-scheduler.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Name {
    name: &'static str,
}

/// The only value of the label: it names the component, whatever its Lease is called.
const COMPONENT: Name = Name { name: "kube-scheduler" };

/// `leader_election_*`. Neither family has a line before its first call.
#[derive(Debug, Default)]
pub struct ElectionMetrics {
    master_status: Family<Name, Gauge>,
    slow_path: Family<Name, Counter>,
}

impl ElectionMetrics {
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "leader_election_master_status",
            "[ALPHA] 1 while this replica leads, 0 while it stands by",
            self.master_status.clone(),
        );
        registry.register(
            "leader_election_slowpath",
            "[ALPHA] Lease renewals that had to read the lease first",
            self.slow_path.clone(),
        );
    }

    /// Whether this replica leads.
    pub fn leading(&self, leading: bool) {
        self.master_status.get_or_create(&COMPONENT).set(i64::from(leading));
    }

    /// So many renewals had to read the lease first.
    pub fn slow_paths(&self, times: u64) {
        self.slow_path.get_or_create(&COMPONENT).inc_by(times);
    }

    /// What `leader_election_master_status` shows; none when there is no election.
    pub fn master_status(&self) -> Option<i64> {
        self.master_status.get(&COMPONENT).map(|gauge| gauge.get())
    }

    /// What `leader_election_slowpath_total` shows.
    pub fn slow_path_total(&self) -> u64 {
        self.slow_path.get(&COMPONENT).map_or(0, |counter| counter.get())
    }
}
