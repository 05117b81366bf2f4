//! One module per in-tree plugin, named as kube-scheduler names it.
//!
//! What a plugin decides, its messages and its arithmetic are kube-scheduler 1.36's; each module says where it differs.
//! Plugins that are not there yet stand in [`not_yet`]: they turn away the pods that need them and say so.

mod broken_line;
pub mod default_binder;
pub mod default_preemption;
pub mod image_locality;
pub mod inter_pod_affinity;
pub mod legacy_resource_scores;
mod marked_by_score;
pub mod node_affinity;
pub mod node_declared_features;
pub mod node_label;
pub mod node_name;
pub mod node_ports;
pub mod node_prefer_avoid_pods;
pub mod node_resources_balanced_allocation;
pub mod node_resources_fit;
pub mod node_unschedulable;
pub mod node_volume_limits;
pub mod not_yet;
mod placed;
pub mod pod_topology_spread;
pub mod priority_sort;
pub mod scheduling_gates;
mod scored_resource;
pub mod selector_spread;
pub mod service_affinity;
pub mod taint_toleration;
mod validated;
pub mod volume_binding;
mod volume_claims;
pub mod volume_restrictions;
pub mod volume_zone;
mod workload_of_pod;

#[cfg(test)]
mod columns_equal_objects;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod lacking;
#[cfg(test)]
mod volumes_equal_objects;

use plimsoll_framework::Registry;

pub use not_yet::{Missing, missing};

/// Every plugin of kube-scheduler's default profile, under its name (what is not there yet has a placeholder), and those
/// of the legacy Policy.
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add(scheduling_gates::NAME, |_| Ok(scheduling_gates::extensions()));
    registry.add(priority_sort::NAME, |_| Ok(priority_sort::extensions()));
    registry.add(node_unschedulable::NAME, |_| Ok(node_unschedulable::extensions()));
    registry.add(node_name::NAME, |_| Ok(node_name::extensions()));
    registry.add(taint_toleration::NAME, taint_toleration::construct);
    registry.add(node_affinity::NAME, node_affinity::construct);
    registry.add(node_ports::NAME, |_| Ok(node_ports::extensions()));
    registry.add(node_resources_fit::NAME, node_resources_fit::construct);
    registry.add(
        node_resources_balanced_allocation::NAME,
        node_resources_balanced_allocation::construct,
    );
    registry.add(volume_restrictions::NAME, |_| Ok(volume_restrictions::extensions()));
    registry.add(node_volume_limits::NAME, node_volume_limits::construct);
    registry.add(volume_zone::NAME, |_| Ok(volume_zone::extensions()));
    registry.add(pod_topology_spread::NAME, pod_topology_spread::construct);
    registry.add(node_declared_features::NAME, node_declared_features::construct);
    registry.add(inter_pod_affinity::NAME, inter_pod_affinity::construct);
    registry.add(image_locality::NAME, |_| Ok(image_locality::extensions()));
    registry.add(volume_binding::NAME, volume_binding::construct);
    registry.add(default_preemption::NAME, default_preemption::construct);
    registry.add(default_binder::NAME, |_| Ok(default_binder::extensions()));
    not_yet::add_to(&mut registry);
    add_legacy(&mut registry);
    registry
}

/// The plugins that no default profile names: those that legacy Policies need.
fn add_legacy(registry: &mut Registry) {
    registry.add(service_affinity::NAME, service_affinity::construct);
    registry.add(node_label::NAME, node_label::construct);
    registry.add(selector_spread::SELECTOR_SPREAD, |_| {
        Ok(selector_spread::selector_spread())
    });
    registry.add(selector_spread::SERVICE_SPREADING, |_| {
        Ok(selector_spread::service_spreading())
    });
    registry.add(node_prefer_avoid_pods::NAME, |_| {
        Ok(node_prefer_avoid_pods::extensions())
    });
    legacy_resource_scores::add_to(registry);
}

#[cfg(test)]
mod tests {
    use plimsoll_config::{FeatureGates, ProfileConfig};
    use plimsoll_framework::{
        Action, ClusterEvent, CycleContext, CycleState, EventResource, PluginEvents, Profile, Verdicts,
    };
    use plimsoll_model::Moment;

    use super::registry;
    use crate::fixture::{Cluster, pod};

