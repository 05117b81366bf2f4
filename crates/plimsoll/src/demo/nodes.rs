//! The nodes of the demo: three zones, three sizes, a few with devices, a few cordoned.

use serde_json::{Value, json};

/// The zones and how many nodes each has.
pub(super) const ZONES: [(&str, usize); 3] = [("zone-a", 70), ("zone-b", 70), ("zone-c", 60)];

/// Every node. What a node is follows from its number.
pub(super) fn nodes() -> Vec<Value> {
    let zones = ZONES
        .iter()
        .flat_map(|(zone, count)| std::iter::repeat_n(*zone, *count));
    zones.enumerate().map(|(number, zone)| node(number + 1, zone)).collect()
}

/// Name of the node with this number, counted from 1.
pub(super) fn name(number: usize) -> String {
    format!("node-{number:03}")
}

fn node(number: usize, zone: &str) -> Value {
    let (kind, cpu, memory) = match number % 10 {
        0 => ("large", 16, "64Gi"),
        7.. => ("medium", 8, "32Gi"),
        _ => ("small", 4, "16Gi"),
    };
    let has_devices = number % 20 == 5;
    let is_cordoned = number % 50 == 1;
    let mut resources = json!({ "cpu": cpu.to_string(), "memory": memory, "pods": "110" });
    let mut taints = Vec::new();
    if has_devices {
        resources["nvidia.com/gpu"] = "4".into();
        taints.push(json!({ "key": "dedicated", "value": "gpu", "effect": "NoSchedule" }));
    }
    if is_cordoned {
        taints.push(json!({ "key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule" }));
    }
    let name = name(number);
    json!({
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": kind,
                "topology.kubernetes.io/region": "region-1",
                "topology.kubernetes.io/zone": zone,
                "disk": if number.is_multiple_of(3) { "ssd" } else { "hdd" },
                "accelerator": if has_devices { "gpu" } else { "none" },
            },
        },
        "spec": { "unschedulable": is_cordoned, "taints": taints },
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{ "type": "Ready", "status": "True", "reason": "KubeletReady",
                             "message": "kubelet is posting ready status" }],
        },
    })
}
