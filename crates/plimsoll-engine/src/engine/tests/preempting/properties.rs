use std::collections::BTreeMap;

use plimsoll_framework::{CycleContext, CycleState, Filter, FilterPass, Plugin, ReasonCode, Reasons};
use proptest::prelude::*;

use super::*;
use crate::{Candidate, PreemptionTrial, Trial};

const NODES: [&str; 3] = ["n1", "n2", "n3"];
const APPS: [&str; 3] = ["web", "db", "job"];
const STARTS: [&str; 2] = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];

/// Never rejects, but looks at everything: every node must then be tried with its pods really gone.
struct Watchful;

impl Plugin for Watchful {
    fn name(&self) -> &'static str {
        "Watchful"
    }
}

impl Filter for Watchful {
    fn filter(&self, _: CycleContext<'_>, _: &CycleState, _: &mut FilterPass<'_>) -> Result<(), String> {
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> Reasons {
        Reasons::new()
    }
}

fn watchful() -> Profile {
    profile_with(&FeatureGates::default(), |profile| {
        profile.filter.insert(0, Arc::new(Watchful));
    })
}

/// What a pod is made of: thousandths of a core, priority, application, host port, whether it keeps away from its like,
/// amount of a scalar resource.
#[derive(Debug, Clone)]
struct Making {
    milli_cpu: u32,
    priority: i32,
    app: usize,
    port: Option<i32>,
    apart: bool,
    scalar: u32,
}

#[derive(Debug, Clone)]
struct World {
    guests: Vec<(usize, Making, Option<usize>, bool)>,
    nominated: Vec<(usize, Making)>,
    budgets: Vec<(usize, i32)>,
    preemptor: Making,
}

fn making(
    milli_cpu: impl Strategy<Value = u32>,
    priority: impl Strategy<Value = i32>,
) -> impl Strategy<Value = Making> {
    let ports = proptest::option::weighted(0.2, 80..82_i32);
    let apart = proptest::bool::weighted(0.15);
    (milli_cpu, priority, 0..APPS.len(), ports, apart, 0..2_u32).prop_map(
        |(milli_cpu, priority, app, port, apart, scalar)| Making {
            milli_cpu,
            priority,
            app,
            port,
            apart,
            scalar,
        },
    )
}

fn world() -> impl Strategy<Value = World> {
    let started = proptest::option::of(0..STARTS.len());
    let guest = (
        0..NODES.len(),
        making(1..900_u32, 0..4),
        started,
        proptest::bool::weighted(0.1),
    );
    let guests = proptest::collection::vec(guest, 0..14);
    let nominated = proptest::collection::vec((0..NODES.len(), making(1..500_u32, 0..5)), 0..3);
    let budgets = proptest::collection::vec((0..APPS.len(), 0..3), 0..3);
    (guests, nominated, budgets, making(300..2500_u32, 1..4)).prop_map(|(guests, nominated, budgets, preemptor)| {
        World {
            guests,
            nominated,
            budgets,
            preemptor,
        }
    })
}

impl Making {
    fn pod(&self, name: &str) -> PodBuilder {
        let mut pod = pod(name).cpu(&format!("{}m", self.milli_cpu)).priority(self.priority);
        if self.scalar > 0 {
            pod = pod.request("example.com/gpu", &self.scalar.to_string());
        }
        if let Some(port) = self.port {
            pod = pod.host_port(port);
        }
        let (app, apart) = (APPS[self.app], self.apart);
        pod.label("app", app).with(|pod| {
            if apart {
                let json = format!(
                    r#"{{"podAntiAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[
                        {{"topologyKey":"kubernetes.io/hostname","labelSelector":{{"matchLabels":{{"app":"{app}"}}}}}}]}}}}"#
                );
                pod.spec.affinity = Some(Box::new(serde_json::from_str(&json).unwrap()));
            }
        })
    }
}

impl World {
    /// The cluster, without the pods of these names.
    fn cluster(&self, profile: Profile, without: &[&str]) -> Cluster {
        let mut cluster = Cluster::new(profile);
        for name in NODES {
            let node = node(name).label("kubernetes.io/hostname", name);
            let node = node
                .cpu("2500m")
                .memory("8Gi")
                .pods(6)
                .allocatable("example.com/gpu", "2");
            cluster.set_node(node.build());
        }
        for (at, (app, allowed)) in self.budgets.iter().enumerate() {
            cluster.set_budget(&format!("b{at}"), APPS[*app], *allowed, &["g0"]);
        }
        for (at, (node, making, start, terminating)) in self.guests.iter().enumerate() {
            let name = format!("g{at}");
            if without.contains(&name.as_str()) {
                continue;
            }
            let mut pod = making.pod(&name).on(NODES[*node]);
            if let Some(start) = start {
                pod = pod.started(STARTS[*start]);
            }
            cluster.run(if *terminating { pod.terminating() } else { pod });
        }
        for (at, (node, making)) in self.nominated.iter().enumerate() {
            cluster.run(making.pod(&format!("w{at}")).nominated(NODES[*node]));
        }
        cluster
    }

