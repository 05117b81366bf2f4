//! Pods and nodes that come, change and go.

use plimsoll_apiserver::resource;
use serde_json::{Value, json};

use super::Chaos;
use super::others::BUDGETS;
use crate::workload;

const ZONES: [&str; 3] = ["a", "b", "c"];
/// Priority classes: pods of these may make others go.
pub(super) const CLASSES: [(&str, i32); 2] = [("high", 1_000), ("highest", 2_000)];
/// Nodes that may come and go.
pub(super) const NODES: u64 = 8;

impl Chaos {
    pub(super) fn add_pods(&mut self) {
        for _ in 0..=self.dice.below(4) {
            let name = self.new_name("p");
            let cpu = 100 + 100 * self.dice.below(8);
            let pod = workload::pod(&name, i64::try_from(cpu).unwrap_or(100), 10);
            let pod = self.vary(pod);
            let pod = self.with_volume(&name, pod);
            self.note(&format!("create pod {name} {}", pod["spec"]));
            self.world.add_pod(pod);
        }
    }

    fn vary(&mut self, mut pod: Value) -> Value {
        if self.dice.percent(15) {
            let zone = self.dice.pick(&ZONES);
            pod["spec"]["nodeSelector"] = json!({ "zone": zone });
        }
        if self.dice.percent(10) {
            pod["spec"]["nodeSelector"]["disk"] = json!("ssd");
        }
        if self.dice.percent(15) {
            let port = 8_000 + self.dice.below(3);
            pod["spec"]["containers"][0]["ports"] = json!([{ "containerPort": port, "hostPort": port }]);
        }
        if self.dice.percent(10) {
            pod["spec"]["schedulingGates"] = json!([{ "name": "example.com/hold" }]);
        }
        if self.dice.percent(30) {
            let class = self.dice.pick(&CLASSES).map_or("", |(name, _)| name);
            let grace = i64::try_from(self.dice.below(8)).unwrap_or(0);
            pod = workload::of_class(pod, class, grace);
        }
        if self.dice.percent(20) {
            let budget = self.dice.pick(&BUDGETS);
            pod["metadata"]["labels"] = json!({ "app": budget });
        }
        if self.dice.percent(10) {
            pod["spec"]["tolerations"] = json!([{ "key": "dedicated", "operator": "Exists" }]);
        }
        pod
    }

    fn pods(&self, wanted: impl Fn(&Value) -> bool) -> Vec<String> {
        names(&self.snapshot("pods"), wanted)
    }

    fn nodes(&self) -> Vec<String> {
        names(&self.snapshot("nodes"), |_| true)
    }

    fn snapshot(&self, plural: &str) -> Vec<std::sync::Arc<Value>> {
        resource::find("", "v1", plural).map_or_else(Vec::new, |kind| self.world.server().snapshot(kind))
    }

    pub(super) fn pick_pod(&mut self, wanted: impl Fn(&Value) -> bool) -> Option<String> {
        let pods = self.pods(wanted);
        self.dice.pick(&pods).cloned()
    }

    fn pick_node(&mut self) -> Option<String> {
        let nodes = self.nodes();
        self.dice.pick(&nodes).cloned()
    }

    pub(super) fn delete_pod(&mut self) {
        let Some(name) = self.pick_pod(|_| true) else { return };
        self.note(&format!("delete pod {name}"));
        self.world.delete_pod(&name);
        // Sometimes a controller makes it anew under its name, at once.
        if self.dice.percent(25) {
            let pod = self.vary(workload::pod(&name, 300, 10));
            self.note(&format!("create pod {name} again"));
            self.world.add_pod(pod);
        }
    }

    pub(super) fn finish_pod(&mut self) {
        let running = |pod: &Value| pod["spec"]["nodeName"].is_string() && pod["status"]["phase"] != "Succeeded";
        if let Some(name) = self.pick_pod(running) {
            self.note(&format!("finish pod {name}"));
            self.world.finish_pod(&name);
        }
    }

    pub(super) fn ungate_pod(&mut self) {
        let gated = |pod: &Value| {
            pod["spec"]["schedulingGates"]
                .as_array()
                .is_some_and(|gates| !gates.is_empty())
        };
        if let Some(name) = self.pick_pod(gated) {
            self.note(&format!("ungate pod {name}"));
            self.world
                .edit_pod(&name, |pod| pod["spec"]["schedulingGates"] = json!([]));
        }
    }

    pub(super) fn label_pod(&mut self) {
        let round = self.dice.below(1_000).to_string();
        if let Some(name) = self.pick_pod(|_| true) {
            self.note(&format!("label pod {name}"));
            self.world
                .edit_pod(&name, |pod| pod["metadata"]["labels"] = json!({ "round": round }));
        }
    }

    pub(super) fn add_node(&mut self) {
        let number = self.dice.below(NODES);
        let name = format!("n{number}");
        if self.nodes().contains(&name) {
            return;
        }
        self.note(&format!("create node {name}"));
        let zone = ZONES[usize::try_from(number % 3).unwrap_or(0)];
        self.world.add_node(labelled(
            workload::node(&name, 1_000, 8_000, 4),
            zone,
            number.is_multiple_of(2),
        ));
    }

    /// Room for whatever waits, apart from host ports.
    pub(super) fn add_last_nodes(&mut self) {
        for zone in ZONES {
            self.add_last_volumes(&format!("last-{zone}"));
            let node = workload::node(&format!("last-{zone}"), 200_000, 64_000, 500);
            self.world.add_node(labelled(node, zone, true));
        }
    }

    pub(super) fn delete_node(&mut self) {
        if let Some(name) = self.pick_node() {
            self.note(&format!("delete node {name}"));
            self.world.delete_node(&name);
        }
    }

    pub(super) fn change_node(&mut self) {
        let Some(name) = self.pick_node() else { return };
        let what = self.dice.below(5);
        self.note(&format!("change node {name} ({what})"));
        if what == 4 {
            return self.resize_node(&name);
        }
        self.world.edit_node(&name, |node| match what {
            0 => toggle(&mut node["metadata"]["labels"]["disk"], json!("ssd"), json!("none")),
            1 => toggle(&mut node["spec"]["unschedulable"], json!(true), json!(false)),
            2 => {
                let taint = json!([{ "key": "dedicated", "value": "x", "effect": "NoSchedule" }]);
                toggle(&mut node["spec"]["taints"], taint, json!([]));
            }
            _ => {
                let taint = json!([{ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" }]);
                toggle(&mut node["spec"]["taints"], taint, json!([]));
            }
        });
    }

    /// A kubelet says that it has less for pods than before, or all of it again.
    fn resize_node(&mut self, name: &str) {
        let (cpu, pods) = (300 + 100 * self.dice.below(8), 2 + self.dice.below(3));
        self.world.edit_node_status(name, |node| {
            node["status"]["allocatable"]["cpu"] = json!(format!("{cpu}m"));
            node["status"]["allocatable"]["pods"] = json!(pods.to_string());
        });
    }
}

fn labelled(mut node: Value, zone: &str, ssd: bool) -> Value {
    node["metadata"]["labels"]["zone"] = json!(zone);
    if ssd {
        node["metadata"]["labels"]["disk"] = json!("ssd");
    }
    node
}

fn toggle(value: &mut Value, on: Value, off: Value) {
    *value = if *value == on { off } else { on };
}

fn names(objects: &[std::sync::Arc<Value>], wanted: impl Fn(&Value) -> bool) -> Vec<String> {
    let wanted = objects.iter().filter(|object| wanted(object));
    wanted
        .filter_map(|object| object["metadata"]["name"].as_str().map(str::to_owned))
        .collect()
}
