//! Placeholders for plugins that are not there yet, under kube-scheduler's names.
//!
//! A pod that needs one of them is turned away with a message that says what is missing, rather than placed by half the
//! rules. All others pass. [`missing`] lists what is lacking, for the start-up log.

use std::sync::Arc;

use plimsoll_framework::{
    Code, CycleContext, CycleState, Extensions, Plugin, PostFilter, PostFilterOutcome, PreFilter, PreFilterOutcome,
    Registry, Rejections, Status,
};
use plimsoll_model::Pod;

mod registrations;

/// What users read on a pod with resource claims.
pub const RESOURCE_CLAIMS: &str =
    "pod has resource claims, and this version of Plimsoll does not allocate devices yet (DynamicResources)";
/// What users read on a pod of a scheduling group.
pub const SCHEDULING_GROUP: &str = "pod has a scheduling group, and this version of Plimsoll does not place groups of \
                                    pods yet (GangScheduling)";

/// It is behind a gate, and holds its pods back whatever the gate says: a member of a group that is placed on its own may
/// be what a group must never be, a half of it.
const GANG_SCHEDULING: &str = "GangScheduling";
const DYNAMIC_RESOURCES: &str = "DynamicResources";

/// A plugin that is not there yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    /// Its name, as kube-scheduler names it.
    pub plugin: &'static str,
    /// What does not work without it, in a few words.
    pub what: &'static str,
}

struct Placeholder {
    missing: Missing,
    /// Why the pod can't be placed without the plugin, if it needs it; none when the plugin is no matter of one pod.
    need: Option<fn(&Pod) -> Option<&'static str>>,
}

const PLACEHOLDERS: [Placeholder; 4] = [
    Placeholder {
        missing: Missing {
            plugin: DYNAMIC_RESOURCES,
            what: "pods with resource claims are not placed; extended resources are not taken from device classes",
        },
        need: Some(resource_claims),
    },
    Placeholder {
        missing: Missing {
            plugin: GANG_SCHEDULING,
            what: "pods of a scheduling group are not placed",
        },
        need: Some(scheduling_group),
    },
    Placeholder {
        missing: Missing {
            plugin: "TopologyPlacementGenerator",
            what: "scheduling groups are not placed by topology",
        },
        need: None,
    },
    Placeholder {
        missing: Missing {
            plugin: "PodGroupPodsCount",
            what: "placements of scheduling groups are not scored",
        },
        need: None,
    },
];

const MISSING: [Missing; PLACEHOLDERS.len()] = {
    let mut all = [PLACEHOLDERS[0].missing; PLACEHOLDERS.len()];
    let mut at = 0;
    while at < PLACEHOLDERS.len() {
        all[at] = PLACEHOLDERS[at].missing;
        at += 1;
    }
    all
};

/// The plugins that are not there yet, in the default profile's order.
pub fn missing() -> &'static [Missing] {
    &MISSING
}

/// Registers every placeholder under the name of the plugin it stands for.
pub(crate) fn add_to(registry: &mut Registry) {
    for placeholder in &PLACEHOLDERS {
        let Missing { plugin, .. } = placeholder.missing;
        if plugin == GANG_SCHEDULING {
            registry.add_guard(plugin, |_| Ok(placeholder.extensions()));
        } else {
            registry.add_placeholder(plugin, |_| Ok(placeholder.extensions()));
        }
    }
}

/// Stops pods that need a plugin which is not there.
struct NotYet {
    plugin: &'static str,
    need: fn(&Pod) -> Option<&'static str>,
}

impl Placeholder {
    fn extensions(&self) -> Extensions {
        let mut extensions = Extensions::new().enqueue(Arc::new(registrations::of(self.missing)));
        if self.missing.plugin == DYNAMIC_RESOURCES {
            extensions = extensions.post_filter(Arc::new(NothingToDeallocate));
        }
        match self.need {
            Some(need) => extensions.pre_filter(Arc::new(NotYet {
                plugin: self.missing.plugin,
                need,
            })),
            None => extensions,
        }
    }
}

impl Plugin for NotYet {
    fn name(&self) -> &'static str {
        self.plugin
    }
}