    fn preemptor(&self) -> Arc<Pod> {
        Arc::new(self.preemptor.pod("p").build())
    }

    fn trial(&self, profile: Profile) -> Option<PreemptionTrial> {
        let mut cluster = self.cluster(profile, &[]);
        let now = cluster.now;
        cluster.engine.preemption_trial(&self.preemptor(), now)
    }

    /// Whether a pod that is nominated to the node keeps away from the preemptor. Without such pods on nodes the filter is
    /// skipped, as in kube-scheduler, and does not see that of nominated ones: the pod then fits where it does not fit beside
    /// one that goes.
    fn is_kept_off_by_a_newcomer(&self, node: &str) -> bool {
        let newcomers = self.nominated.iter().filter(|(at, _)| NODES[*at] == node);
        let mut newcomers = newcomers.map(|(_, making)| making);
        newcomers.any(|newcomer| newcomer.apart && newcomer.app == self.preemptor.app)
    }

    /// Whether the pod passes all filters on the node when these are gone.
    fn fits(&self, node: &str, without: &[&str]) -> bool {
        let mut cluster = self.cluster(profile(), without);
        let now = cluster.now;
        let trial = cluster.engine.try_out(&self.preemptor(), now).unwrap();
        trial.feasible().any(|feasible| feasible.name == node)
    }
}

fn names(candidate: &Candidate) -> Vec<&str> {
    candidate.victims.iter().map(|pod| pod.name.name.as_str()).collect()
}

type Seen = (BTreeMap<String, [i64; 4]>, Vec<Option<Trial>>, Vec<i64>);

/// What plugins of all kinds see of the columns, through pods that want each something else.
fn seen(cluster: &mut Cluster) -> Seen {
    let view = view(cluster.engine.columns());
    let now = cluster.now;
    let probes = APPS.iter().enumerate().flat_map(|(app, name)| {
        [Some(80), Some(81), None].map(|port| {
            let making = Making {
                milli_cpu: 1,
                priority: 0,
                app,
                port,
                apart: port.is_none(),
                scalar: 1,
            };
            Arc::new(making.pod(&format!("probe-{name}")).build())
        })
    });
    let trials: Vec<_> = probes.map(|pod| cluster.engine.try_out(&pod, now)).collect();
    let columns = cluster.engine.columns();
    let below = columns
        .nodes()
        .iter()
        .flat_map(|node| (0..5).map(move |priority| (node, priority)));
    let below: Vec<i64> = below
        .map(|(node, priority)| columns.pod_count_below(node, priority))
        .collect();
    (view, trials, below)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn an_attempt_leaves_the_columns_as_they_were(world in world(), watchful_too in any::<bool>()) {
        let profile = if watchful_too { watchful() } else { profile() };
        let mut cluster = world.cluster(profile, &[]);
        let before = seen(&mut cluster);
        let pod = world.preemptor();
        cluster.engine.preemption_trial(&pod, cluster.now);
        prop_assert_eq!(seen(&mut cluster), before);
    }

    #[test]
    fn victims_make_room_are_all_needed_and_less_important(world in world()) {
        let Some(trial) = world.trial(profile()) else { return Ok(()) };
        for candidate in &trial.candidates {
            let victims = names(candidate);
            prop_assert!(!victims.is_empty());
            prop_assert!(candidate.victims.iter().all(|victim| victim.priority() < world.preemptor.priority));
            prop_assert!(world.fits(&candidate.node, &victims), "{:?}", candidate);
            for spared in &victims {
                let others: Vec<_> = victims.iter().copied().filter(|victim| victim != spared).collect();
                prop_assert!(!world.fits(&candidate.node, &others), "{} could stay: {:?}", spared, candidate);
            }
        }
    }

    #[test]
    fn judging_by_sums_changes_neither_candidates_nor_texts(world in world()) {
        prop_assert_eq!(world.trial(profile()), world.trial(watchful()));
    }

    #[test]
    fn nodes_that_are_no_candidates_have_no_room_however_many_go(world in world()) {
        let Some(trial) = world.trial(profile()) else { return Ok(()) };
        for name in NODES {
            if trial.candidates.iter().any(|candidate| candidate.node == name) || world.is_kept_off_by_a_newcomer(name) {
                continue;
            }
            let lower = world.guests.iter().enumerate().filter(|(_, (node, making, ..))| {
                NODES[*node] == name && making.priority < world.preemptor.priority
            });
            let lower: Vec<String> = lower.map(|(at, _)| format!("g{at}")).collect();
            let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
            prop_assert!(!world.fits(name, &lower), "{name}");
        }
    }
}
