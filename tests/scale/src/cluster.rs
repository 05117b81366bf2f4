use serde_json::{Value, json};

use crate::mix::{App, Kind};

/// Stands for the name of the pod in a template.
const NAME: &str = "@name@";

/// The nodes, and how pods are written; everything in the API's own JSON.
#[derive(Debug, Clone)]
pub struct Cluster {
    nodes: u32,
}

/// What one node has for pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Thousandths of a core.
    pub milli_cpu: u64,
    /// Mebibytes of memory.
    pub mebibytes: u64,
    /// Accelerators; nodes that have any are kept for pods that ask for them.
    pub accelerators: u64,
    /// Pods.
    pub pods: u64,
}

impl Cluster {
    /// So many nodes.
    pub fn new(nodes: u32) -> Self {
        Self { nodes }
    }

    /// How many nodes there are.
    pub fn size(&self) -> u32 {
        self.nodes
    }

    /// The name of a node.
    pub fn node_name(node: u32) -> String {
        format!("node-{node}")
    }

    /// The node with a name.
    pub fn node_of(name: &str) -> Option<u32> {
        name.strip_prefix("node-")?.parse().ok()
    }

    /// The number of the zone that a node is in, of three.
    pub fn zone(node: u32) -> u32 {
        node % 3
    }

    /// What a node has.
    pub fn capacity(node: u32) -> Capacity {
        let has_accelerators = node % 10 == 9;
        let (cores, gibibytes) = match node % 10 {
            0..6 => (32, 128),
            6..9 => (64, 256),
            _ => (96, 768),
        };
        Capacity {
            milli_cpu: cores * 1000 - 240,
            mebibytes: gibibytes * 1024 - 2048,
            accelerators: if has_accelerators { 8 } else { 0 },
            pods: 110,
        }
    }

    /// A node.
    pub fn node(&self, node: u32) -> Value {
        let name = Self::node_name(node);
        let Capacity {
            milli_cpu,
            mebibytes,
            accelerators,
            pods,
        } = Self::capacity(node);
        let mut allocatable = json!({
            "cpu": format!("{milli_cpu}m"), "memory": format!("{mebibytes}Mi"), "pods": pods.to_string(),
            "ephemeral-storage": "95Gi", "hugepages-1Gi": "0", "hugepages-2Mi": "0",
        });
        let mut spec = json!({ "podCIDR": format!("10.{}.{}.0/24", node / 256 % 256, node % 256) });
        if accelerators > 0 {
            allocatable["nvidia.com/gpu"] = json!(accelerators.to_string());
            spec["taints"] = json!([{ "key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule" }]);
        }
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": name, "uid": format!("uid-{name}"), "resourceVersion": "1",
                "labels": {
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/arch": "amd64",
                    "kubernetes.io/os": "linux",
                    "node.kubernetes.io/instance-type": format!("type-{}", node % 10),
                    "topology.kubernetes.io/region": "region-1",
                    "topology.kubernetes.io/zone": format!("zone-{}", Self::zone(node)),
                },
            },
            "spec": spec,
            "status": {
                "capacity": allocatable, "allocatable": allocatable,
                "conditions": [{ "type": "Ready", "status": "True" }],
            },
        })
    }

    /// The replica set of an app, if it has one.
    pub fn replica_set(app: &App) -> Option<Value> {
        app.kind.has_replica_set().then(|| {
            let name = name_of(app);
            let labels = json!({ "app": name });
            json!({
                "apiVersion": "apps/v1", "kind": "ReplicaSet",
                "metadata": { "name": name, "namespace": namespace_of(app), "uid": format!("uid-{name}"),
                    "resourceVersion": "1" },
                "spec": { "replicas": app.replicas, "selector": { "matchLabels": labels } },
            })
        })
    }

    /// The pods of an app, but for their names.
    pub fn template(app: &App) -> Template {
        let name = name_of(app);
        let owner = if app.kind.has_replica_set() {
            "ReplicaSet"
        } else {
            "Job"
        };
        let group = if app.kind.has_replica_set() {
            "apps/v1"
        } else {
            "batch/v1"
        };
        let mut amounts = json!({ "cpu": format!("{}m", app.milli_cpu), "memory": format!("{}Mi", app.mebibytes) });
        let mut tolerations = vec![
            json!({ "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": 300 }),
            json!({ "key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": 300 }),
        ];
        let mut limits = json!({ "memory": amounts["memory"] });
        if app.kind == Kind::ExtendedResource {
            amounts["nvidia.com/gpu"] = json!("1");
            limits["nvidia.com/gpu"] = json!("1");
            tolerations.push(json!({ "key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule" }));
        }
        let mut spec = json!({
            "schedulerName": "default-scheduler",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "restartPolicy": "Always",
            "priority": 0,
            "enableServiceLinks": true,
            "containers": [{
                "name": "main", "image": format!("registry.example.com/{name}:1.0"),
                "ports": [{ "containerPort": 8080, "protocol": "TCP" }],
                "resources": { "requests": amounts, "limits": limits },
            }],
            "tolerations": tolerations,
        });
        let like = json!({ "matchLabels": { "app": name } });
        ask(app.kind, &like, &mut spec);
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": NAME, "namespace": namespace_of(app), "uid": NAME, "resourceVersion": "1",
                "labels": { "app": name, "pod-template-hash": "5d59d67564" },
                "ownerReferences": [{ "apiVersion": group, "kind": owner, "name": name,
                    "uid": format!("uid-{name}"), "controller": true }],
            },
            "spec": spec,
            "status": { "phase": "Pending", "qosClass": "Burstable" },
        });
        Template { pod }
    }

    /// The name of an app's pod.
    pub fn pod_name(app: &App, pod: u32) -> String {
        format!("{}-{pod}", name_of(app))
    }
}

