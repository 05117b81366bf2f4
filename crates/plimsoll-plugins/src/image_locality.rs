//! `ImageLocality`: nodes that have the pod's images already are better, the more so the more common the image is.
//!
//! The spread of an image over the nodes dampens its score, so that one node that happens to have an image does not draw
//! every pod that uses it.

use std::sync::Arc;

use plimsoll_framework::{CycleContext, CycleState, Extensions, MAX_NODE_SCORE, MarkBasis, Plugin, Score};
use plimsoll_model::columns::{Columns, NodeIndex, NodeSet};
use plimsoll_model::{Pod, VolumeKind, normalised_image_name};
use smallvec::SmallVec;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "ImageLocality";

const MIB: i64 = 1024 * 1024;
const MIN_THRESHOLD: i64 = 23 * MIB;
const MAX_CONTAINER_THRESHOLD: i64 = 1000 * MIB;

/// A mark has a bit for each image.
const MOST_MARKED: usize = 64;

/// Prefers nodes that hold the pod's images.
#[derive(Debug, Clone, Copy)]
pub struct ImageLocality;

/// Where it takes part.
pub fn extensions() -> Extensions {
    Extensions::new().score(Arc::new(ImageLocality))
}

impl Plugin for ImageLocality {
    fn name(&self) -> &'static str {
        NAME
    }
}

/// One use of an image: where it is and what having it adds to the sum of a node.
struct ImageUse<'a> {
    nodes: &'a NodeSet,
    worth: i64,
}

impl Score for ImageLocality {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        _: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        let uses = image_uses(cycle.pod, cycle.columns);
        if uses.is_empty() {
            return Ok(());
        }
        let spec = &cycle.pod.spec;
        let containers = i64::try_from(spec.init_containers.len() + spec.containers.len()).unwrap_or(i64::MAX);
        for (node, score) in feasible.iter().zip(scores) {
            let sum = uses
                .iter()
                .filter(|image| image.nodes.contains(*node))
                // Sizes are what nodes say; beyond all bounds kube-scheduler wraps around.
                .fold(0_i64, |sum, image| sum.wrapping_add(image.worth));
            *score = score_of_sum(sum, containers);
        }
        Ok(())
    }

    fn is_uniform(&self, cycle: CycleContext<'_>, _: &CycleState) -> bool {
        image_uses(cycle.pod, cycle.columns).is_empty()
    }

    /// Nodes are told apart by which of the pod's images they have. Those of volumes are not among what pods of one kind share.
    fn mark_basis(&self, cycle: CycleContext<'_>, _: &CycleState) -> Option<MarkBasis> {
        let spec = &cycle.pod.spec;
        let images = spec.init_containers.len() + spec.containers.len();
        let in_volumes = |volume: &VolumeKind| matches!(volume, VolumeKind::Image { .. });
        let can_be_marked = images <= MOST_MARKED && !spec.volumes.iter().any(in_volumes);
        can_be_marked.then(MarkBasis::default)
    }

    fn mark(&self, cycle: CycleContext<'_>, _: &CycleState, nodes: &[NodeIndex], marks: &mut [u64]) -> bool {
        let spec = &cycle.pod.spec;
        for (bit, container) in spec.init_containers.iter().chain(&spec.containers).enumerate() {
            let Some(column) = cycle.columns.image(&normalised_image_name(&container.image)) else {
                continue;
            };
            for (node, mark) in nodes.iter().zip(marks.iter_mut()) {
                *mark |= u64::from(column.nodes.contains(*node)) << bit;
            }
        }
        true
    }
}

fn image_uses<'a>(pod: &Pod, columns: &'a Columns) -> SmallVec<[ImageUse<'a>; 4]> {
    let spec = &pod.spec;
    let containers = spec
        .init_containers
        .iter()
        .chain(&spec.containers)
        .map(|container| container.image.as_str());
    let volumes = spec.volumes.iter().filter_map(|volume| match volume {
        VolumeKind::Image { reference } => Some(reference.as_str()),
        _ => None,
    });
    let uses = containers.chain(volumes).filter_map(|image| {
        let column = columns.image(&normalised_image_name(image))?;
        Some(ImageUse {
            nodes: column.nodes,
            worth: scaled(column.size, column.nodes.len(), columns.node_count()),
        })
    });
    uses.collect()
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "kube-scheduler computes this in float64 and truncates, and equal scores matter"
)]
fn scaled(size: i64, nodes_with_image: usize, total_nodes: usize) -> i64 {
    let spread = nodes_with_image as f64 / total_nodes as f64;
    (size as f64 * spread) as i64
}

