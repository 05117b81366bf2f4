//! The pods of the demo: kinds that fit, kinds that wait for a gate, and kinds that fit nowhere, each for a reason of
//! its own.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use serde_json::{Value, json};

use super::api::NAMESPACE;
use super::nodes;

/// Key of the label that names a pod's kind.
pub(super) const KIND_LABEL: &str = "app.kubernetes.io/name";

/// One kind of pod.
pub(super) struct Kind {
    /// Also the beginning of its pods' names.
    pub(super) name: &'static str,
    pub(super) count: usize,
    /// How many of them can be placed in the end.
    pub(super) fit: usize,
    /// For the programme.
    pub(super) what: &'static str,
    /// Smallest and largest request, in thousandths of a CPU.
    cpu: (u64, u64),
    shape: fn(&mut Value),
}

/// Gates of this kind are lifted half-way through.
pub(super) const LIFTED: &str = "waiting";

/// All kinds; 2,000 pods.
pub(super) const KINDS: [Kind; 17] = [
    kind("web", 1_100, 1_100, "plain", (100, 700), |_| {}),
    kind("batch", 300, 300, "low priority", (400, 1_200), |spec| {
        spec["priorityClassName"] = "batch".into();
    }),
    kind("database", 200, 200, "node selector: ssd", (100, 500), |spec| {
        spec["nodeSelector"] = json!({ "disk": "ssd" });
    }),
    kind(
        "zonal",
        120,
        120,
        "node affinity: zone-b or zone-c",
        (100, 400),
        |spec| {
            let wanted =
                json!({ "key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-b", "zone-c"] });
            spec["affinity"] = json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{ "matchExpressions": [wanted] }] } } });
        },
    ),
    kind("ingress", 100, 100, "host port 8443", (100, 200), |spec| {
        spec["containers"][0]["ports"] = json!([{ "containerPort": 8443, "hostPort": 8443 }]);
    }),
    kind("critical", 60, 60, "high priority", (100, 500), |spec| {
        spec["priorityClassName"] = "critical".into();
    }),
    kind("training", 30, 30, "a GPU, tolerates its taint", (500, 500), |spec| {
        request(spec, "nvidia.com/gpu", "1");
        spec["tolerations"] = json!([{ "key": "dedicated", "value": "gpu", "effect": "NoSchedule" }]);
    }),
    kind(LIFTED, 16, 16, "a gate, lifted half-way", (100, 300), gate),
    kind("gated", 8, 0, "a gate that stays", (100, 300), gate),
    kind("giant", 12, 0, "more CPU than any node has", (64_000, 64_000), |_| {}),
    kind("nvme", 11, 0, "a label that no node has", (100, 200), |spec| {
        spec["nodeSelector"] = json!({ "disk": "nvme" });
    }),
    kind(
        "stranger",
        10,
        0,
        "wants GPU nodes, not their taint",
        (100, 200),
        |spec| {
            spec["nodeSelector"] = json!({ "accelerator": "gpu" });
        },
    ),
    kind("rival", 7, 1, "all want one port of one node", (100, 200), |spec| {
        spec["nodeSelector"] = json!({ "kubernetes.io/hostname": nodes::name(2) });
        spec["containers"][0]["ports"] = json!([{ "containerPort": 9100, "hostPort": 9100 }]);
    }),
    kind("fpga", 8, 0, "a device that no node has", (100, 200), |spec| {
        request(spec, "example.com/fpga", "1");
    }),
    kind("volume", 8, 0, "a volume claim that is not there", (100, 200), |spec| {
        spec["volumes"] = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": "data" } }]);
    }),
    kind(
        "apart",
        5,
        5,
        "required anti-affinity: one on a node",
        (100, 200),
        |spec| {
            let term = json!({ "topologyKey": "kubernetes.io/hostname", "labelSelector": selector("apart") });
            spec["affinity"] =
                json!({ "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [term] } });
        },
    ),
    kind("spread", 5, 5, "a strict spread over the zones", (100, 200), |spec| {
        spec["topologySpreadConstraints"] = json!([{ "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector("spread") }]);
    }),
];

const fn kind(
    name: &'static str,
    count: usize,
    fit: usize,
    what: &'static str,
    cpu: (u64, u64),
    shape: fn(&mut Value),
) -> Kind {
    Kind {
        name,
        count,
        fit,
        what,
        cpu,
        shape,
    }
}

fn gate(spec: &mut Value) {
    spec["schedulingGates"] = json!([{ "name": "harbour.example/tide" }]);
}

fn selector(name: &str) -> Value {
    json!({ "matchLabels": { KIND_LABEL: name } })
}

/// A device is requested as it is limited.
fn request(spec: &mut Value, resource: &str, amount: &str) {
    for what in ["requests", "limits"] {
        spec["containers"][0]["resources"][what][resource] = amount.into();
    }
}

/// The priority classes that pods name.
pub(super) fn priority_classes() -> [Value; 2] {
    [("critical", 100_000), ("batch", -10)].map(|(name, value)| json!({ "metadata": { "name": name }, "value": value }))
}

/// How many pods can be placed in the end.
pub(super) fn fitting() -> usize {
    KINDS.iter().map(|kind| kind.fit).sum()
}

/// Every pod, kinds mixed. The same seed gives the same pods in the same order.
pub(super) fn pods(seed: u64) -> Vec<Value> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut pods = Vec::new();
    for kind in &KINDS {
        for number in 1..=kind.count {
            pods.push(pod(kind, number, &mut random));
        }
    }
    for last in (1..pods.len()).rev() {
        pods.swap(last, below(&mut random, last + 1));
    }
    pods
}

fn pod(kind: &Kind, number: usize, random: &mut ChaCha8Rng) -> Value {
    let (least, most) = kind.cpu;
    // In steps of 50, as people write them; the memory beside it keeps the shape of a node.
    let steps = usize::try_from((most - least) / 50).unwrap_or(0);
    let cpu = least + 50 * u64::try_from(below(random, steps + 1)).unwrap_or(0);
    let memory = cpu * 2 + 64;
    let mut spec = json!({
        "containers": [{
            "name": kind.name,
            "image": format!("registry.example/{}:1", kind.name),
            "resources": { "requests": { "cpu": format!("{cpu}m"), "memory": format!("{memory}Mi") } },
        }],
    });
    (kind.shape)(&mut spec);
    json!({
        "metadata": {
            "name": format!("{}-{number:04}", kind.name),
            "namespace": NAMESPACE,
            "labels": { KIND_LABEL: kind.name },
        },
        "spec": spec,
    })
}

/// A number below `end`, which is not 0 and small enough for the bias to be of no matter.
fn below(random: &mut ChaCha8Rng, end: usize) -> usize {
    let end = u64::try_from(end).unwrap_or(u64::MAX);
    usize::try_from(random.next_u64() % end).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::demo::api::text;

    #[test]
    fn there_are_two_thousand_pods_with_names_of_their_own() {
        let pods = pods(1);
        let names: BTreeSet<_> = pods.iter().map(|pod| text(pod, "/metadata/name")).collect();
        assert_eq!((pods.len(), names.len()), (2_000, 2_000));
        assert!(fitting() < pods.len());
    }

    #[test]
    fn a_seed_gives_the_same_pods_again() {
        assert_eq!(pods(3), pods(3));
        assert_ne!(pods(3), pods(4));
    }
}
