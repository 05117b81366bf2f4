//! A pod's row: the status column condenses phase, conditions and container states as kube-apiserver 1.36 does.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::rows::{items, number, text};
use crate::resource::Resource;

pub(super) fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let containers = Containers::of(pod);
    let or_none = |pointer: &str| match text(pod, pointer) {
        "" => json!("<none>"),
        value => json!(value),
    };
    vec![
        json!(text(pod, "/metadata/name")),
        json!(format!("{}/{}", containers.ready, containers.total)),
        json!(containers.reason),
        json!(containers.restarts_text(now)),
        age::cell(pod, now),
        or_none("/status/podIPs/0/ip"),
        or_none("/spec/nodeName"),
        or_none("/status/nominatedNodeName"),
        json!(readiness_gates(pod)),
    ]
}

/// Finished pods are marked so that `kubectl` can tell them apart.
pub(super) fn row_conditions(res: &Resource, pod: &Value) -> Option<Value> {
    if res.kind != "Pod" {
        return None;
    }
    let (reason, message) = match text(pod, "/status/phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}

fn readiness_gates(pod: &Value) -> String {
    let gates = items(pod, "/spec/readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let is_true = |gate: &&Value| condition_is_true(pod, text(gate, "/conditionType"));
    format!("{}/{}", gates.iter().filter(is_true).count(), gates.len())
}

fn condition_is_true(pod: &Value, name: &str) -> bool {
    items(pod, "/status/conditions")
        .iter()
        .find(|c| text(c, "/type") == name)
        .is_some_and(|c| text(c, "/status") == "True")
}

/// What the container statuses of a pod add up to.
struct Containers {
    ready: usize,
    total: usize,
    restarts: i64,
    last_restart: Option<Timestamp>,
    reason: String,
}

impl Containers {
    fn of(pod: &Value) -> Self {
        let sidecars = items(pod, "/spec/initContainers")
            .iter()
            .filter(|c| is_sidecar(c))
            .count();
        let mut seen = Self {
            ready: 0,
            total: items(pod, "/spec/containers").len() + sidecars,
            restarts: 0,
            last_restart: None,
            reason: phase_reason(pod),
        };
        let initializing = seen.read_init_containers(pod);
        if !initializing || condition_is_true(pod, "Initialized") {
            seen.read_containers(pod);
        }
        if let Some(reason) = deletion_reason(pod) {
            reason.clone_into(&mut seen.reason);
        }
        seen
    }

    /// Walks the init containers until the first that is still to finish; true when there is one.
    fn read_init_containers(&mut self, pod: &Value) -> bool {
        let specs = items(pod, "/spec/initContainers");
        let mut sidecars = Restarts::default();
        let mut all = Restarts::default();
        let mut initializing = false;
        for (at, status) in items(pod, "/status/initContainerStatuses").iter().enumerate() {
            let sidecar = specs
                .iter()
                .any(|c| text(c, "/name") == text(status, "/name") && is_sidecar(c));
            all.add(status);
            if sidecar {
                sidecars.add(status);
            }
            if number(status, "/state/terminated/exitCode") == Some(0) {
                continue;
            }
            if sidecar && status.get("started") == Some(&Value::Bool(true)) {
                self.ready += usize::from(status.get("ready") == Some(&Value::Bool(true)));
                continue;
            }
            self.reason = init_reason(status, at, specs.len());
            initializing = true;
            break;
        }
        let counted = if initializing && !condition_is_true(pod, "Initialized") {
            all
        } else {
            sidecars
        };
        self.restarts = counted.count;
        self.last_restart = counted.last;
        initializing
    }

    fn read_containers(&mut self, pod: &Value) {
        let mut restarts = Restarts {
            count: self.restarts,
            last: self.last_restart,
        };
        let mut running = false;
        let mut failure = None;
        for status in items(pod, "/status/containerStatuses").iter().rev() {
            restarts.add(status);
            let waiting = text(status, "/state/waiting/reason");
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.reason);
            } else if let Some(terminated) = status.pointer("/state/terminated") {
                self.reason = terminated_reason(terminated);
                if number(terminated, "/exitCode").unwrap_or(0) != 0 {
                    failure = Some(self.reason.clone());
                }
            } else if status.get("ready") == Some(&Value::Bool(true)) && status.pointer("/state/running").is_some() {
                running = true;
                self.ready += 1;
            }
        }
        self.restarts = restarts.count;
        self.last_restart = restarts.last;
        if self.reason == "Completed" {
            if running && condition_is_true(pod, "Ready") {
                "Running".clone_into(&mut self.reason);
            } else if let Some(failure) = failure {
                self.reason = failure;
            } else if running {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }

    fn restarts_text(&self, now: Timestamp) -> String {
        match self.last_restart {
            Some(last) if self.restarts != 0 => {
                let last = json!({"at": last.to_string()});
                format!("{} ({} ago)", self.restarts, age::since(&last, "/at", now))
            }
            _ => self.restarts.to_string(),
        }
    }
}

#[derive(Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, status: &Value) {
        self.count += number(status, "/restartCount").unwrap_or(0);
        let finished = age::timestamp(status.pointer("/lastState/terminated/finishedAt"));
        self.last = self.last.max(finished);
    }
}

fn is_sidecar(container: &Value) -> bool {
    text(container, "/restartPolicy") == "Always"
}

fn phase_reason(pod: &Value) -> String {
    let gated = items(pod, "/status/conditions")
        .iter()
        .any(|c| text(c, "/type") == "PodScheduled" && text(c, "/reason") == "SchedulingGated");
    if gated {
        return "SchedulingGated".to_owned();
    }
    match text(pod, "/status/reason") {
        "" => text(pod, "/status/phase").to_owned(),
        reason => reason.to_owned(),
    }
}

fn deletion_reason(pod: &Value) -> Option<&'static str> {
    pod.pointer("/metadata/deletionTimestamp").filter(|d| !d.is_null())?;
    if text(pod, "/status/reason") == "NodeLost" {
        Some("Unknown")
    } else if matches!(text(pod, "/status/phase"), "Succeeded" | "Failed") {
        None
    } else {
        Some("Terminating")
    }
}

fn init_reason(status: &Value, at: usize, count: usize) -> String {
    let waiting = text(status, "/state/waiting/reason");
    if let Some(terminated) = status.pointer("/state/terminated") {
        format!("Init:{}", terminated_reason(terminated))
    } else if !waiting.is_empty() && waiting != "PodInitializing" {
        format!("Init:{waiting}")
    } else {
        format!("Init:{at}/{count}")
    }
}

fn terminated_reason(terminated: &Value) -> String {
    let reason = text(terminated, "/reason");
    let signal = number(terminated, "/signal").unwrap_or(0);
    if !reason.is_empty() {
        reason.to_owned()
    } else if signal != 0 {
        format!("Signal:{signal}")
    } else {
        format!("ExitCode:{}", number(terminated, "/exitCode").unwrap_or(0))
    }
}
