//! Values that are refused or mean nothing, with what kube-scheduler 1.36.3 makes of each. The suite on a real control plane
//! asks it again.

/// A file and what becomes of it.
pub(crate) struct Case {
    /// The file. Files that do not begin with `apiVersion` follow the two lines that make them configurations.
    pub(crate) file: &'static str,
    /// `--feature-gates`.
    pub(crate) gates: &'static str,
    /// Some lines of what is written for it, or the text that refuses it.
    pub(crate) outcome: Result<&'static str, &'static str>,
}

const fn case(file: &'static str, outcome: Result<&'static str, &'static str>) -> Case {
    Case {
        file,
        gates: "",
        outcome,
    }
}

/// All of them.
pub(crate) const CASES: &[Case] = &[
    // Leader election that is off may say anything.
    case(
        "leaderElection: {leaderElect: false, leaseDuration: -3s, renewDeadline: -1m}\n",
        Ok(
            "leaderElection:\n  leaderElect: false\n  leaseDuration: -3s\n  renewDeadline: -1m0s\n  resourceLock: leases\n  resourceName: kube-scheduler\n  resourceNamespace: kube-system\n  retryPeriod: 2s\n",
        ),
    ),
    case(
        "leaderElection: {leaderElect: false, resourceLock: endpoints}\n",
        Ok(
            "leaderElection:\n  leaderElect: false\n  leaseDuration: 15s\n  renewDeadline: 10s\n  resourceLock: endpoints\n  resourceName: kube-scheduler\n  resourceNamespace: kube-system\n  retryPeriod: 2s\n",
        ),
    ),
    case(
        "leaderElection: {resourceLock: endpoints, resourceName: ''}\n",
        Err(r#"leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases""#),
    ),
    // Lists that are written empty are told from those that are left out.
    case(
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}\n",
        Ok(
            "      addedAffinity:\n        requiredDuringSchedulingIgnoredDuringExecution:\n          nodeSelectorTerms: []\n",
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}\n",
        Ok(
            "      addedAffinity:\n        requiredDuringSchedulingIgnoredDuringExecution:\n          nodeSelectorTerms: null\n",
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Gt, values: []}]}]}}}\n",
        Err(
            "profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: []: for 'Gt', 'Lt' operators, exactly one value is required",
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Lt}]}]}}}\n",
        Err(
            "profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: for 'Gt', 'Lt' operators, exactly one value is required",
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: []}]}]}}}\n",
        Err(
            "profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: []}]}]}}}\n",
        Err(
            "profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values: Invalid value: []: must have one element",
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 3, preference: {matchExpressions: [{key: a, operator: Gt, values: []}]}}]}}\n",
        Err(
            "profiles[0].pluginConfig[0].args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].matchExpressions[0].values: Invalid value: []: for 'Gt', 'Lt' operators, exactly one value is required",
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: VolumeBinding\n    args: {shape: []}\n",
        Err(
            "profiles[0].pluginConfig[0].args.shape: Invalid value: []: unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: VolumeBinding\n    args: {shape: null}\n",
        Ok("      bindTimeoutSeconds: 600\n      kind: VolumeBindingArgs\n    name: VolumeBinding\n"),
    ),
    Case {
        file: "profiles:\n- pluginConfig:\n  - name: VolumeBinding\n    args: {shape: []}\n",
        gates: "StorageCapacityScoring=true",
        outcome: Ok("      bindTimeoutSeconds: 600\n      kind: VolumeBindingArgs\n      shape:\n"),
    },
    // A null in a list is an item.
    case(
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [null]}]}}}\n",
        Err(
            r#"profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt""#,
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [null]}]}}}\n",
        Err(
            r#"profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "": supported values: "In", "NotIn""#,
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [null]}}}\n",
        Ok(
            "      addedAffinity:\n        requiredDuringSchedulingIgnoredDuringExecution:\n          nodeSelectorTerms:\n          - {}\n",
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [null]}}\n",
        Ok(
            "      addedAffinity:\n        preferredDuringSchedulingIgnoredDuringExecution:\n        - preference: {}\n          weight: 0\n",
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: VolumeBinding\n    args: {shape: [null]}\n",
        Err(
            r#"profiles[0].pluginConfig[0].args.shape: Invalid value: [{"Utilization":0,"Score":0}]: unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"#,
        ),
    ),
    // Arguments that say what they are.
    case(
        "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args: {foo: 1}\n",
        Err(
            r#"strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for plugin DefaultPreemption: strict decoding error: unknown field "foo""#,
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args: {kind: NodeAffinityArgs, foo: 1}\n",
        Err(
            "decoding .profiles[0].pluginConfig[0]: args for plugin DefaultPreemption were not of type DefaultPreemptionArgs.kubescheduler.config.k8s.io, got NodeAffinityArgs.kubescheduler.config.k8s.io",
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {kind: DefaultPreemptionArgs, foo: 1}\n",
        Err(
            "decoding .profiles[0].pluginConfig[0]: args for plugin NodeAffinity were not of type NodeAffinityArgs.kubescheduler.config.k8s.io, got DefaultPreemptionArgs.kubescheduler.config.k8s.io",
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args: {kind: KubeSchedulerConfiguration}\n",
        Err(
            "decoding .profiles[0].pluginConfig[0]: args for plugin DefaultPreemption were not of type DefaultPreemptionArgs.kubescheduler.config.k8s.io, got KubeSchedulerConfiguration.kubescheduler.config.k8s.io",
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args: {kind: Foo}\n",
        Err(
            r#"decoding .profiles[0].pluginConfig[0]: decoding args for plugin DefaultPreemption: no kind "Foo" is registered for version "kubescheduler.config.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111""#,
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args: {apiVersion: v1}\n",
        Err(
            r#"decoding .profiles[0].pluginConfig[0]: decoding args for plugin DefaultPreemption: no kind "DefaultPreemptionArgs" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111""#,
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args: {apiVersion: /v1}\n",
        Err(
            r#"decoding .profiles[0].pluginConfig[0]: decoding args for plugin DefaultPreemption: no kind "DefaultPreemptionArgs" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111""#,
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args: {apiVersion: a/b/c}\n",
        Err(
            "decoding .profiles[0].pluginConfig[0]: decoding args for plugin DefaultPreemption: unexpected GroupVersion string: a/b/c",
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args: {apiVersion: a/}\n",
        Err(
            r#"decoding .profiles[0].pluginConfig[0]: decoding args for plugin DefaultPreemption: Object 'apiVersion' is missing in '{"apiVersion":"a/"}'"#,
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args: {apiVersion: /, minCandidateNodesAbsolute: 7}\n",
        Ok("      minCandidateNodesAbsolute: 7\n      minCandidateNodesPercentage: 10\n    name: DefaultPreemption\n"),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args: {apiVersion: kubescheduler.config.k8s.io/, minCandidateNodesAbsolute: 7}\n",
        Ok("      minCandidateNodesAbsolute: 7\n      minCandidateNodesPercentage: 10\n    name: DefaultPreemption\n"),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args: {apiVersion: kubescheduler.config.k8s.io/__internal, kind: Foo}\n",
        Err(
            r#"decoding .profiles[0].pluginConfig[0]: decoding args for plugin DefaultPreemption: no kind "Foo" is registered for the internal version of group "kubescheduler.config.k8s.io" in scheme "pkg/runtime/scheme.go:111""#,
        ),
    ),
    case(
        "profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args: {apiVersion: foo/__internal}\n",
        Err(
            r#"decoding .profiles[0].pluginConfig[0]: decoding args for plugin DefaultPreemption: no kind "DefaultPreemptionArgs" is registered for the internal version of group "foo" in scheme "pkg/runtime/scheme.go:111""#,
        ),
    ),
    // Files that say what they are.
    case(
        "apiVersion: a/b/c\nkind: KubeSchedulerConfiguration\n",
        Err("unexpected GroupVersion string: a/b/c"),
    ),
    case("apiVersion: a/b/c\n", Err("unexpected GroupVersion string: a/b/c")),
    case(
        "apiVersion: /v1\nkind: KubeSchedulerConfiguration\n",
        Err(
            r#"no kind "KubeSchedulerConfiguration" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111""#,
        ),
    ),
    case(
        "apiVersion: kubescheduler.config.k8s.io\nkind: KubeSchedulerConfiguration\n",
        Err(
            r#"no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io" in scheme "pkg/runtime/scheme.go:111""#,
        ),
    ),
    case(
        "apiVersion: kubescheduler.config.k8s.io/__internal\nkind: Foo\n",
        Err(
            r#"no kind "Foo" is registered for the internal version of group "kubescheduler.config.k8s.io" in scheme "pkg/runtime/scheme.go:111""#,
        ),
    ),
    case(
        "apiVersion: __internal\nkind: Foo\n",
        Err(
            r#"no kind "Foo" is registered for the internal version of group "" in scheme "pkg/runtime/scheme.go:111""#,
        ),
    ),
];