/// `DynamicResources` after all filters: it would take devices back that are allocated and not in use. What it says then
/// comes before what preemption says, of pods without claims too.
struct NothingToDeallocate;

impl Plugin for NothingToDeallocate {
    fn name(&self) -> &'static str {
        DYNAMIC_RESOURCES
    }
}

impl PostFilter for NothingToDeallocate {
    fn post_filter(&self, _: CycleContext<'_>, _: &mut CycleState, _: Rejections<'_>) -> PostFilterOutcome {
        let reason = "no new claims to deallocate";
        PostFilterOutcome::rejected(Status::new(Code::Unschedulable, DYNAMIC_RESOURCES, reason))
    }
}

impl PreFilter for NotYet {
    fn pre_filter(&self, cycle: CycleContext<'_>, _: &mut CycleState) -> PreFilterOutcome {
        match (self.need)(cycle.pod) {
            Some(reason) => {
                PreFilterOutcome::Stop(Status::new(Code::UnschedulableAndUnresolvable, self.plugin, reason))
            }
            None => PreFilterOutcome::Skip,
        }
    }
}

fn resource_claims(pod: &Pod) -> Option<&'static str> {
    (!pod.spec.resource_claims.is_empty()).then_some(RESOURCE_CLAIMS)
}

fn scheduling_group(pod: &Pod) -> Option<&'static str> {
    pod.spec.scheduling_group.is_some().then_some(SCHEDULING_GROUP)
}

#[cfg(test)]
mod tests {
    use plimsoll_config::{FeatureGates, Gate, Plugins, ProfileConfig};
    use plimsoll_framework::{Action, EventObjects, EventResource, Profile};
    use plimsoll_model::Moment;
    use plimsoll_model::columns::Columns;

    use super::*;
    use crate::fixture::{Listener, pod};

    /// Which placeholders stop the pod, and what they say.
    fn stopped(spec: &str) -> Vec<(&'static str, String)> {
        let pod = pod(spec);
        let columns = Columns::new();
        let cycle = CycleContext {
            pod: &pod,
            columns: &columns,
            now: Moment::ZERO,
        };
        let mut stopped = Vec::new();
        for placeholder in &PLACEHOLDERS {
            let Some(pre_filter) = placeholder.extensions().pre_filter else {
                continue;
            };
            match pre_filter.pre_filter(cycle, &mut CycleState::new()) {
                PreFilterOutcome::Stop(status) => {
                    assert_eq!(status.code, Code::UnschedulableAndUnresolvable);
                    assert_eq!(status.plugin, placeholder.missing.plugin);
                    stopped.push((status.plugin, status.message()));
                }
                PreFilterOutcome::Skip => {}
                other => panic!("{other:?}"),
            }
        }
        stopped
    }

