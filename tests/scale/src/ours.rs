use std::sync::Arc;

use anyhow::Context;
use plimsoll_config::FeatureGates;
use plimsoll_engine::{ClaimInput, Engine, Notice, Outcome, Step};
use plimsoll_framework::Profiles;
use plimsoll_model::{Change, Delta, Moment, Seq, WorkloadKind, decode_node, decode_pod, decode_workload_selector};

use crate::cluster::{Cluster, Template};
use crate::mix::App;
use crate::stopwatch::{now, spent};

/// The configuration of both sides: kube-scheduler's defaults.
pub(crate) const CONFIG: &str = r#"{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration",
    "profiles":[{"schedulerName":"default-scheduler"}]}"#;

/// Where a pod has got to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The number of its app.
    pub app: u32,
    /// Its number in the app.
    pub pod: u32,
    /// The node.
    pub node: u32,
}

/// How long one pod took, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// Deciding, the claim included.
    pub(crate) decided: u64,
    /// The same in processor time.
    pub(crate) spent: u64,
    /// Everything else that the columns are told of the pod: that it waits, that it is bound, that it is on its node.
    pub(crate) told: u64,
}

/// Plimsoll's engine, used as the cycle actor uses it. Whoever binds says yes at once, and the watch shows it.
pub struct Ours {
    engine: Engine,
    seq: Seq,
    out: Vec<Notice>,
}

impl Ours {
    /// An engine with the default profile that knows no node.
    pub fn new(seed: u64) -> anyhow::Result<Self> {
        let gates = FeatureGates::default();
        let config = plimsoll_config::load(CONFIG, &gates)?;
        let share = config.percentage_of_nodes_to_score;
        let registry = plimsoll_plugins::registry();
        let profiles = Profiles::assemble(&config.profiles, share, &config.extenders, &registry, &gates)?;
        Ok(Self {
            engine: Engine::new(profiles, seed),
            seq: Seq::ZERO,
            out: Vec::new(),
        })
    }

    /// Has it look at all nodes for each pod, whatever it knows from others.
    #[must_use]
    pub fn looking_at_all(mut self) -> Self {
        self.engine = self.engine.looking_at_all();
        self
    }

    pub(crate) fn add_nodes(&mut self, cluster: &Cluster) -> anyhow::Result<()> {
        for node in 0..cluster.size() {
            let node = decode_node(cluster.node(node).to_string().as_bytes())?;
            self.tell(Delta::NodeAdded(Arc::new(node)));
        }
        Ok(())
    }

    pub(crate) fn add_replica_sets<'a>(&mut self, apps: impl IntoIterator<Item = &'a App>) -> anyhow::Result<()> {
        for set in apps.into_iter().filter_map(Cluster::replica_set) {
            let set = decode_workload_selector(WorkloadKind::ReplicaSet, set.to_string().as_bytes())?;
            let new = Some(Arc::new(set));
            self.tell(Delta::WorkloadSelectorChanged { old: None, new });
        }
        Ok(())
    }

    fn tell(&mut self, delta: Delta) {
        self.seq = self.seq.next();
        let change = Change { seq: self.seq, delta };
        self.engine.apply(&change, Moment::ZERO, &mut self.out);
        self.out.clear();
    }

    /// Places one pod of an app; none if no node will do.
    pub(crate) fn place(
        &mut self,
        template: &Template,
        waiting: &str,
        name: &str,
    ) -> anyhow::Result<(Option<u32>, Times)> {
        let pod = Arc::new(decode_pod(Template::named(waiting, name).as_bytes())?);
        let begun = now();
        self.tell(Delta::PodAdded(Arc::clone(&pod)));
        let (known, before) = (now(), spent());
        let step = self.engine.begin(&pod, Moment::ZERO, &mut self.out);
        let (decided, after) = (now(), spent());
        let mut times = Times {
            decided: nanoseconds(decided - known),
            spent: nanoseconds(after.saturating_sub(before)),
            told: nanoseconds(known - begun),
        };
        let Step::Done(Outcome::Placed(placement)) = step else {
            self.tell(Delta::PodDeleted(pod));
            return Ok((None, times));
        };
        let node = placement.node.as_str();
        let new = Arc::new(decode_pod(
            Template::named(&template.text(Some(node)), name).as_bytes(),
        )?);
        let bound = now();
        self.out.clear();
        let out = &mut self.out;
        self.engine
            .bind_input(placement.claim, ClaimInput::Bound, Moment::ZERO, out);
        self.tell(Delta::PodUpdated { old: pod, new });
        times.told += nanoseconds(now() - bound);
        let node = Cluster::node_of(node).context("a node that there is not")?;
        Ok((Some(node), times))
    }
}

fn nanoseconds(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
