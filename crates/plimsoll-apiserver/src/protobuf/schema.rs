//! Field numbers and names of the kinds that clients may send as protobuf, as Kubernetes 1.36 declares them.

/// How a field is written, and what becomes of it in JSON.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    Text,
    Int,
    Bool,
    Texts,
    TextMap,
    BytesMap,
    QuantityMap,
    IntOrString,
    Message(&'static [Field]),
    Messages(&'static [Field]),
    /// Set by the server whatever the client says.
    Ignored,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) number: u64,
    pub(super) name: &'static str,
    pub(super) form: Form,
}

const fn f(number: u64, name: &'static str, form: Form) -> Field {
    Field { number, name, form }
}

use Form::{Bool, BytesMap, Ignored, Int, IntOrString, Message, Messages, QuantityMap, Text, TextMap, Texts};

const METADATA: &[Field] = &[
    f(1, "name", Text),
    f(2, "generateName", Text),
    f(3, "namespace", Text),
    f(4, "selfLink", Ignored),
    f(5, "uid", Text),
    f(6, "resourceVersion", Text),
    f(7, "generation", Ignored),
    f(8, "creationTimestamp", Ignored),
    f(11, "labels", TextMap),
    f(12, "annotations", TextMap),
    f(14, "finalizers", Texts),
];

const PRECONDITIONS: &[Field] = &[f(1, "uid", Text), f(2, "resourceVersion", Text)];

const DELETE_OPTIONS: &[Field] = &[
    f(1, "gracePeriodSeconds", Int),
    f(2, "preconditions", Message(PRECONDITIONS)),
    f(3, "orphanDependents", Bool),
    f(4, "propagationPolicy", Text),
    f(5, "dryRun", Texts),
];

const LABEL_SELECTOR: &[Field] = &[
    f(1, "matchLabels", TextMap),
    f(
        2,
        "matchExpressions",
        Messages(&[f(1, "key", Text), f(2, "operator", Text), f(3, "values", Texts)]),
    ),
];

const RESOURCES: &[Field] = &[f(1, "limits", QuantityMap), f(2, "requests", QuantityMap)];

const PORT: &[Field] = &[
    f(1, "name", Text),
    f(2, "hostPort", Int),
    f(3, "containerPort", Int),
    f(4, "protocol", Text),
    f(5, "hostIP", Text),
];

const CONTAINER: &[Field] = &[
    f(1, "name", Text),
    f(2, "image", Text),
    f(3, "command", Texts),
    f(4, "args", Texts),
    f(5, "workingDir", Text),
    f(6, "ports", Messages(PORT)),
    f(8, "resources", Message(RESOURCES)),
    f(13, "terminationMessagePath", Text),
    f(14, "imagePullPolicy", Text),
    f(16, "stdin", Bool),
    f(17, "stdinOnce", Bool),
    f(18, "tty", Bool),
    f(20, "terminationMessagePolicy", Text),
];

const POD_SPEC: &[Field] = &[
    f(2, "containers", Messages(CONTAINER)),
    f(3, "restartPolicy", Text),
    f(4, "terminationGracePeriodSeconds", Int),
    f(5, "activeDeadlineSeconds", Int),
    f(6, "dnsPolicy", Text),
    f(7, "nodeSelector", TextMap),
    f(8, "serviceAccountName", Text),
    f(10, "nodeName", Text),
    f(11, "hostNetwork", Bool),
    f(12, "hostPID", Bool),
    f(13, "hostIPC", Bool),
    f(19, "schedulerName", Text),
    f(20, "initContainers", Messages(CONTAINER)),
    f(24, "priorityClassName", Text),
    f(25, "priority", Int),
];

const TEMPLATE: &[Field] = &[f(1, "metadata", Message(METADATA)), f(2, "spec", Message(POD_SPEC))];

const DEPLOYMENT: &[Field] = &[
    f(1, "replicas", Int),
    f(2, "selector", Message(LABEL_SELECTOR)),
    f(3, "template", Message(TEMPLATE)),
    f(4, "strategy", Message(&[f(1, "type", Text)])),
    f(5, "minReadySeconds", Int),
    f(6, "revisionHistoryLimit", Int),
    f(7, "paused", Bool),
    f(9, "progressDeadlineSeconds", Int),
];

const BUDGET: &[Field] = &[
    f(1, "minAvailable", IntOrString),
    f(2, "selector", Message(LABEL_SELECTOR)),
    f(3, "maxUnavailable", IntOrString),
    f(4, "unhealthyPodEvictionPolicy", Text),
];

const RESOURCE_ATTRIBUTES: &[Field] = &[
    f(1, "namespace", Text),
    f(2, "verb", Text),
    f(3, "group", Text),
    f(4, "version", Text),
    f(5, "resource", Text),
    f(6, "subresource", Text),
    f(7, "name", Text),
];

const ACCESS: &[Field] = &[
    f(1, "resourceAttributes", Message(RESOURCE_ATTRIBUTES)),
    f(
        2,
        "nonResourceAttributes",
        Message(&[f(1, "path", Text), f(2, "verb", Text)]),
    ),
];

/// Field 1 of every kind.
const HEAD: Field = f(1, "metadata", Message(METADATA));

const KINDS: &[(&str, &[Field])] = &[
    ("DeleteOptions", DELETE_OPTIONS),
    (
        "Namespace",
        &[HEAD, f(2, "spec", Message(&[f(1, "finalizers", Texts)]))],
    ),
    (
        "ConfigMap",
        &[
            HEAD,
            f(2, "data", TextMap),
            f(3, "binaryData", BytesMap),
            f(4, "immutable", Bool),
        ],
    ),
    (
        "Secret",
        &[
            HEAD,
            f(2, "data", BytesMap),
            f(3, "type", Text),
            f(4, "stringData", TextMap),
            f(5, "immutable", Bool),
        ],
    ),
    ("ServiceAccount", &[HEAD, f(4, "automountServiceAccountToken", Bool)]),
    ("Eviction", &[HEAD, f(2, "deleteOptions", Message(DELETE_OPTIONS))]),
    ("PodDisruptionBudget", &[HEAD, f(2, "spec", Message(BUDGET))]),
    (
        "PriorityClass",
        &[
            HEAD,
            f(2, "value", Int),
            f(3, "globalDefault", Bool),
            f(4, "description", Text),
            f(5, "preemptionPolicy", Text),
        ],
    ),
    ("Deployment", &[HEAD, f(2, "spec", Message(DEPLOYMENT))]),
    ("SelfSubjectAccessReview", &[HEAD, f(2, "spec", Message(ACCESS))]),
    ("SelfSubjectReview", &[HEAD]),
];

pub(super) fn of(kind: &str) -> Option<&'static [Field]> {
    KINDS.iter().find(|(name, _)| *name == kind).map(|(_, fields)| *fields)
}
