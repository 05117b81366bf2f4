use std::sync::Arc;

use plimsoll_apiserver::resource;
use serde_json::json;

use super::*;

/// A made-up history.
#[derive(Default)]
struct History(Vec<Mutation>);

impl History {
    fn of_one_node() -> Self {
        let mut history = Self::default();
        let node = json!({
            "metadata": { "name": "n" },
            "status": { "allocatable": { "cpu": "2", "memory": "1Gi", "pods": "3" } },
        });
        history.write("nodes", "create", node);
        history
    }

    fn write(&mut self, plural: &str, verb: &'static str, object: Value) {
        self.0.push(Mutation {
            rv: u64::try_from(self.0.len()).unwrap() + 1,
            verb,
            deleted: verb == "delete",
            resource: resource::find("", "v1", plural).unwrap(),
            user_agent: Arc::from(""),
            at: jiff::Timestamp::UNIX_EPOCH,
            object: Arc::new(object),
        });
    }

    fn pod(mut self, verb: &'static str, name: &str, node: &str, cpu: &str) -> Self {
        self.write("pods", verb, pod(name, node, cpu));
        self
    }

    fn with(mut self, verb: &'static str, name: &str, node: &str, pointer: &str, value: Value) -> Self {
        let mut pod = pod(name, node, "100m");
        *pod.pointer_mut(pointer).unwrap() = value;
        self.write("pods", verb, pod);
        self
    }

    fn violations(&self) -> Vec<String> {
        check(&self.0).violations.into_iter().map(|(_, what)| what).collect()
    }
}

fn pod(name: &str, node: &str, cpu: &str) -> Value {
    json!({
        "metadata": { "name": name, "uid": format!("uid-{name}") },
        "spec": {
            "nodeName": node,
            "containers": [{ "name": "c", "resources": { "requests": { "cpu": cpu } }, "ports": [] }],
        },
        "status": { "phase": "Pending", "conditions": [] },
    })
}

#[test]
fn a_history_without_fault_passes() {
    let told =
        json!([{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes" }]);
    let history = History::of_one_node()
        .pod("create", "a", "", "1")
        .pod("bind", "a", "n", "1")
        .with("status", "a", "n", "/status/phase", json!("Running"))
        .pod("create", "b", "", "1")
        .pod("bind", "b", "n", "1")
        .pod("create", "c", "", "1")
        .with("patch", "c", "", "/status/conditions", told);
    let findings = check(&history.0);
    assert_eq!(findings.violations, []);
    assert_eq!((findings.bindings, findings.pending, findings.fullest), (2, 1, 66));
}

#[test]
fn a_node_past_its_allocatable_is_found() {
    let history = History::of_one_node()
        .pod("bind", "a", "n", "1500m")
        .pod("bind", "b", "n", "501m");
    assert_eq!(
        history.violations(),
        ["node n holds 2001 of 2000 cpu with pod b (at version 3)"]
    );
    let mut history = History::of_one_node();
    for name in ["a", "b", "c", "d"] {
        history = history.pod("bind", name, "n", "1m");
    }
    assert_eq!(
        history.violations(),
        ["node n holds 4 of 3 pods with pod d (at version 5)"]
    );
    let memory = json!({ "requests": { "memory": "2Gi" } });
    let history = History::of_one_node().with("bind", "a", "n", "/spec/containers/0/resources", memory);
    assert_eq!(
        history.violations(),
        ["node n holds 2147483648 of 1073741824 memory with pod a (at version 2)"]
    );
}

#[test]
fn an_over_commitment_that_passed_is_found_all_the_same() {
    let history = History::of_one_node()
        .pod("bind", "a", "n", "1500m")
        .pod("bind", "b", "n", "1")
        .pod("delete", "b", "n", "1");
    assert_eq!(history.violations().len(), 1);
}

#[test]
fn room_of_pods_that_ended_or_went_may_be_used_again() {
    let history = History::of_one_node()
        .pod("bind", "a", "n", "2")
        .with("status", "a", "n", "/status/phase", json!("Succeeded"))
        .pod("bind", "b", "n", "2")
        .pod("delete", "b", "n", "2")
        .pod("bind", "c", "n", "2");
    assert_eq!(history.violations(), Vec::<String>::new());
}

#[test]
fn a_pod_bound_twice_is_found() {
    let twice = History::of_one_node()
        .pod("bind", "a", "n", "1")
        .pod("bind", "a", "n", "1");
    assert_eq!(twice.violations(), ["pod a was bound 2 times (at version 3)"]);
    let moved = History::of_one_node()
        .pod("bind", "a", "n", "1")
        .pod("update", "a", "m", "1");
    assert_eq!(
        moved.violations(),
        [
            "pod a went from n to \"m\" (at version 3)",
            "pod a is on m, which is no node (at version 3)"
        ]
    );
}

#[test]
fn a_host_port_taken_twice_is_found() {
    let port = json!([{ "containerPort": 80, "hostPort": 80 }]);
    let pointer = "/spec/containers/0/ports";
    let history = History::of_one_node()
        .with("bind", "a", "n", pointer, port.clone())
        .with("status", "a", "n", pointer, port.clone())
        .with("bind", "b", "n", pointer, port);
    assert_eq!(history.violations(), ["pods a and b have port 80 of n (at version 4)"]);
}

#[test]
fn a_pending_pod_without_an_explanation_is_found() {
    let silent = json!([{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable" }]);
    let history =
        History::of_one_node()
            .pod("create", "a", "", "1")
            .with("patch", "b", "", "/status/conditions", silent);
    let untold = |name| format!("pod {name} is pending and was not told why");
    assert_eq!(history.violations(), [untold("a"), untold("b")]);
    let findings = check(&history.0);
    assert!(!findings.kept(Promise::Told) && findings.kept(Promise::BoundOnce));
}