    #[test]
    fn a_pod_that_needs_what_is_not_there_is_stopped_and_told() {
        const DEVICES: &str =
            "pod has resource claims, and this version of Plimsoll does not allocate devices yet (DynamicResources)";
        const GROUP: &str = "pod has a scheduling group, and this version of Plimsoll does not place groups of pods yet (GangScheduling)";
        let term = r#"{"topologyKey":"zone","labelSelector":{}}"#;
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let spread = |when: &str| {
            format!(
                r#""topologySpreadConstraints":[{{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"{when}"}}]"#
            )
        };
        let cases: Vec<(String, &[(&str, &str)])> = vec![
            (
                r#""volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]"#.into(),
                &[],
            ),
            (
                r#""volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{}}}]"#.into(),
                &[],
            ),
            (
                r#""volumes":[{"name":"v","gcePersistentDisk":{"pdName":"d"}}]"#.into(),
                &[],
            ),
            (r#""volumes":[{"name":"v","csi":{"driver":"d"}}]"#.into(), &[]),
            (
                r#""volumes":[{"name":"v","emptyDir":{}},{"name":"w","configMap":{"name":"m"}}]"#.into(),
                &[],
            ),
            (r#""volumes":[{"name":"v","image":{"reference":"i"}}]"#.into(), &[]),
            (spread("DoNotSchedule"), &[]),
            (
                format!(
                    r#""affinity":{{"podAffinity":{{"{required}":[{term}]}},"podAntiAffinity":{{"{required}":[{term}]}}}}"#
                ),
                &[],
            ),
            (
                r#""resourceClaims":[{"name":"r","resourceClaimName":"c"}]"#.into(),
                &[("DynamicResources", DEVICES)],
            ),
            (
                r#""schedulingGroup":{"podGroupName":"g"}"#.into(),
                &[("GangScheduling", GROUP)],
            ),
            (r#""nodeSelector":{"a":"b"}"#.into(), &[]),
        ];
        for (spec, expected) in cases {
            let expected: Vec<_> = expected
                .iter()
                .map(|(plugin, reason)| (*plugin, (*reason).to_owned()))
                .collect();
            assert_eq!(stopped(&format!("{{{spec}}}")), expected, "{spec}");
        }
    }

    #[test]
    fn what_a_missing_plugin_would_listen_to_brings_its_pods_back() {
        let listener = |name: &str| {
            let placeholder = PLACEHOLDERS
                .iter()
                .find(|placeholder| placeholder.missing.plugin == name);
            Listener::of(&placeholder.unwrap().extensions())
        };
        let cases = [
            ("DynamicResources", EventResource::ResourceSlice, Action::ADD, true),
            (
                "DynamicResources",
                EventResource::Node,
                Action::UPDATE_NODE_ALLOCATABLE,
                true,
            ),
            ("GangScheduling", EventResource::PodGroup, Action::ADD, true),
            ("GangScheduling", EventResource::UnschedulablePod, Action::ADD, true),
            ("PodGroupPodsCount", EventResource::AssignedPod, Action::ADD, false),
        ];
        for (plugin, resource, action, expected) in cases {
            let wakes = listener(plugin).wakes(resource, action, &pod("{}"), &EventObjects::None);
            assert_eq!(wakes, expected, "{plugin} {resource:?} {action:?}");
        }
    }

    #[test]
    fn what_is_missing_is_listed_in_the_order_of_the_default_profile() {
        let gates = FeatureGates::default()
            .with(Gate::GangScheduling, true)
            .with(Gate::TopologyAwareWorkloadScheduling, true);
        let plugins = Plugins::default_profile(&gates);
        let listed: Vec<_> = missing().iter().map(|missing| missing.plugin).collect();
        let in_order: Vec<_> = plugins
            .multi_point
            .enabled
            .iter()
            .map(|plugin| plugin.name.as_str())
            .filter(|name| listed.contains(name))
            .collect();
        assert_eq!(listed, in_order);
    }

    #[test]
    fn a_group_is_held_back_in_every_profile_whatever_its_gate_says() {
        let gates = FeatureGates::default();
        let assemble = |plugins: Plugins| {
            let config = ProfileConfig {
                plugins,
                ..ProfileConfig::default()
            };
            Profile::assemble(&config, &crate::registry(), &gates).unwrap()
        };
        let mut without = Plugins::default_profile(&gates);
        without.pre_filter.disabled = vec!["*".to_owned()];
        for plugins in [Plugins::default_profile(&gates), without] {
            let profile = assemble(plugins);
            let last = profile.pre_filter.last().map(|plugin| plugin.name());
            assert_eq!(last, Some("GangScheduling"));
            assert!(profile.not_there_yet.iter().any(|name| name == "GangScheduling"));
            assert!(profile.events.iter().any(|events| events.plugin() == "GangScheduling"));
        }
    }

    #[test]
    fn a_profile_may_keep_what_is_missing_and_may_not_ask_for_it() {
        let gates = FeatureGates::default().with(Gate::TopologyAwareWorkloadScheduling, true);
        let mut config = ProfileConfig {
            plugins: Plugins::default_profile(&gates),
            ..ProfileConfig::default()
        };
        let assemble = |config: &ProfileConfig| Profile::assemble(config, &crate::registry(), &gates);
        let kept = assemble(&config).unwrap().not_there_yet;
        assert!(
            kept.iter().any(|name| name == "DynamicResources") && kept.iter().any(|name| name == "PodGroupPodsCount")
        );
        for missing in missing() {
            config.enabled_by_name = vec![missing.plugin.to_owned()];
            let error = assemble(&config).unwrap_err().to_string();
            assert!(error.contains(missing.plugin), "{error}");
        }
    }
}
