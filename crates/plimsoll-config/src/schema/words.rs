//! What the fields mean, for those that are not described where they are made: for editors, and for the reference in
//! `docs/configuration-reference.md`.

use serde_json::Value;

/// A field by its place (`[]` goes into a list), and what it means.
const WORDS: &[(&str, &str)] = &[
    ("parallelism", "Checked and shown: cycles run on one thread."),
    (
        "leaderElection",
        "How one of several replicas is chosen. Only a start can change it.",
    ),
    (
        "leaderElection.leaderElect",
        "Whether this replica stands for election. Without, it schedules at once, and there must be no other.",
    ),
    (
        "leaderElection.leaseDuration",
        "How long a Lease that is not renewed keeps other replicas away.",
    ),
    (
        "leaderElection.renewDeadline",
        "How long the leader tries to renew before it stops leading.",
    ),
    ("leaderElection.retryPeriod", "Wait between tries to acquire or renew."),
    ("leaderElection.resourceLock", "The kind of the lock: only leases."),
    (
        "leaderElection.resourceName",
        "Name of the Lease. Replicas with the same one are one scheduler.",
    ),
    ("leaderElection.resourceNamespace", "Namespace of the Lease."),
    (
        "clientConnection",
        "The way to the API server. Only a start can change it.",
    ),
    (
        "clientConnection.acceptContentTypes",
        "Checked and shown: JSON is spoken.",
    ),
    ("clientConnection.contentType", "Checked and shown: JSON is spoken."),
    (
        "clientConnection.burst",
        "How many requests may exceed the rate at once.",
    ),
    (
        "enableProfiling",
        "Whether what is below /debug is served. Only a start can change it.",
    ),
    (
        "podInitialBackoffSeconds",
        "The first wait of a pod after a failed attempt. It doubles with each.",
    ),
    (
        "podMaxBackoffSeconds",
        "The longest wait of a pod after a failed attempt.",
    ),
    (
        "profiles",
        "Each serves a scheduler name. Left out: one for default-scheduler with all defaults.",
    ),
    (
        "extenders",
        "Programs that are asked about each pod, in this order, by every profile.",
    ),
    (
        "delayCacheUntilActive",
        "Whether standbys read nothing until they lead. Only a start can change it.",
    ),
    (
        "Profile.plugins",
        "Which plugins it has at which extension point, beside or in place of the default ones.",
    ),
    ("Profile.pluginConfig", "Arguments of its plugins, each at most once."),
    ("Profile.backoff.initial", "The first wait after a failed attempt."),
    ("Profile.backoff.max", "The longest wait after a failed attempt."),
    ("Profile.tracing", "Which of its pods are traced."),
    (
        "MatchRule.namespaceSelector",
        "Labels that the namespace of the pod must have.",
    ),
    ("MatchRule.podSelector", "Labels that the pod must have."),
    ("Plugins.bind", "Who binds: they are asked in order until one does it."),
    ("Plugins.filter", "Which nodes a pod may run on."),
    (
        "Plugins.multiPoint",
        "At every extension point that the plugin has; what a single point says goes before.",
    ),
    (
        "Plugins.permit",
        "Whether a pod with a node is bound now, later or not.",
    ),
    (
        "Plugins.placementGenerate",
        "Which placements of a group are looked at.",
    ),
    ("Plugins.placementScore", "How good a placement of a group is."),
    ("Plugins.postBind", "Hears of pods that are bound."),
    (
        "Plugins.postFilter",
        "What is done for a pod that fits nowhere: asked in order until one helps.",
    ),
    ("Plugins.preBind", "What must be done before a pod is bound."),
    ("Plugins.preEnqueue", "Whether a pod may be tried at all."),
    (
        "Plugins.preFilter",
        "Looks at the pod before the nodes, and may leave only some of them.",
    ),
    (
        "Plugins.preScore",
        "Looks at the pod and the nodes that are left before they are scored.",
    ),
    ("Plugins.queueSort", "Which pod comes first. Alike in all profiles."),
    ("Plugins.reserve", "Keeps accounts of its own of pods that got a node."),
    ("Plugins.score", "How good a node is."),
    ("PluginSet.enabled", "Plugins behind the default ones, in this order."),
    ("Plugin.name", "Its name."),
    (
        "Plugin.weight",
        "How much its score counts; 0 and none mean 1. Means nothing at points that do not score.",
    ),
    ("PluginConfig.name", "The plugin."),
    (
        "PluginConfig.args",
        "Its arguments: for these plugins of the kind below, for plugins of your own anything.",
    ),
    ("Extender.urlPrefix", "Where it is reached, without the verb."),
    (
        "Extender.enableHTTPS",
        "Whether TLS is spoken though urlPrefix does not begin with https.",
    ),
    ("Extender.tlsConfig", "With whom TLS is spoken."),
    (
        "Extender.tlsConfig.insecure",
        "Whether any certificate is taken for good. Not together with an authority.",
    ),
    (
        "Extender.tlsConfig.serverName",
        "The name in its certificate, where that is not the host.",
    ),
    ("Extender.tlsConfig.certFile", "Our certificate."),
    ("Extender.tlsConfig.keyFile", "Its key."),
    ("Extender.tlsConfig.caFile", "The authorities of its certificate."),
    ("Extender.tlsConfig.certData", "In place of certFile."),
    ("Extender.tlsConfig.keyData", "In place of keyFile."),
    ("Extender.tlsConfig.caData", "In place of caFile."),
    ("Extender.httpTimeout", "How long a call may take."),
    (
        "Extender.nodeCacheCapable",
        "Whether it knows the nodes itself and is sent names alone.",
    ),
    (
        "Extender.managedResources",
        "It is asked about pods that request one of these; about all when there is none.",
    ),
    ("Extender.managedResources[].name", "The resource."),
    (
        "Extender.managedResources[].ignoredByScheduler",
        "Whether NodeResourcesFit leaves this resource to it.",
    ),
    (
        "Extender.ignorable",
        "Whether pods are placed without it when it does not answer.",
    ),
    (
        "DefaultPreemptionArgs.minCandidateNodesPercentage",
        "Share of the nodes on which victims are looked for at least.",
    ),
    (
        "DefaultPreemptionArgs.minCandidateNodesAbsolute",
        "Number of nodes on which victims are looked for at least.",
    ),
    (
        "DynamicResourcesArgs.filterTimeout",
        "Checked and shown: devices are not allocated yet.",
    ),
    (
        "DynamicResourcesArgs.bindingTimeout",
        "Checked and shown: devices are not allocated yet.",
    ),
    (
        "InterPodAffinityArgs.hardPodAffinityWeight",
        "What a required affinity of pods that are there counts in the score.",
    ),
    (
        "InterPodAffinityArgs.ignorePreferredTermsOfExistingPods",
        "Whether what pods that are there prefer counts nothing unless the incoming pod has affinity too.",
    ),
    (
        "NodeAffinityArgs.addedAffinity",
        "Node affinity that every pod of the profile has besides its own.",
    ),
    (
        "NodeLabelArgs.presentLabels",
        "Labels that a node must have, whatever their value.",
    ),
    ("NodeLabelArgs.absentLabels", "Labels that a node must not have."),
    (
        "NodeLabelArgs.presentLabelsPreference",
        "Labels for which a node scores higher, each a name or with a weight.",
    ),
    (
        "NodeLabelArgs.absentLabelsPreference",
        "Labels without which a node scores higher, each a name or with a weight.",
    ),
    ("NodeLabelArgs.presentLabelsPreference[].label", "The label."),
    ("NodeLabelArgs.presentLabelsPreference[].weight", "How much it counts."),
    ("NodeLabelArgs.absentLabelsPreference[].label", "The label."),
    ("NodeLabelArgs.absentLabelsPreference[].weight", "How much it counts."),
    (
        "NodeResourcesBalancedAllocationArgs.resources",
        "Whose shares are to be alike. Left out: cpu and memory.",
    ),
    ("NodeResourcesBalancedAllocationArgs.resources[].name", "The resource."),
    (
        "NodeResourcesBalancedAllocationArgs.resources[].weight",
        "Must be 1 where it is given.",
    ),
    (
        "NodeResourcesFitArgs.ignoredResources",
        "Extended resources that are not looked at.",
    ),
    (
        "NodeResourcesFitArgs.ignoredResourceGroups",
        "Prefixes of names, before the slash, of resources that are not looked at.",
    ),
    (
        "NodeResourcesFitArgs.scoringStrategy",
        "Which nodes are better. Left out: LeastAllocated by cpu and memory.",
    ),
    (
        "NodeResourcesFitArgs.scoringStrategy.type",
        "LeastAllocated prefers empty nodes, MostAllocated full ones, RequestedToCapacityRatio what its shape says.",
    ),
    (
        "NodeResourcesFitArgs.scoringStrategy.resources",
        "By which resources. Left out: cpu and memory.",
    ),
    ("NodeResourcesFitArgs.scoringStrategy.resources[].name", "The resource."),
    (
        "NodeResourcesFitArgs.scoringStrategy.resources[].weight",
        "How much it counts; 0 means 1.",
    ),
    (
        "NodeResourcesFitArgs.scoringStrategy.requestedToCapacityRatio.shape",
        "The score at points of utilization, straight lines between.",
    ),
    (
        "NodeResourcesFitArgs.scoringStrategy.requestedToCapacityRatio.shape[].utilization",
        "How full the node is, in percent. Each point must be above the one before.",
    ),
    (
        "NodeResourcesFitArgs.scoringStrategy.requestedToCapacityRatio.shape[].score",
        "The score there.",
    ),
    (
        "PodTopologySpreadArgs.defaultConstraints",
        "For pods without constraints of their own, with defaultingType List.",
    ),
    (
        "PodTopologySpreadArgs.defaultingType",
        "System spreads over nodes and zones where it can; List does what defaultConstraints say.",
    ),
    (
        "ServiceAffinityArgs.affinityLabels",
        "Labels of nodes in whose values all pods of a service are to be alike.",
    ),
    (
        "ServiceAffinityArgs.antiAffinityLabelsPreference",
        "Labels of nodes over whose values pods of a service are spread, each a name or with a weight.",
    ),
    ("ServiceAffinityArgs.antiAffinityLabelsPreference[].label", "The label."),
    (
        "ServiceAffinityArgs.antiAffinityLabelsPreference[].weight",
        "How much it counts.",
    ),
    (
        "VolumeBindingArgs.bindTimeoutSeconds",
        "How long the volumes of a pod may take to be bound.",
    ),
    (
        "VolumeBindingArgs.shape[].utilization",
        "Share of the capacity that would be used, in percent.",
    ),
    ("VolumeBindingArgs.shape[].score", "The score there."),
    (
        "NodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
        "What a node must be like.",
    ),
    (
        "NodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
        "One of them must be met.",
    ),
    (
        "NodeAffinity.preferredDuringSchedulingIgnoredDuringExecution",
        "What a node had better be like.",
    ),
    (
        "NodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[].weight",
        "How much it counts, 1 to 100.",
    ),
    (
        "NodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[].preference",
        "What is preferred.",
    ),
    (
        "NodeSelectorTerm.matchExpressions",
        "Labels of the node; all must match.",
    ),
    (
        "NodeSelectorTerm.matchFields",
        "Fields of the node, of which there is metadata.name; all must match.",
    ),
    ("NodeSelectorTerm.matchExpressions[].key", "The label."),
    ("NodeSelectorTerm.matchExpressions[].operator", "How it is compared."),
    ("NodeSelectorTerm.matchExpressions[].values", "With what."),
    ("NodeSelectorTerm.matchFields[].key", "The field."),
    ("NodeSelectorTerm.matchFields[].operator", "How it is compared."),
    ("NodeSelectorTerm.matchFields[].values", "With what."),
    ("LabelSelector.matchLabels", "Labels with their values; all must match."),
    ("LabelSelector.matchExpressions", "More about labels; all must match."),
    ("LabelSelector.matchExpressions[].key", "The label."),
    ("LabelSelector.matchExpressions[].operator", "How it is compared."),
    ("LabelSelector.matchExpressions[].values", "With what."),
    (
        "TopologySpreadConstraint.maxSkew",
        "By how many pods two domains may differ.",
    ),
    (
        "TopologySpreadConstraint.topologyKey",
        "The label of nodes whose values are the domains.",
    ),
    (
        "TopologySpreadConstraint.whenUnsatisfiable",
        "DoNotSchedule turns nodes away, ScheduleAnyway scores.",
    ),
    (
        "TopologySpreadConstraint.minDomains",
        "With fewer domains than this the least has no pods.",
    ),
    (
        "TopologySpreadConstraint.nodeAffinityPolicy",
        "Whether nodes that the pod's affinity excludes count. Left out: Honor, they do not.",
    ),
    (
        "TopologySpreadConstraint.nodeTaintsPolicy",
        "Whether nodes that the pod does not tolerate count. Left out: Ignore, they do.",
    ),
    (
        "TopologySpreadConstraint.matchLabelKeys",
        "Labels in whose values other pods must be like the pod to count.",
    ),
];

