//! `DefaultPreemption`: less important pods are evicted for a pod that fits nowhere.
//!
//! The plugin says on which terms; the engine looks for the pods, since that takes columns that can be changed and all
//! filters of the profile. A pod whose victims are still being removed is held back by the queue.

use std::sync::Arc;

use plimsoll_config::{DefaultPreemptionArgs, Gate, PluginArgs, PodDisruptionBudgetPolicy};
use plimsoll_framework::{
    Action, ClusterEvent, Code, Construction, CycleContext, CycleState, DisruptionBudgetPolicy, EnqueueExtensions,
    EventObjects, EventResource, Extensions, GateStatus, Nomination, Plugin, PostFilter, PostFilterOutcome, PreEnqueue,
    PreemptionTerms, QueueingHint, Rejections, Status,
};
use plimsoll_model::Pod;

use crate::validated::validated;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "DefaultPreemption";

/// Has less important pods evicted, on these terms.
#[derive(Debug, Clone, Copy)]
pub struct DefaultPreemption {
    terms: PreemptionTerms,
}

/// Makes the plugin with the arguments of a profile, or with the default ones.
pub fn construct(with: &Construction<'_>) -> Result<Extensions, String> {
    let defaults = DefaultPreemptionArgs::default();
    let args = match with.args {
        None => &defaults,
        Some(PluginArgs::DefaultPreemption(args)) => args,
        Some(_) => return Err("want args to be of type *DefaultPreemptionArgs".to_owned()),
    };
    validated(with)?;
    let plugin = Arc::new(DefaultPreemption {
        terms: PreemptionTerms {
            min_candidate_nodes_percentage: args.min_candidate_nodes_percentage,
            min_candidate_nodes_absolute: args.min_candidate_nodes_absolute,
            disruption_budgets: match with.extras.pod_disruption_budget_policy {
                PodDisruptionBudgetPolicy::Soft => DisruptionBudgetPolicy::Soft,
                PodDisruptionBudgetPolicy::Hard => DisruptionBudgetPolicy::Hard,
            },
            loop_window: with.extras.preemption_loop_window,
            asynchronous: with.gates.enabled(Gate::SchedulerAsyncPreemption),
        },
    });
    Ok(Extensions::new()
        .enqueue(plugin.clone())
        .pre_enqueue(plugin.clone())
        .post_filter(plugin))
}

impl Plugin for DefaultPreemption {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl PostFilter for DefaultPreemption {
    /// Never called: see [`PostFilter::preempts`].
    fn post_filter(&self, _: CycleContext<'_>, _: &mut CycleState, _: Rejections<'_>) -> PostFilterOutcome {
        PostFilterOutcome {
            nomination: Nomination::Keep,
            status: Status {
                code: Code::Unschedulable,
                ..Status::success()
            },
        }
    }

    fn preempts(&self) -> Option<PreemptionTerms> {
        Some(self.terms)
    }
}

impl PreEnqueue for DefaultPreemption {
    /// The queue itself holds those back that have to wait.
    fn pre_enqueue(&self, _: &Pod) -> GateStatus {
        Ok(())
    }
}

impl EnqueueExtensions for DefaultPreemption {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        let departures = ClusterEvent::new(EventResource::Pod, Action::DELETE);
        let budgets = ClusterEvent::new(EventResource::PodDisruptionBudget, Action::ALL);
        let hard = self.terms.disruption_budgets == DisruptionBudgetPolicy::Hard;
        let events = [(departures, self.terms.asynchronous), (budgets, hard)];
        events
            .into_iter()
            .filter(|(_, heard)| *heard)
            .map(|(event, _)| event)
            .collect()
    }

    fn may_help_some_pod(&self, _: ClusterEvent, _: ClusterEvent, objects: &EventObjects) -> bool {
        allows_more(objects)
    }

    fn reads_labels(&self) -> bool {
        false
    }

    /// Preemption holds its pods back only while it is under way; what brings them back then is for others to say. It turns
    /// them away itself only where budgets may not be violated.
    fn queueing_hint(
        &self,
        _: ClusterEvent,
        _: ClusterEvent,
        _: &Pod,
        objects: &EventObjects,
    ) -> Result<QueueingHint, String> {
        Ok(QueueingHint::queue_if(allows_more(objects)))
    }
}