    #[test]
    fn the_default_profile_can_be_assembled() {
        let profile = Profile::assemble(&ProfileConfig::default(), &registry(), &FeatureGates::default()).unwrap();
        let filters: Vec<_> = profile.filter.iter().map(|filter| filter.name()).collect();
        assert_eq!(
            filters,
            [
                "NodeUnschedulable",
                "NodeName",
                "TaintToleration",
                "NodeAffinity",
                "NodePorts",
                "NodeResourcesFit",
                "VolumeRestrictions",
                "NodeVolumeLimits",
                "VolumeBinding",
                "VolumeZone",
                "PodTopologySpread",
                "InterPodAffinity",
                "NodeDeclaredFeatures"
            ]
        );
        let scores: Vec<_> = profile
            .score
            .iter()
            .map(|score| (score.plugin.name(), score.weight))
            .collect();
        assert_eq!(
            scores,
            [
                ("TaintToleration", 3),
                ("NodeAffinity", 2),
                ("NodeResourcesFit", 1),
                ("VolumeBinding", 1),
                ("PodTopologySpread", 2),
                ("InterPodAffinity", 2),
                ("NodeResourcesBalancedAllocation", 1),
                ("ImageLocality", 1)
            ]
        );
    }

    #[test]
    fn filters_and_scores_that_a_profile_has_without_their_preparation_fail_as_kube_schedulers_do() {
        let profile = Profile::assemble(&ProfileConfig::default(), &registry(), &FeatureGates::default()).unwrap();
        let cluster = Cluster::of_nodes([("a", "{}")]);
        let nodes: Vec<_> = cluster.columns.nodes().iter().collect();
        let (pod, state) = (pod("{}"), CycleState::new());
        let cycle = CycleContext {
            pod: &pod,
            columns: &cluster.columns,
            now: Moment::ZERO,
        };
        let filters = profile.filter.iter().filter_map(|filter| {
            let mut verdicts = Verdicts::default();
            verdicts.begin(cluster.columns.nodes(), cluster.columns.capacity());
            filter.filter(cycle, &state, &mut verdicts.pass(0)).err()
        });
        let scores = profile
            .score
            .iter()
            .filter_map(|score| score.plugin.score(cycle, &state, &nodes, &mut [0]).err());
        assert_eq!(
            filters.chain(scores).collect::<Vec<_>>(),
            [
                r#"reading "PreFilterNodePorts" from cycleState: not found"#,
                r#"error reading "PreFilterNodeResourcesFit" from cycleState: not found"#,
                r#"cannot read "PreFilterVolumeRestrictions" from cycleState"#,
                "not found",
                r#"reading "PreFilterPodTopologySpread" from cycleState: not found"#,
                r#"error reading "PreFilterInterPodAffinity" from cycleState: not found"#,
                r#"error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found"#,
                r#"failed to read "PreScoreTaintToleration" from cycleState: not found"#,
                r#"error reading "PreScorePodTopologySpread" from cycleState: not found"#,
                r#"failed to read "PreScoreInterPodAffinity" from cycleState: not found"#,
            ]
        );
    }

    #[test]
    fn every_plugin_that_may_turn_pods_away_says_what_it_listens_to() {
        let gates = FeatureGates::default();
        let profile = Profile::assemble(&ProfileConfig::default(), &registry(), &gates).unwrap();
        // Only who says nothing hears of conditions.
        let condition = ClusterEvent::new(EventResource::Node, Action::UPDATE_NODE_CONDITION);
        for events in &profile.events {
            assert!(!events.listens_to(condition), "{events:?}");
        }
        let listening: Vec<_> = profile.events.iter().map(PluginEvents::plugin).collect();
        for filter in &profile.filter {
            assert!(listening.contains(&filter.name()), "{}", filter.name());
        }
        assert!(listening.contains(&"SchedulingGates") && !listening.contains(&"ImageLocality"));
    }

    #[test]
    fn plugins_that_judge_nodes_alone_want_a_new_node_to_suit_them() {
        let profile = Profile::assemble(&ProfileConfig::default(), &registry(), &FeatureGates::default()).unwrap();
        let new_node = ClusterEvent::new(EventResource::Node, Action::ADD);
        let alone = profile
            .events
            .iter()
            .filter(|events| events.helped_by_the_node_alone(new_node));
        assert_eq!(
            alone.map(PluginEvents::plugin).collect::<Vec<_>>(),
            [
                "NodeAffinity",
                "NodeDeclaredFeatures",
                "NodeName",
                "NodePorts",
                "NodeResourcesFit",
                "NodeUnschedulable",
                "NodeVolumeLimits",
                "TaintToleration",
                "VolumeBinding",
                "VolumeZone"
            ]
        );
    }
}
