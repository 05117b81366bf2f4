use plimsoll_framework::Construction;

/// Fails as kube-scheduler's constructors do when the arguments hold what is not allowed: paths begin within them.
pub(crate) fn validated(with: &Construction<'_>) -> Result<(), String> {
    let checked = with.args.map_or(Ok(()), |args| args.validate(with.gates));
    checked.map_err(|errors| errors.to_string())
}

#[cfg(test)]
mod tests {
    use plimsoll_config::{
        FeatureGates, NodeAffinityArgs, NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs, PluginArgs,
        ResourceWeight,
    };
    use plimsoll_model::NodeAffinity;

    use crate::fixture::{Construct, made_with, pod};
    use crate::{node_affinity, node_resources_balanced_allocation, node_resources_fit};

    #[test]
    fn constructors_refuse_what_is_not_allowed_with_paths_from_the_arguments_on() {
        let fit = NodeResourcesFitArgs {
            ignored_resource_groups: vec!["a/b".to_owned()],
            scoring_strategy: None,
            ..NodeResourcesFitArgs::default()
        };
        let balanced = NodeResourcesBalancedAllocationArgs {
            resources: vec![ResourceWeight::new("cpu", 2)],
        };
        let affinity = r#"{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{
            "nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In"}]}]}}}}"#;
        let added_affinity: Option<NodeAffinity> = pod(affinity).spec.affinity.clone().unwrap().node_affinity;
        let cases: [(Construct, PluginArgs, &[&str]); 3] = [
            (
                node_resources_fit::construct,
                PluginArgs::NodeResourcesFit(fit),
                &[
                    "ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/'",
                    "scoringStrategy: Required value: ScoringStrategy field is required",
                ],
            ),
            (
                node_resources_balanced_allocation::construct,
                PluginArgs::NodeResourcesBalancedAllocation(balanced),
                &["resources[0].weight: Invalid value: 2: must be 1"],
            ),
            (
                node_affinity::construct,
                PluginArgs::NodeAffinity(NodeAffinityArgs {
                    added_affinity,
                    ..NodeAffinityArgs::default()
                }),
                &[
                    "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values",
                ],
            ),
        ];
        for (construct, args, expected) in cases {
            let error = made_with(construct, Some(&args), &FeatureGates::default()).unwrap_err();
            for text in expected {
                assert!(error.contains(text), "{error}");
            }
        }
    }
}