/// Whether a disruption budget may let somebody go now that it did not before.
fn allows_more(objects: &EventObjects) -> bool {
    let EventObjects::DisruptionBudget { old: Some(old), new } = objects else {
        return false;
    };
    new.as_ref().is_none_or(|new| {
        new.disruptions_allowed > old.disruptions_allowed
            || new.selector != old.selector
            || new.disrupted_pods != old.disrupted_pods
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_config::{FeatureGates, NodeAffinityArgs, ProfileExtras};
    use plimsoll_model::{DisruptionBudget, ObjectName, ResourceVersion, Uid};

    use super::*;
    use crate::fixture::{Listener, made_with};

    fn terms(args: Option<DefaultPreemptionArgs>, gates: &FeatureGates, extras: &ProfileExtras) -> PreemptionTerms {
        let args = args.map(PluginArgs::DefaultPreemption);
        let made = construct(&Construction {
            args: args.as_ref(),
            gates,
            scheduler_name: "mine",
            extras,
        });
        made.unwrap().post_filter.unwrap().preempts().unwrap()
    }

    #[test]
    fn the_terms_are_those_of_the_profile() {
        let gates = FeatureGates::default();
        let by_default = PreemptionTerms {
            min_candidate_nodes_percentage: 10,
            min_candidate_nodes_absolute: 100,
            disruption_budgets: DisruptionBudgetPolicy::Soft,
            loop_window: None,
            asynchronous: true,
        };
        assert_eq!(terms(None, &gates, &ProfileExtras::default()), by_default);
        let args = DefaultPreemptionArgs {
            min_candidate_nodes_percentage: 50,
            min_candidate_nodes_absolute: 3,
        };
        let extras = ProfileExtras {
            pod_disruption_budget_policy: PodDisruptionBudgetPolicy::Hard,
            preemption_loop_window: Some(Duration::from_mins(1)),
            ..ProfileExtras::default()
        };
        let synchronous = gates.with(Gate::SchedulerAsyncPreemption, false);
        let expected = PreemptionTerms {
            min_candidate_nodes_percentage: 50,
            min_candidate_nodes_absolute: 3,
            disruption_budgets: DisruptionBudgetPolicy::Hard,
            loop_window: Some(Duration::from_mins(1)),
            asynchronous: false,
        };
        assert_eq!(terms(Some(args), &synchronous, &extras), expected);
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let gates = FeatureGates::default();
        let foreign = PluginArgs::NodeAffinity(NodeAffinityArgs::default());
        let error = made_with(construct, Some(&foreign), &gates).unwrap_err();
        assert!(error.contains("DefaultPreemptionArgs"), "{error}");
        let invalid = PluginArgs::DefaultPreemption(DefaultPreemptionArgs {
            min_candidate_nodes_percentage: 101,
            min_candidate_nodes_absolute: 100,
        });
        let error = made_with(construct, Some(&invalid), &gates).unwrap_err();
        assert!(error.contains("minCandidateNodesPercentage"), "{error}");
    }

    #[test]
    fn where_no_budget_may_be_violated_it_wakes_pods_when_one_allows_more() {
        let gates = FeatureGates::default();
        let extras = ProfileExtras {
            pod_disruption_budget_policy: PodDisruptionBudgetPolicy::Hard,
            ..ProfileExtras::default()
        };
        let made = construct(&Construction {
            args: None,
            gates: &gates,
            scheduler_name: "mine",
            extras: &extras,
        });
        let listener = Listener::of(&made.unwrap());
        assert!(listener.hears_of(EventResource::PodDisruptionBudget, Action::UPDATE));
        let budget = |allowed: i32, disrupted: &[&str]| {
            Some(Arc::new(DisruptionBudget {
                name: ObjectName::new("default", "b"),
                uid: Uid::from("b"),
                resource_version: ResourceVersion::new(1),
                selector: None,
                disruptions_allowed: allowed,
                disrupted_pods: disrupted.iter().map(|name| (*name).into()).collect(),
            }))
        };
        let cases = [
            ("it allows more", budget(0, &[]), budget(1, &[]), true),
            ("it allows less", budget(1, &[]), budget(0, &[]), false),
            ("nothing that counts changes", budget(1, &[]), budget(1, &[]), false),
            ("a pod is granted", budget(1, &[]), budget(1, &["a"]), true),
            ("it is gone", budget(0, &[]), None, true),
            ("it is new", None, budget(1, &[]), false),
        ];
        for (case, old, new, wakes) in cases {
            let objects = EventObjects::DisruptionBudget { old, new };
            let pod = crate::fixture::pod("{}");
            let woken = listener.wakes(EventResource::PodDisruptionBudget, Action::UPDATE, &pod, &objects);
            assert_eq!(woken, wakes, "{case}");
        }
    }

    #[test]
    fn it_hears_of_pods_that_go_but_wakes_nobody() {
        let gates = FeatureGates::default();
        let made = |gates: &FeatureGates| Listener::of(&made_with(construct, None, gates).unwrap());
        let listener = made(&gates);
        assert!(listener.hears_of(EventResource::AssignedPod, Action::DELETE));
        assert!(!listener.wakes(
            EventResource::AssignedPod,
            Action::DELETE,
            &crate::fixture::pod("{}"),
            &EventObjects::None
        ));
        let synchronous = gates.with(Gate::SchedulerAsyncPreemption, false);
        assert!(made(&synchronous).events().is_empty());
    }
}
