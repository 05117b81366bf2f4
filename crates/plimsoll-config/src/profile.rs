/// A plugin named in a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginRef {
    /// The name the registry knows it by.
    pub name: String,
    /// Multiplies the plugin's normalised score; 0 counts as 1, as in kube-scheduler.
    pub weight: i32,
}

impl PluginRef {
    /// A plugin with the given weight.
    pub fn new(name: impl Into<String>, weight: i32) -> Self {
        Self {
            name: name.into(),
            weight,
        }
    }
}

/// One profile: the plugins that place the pods of one `schedulerName`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileConfig {
    /// Pods with this `spec.schedulerName` belong to the profile.
    pub scheduler_name: String,
    /// Plugins in multiPoint order; each serves every extension point that it implements.
    pub plugins: Vec<PluginRef>,
}

impl Default for ProfileConfig {
    /// kube-scheduler 1.36's default profile: same plugins, order and weights (its alpha plugins left out).
    fn default() -> Self {
        let plugins = [
            ("SchedulingGates", 0),
            ("PrioritySort", 0),
            ("NodeUnschedulable", 0),
            ("NodeName", 0),
            ("TaintToleration", 3),
            ("NodeAffinity", 2),
            ("NodePorts", 0),
            ("NodeResourcesFit", 1),
            ("VolumeRestrictions", 0),
            ("NodeVolumeLimits", 0),
            ("VolumeBinding", 0),
            ("VolumeZone", 0),
            ("PodTopologySpread", 2),
            ("InterPodAffinity", 2),
            ("DynamicResources", 2),
            ("DefaultPreemption", 0),
            ("NodeResourcesBalancedAllocation", 1),
            ("ImageLocality", 1),
            ("DefaultBinder", 0),
            ("NodeDeclaredFeatures", 0),
            ("GangScheduling", 0),
        ];
        Self {
            scheduler_name: "default-scheduler".to_owned(),
            plugins: plugins
                .into_iter()
                .map(|(name, weight)| PluginRef::new(name, weight))
                .collect(),
        }
    }
}
