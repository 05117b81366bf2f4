//! `NodeResourcesBalancedAllocation`: nodes whose CPU and memory the pod makes more evenly used are better.

use std::sync::Arc;

use plimsoll_framework::{
    CycleContext, CycleState, Extensions, MAX_NODE_SCORE, Plugin, PreScore, PreScoreOutcome, Score,
};
use plimsoll_model::columns::NodeIndex;
use plimsoll_model::{RequestOptions, pod_requests};

/// Name in profiles, metrics and messages.
pub const NAME: &str = "NodeResourcesBalancedAllocation";

/// Prefers nodes that the pod brings into balance.
#[derive(Debug, Clone, Copy)]
pub struct NodeResourcesBalancedAllocation;

/// What the pod asks for; written by the pre-score.
struct PodRequest {
    milli_cpu: i64,
    memory: i64,
}

/// Where it takes part.
pub fn extensions() -> Extensions {
    let plugin = Arc::new(NodeResourcesBalancedAllocation);
    Extensions::new().pre_score(plugin.clone()).score(plugin)
}

impl Plugin for NodeResourcesBalancedAllocation {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl PreScore for NodeResourcesBalancedAllocation {
    /// Skips pods that ask for nothing: their balance is the same everywhere, and they would crowd on one node.
    fn pre_score(&self, cycle: CycleContext<'_>, state: &mut CycleState, _: &[NodeIndex]) -> PreScoreOutcome {
        let options = RequestOptions {
            status_aware: true,
            pod_level: true,
            non_zero: false,
        };
        let request = pod_requests(cycle.pod, options);
        if request.milli_cpu == 0 && request.memory == 0 {
            return PreScoreOutcome::Skip;
        }
        state.insert(PodRequest {
            milli_cpu: request.milli_cpu,
            memory: request.memory,
        });
        PreScoreOutcome::Continue
    }
}

impl Score for NodeResourcesBalancedAllocation {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        state: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        let Some(request) = state.get::<PodRequest>() else {
            return Err(format!("{NAME} scores without its pre-score"));
        };
        let columns = cycle.columns;
        let (cpu, memory) = (columns.allocatable_cpu(), columns.allocatable_memory());
        let (used_cpu, used_memory) = (columns.requested_cpu(), columns.requested_memory());
        let at = |column: &[i64], node: usize| column.get(node).copied().unwrap_or(0);
        for (node, score) in feasible.iter().zip(scores) {
            let node = node.as_usize();
            *score = balance_gained([
                Load {
                    used: at(used_cpu, node),
                    asked: request.milli_cpu,
                    allocatable: at(cpu, node),
                },
                Load {
                    used: at(used_memory, node),
                    asked: request.memory,
                    allocatable: at(memory, node),
                },
            ]);
        }
        Ok(())
    }
}

/// One resource of one node.
#[derive(Debug, Clone, Copy)]
struct Load {
    used: i64,
    asked: i64,
    allocatable: i64,
}

/// 75 when the pod leaves the balance as it is, towards 100 when it betters it, towards 50 when it worsens it.
fn balance_gained(loads: [Load; 2]) -> i64 {
    let with_pod = balance(loads.map(|load| (load.used.wrapping_add(load.asked), load.allocatable)));
    let without_pod = balance(loads.map(|load| (load.used, load.allocatable)));
    MAX_NODE_SCORE / 2 + (MAX_NODE_SCORE / 2 + with_pod - without_pod) / 2
}

/// 100 less the deviation of the used shares in percent; resources that the node does not have are left out.
///
/// With two resources the standard deviation is half their difference, with one it is 0.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "kube-scheduler computes this in float64 and truncates, and equal scores matter"
)]
fn balance(resources: [(i64, i64); 2]) -> i64 {
    let [first, second] = resources.map(|(requested, allocatable)| {
        (allocatable != 0).then(|| {
            let share = requested as f64 / allocatable as f64;
            if share > 1.0 { 1.0 } else { share }
        })
    });
    let deviation = match (first, second) {
        (Some(first), Some(second)) => ((first - second) / 2.0).abs(),
        _ => 0.0,
    };
    ((1.0 - deviation) * MAX_NODE_SCORE as f64) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Cluster, pod};

    fn asking(requests: &str) -> String {
        format!(r#"{{"containers":[{{"name":"c","resources":{{"requests":{requests}}}}}]}}"#)
    }

    #[test]
    fn balance_is_a_hundred_less_the_deviation() {
        let cases = [
            ([(0, 10), (0, 10)], 100),
            ([(5, 10), (5, 10)], 100),
            ([(10, 10), (0, 10)], 50),
            ([(3, 10), (6, 10)], 85),
            // 100 * (1 - 0.34) is a little less than 66 in floating point.
            ([(68, 100), (0, 100)], 65),
            ([(20, 10), (10, 10)], 100),
            ([(5, 0), (5, 10)], 100),
            ([(5, 0), (5, 0)], 100),
            ([(3000, 4000), (5000, 10000)], 87),
            ([(3000, 6000), (5000, 10000)], 100),
        ];
        for (resources, expected) in cases {
            assert_eq!(balance(resources), expected, "{resources:?}");
        }
    }

    #[test]
    fn a_node_that_the_pod_balances_scores_higher() {
        let cases: [(&str, &[&str], &str, i64); 6] = [
            (r#"{"cpu":"10","memory":"10"}"#, &[], r#"{"cpu":"5","memory":"5"}"#, 75),
            (r#"{"cpu":"10","memory":"10"}"#, &[], r#"{"cpu":"10"}"#, 50),
            (
                r#"{"cpu":"10","memory":"10"}"#,
                &[r#"{"cpu":"10"}"#],
                r#"{"memory":"10"}"#,
                100,
            ),
            // (50 - 15) / 2 truncates to 17.
            (r#"{"cpu":"10","memory":"10"}"#, &[], r#"{"cpu":"3"}"#, 67),
            (r#"{"cpu":"10"}"#, &[], r#"{"cpu":"3","memory":"1"}"#, 75),
            // Only what is asked for counts, no defaults.
            (
                r#"{"cpu":"10","memory":"1000Mi"}"#,
                &["{}"],
                r#"{"cpu":"1","memory":"100Mi"}"#,
                75,
            ),
        ];
        for (allocatable, running, requests, expected) in cases {
            let node = format!(r#"{{"status":{{"allocatable":{allocatable}}}}}"#);
            let mut cluster = Cluster::of_nodes([("a", node.as_str())]);
            for requests in running {
                cluster.add_pod("a", &pod(&asking(requests)));
            }
            let scores = cluster.score(&extensions(), &pod(&asking(requests))).unwrap();
            assert_eq!(scores.raw("a"), expected, "{allocatable} {running:?} {requests}");
        }
    }

    #[test]
    fn pod_level_requests_count() {
        let cluster = Cluster::of_nodes([("a", r#"{"status":{"allocatable":{"cpu":"10","memory":"10"}}}"#)]);
        let spec = r#"{"containers":[{"name":"c"}],"resources":{"requests":{"cpu":"10"}}}"#;
        assert_eq!(cluster.score(&extensions(), &pod(spec)).unwrap().raw("a"), 50);
    }

    #[test]
    fn a_pod_that_asks_for_neither_cpu_nor_memory_is_not_scored() {
        let cluster = Cluster::of_nodes([("a", "{}")]);
        for requests in ["{}", r#"{"cpu":"0","memory":"0"}"#, r#"{"example.com/a":"1"}"#] {
            assert!(
                cluster.score(&extensions(), &pod(&asking(requests))).is_none(),
                "{requests}"
            );
        }
    }
}
