//! How much better places there were than those that were chosen, by the default profile's own scores.
//!
//! Pods are placed anew in the order in which they were seen bound. Where a pod says nothing of nodes or other pods,
//! what tells nodes apart is how full they are, so their scores can be calculated in a few lines. A scheduler decides
//! in another order than its bindings arrive in, by some few: a regret of some hundredths of a point may be that.

use std::collections::BTreeMap;

use plimsoll_cluster::quantity::{self, Amounts};
use serde::Serialize;

use super::cluster::View;
use super::selector::repelled_by;
use crate::statistics::mean;

/// Pods that are looked at, evenly from all.
const SAMPLE: usize = 500;

/// What the best node scored beyond the chosen one, in points of 200: both plug-ins that look at how full nodes are
/// give up to 100.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Regret {
    /// On average.
    pub mean: f64,
    /// At most.
    pub most: f64,
    /// Of so many pods.
    pub of: usize,
}

/// What a node has and has given away: of processors in thousandths, of memory in thousandths of bytes.
#[derive(Clone, Debug, Default)]
struct Node {
    line: [i128; 2],
    taken: [i128; 2],
    /// The same with what is assumed of containers that ask for nothing.
    assumed: [i128; 2],
    all: Amounts,
}

/// What a container is assumed to need that does not ask: a tenth of a processor, 200 MiB.
const ASSUMED: [i128; 2] = [100, 200 * 1024 * 1024 * 1000];

const RESOURCES: [&str; 2] = ["cpu", "memory"];

/// `None` where scores depend on more than how full nodes are.
pub(super) fn replay(view: &View<'_>, order: &[(&str, &str)]) -> Option<Regret> {
    let nodes_differ = view.nodes.values().any(|view| {
        let taints = view
            .node
            .spec
            .as_ref()
            .and_then(|spec| spec.taints.as_deref())
            .unwrap_or_default();
        let images = view
            .node
            .status
            .as_ref()
            .and_then(|status| status.images.as_deref())
            .unwrap_or_default();
        taints.iter().any(|taint| taint.effect == "PreferNoSchedule") || !images.is_empty()
    });
    if nodes_differ || view.any_service {
        return None;
    }
    let pods: BTreeMap<&str, &super::cluster::Placed<'_>> =
        view.placed.iter().map(|placed| (placed.key.as_str(), placed)).collect();
    let mut nodes: BTreeMap<&str, Node> = view
        .nodes
        .iter()
        .map(|(name, view)| {
            let line = RESOURCES.map(|resource| view.allocatable.get(resource).copied().unwrap_or(0));
            (
                *name,
                Node {
                    line,
                    ..Node::default()
                },
            )
        })
        .collect();
    let every = order.len().div_ceil(SAMPLE).max(1);
    let mut regrets = Vec::new();
    for (index, (key, chosen)) in order.iter().enumerate() {
        let placed = pods.get(key)?;
        let asked = RESOURCES.map(|resource| placed.requests.get(resource).copied().unwrap_or(0));
        let assumed = assumed(placed.pod);
        if index % every == 0 && is_plain(placed.pod) {
            let scores = nodes.iter().filter_map(|(name, node)| {
                let place = view.nodes.get(name)?;
                let fits =
                    fits(node, &placed.requests, &place.allocatable) && repelled_by(placed.pod, place.node).is_none();
                fits.then(|| node.score(asked, assumed))
            });
            let best = scores.max()?;
            let of_chosen = nodes.get(chosen)?.score(asked, assumed);
            #[expect(clippy::cast_precision_loss, reason = "at most 200")]
            regrets.push((best - of_chosen).max(0) as f64);
        }
        let node = nodes.get_mut(chosen)?;
        let sums = node.taken.iter_mut().chain(&mut node.assumed);
        for (sum, more) in sums.zip(asked.into_iter().chain(assumed)) {
            *sum += more;
        }
        quantity::add(&mut node.all, &placed.requests);
    }
    Some(Regret {
        mean: mean(&regrets)?,
        most: regrets.iter().copied().fold(0.0, f64::max),
        of: regrets.len(),
    })
}

