//! The rows of the table; short names, categories and strategies are those of kube-apiserver 1.36.

use super::{Generation, Resource, STANDARD_VERBS, Storage, Subresource};

const CREATE: &[&str] = &["create"];
const GET_PATCH_UPDATE: &[&str] = &["get", "patch", "update"];

const fn own(name: &'static str, verbs: &'static [&'static str]) -> Subresource {
    Subresource {
        name,
        group: "",
        version: "",
        kind: "",
        verbs,
    }
}

const STATUS: Subresource = own("status", GET_PATCH_UPDATE);
const BINDING: Subresource = Subresource {
    name: "binding",
    group: "",
    version: "v1",
    kind: "Binding",
    verbs: CREATE,
};
const EVICTION: Subresource = Subresource {
    name: "eviction",
    group: "policy",
    version: "v1",
    kind: "Eviction",
    verbs: CREATE,
};

/// The position of core events; `events.k8s.io` stores its objects there.
const CORE_EVENTS: usize = 2;

const fn kind(
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
) -> Resource {
    Resource {
        id: 0,
        storage_id: 0,
        group,
        version,
        plural,
        singular,
        kind,
        short_names: &[],
        categories: &[],
        namespaced: true,
        subresources: &[],
        verbs: STANDARD_VERBS,
        generation: Generation::None,
        create_on_update: false,
        unconditional_update: true,
        storage: Storage::Own,
    }
}

impl Resource {
    const fn cluster(mut self) -> Self {
        self.namespaced = false;
        self
    }

    const fn short(mut self, names: &'static [&'static str]) -> Self {
        self.short_names = names;
        self
    }

    const fn in_all(mut self) -> Self {
        self.categories = &["all"];
        self
    }

    const fn sub(mut self, subresources: &'static [Subresource]) -> Self {
        self.subresources = subresources;
        self
    }

    const fn verbs(mut self, verbs: &'static [&'static str]) -> Self {
        self.verbs = verbs;
        self
    }

    const fn generation(mut self, generation: Generation) -> Self {
        self.generation = generation;
        self
    }

    const fn create_on_update(mut self) -> Self {
        self.create_on_update = true;
        self
    }

    const fn conditional_update(mut self) -> Self {
        self.unconditional_update = false;
        self
    }

    const fn as_core_events(mut self) -> Self {
        self.storage = Storage::CoreEvents;
        self
    }
}

const fn numbered<const N: usize>(mut rows: [Resource; N]) -> [Resource; N] {
    let mut at = 0;
    while at < N {
        rows[at].id = at;
        rows[at].storage_id = match rows[at].storage {
            Storage::Own => at,
            Storage::CoreEvents => CORE_EVENTS,
        };
        at += 1;
    }
    rows
}

const APPS: &str = "apps";
const STORAGE: &str = "storage.k8s.io";
const RESOURCE: &str = "resource.k8s.io";
const SCHEDULING: &str = "scheduling.k8s.io";
const COORDINATION: &str = "coordination.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

const ROWS: usize = 47;

/// Every kind the server knows. Kinds on the hot path come first: lookups scan from the front.
pub static RESOURCES: &[Resource] = &TABLE;

