//! `NodeResourcesBalancedAllocation`: nodes whose resources the pod makes more evenly used are better.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_config::{NodeResourcesBalancedAllocationArgs, PluginArgs};
use plimsoll_framework::{
    Construction, CycleContext, CycleState, Extensions, Feasible, MAX_NODE_SCORE, Plugin, PreScore, PreScoreOutcome,
    Score,
};
use plimsoll_model::columns::NodeIndex;
use plimsoll_model::{Amounts, Pod, RequestOptions, pod_requests};
use smallvec::SmallVec;

use crate::scored_resource::{Missing, ScoredResource, loads};
use crate::validated::validated;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "NodeResourcesBalancedAllocation";

/// Prefers nodes that the pod brings into balance.
#[derive(Debug, Clone)]
pub struct NodeResourcesBalancedAllocation {
    resources: Vec<ScoredResource>,
}

/// What the pod asks for; written by the pre-score.
struct PodRequest(Amounts);

/// Makes the plugin with the arguments of a profile, or with the default ones.
pub fn construct(with: &Construction<'_>) -> Result<Extensions, String> {
    validated(with)?;
    let defaults = NodeResourcesBalancedAllocationArgs::default();
    let args = match with.args {
        None => &defaults,
        Some(PluginArgs::NodeResourcesBalancedAllocation(args)) => args,
        Some(_) => return Err("want args to be of type NodeResourcesBalancedAllocationArgs".to_owned()),
    };
    let plugin = Arc::new(NodeResourcesBalancedAllocation {
        resources: ScoredResource::all(&args.resources),
    });
    Ok(Extensions::new().pre_score(plugin.clone()).score(plugin))
}

/// As pods on nodes are counted.
fn request(pod: &Pod) -> Amounts {
    pod_requests(pod, RequestOptions::ON_NODE)
}

impl NodeResourcesBalancedAllocation {
    fn asks_for_nothing(&self, request: &Amounts) -> bool {
        self.resources.iter().all(|resource| resource.asked(request) == 0)
    }
}

impl Plugin for NodeResourcesBalancedAllocation {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl PreScore for NodeResourcesBalancedAllocation {
    /// Skips pods that ask for nothing: their balance is the same everywhere, and they would crowd on one node.
    fn pre_score(&self, cycle: CycleContext<'_>, state: &mut CycleState, _: &Feasible<'_>) -> PreScoreOutcome {
        let request = request(cycle.pod);
        if self.asks_for_nothing(&request) {
            return PreScoreOutcome::Skip;
        }
        state.insert(PodRequest(request));
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
        // A profile can leave the pre-score out.
        let request = match state.get() {
            Some(PodRequest(request)) => Cow::Borrowed(request),
            None => Cow::Owned(request(cycle.pod)),
        };
        if self.asks_for_nothing(&request) {
            return Ok(());
        }
        if self.resources.is_empty() {
            return Err("resources not found".to_owned());
        }
        let loads = loads(&self.resources, &request, cycle.columns, Missing::AsZero);
        for (node, score) in feasible.iter().zip(scores) {
            let on_node = loads.iter().filter_map(|load| Some((load, load.on(node.as_usize())?)));
            *score = balance_gained(on_node.map(|(load, (used, allocatable))| Use {
                before: used,
                after: used.wrapping_add(load.asked),
                allocatable,
            }));
        }
        Ok(())
    }

    fn follows_rows(&self) -> bool {
        true
    }
}

/// One resource of one node.
#[derive(Debug, Clone, Copy)]
struct Use {
    before: i64,
    after: i64,
    allocatable: i64,
}

/// 75 when the pod leaves the balance as it is, towards 100 when it betters it, towards 50 when it worsens it.
fn balance_gained(uses: impl Iterator<Item = Use> + Clone) -> i64 {
    let with_pod = balance(uses.clone().map(|of| (of.after, of.allocatable)));
    let without_pod = balance(uses.map(|of| (of.before, of.allocatable)));
    MAX_NODE_SCORE / 2 + (MAX_NODE_SCORE / 2 + with_pod - without_pod) / 2
}

/// 100 less the standard deviation of the used shares in percent; each resource is (requested, allocatable), and those
/// that the node does not have are left out.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "kube-scheduler computes this in float64 and truncates, and equal scores matter"
)]
fn balance(resources: impl Iterator<Item = (i64, i64)>) -> i64 {
    let shares: SmallVec<[f64; 4]> = resources
        .map(|(requested, allocatable)| {
            let share = requested as f64 / allocatable as f64;
            if share > 1.0 { 1.0 } else { share }
        })
        .collect();
    ((1.0 - deviation(&shares)) * MAX_NODE_SCORE as f64) as i64
}