/// Pods that are alike but for their names.
#[derive(Debug, Clone)]
pub struct Template {
    pod: Value,
}

impl Template {
    /// Ready to make many pods of, on a node or on none.
    pub fn text(&self, node: Option<&str>) -> String {
        let mut pod = self.pod.clone();
        if let Some(node) = node {
            pod["spec"]["nodeName"] = json!(node);
        }
        pod.to_string()
    }

    /// One of the pods, by such a text.
    pub fn named(text: &str, name: &str) -> String {
        text.replace(NAME, name)
    }

    /// The pod with a name that none has.
    pub fn value(&self) -> &Value {
        &self.pod
    }
}

fn name_of(app: &App) -> String {
    format!("app-{}", app.number)
}

fn namespace_of(app: &App) -> String {
    format!("team-{}", app.number % 100)
}

fn ask(kind: Kind, like: &Value, spec: &mut Value) {
    const ZONE: &str = "topology.kubernetes.io/zone";
    const HOST: &str = "kubernetes.io/hostname";
    let near = |key: &str| json!({ "topologyKey": key, "labelSelector": like });
    let wish = |key: &str, weight: u32| json!({ "weight": weight, "podAffinityTerm": near(key) });
    let spread = |key: &str, when: &str| json!({ "maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": like });
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    match kind {
        Kind::Plain | Kind::DefaultSpread | Kind::ExtendedResource => {}
        Kind::SoftSpread => {
            let when = "ScheduleAnyway";
            spec["topologySpreadConstraints"] = json!([spread(ZONE, when), spread(HOST, when)]);
        }
        Kind::HardSpread => spec["topologySpreadConstraints"] = json!([spread(ZONE, "DoNotSchedule")]),
        Kind::RequiredAffinity => spec["affinity"] = json!({ "podAffinity": { required: [near(ZONE)] } }),
        Kind::PreferredAffinity => {
            spec["affinity"] = json!({ "podAffinity": { preferred: [wish(ZONE, 20), wish(HOST, 50)] } });
        }
        Kind::RequiredAntiAffinity => spec["affinity"] = json!({ "podAntiAffinity": { required: [near(HOST)] } }),
        Kind::PreferredAntiAffinity => {
            spec["affinity"] = json!({ "podAntiAffinity": { preferred: [wish(HOST, 100)] } });
        }
    }
}