/// Whether the pod says nothing that makes nodes differ otherwise than by how full they are.
fn is_plain(pod: &k8s_openapi::api::core::v1::Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| {
        spec.affinity.is_none()
            && spec.topology_spread_constraints.is_none()
            && spec.node_selector.is_none()
            && spec.volumes.is_none()
    })
}

fn fits(node: &Node, requests: &Amounts, allocatable: &Amounts) -> bool {
    let of = |amounts: &Amounts, resource: &String| amounts.get(resource).copied().unwrap_or(0);
    let enough = |(resource, asked): (&String, &i128)| of(&node.all, resource) + asked <= of(allocatable, resource);
    requests.iter().filter(|(_, asked)| **asked > 0).all(enough)
}

/// What the pod's containers ask for, or are assumed to need.
fn assumed(pod: &k8s_openapi::api::core::v1::Pod) -> [i128; 2] {
    let mut sum = [0, 0];
    for container in pod.spec.iter().flat_map(|spec| &spec.containers) {
        let requests = container
            .resources
            .as_ref()
            .and_then(|resources| resources.requests.as_ref());
        for (resource, sum) in sum.iter_mut().enumerate() {
            let asked = requests.and_then(|requests| requests.get(RESOURCES[resource]));
            let asked = asked.and_then(|asked| quantity::thousandths(&asked.0).ok());
            *sum += asked.unwrap_or(ASSUMED[resource]);
        }
    }
    sum
}

impl Node {
    /// Of 200, for a pod that asks for so much.
    fn score(&self, asked: [i128; 2], assumed: [i128; 2]) -> i64 {
        self.least_allocated(assumed) + self.balanced(asked)
    }

    /// What would be left of each resource of 100, on average.
    fn least_allocated(&self, assumed: [i128; 2]) -> i64 {
        let (mut sum, mut counted) = (0, 0);
        for (resource, more) in assumed.iter().enumerate() {
            let line = whole(self.line[resource], resource);
            if line == 0 {
                continue;
            }
            let taken = whole(self.assumed[resource] + more, resource);
            sum += if taken > line { 0 } else { (line - taken) * 100 / line };
            counted += 1;
        }
        i64::try_from(if counted == 0 { 0 } else { sum / counted }).unwrap_or(0)
    }

    /// 75, and more or less by how far the pod brings the shares of both resources together or apart.
    fn balanced(&self, asked: [i128; 2]) -> i64 {
        if asked == [0, 0] {
            return 0;
        }
        let balance = |with: [i128; 2]| {
            let mut shares = Vec::new();
            for (resource, more) in with.iter().enumerate() {
                let line = whole(self.line[resource], resource);
                if line > 0 {
                    let taken = whole(self.taken[resource] + more, resource);
                    #[expect(clippy::cast_precision_loss, reason = "as in the original")]
                    shares.push((taken as f64 / line as f64).min(1.0));
                }
            }
            let apart = match shares[..] {
                [one, other] => (one - other).abs() / 2.0,
                _ => 0.0,
            };
            #[expect(clippy::cast_possible_truncation, reason = "between 50 and 100")]
            let balance = ((1.0 - apart) * 100.0) as i64;
            balance
        };
        50 + (50 + balance(asked) - balance([0, 0])) / 2
    }
}

/// Memory counts in bytes, processors in thousandths.
fn whole(thousandths: i128, resource: usize) -> i128 {
    if resource == 0 { thousandths } else { thousandths / 1000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(taken: [i128; 2]) -> Node {
        Node {
            line: [4000, 32_000],
            taken,
            assumed: taken,
            all: Amounts::new(),
        }
    }

    #[test]
    fn scores_are_those_of_the_default_profile() {
        // Empty: 3900/4000 is 97, 30/32 is 93: 95. Balanced before; after it 0.025 and 0.0625: (1 − 0.01875) · 100 is
        // 98.
        assert_eq!(
            node([0, 0]).score([100, 2000], [100, 2000]),
            95 + 50 + (50 + 98 - 100) / 2
        );
        // A pod that asks for nothing is not balanced.
        assert_eq!(node([0, 0]).score([0, 0], [100, 2000]), 95);
        // Full of processors: nothing is left of them, and it is out of balance.
        assert_eq!(node([4000, 0]).score([100, 0], [100, 0]), 50 + 50 + (50 + 50 - 50) / 2);
    }
}