/// Half the difference of two shares; of more, the root of the mean square distance from the mean, summed in order.
#[expect(clippy::cast_precision_loss, reason = "there are few resources")]
fn deviation(shares: &[f64]) -> f64 {
    match shares {
        [] | [_] => 0.0,
        [first, second] => ((first - second) / 2.0).abs(),
        _ => {
            let count = shares.len() as f64;
            let mean = shares.iter().fold(0.0, |sum, share| sum + share) / count;
            let squares = shares
                .iter()
                .fold(0.0, |sum, share| sum + (share - mean) * (share - mean));
            (squares / count).sqrt()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_config::ResourceWeight;

    use crate::fixture::{Cluster, made, made_of, pod};

    fn asking(requests: &str) -> String {
        format!(r#"{{"containers":[{{"name":"c","resources":{{"requests":{requests}}}}}]}}"#)
    }

    fn there(resources: &[(i64, i64)]) -> impl Iterator<Item = (i64, i64)> {
        resources.iter().copied().filter(|(_, allocatable)| *allocatable != 0)
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
            assert_eq!(balance(there(&resources)), expected, "{resources:?}");
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
            let scores = cluster.score(&made(construct), &pod(&asking(requests))).unwrap();
            assert_eq!(scores.raw("a"), expected, "{allocatable} {running:?} {requests}");
        }
    }

    #[test]
    fn pod_level_requests_count() {
        let cluster = Cluster::of_nodes([("a", r#"{"status":{"allocatable":{"cpu":"10","memory":"10"}}}"#)]);
        let spec = r#"{"containers":[{"name":"c"}],"resources":{"requests":{"cpu":"10"}}}"#;
        assert_eq!(cluster.score(&made(construct), &pod(spec)).unwrap().raw("a"), 50);
    }

    #[test]
    fn a_pod_that_asks_for_neither_cpu_nor_memory_is_not_scored() {
        let cluster = Cluster::of_nodes([("a", "{}")]);
        for requests in ["{}", r#"{"cpu":"0","memory":"0"}"#, r#"{"example.com/a":"1"}"#] {
            assert!(
                cluster.score(&made(construct), &pod(&asking(requests))).is_none(),
                "{requests}"
            );
        }
    }

    #[test]
    fn more_than_two_shares_deviate_by_the_root_of_the_mean_square() {
        let cases: [(&[(i64, i64)], i64); 5] = [
            (&[(0, 10), (0, 10), (0, 10)], 100),
            // Mean 1/3, deviation 0.4714.
            (&[(10, 10), (0, 10), (0, 10)], 52),
            // 0.3, 0.6, 0.9: mean 0.6, deviation 0.2449.
            (&[(3, 10), (6, 10), (9, 10)], 75),
            (&[(10, 10), (10, 10), (0, 10), (0, 10)], 50),
            (&[(5, 10), (1, 0), (5, 10)], 100),
        ];
        for (resources, expected) in cases {
            assert_eq!(balance(there(resources)), expected, "{resources:?}");
        }
    }

    #[test]
    fn the_resources_of_the_profile_are_balanced_and_scalars_only_for_pods_that_ask() {
        let args = PluginArgs::NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs {
            resources: ["cpu", "memory", "example.com/a"]
                .map(|name| ResourceWeight::new(name, 1))
                .to_vec(),
        });
        let plugin = made_of(construct, &args);
        let allocatable = r#"{"cpu":"10","memory":"10","example.com/a":"10"}"#;
        let node = format!(r#"{{"status":{{"allocatable":{allocatable}}}}}"#);
        let mut cluster = Cluster::of_nodes([("a", node.as_str())]);
        cluster.add_pod("a", &pod(&asking(r#"{"cpu":"5","memory":"5"}"#)));
        let cases = [
            // Without the scalar balance stays perfect.
            (r#"{"cpu":"1","memory":"1"}"#, 75),
            // 0.5, 0.5, 0 deviate by 0.2357; 0.5, 0.5, 0.5 don't.
            (r#"{"example.com/a":"5"}"#, 87),
        ];
        for (requests, expected) in cases {
            let scores = cluster.score(&plugin, &pod(&asking(requests))).unwrap();
            assert_eq!(scores.raw("a"), expected, "{requests}");
        }
    }
}
