//! `NodeResourcesLeastAllocated`, `NodeResourcesMostAllocated` and `RequestedToCapacityRatio`: the scores of
//! `NodeResourcesFit` on their own, under the names they had before it took them over.
//!
//! A legacy Policy can name several of them with a weight each, and `NodeResourcesFit` has room for one. Arguments, all
//! optional: `resources` (a list of `name` and `weight`) and, for the ratio, `shape` (a list of `utilization` and `score`).

use std::sync::Arc;

use plimsoll_config::{PluginArgs, ResourceWeight, ScoringStrategy, ScoringStrategyType, UtilizationShapePoint};
use plimsoll_framework::{Construction, CycleContext, CycleState, Extensions, Plugin, Registry, Score};
use plimsoll_model::columns::NodeIndex;
use serde_json::Value;

use crate::node_resources_fit::{ResourceScore, scored_request};

/// Name of the plugin that prefers emptier nodes.
pub const LEAST_ALLOCATED: &str = "NodeResourcesLeastAllocated";
/// Name of the plugin that prefers fuller nodes.
pub const MOST_ALLOCATED: &str = "NodeResourcesMostAllocated";
/// Name of the plugin that scores by a function of the used share.
pub const REQUESTED_TO_CAPACITY_RATIO: &str = "RequestedToCapacityRatio";

const MAX_WEIGHT: i64 = 100;

const PLUGINS: [(&str, ScoringStrategyType); 3] = [
    (LEAST_ALLOCATED, ScoringStrategyType::LeastAllocated),
    (MOST_ALLOCATED, ScoringStrategyType::MostAllocated),
    (
        REQUESTED_TO_CAPACITY_RATIO,
        ScoringStrategyType::RequestedToCapacityRatio,
    ),
];

/// Registers the three under their names.
pub(crate) fn add_to(registry: &mut Registry) {
    for (name, kind) in PLUGINS {
        registry.add(name, move |with| construct(name, &kind, with));
    }
}

#[derive(Debug)]
struct LegacyResourceScore {
    name: &'static str,
    score: ResourceScore,
}

fn construct(name: &'static str, kind: &ScoringStrategyType, with: &Construction<'_>) -> Result<Extensions, String> {
    let strategy = match with.args {
        None => strategy(kind, &Value::Null),
        Some(PluginArgs::Raw(args)) => strategy(kind, args),
        Some(_) => return Err(format!("want args to be of type {name}Args")),
    }?;
    let score = ResourceScore::new(&strategy)?;
    Ok(Extensions::new().score(Arc::new(LegacyResourceScore { name, score })))
}

fn strategy(kind: &ScoringStrategyType, args: &Value) -> Result<ScoringStrategy, String> {
    let mut resources = Vec::new();
    for resource in list(args, "resources")? {
        resources.push(resource_weight(resource).ok_or_else(|| format!("resources: Invalid value: {resource}"))?);
    }
    if resources.is_empty() {
        resources = ResourceWeight::cpu_and_memory();
    }
    let mut shape = Vec::new();
    for point in list(args, "shape")? {
        shape.push(shape_point(point).ok_or_else(|| format!("shape: Invalid value: {point}"))?);
    }
    let is_ratio = *kind == ScoringStrategyType::RequestedToCapacityRatio;
    if is_ratio && shape.is_empty() {
        return Err("shape: Required value: at least one point must be specified".to_owned());
    }
    if !shape.is_sorted_by(|before, after| before.utilization < after.utilization) {
        return Err("shape: utilization values must be sorted in increasing order".to_owned());
    }
    Ok(ScoringStrategy {
        kind: kind.clone(),
        resources,
        requested_to_capacity_ratio: is_ratio.then_some(shape),
    })
}

fn list<'a>(args: &'a Value, field: &str) -> Result<&'a [Value], String> {
    match args.get(field) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(other) => Err(format!("{field}: Invalid value: {other}: must be a list")),
    }
}

fn resource_weight(resource: &Value) -> Option<ResourceWeight> {
    let name = resource.get("name")?.as_str()?;
    let weight = resource.get("weight").map_or(Some(1), Value::as_i64)?;
    (1..=MAX_WEIGHT)
        .contains(&weight)
        .then(|| ResourceWeight::new(name, weight))
}

fn shape_point(point: &Value) -> Option<UtilizationShapePoint> {
    let number = |field: &str, most: i64| {
        let number = point.get(field)?.as_i64()?;
        i32::try_from(number).ok().filter(|_| (0..=most).contains(&number))
    };
    Some(UtilizationShapePoint {
        utilization: number("utilization", 100)?,
        score: number("score", 10)?,
    })
}

impl Plugin for LegacyResourceScore {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Score for LegacyResourceScore {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        _: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        let request = scored_request(cycle.pod);
        self.score.score(&request, cycle.columns, feasible, scores)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_config::{FeatureGates, ProfileExtras};

    use super::*;
    use crate::fixture::{Cluster, pod};

    fn made(name: &str, args: Option<Value>) -> Result<Extensions, String> {
        let (name, kind) = PLUGINS.into_iter().find(|(own, _)| *own == name).unwrap();
        let args = args.map(PluginArgs::Raw);
        let with = Construction {
            args: args.as_ref(),
            gates: &FeatureGates::default(),
            scheduler_name: "mine",
            extras: &ProfileExtras::default(),
        };
        construct(name, &kind, &with)
    }

    #[test]
    fn each_scores_by_its_own_strategy() {
        let node = r#"{"status":{"allocatable":{"cpu":"4","memory":"10000Mi"}}}"#;
        let cluster = Cluster::of_nodes([("a", node)]);
        let asking = r#"{"containers":[{"name":"c","resources":{"requests":{"cpu":"3","memory":"5000Mi"}}}]}"#;
        let packing = serde_json::json!([{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]);
        let cases = [
            (LEAST_ALLOCATED, None, 37),
            (MOST_ALLOCATED, None, 62),
            (
                MOST_ALLOCATED,
                Some(serde_json::json!({"resources": [{"name": "cpu"}, {"name": "memory", "weight": 3}]})),
                56,
            ),
            (
                REQUESTED_TO_CAPACITY_RATIO,
                Some(serde_json::json!({"shape": packing, "resources": [{"name": "memory", "weight": 1}]})),
                50,
            ),
        ];
        for (name, args, expected) in cases {
            let plugin = made(name, args).unwrap();
            assert_eq!(plugin.score.as_ref().unwrap().name(), name);
            assert_eq!(
                cluster.score(&plugin, &pod(asking)).unwrap().raw("a"),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn arguments_that_make_no_sense_are_refused() {
        let cases = [
            (
                REQUESTED_TO_CAPACITY_RATIO,
                serde_json::json!({}),
                "shape: Required value",
            ),
            (
                REQUESTED_TO_CAPACITY_RATIO,
                serde_json::json!({"shape": [{"utilization": 101, "score": 1}]}),
                "shape: Invalid value",
            ),
            (
                REQUESTED_TO_CAPACITY_RATIO,
                serde_json::json!({"shape": [{"utilization": 9, "score": 1}, {"utilization": 9, "score": 2}]}),
                "increasing order",
            ),
            (
                LEAST_ALLOCATED,
                serde_json::json!({"resources": [{"name": "cpu", "weight": 0}]}),
                "resources: Invalid value",
            ),
            (LEAST_ALLOCATED, serde_json::json!({"resources": 1}), "must be a list"),
        ];
        for (name, args, expected) in cases {
            let error = made(name, Some(args)).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