fn score_of_sum(sum: i64, containers: i64) -> i64 {
    let max_threshold = MAX_CONTAINER_THRESHOLD.saturating_mul(containers);
    // Not `clamp`: without containers the maximum is below the minimum.
    let sum = if sum < MIN_THRESHOLD {
        MIN_THRESHOLD
    } else {
        sum.min(max_threshold)
    };
    MAX_NODE_SCORE * (sum - MIN_THRESHOLD) / (max_threshold - MIN_THRESHOLD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Cluster, pod};

    fn node(images: &[(&str, i64)]) -> String {
        let images: Vec<_> = images
            .iter()
            .map(|(name, mib)| format!(r#"{{"names":["{name}"],"sizeBytes":{}}}"#, mib * MIB))
            .collect();
        format!(r#"{{"status":{{"images":[{}]}}}}"#, images.join(","))
    }

    fn containers(images: &[&str]) -> String {
        let containers: Vec<_> = images
            .iter()
            .map(|image| format!(r#"{{"name":"c","image":"{image}"}}"#))
            .collect();
        format!(r#"{{"containers":[{}]}}"#, containers.join(","))
    }

    #[test]
    fn scores_follow_size_spread_and_number_of_containers() {
        let images = [
            (
                "a",
                node(&[
                    ("gcr.io/40:latest", 40),
                    ("gcr.io/300:latest", 300),
                    ("gcr.io/2000:latest", 2000),
                ]),
            ),
            (
                "b",
                node(&[
                    ("gcr.io/250:latest", 250),
                    ("gcr.io/10:v1", 10),
                    ("gcr.io/2000:latest", 2000),
                ]),
            ),
        ];
        let cluster = Cluster::of_nodes(images.iter().map(|(name, node)| (*name, node.as_str())));
        let cases = [
            (containers(&["gcr.io/40", "gcr.io/250"]), [0, 5]),
            (containers(&["gcr.io/40", "gcr.io/300"]), [7, 0]),
            (containers(&["gcr.io/10:v1"]), [0, 0]),
            (containers(&["gcr.io/300", "gcr.io/300"]), [14, 0]),
            (containers(&["gcr.io/2000"]), [100, 100]),
            (containers(&["gcr.io/2000", "gcr.io/2000"]), [100, 100]),
            (containers(&["gcr.io/2000", "x", "y"]), [66, 66]),
            (containers(&["gcr.io/300:latest"]), [12, 0]),
            (containers(&["gcr.io/300:v2"]), [0, 0]),
            (containers(&[]), [0, 0]),
        ];
        for (spec, expected) in cases {
            let scores = cluster.score(&extensions(), &pod(&spec)).unwrap();
            assert_eq!(["a", "b"].map(|name| scores.raw(name)), expected, "{spec}");
        }
    }

    #[test]
    fn absurd_sizes_wrap_around() {
        let images = node(&[("vast:latest", i64::MAX / MIB), ("great:latest", i64::MAX / MIB)]);
        let cluster = Cluster::of_nodes([("a", images.as_str())]);
        for (images, expected) in [(&["vast"][..], 100), (&["vast", "great"], 0)] {
            let scores = cluster.score(&extensions(), &pod(&containers(images))).unwrap();
            assert_eq!(scores.raw("a"), expected, "{images:?}");
        }
    }

    #[test]
    fn init_containers_and_image_volumes_count_and_volumes_do_not_raise_the_limit() {
        let images = node(&[("big:latest", 500)]);
        let cluster = Cluster::of_nodes([("a", images.as_str())]);
        let cases = [
            (
                r#"{"initContainers":[{"name":"i","image":"big"}],"containers":[{"name":"c","image":"x"}]}"#,
                24,
            ),
            (
                r#"{"containers":[{"name":"c","image":"x"}],"volumes":[{"name":"v","image":{"reference":"big"}}]}"#,
                48,
            ),
            (
                r#"{"containers":[{"name":"c","image":"big"}],"volumes":[{"name":"v","image":{"reference":"big"}}]}"#,
                100,
            ),
        ];
        for (spec, expected) in cases {
            assert_eq!(
                cluster.score(&extensions(), &pod(spec)).unwrap().raw("a"),
                expected,
                "{spec}"
            );
        }
    }

    #[test]
    fn only_a_colon_after_the_last_slash_is_a_tag() {
        let images = node(&[("registry:5000/img:latest", 1000), ("img@sha256:0a", 1000)]);
        let cluster = Cluster::of_nodes([("a", images.as_str())]);
        for (image, expected) in [("registry:5000/img", 100), ("img@sha256:0a", 100), ("img", 0)] {
            let scores = cluster.score(&extensions(), &pod(&containers(&[image]))).unwrap();
            assert_eq!(scores.raw("a"), expected, "{image}");
        }
    }

    #[test]
    fn the_worth_of_an_image_is_truncated_after_the_product() {
        let cases = [
            (300 * MIB, 1, 3, 104_857_600),
            (10, 2, 3, 6),
            (7, 1, 2, 3),
            (0, 1, 1, 0),
            (100, 29, 100, 28),
        ];
        for (size, with_image, total, expected) in cases {
            assert_eq!(scaled(size, with_image, total), expected, "{size} {with_image}/{total}");
        }
    }
}