/// Describes every field below `value` that is not described; `place` is where it is.
pub(super) fn describe(value: &mut Value, place: &str) {
    if let Some(fields) = value.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, field) in fields {
            let place = if place.is_empty() {
                name.clone()
            } else {
                format!("{place}.{name}")
            };
            if field.get("description").is_none()
                && let Some(description) = word(&place)
            {
                super::put(field, "description", description.into());
            }
            describe(field, &place);
        }
    }
    if let Some(items) = value.get_mut("items") {
        describe(items, &format!("{place}[]"));
    }
    for way in value
        .get_mut("anyOf")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        describe(way, place);
    }
}

fn word(place: &str) -> Option<&'static str> {
    let found = WORDS.iter().find(|(other, _)| *other == place);
    found.map(|(_, words)| *words)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::ConfigKind;

    /// Every field of a schema with its place and whether it is described.
    fn fields(value: &Value, place: &str, found: &mut Vec<(String, bool)>) {
        for (name, field) in value.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let place = if place.is_empty() {
                name.clone()
            } else {
                format!("{place}.{name}")
            };
            found.push((place.clone(), field.get("description").is_some()));
            fields(field, &place, found);
        }
        if let Some(items) = value.get("items") {
            fields(items, &format!("{place}[]"), found);
        }
        for way in value.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
            fields(way, place, found);
        }
    }

    fn all() -> Vec<(String, bool)> {
        let schema: Value = serde_json::from_str(&crate::schema(ConfigKind::Plimsoll)).unwrap();
        let mut found = Vec::new();
        fields(&schema, "", &mut found);
        for (name, definition) in schema["$defs"].as_object().unwrap() {
            fields(definition, name, &mut found);
        }
        found
    }

    #[test]
    fn every_field_says_what_it_means() {
        let silent: Vec<_> = all()
            .into_iter()
            .filter(|(place, described)| !described && !place.ends_with("apiVersion") && !place.ends_with("kind"))
            .map(|(place, _)| place)
            .collect();
        assert_eq!(silent, Vec::<String>::new());
    }

    #[test]
    fn no_word_is_about_a_field_that_there_is_not() {
        let places: BTreeSet<String> = all().into_iter().map(|(place, _)| place).collect();
        let lost: Vec<_> = WORDS.iter().filter(|(place, _)| !places.contains(*place)).collect();
        assert_eq!(lost, Vec::<&(&str, &str)>::new());
    }
}