static TABLE: [Resource; ROWS] = numbered([
    kind("", "v1", "pods", "pod", "Pod")
        .short(&["po"])
        .in_all()
        .generation(Generation::Spec)
        .sub(&[
            BINDING,
            own("ephemeralcontainers", GET_PATCH_UPDATE),
            EVICTION,
            own("resize", GET_PATCH_UPDATE),
            STATUS,
        ]),
    kind("", "v1", "nodes", "node", "Node")
        .short(&["no"])
        .cluster()
        .sub(&[STATUS]),
    kind("", "v1", "events", "event", "Event")
        .short(&["ev"])
        .create_on_update(),
    kind("events.k8s.io", "v1", "events", "event", "Event")
        .short(&["ev"])
        .create_on_update()
        .as_core_events(),
    kind(COORDINATION, "v1", "leases", "lease", "Lease")
        .create_on_update()
        .conditional_update(),
    kind(
        COORDINATION,
        "v1beta1",
        "leasecandidates",
        "leasecandidate",
        "LeaseCandidate",
    )
    .create_on_update()
    .conditional_update(),
    kind("", "v1", "namespaces", "namespace", "Namespace")
        .short(&["ns"])
        .cluster()
        .verbs(&["create", "delete", "get", "list", "patch", "update", "watch"])
        .sub(&[own("finalize", &["update"]), STATUS]),
    kind("", "v1", "services", "service", "Service")
        .short(&["svc"])
        .in_all()
        .create_on_update()
        .sub(&[STATUS]),
    kind("", "v1", "configmaps", "configmap", "ConfigMap").short(&["cm"]),
    kind("", "v1", "secrets", "secret", "Secret"),
    kind("", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount").short(&["sa"]),
    kind(
        "",
        "v1",
        "replicationcontrollers",
        "replicationcontroller",
        "ReplicationController",
    )
    .short(&["rc"])
    .in_all()
    .generation(Generation::Spec)
    .sub(&[STATUS]),
    kind("", "v1", "persistentvolumes", "persistentvolume", "PersistentVolume")
        .short(&["pv"])
        .cluster()
        .sub(&[STATUS]),
    kind(
        "",
        "v1",
        "persistentvolumeclaims",
        "persistentvolumeclaim",
        "PersistentVolumeClaim",
    )
    .short(&["pvc"])
    .sub(&[STATUS]),
    kind("", "v1", "bindings", "binding", "Binding").verbs(CREATE),
    kind("", "v1", "limitranges", "limitrange", "LimitRange")
        .short(&["limits"])
        .create_on_update(),
    kind("", "v1", "resourcequotas", "resourcequota", "ResourceQuota")
        .short(&["quota"])
        .sub(&[STATUS]),
    kind("", "v1", "endpoints", "endpoints", "Endpoints")
        .short(&["ep"])
        .create_on_update(),
    kind(APPS, "v1", "replicasets", "replicaset", "ReplicaSet")
        .short(&["rs"])
        .in_all()
        .generation(Generation::Spec)
        .sub(&[STATUS]),
    kind(APPS, "v1", "statefulsets", "statefulset", "StatefulSet")
        .short(&["sts"])
        .in_all()
        .generation(Generation::Spec)
        .sub(&[STATUS]),
    kind(APPS, "v1", "deployments", "deployment", "Deployment")
        .short(&["deploy"])
        .in_all()
        .generation(Generation::Spec)
        .sub(&[STATUS]),
    kind(APPS, "v1", "daemonsets", "daemonset", "DaemonSet")
        .short(&["ds"])
        .in_all()
        .generation(Generation::Spec)
        .sub(&[STATUS]),
    kind("batch", "v1", "jobs", "job", "Job")
        .in_all()
        .generation(Generation::Spec)
        .sub(&[STATUS]),
    kind("batch", "v1", "cronjobs", "cronjob", "CronJob")
        .short(&["cj"])
        .in_all()
        .generation(Generation::Spec)
        .sub(&[STATUS]),
    kind(
        "policy",
        "v1",
        "poddisruptionbudgets",
        "poddisruptionbudget",
        "PodDisruptionBudget",
    )
    .short(&["pdb"])
    .generation(Generation::Spec)
    .conditional_update()
    .sub(&[STATUS]),
    kind(STORAGE, "v1", "storageclasses", "storageclass", "StorageClass")
        .short(&["sc"])
        .cluster(),
    kind(STORAGE, "v1", "csinodes", "csinode", "CSINode")
        .cluster()
        .conditional_update(),
    kind(STORAGE, "v1", "csidrivers", "csidriver", "CSIDriver")
        .cluster()
        .generation(Generation::SpecFromZero)
        .conditional_update(),
    kind(
        STORAGE,
        "v1",
        "csistoragecapacities",
        "csistoragecapacity",
        "CSIStorageCapacity",
    )
    .conditional_update(),
    kind(
        STORAGE,
        "v1",
        "volumeattachments",
        "volumeattachment",
        "VolumeAttachment",
    )
    .cluster()
    .conditional_update()
    .sub(&[STATUS]),
    kind(RESOURCE, "v1", "resourceclaims", "resourceclaim", "ResourceClaim").sub(&[STATUS]),
    kind(
        RESOURCE,
        "v1",
        "resourceclaimtemplates",
        "resourceclaimtemplate",
        "ResourceClaimTemplate",
    ),
    kind(RESOURCE, "v1", "resourceslices", "resourceslice", "ResourceSlice")
        .cluster()
        .generation(Generation::Spec),
    kind(RESOURCE, "v1", "deviceclasses", "deviceclass", "DeviceClass")
        .cluster()
        .generation(Generation::Spec),
    kind(
        RESOURCE,
        "v1beta2",
        "devicetaintrules",
        "devicetaintrule",
        "DeviceTaintRule",
    )
    .cluster()
    .generation(Generation::Spec)
    .sub(&[STATUS]),
    kind(SCHEDULING, "v1", "priorityclasses", "priorityclass", "PriorityClass")
        .short(&["pc"])
        .cluster()
        .generation(Generation::Created),
    kind(SCHEDULING, "v1alpha2", "podgroups", "podgroup", "PodGroup").sub(&[STATUS]),
    kind(SCHEDULING, "v1alpha2", "workloads", "workload", "Workload"),
    kind("node.k8s.io", "v1", "runtimeclasses", "runtimeclass", "RuntimeClass")
        .cluster()
        .create_on_update(),
    kind(
        "authentication.k8s.io",
        "v1",
        "tokenreviews",
        "tokenreview",
        "TokenReview",
    )
    .cluster()
    .verbs(CREATE),
    kind(
        AUTHORIZATION,
        "v1",
        "subjectaccessreviews",
        "subjectaccessreview",
        "SubjectAccessReview",
    )
    .cluster()
    .verbs(CREATE),
    kind(
        AUTHORIZATION,
        "v1",
        "selfsubjectaccessreviews",
        "selfsubjectaccessreview",
        "SelfSubjectAccessReview",
    )
    .cluster()
    .verbs(CREATE),
    kind(
        "authentication.k8s.io",
        "v1",
        "selfsubjectreviews",
        "selfsubjectreview",
        "SelfSubjectReview",
    )
    .cluster()
    .verbs(CREATE),
    kind(RBAC, "v1", "roles", "role", "Role").create_on_update(),
    kind(RBAC, "v1", "rolebindings", "rolebinding", "RoleBinding").create_on_update(),
    kind(RBAC, "v1", "clusterroles", "clusterrole", "ClusterRole")
        .cluster()
        .create_on_update(),
    kind(
        RBAC,
        "v1",
        "clusterrolebindings",
        "clusterrolebinding",
        "ClusterRoleBinding",
    )
    .cluster()
    .create_on_update(),
]);
