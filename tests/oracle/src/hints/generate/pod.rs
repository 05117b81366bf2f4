use serde_json::{Value, json};

use super::{HintCase, elements, how_many};
use crate::dice::Dice;
use crate::generate::{any_pod, give_volumes, pod_labels, request, toleration};

/// A change of the pod that waits, or of another one: new, gone or altered.
pub(super) fn change(dice: &mut Dice, case: &mut HintCase) {
    match dice.below(10) {
        0..3 => own_update(dice, case),
        3 | 4 => case.new_pod = Some(other(dice, &case.cluster.pod)),
        5 | 6 => case.old_pod = Some(other(dice, &case.cluster.pod)),
        _ => {
            let mut old = other(dice, &case.cluster.pod);
            if dice.percent(30) {
                alter(dice, &mut old, &case.cluster.pod);
            }
            case.new_pod = Some(altered(dice, &old, &case.cluster.pod));
            case.old_pod = Some(old);
        }
    }
}

/// The waiting pod is known in the old version or in the new one.
fn own_update(dice: &mut Dice, case: &mut HintCase) {
    let new = altered(dice, &case.cluster.pod, &case.cluster.pod);
    let old = case.cluster.pod.clone();
    if dice.percent(70) {
        case.cluster.pod = new.clone();
        // It waits.
        if let Some(spec) = case.cluster.pod["spec"].as_object_mut() {
            spec.remove("nodeName");
        }
    }
    case.old_pod = Some(old);
    case.new_pod = Some(new);
}

/// Another pod, in many ways like the waiting one: else few changes would matter to it.
fn other(dice: &mut Dice, waiting: &Value) -> Value {
    let mut pod = any_pod(dice);
    if dice.percent(60) {
        pod["metadata"]["namespace"] = waiting["metadata"]["namespace"].clone();
    }
    if dice.percent(40) {
        copy(&mut pod, waiting, "metadata", "labels");
    }
    for (chance, field) in [(30, "containers"), (12, "affinity"), (10, "topologySpreadConstraints")] {
        if dice.percent(chance) {
            copy(&mut pod, waiting, "spec", field);
        }
    }
    if pod["spec"]["containers"] == waiting["spec"]["containers"] {
        without_requests_as_a_whole(&mut pod);
        // Which decides what ports they may have.
        for field in ["hostNetwork", "hostUsers"] {
            if let Some(spec) = pod["spec"].as_object_mut() {
                spec.remove(field);
            }
            copy(&mut pod, waiting, "spec", field);
        }
    }
    if dice.percent(15) {
        use_port(dice, &mut pod);
    }
    if elements(waiting, "/spec/volumes")
        .iter()
        .any(|volume| volume["image"].is_null() && volume["emptyDir"].is_null())
    {
        volumes(dice, &mut pod, waiting);
    }
    if dice.percent(3) {
        // The pod was created anew under its old name.
        pod["metadata"]["name"] = waiting["metadata"]["name"].clone();
    }
    pod
}

/// The waiting pod's volumes, or others.
fn volumes(dice: &mut Dice, pod: &mut Value, waiting: &Value) {
    match dice.below(10) {
        0..4 => copy(pod, waiting, "spec", "volumes"),
        4..7 => give_volumes(dice, pod),
        _ => {}
    }
}

/// They may not be less than those of its containers together.
fn without_requests_as_a_whole(pod: &mut Value) {
    if let Some(spec) = pod["spec"].as_object_mut() {
        spec.remove("resources");
    }
    for path in ["/spec/containers", "/spec/initContainers"] {
        let containers = pod.pointer_mut(path).and_then(Value::as_array_mut);
        containers.into_iter().flatten().for_each(without_lone_huge_pages);
    }
}

/// Without requests of the pod as a whole, a container that wants huge pages must want processor or memory too.
fn without_lone_huge_pages(container: &mut Value) {
    let resources = &container["resources"];
    let wants = |resource: &str| {
        let lists = ["requests", "limits"];
        lists.iter().any(|list| resources[list].get(resource).is_some())
    };
    if !wants("cpu") && !wants("memory") {
        without_huge_pages(container);
    }
}

fn without_huge_pages(container: &mut Value) {
    for list in ["requests", "limits"] {
        let amounts = container
            .get_mut("resources")
            .and_then(|resources| resources.get_mut(list));
        if let Some(amounts) = amounts.and_then(Value::as_object_mut) {
            amounts.retain(|resource, _| !resource.starts_with("hugepages-"));
        }
    }
}

fn copy(to: &mut Value, from: &Value, part: &str, field: &str) {
    if let Some(value) = from[part].get(field) {
        to[part][field] = value.clone();
    }
}

/// Gives a pod one host port.
pub(super) fn use_port(dice: &mut Dice, pod: &mut Value) {
    // No two may be the same.
    for container in pod["spec"]["containers"].as_array_mut().into_iter().flatten() {
        if let Some(fields) = container.as_object_mut() {
            fields.remove("ports");
        }
    }
    pod["spec"]["containers"][0]["ports"] = json!([port(dice)]);
}

/// In the node's network a port has one number; so it has here everywhere.
fn port(dice: &mut Dice) -> Value {
    let number = dice.one_of(&[8080, 8080, 53]);
    let protocol = dice.seldom(25, &["TCP"], &["UDP", "SCTP"]);
    let mut port = json!({ "containerPort": number, "hostPort": number, "protocol": protocol });
    let address = dice.pick(&["", "", "0.0.0.0", "127.0.0.1", "10.1.2.3", "::"]);
    if !address.is_empty() {
        port["hostIP"] = json!(address);
    }
    port
}

fn altered(dice: &mut Dice, pod: &Value, waiting: &Value) -> Value {
    let mut new = pod.clone();
    new["metadata"]["resourceVersion"] = json!("2");
    for _ in 0..how_many(dice) {
        alter(dice, &mut new, waiting);
    }
    new
}

fn alter(dice: &mut Dice, pod: &mut Value, waiting: &Value) {
    if !elements(pod, "/spec/schedulingGates").is_empty() && dice.percent(40) {
        return gates(dice, pod);
    }
    match dice.below(16) {
        0..3 => labels(dice, pod, waiting),
        3 | 4 => tolerations(dice, pod),
        5 => gates(dice, pod),
        6..9 => requests(dice, pod),
        9 => reported_requests(dice, pod),
        10 => placed(dice, pod),
        11 => pod["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z"),
        12 => features(dice, pod),
        13 => claims(dice, pod),
        14 => pod["metadata"]["annotations"] = json!({ "note": dice.pick(&["a", "b"]) }),
        _ => {
            pod["status"]["conditions"] =
                json!([{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable" }]);
        }
    }
}

fn labels(dice: &mut Dice, pod: &mut Value, waiting: &Value) {
    let labels = match dice.below(5) {
        0 => waiting["metadata"]["labels"].clone(),
        1 => json!({}),
        2 => {
            let mut labels = pod["metadata"]["labels"].clone();
            labels["app"] = json!(dice.pick(&["web", "db", "cache"]));
            labels
        }
        _ => Value::Object(pod_labels(dice)),
    };
    if labels.is_object() {
        pod["metadata"]["labels"] = labels;
    }
}

/// The API server lets them only be added; a count that stays the same is no event.
fn tolerations(dice: &mut Dice, pod: &mut Value) {
    let mut all = elements(pod, "/spec/tolerations").to_vec();
    match dice.below(6) {
        0 if !all.is_empty() => {
            let at = dice.below(all.len());
            all[at] = toleration(dice);
        }
        1 => {
            all.push(
                json!({ "key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule" }),
            );
        }
        2 => all.push(json!({ "operator": "Exists" })),
        _ => all.push(toleration(dice)),
    }
    pod["spec"]["tolerations"] = json!(all);
}

fn gates(dice: &mut Dice, pod: &mut Value) {
    let has_node = pod["spec"].get("nodeName").is_some();
    let gates = match dice.below(4) {
        0 if !has_node => json!([{ "name": "example.com/wait" }, { "name": "example.com/more" }]),
        1 if !has_node => json!([{ "name": "example.com/more" }]),
        _ => json!([]),
    };
    pod["spec"]["schedulingGates"] = gates;
}

fn requests(dice: &mut Dice, pod: &mut Value) {
    without_requests_as_a_whole(pod);
    let resource = dice.pick(&["cpu", "cpu", "memory", "memory", "ephemeral-storage", "example.com/gpu"]);
    let amount = match dice.below(4) {
        0 => "0",
        1 => "1",
        _ => request(dice, resource),
    };
    let containers = elements(pod, "/spec/containers").len();
    let container = &mut pod["spec"]["containers"][dice.below(containers)];
    if dice.percent(15) {
        // Of the resource alone: it would be the limit that makes the request.
        for list in ["requests", "limits"] {
            if let Some(list) = container
                .pointer_mut(&format!("/resources/{list}"))
                .and_then(Value::as_object_mut)
            {
                list.remove(resource);
            }
        }
        without_lone_huge_pages(container);
        return;
    }
    container["resources"]["requests"][resource] = json!(amount);
    if resource == "example.com/gpu" {
        container["resources"]["limits"][resource] = json!(amount);
    }
}

/// What the kubelet has put into effect.
fn reported_requests(dice: &mut Dice, pod: &mut Value) {
    let mut statuses = Vec::new();
    for container in elements(pod, "/spec/containers").to_vec() {
        let mut list = json!({});
        for resource in ["cpu", "memory"] {
            if dice.percent(70) {
                list[resource] = json!(request(dice, resource));
            }
        }
        let mut status = json!({ "name": container["name"], "image": "i", "ready": true, "restartCount": 0 });
        if dice.percent(80) {
            status["resources"] = json!({ "requests": list });
        }
        if dice.percent(50) {
            status["allocatedResources"] = list;
        }
        statuses.push(status);
    }
    pod["status"]["containerStatuses"] = json!(statuses);
    if dice.percent(20) {
        let reason = dice.pick(&["Infeasible", "Deferred"]);
        pod["status"]["conditions"] = json!([{ "type": "PodResizePending", "status": "True", "reason": reason }]);
    }
}

fn placed(dice: &mut Dice, pod: &mut Value) {
    if dice.percent(50) {
        pod["status"]["nominatedNodeName"] = json!(dice.pick(&["n0", "n1", ""]));
    } else if elements(pod, "/spec/schedulingGates").is_empty() {
        pod["spec"]["nodeName"] = json!("n0");
    }
}

/// What only nodes with a declared feature can run.
fn features(dice: &mut Dice, pod: &mut Value) {
    let container = &mut pod["spec"]["containers"][0];
    container["restartPolicy"] = json!("Never");
    container["restartPolicyRules"] = json!([{
        "action": dice.pick(&["Restart", "RestartAllContainers"]), "exitCodes": { "operator": "In", "values": [42] },
    }]);
}

fn claims(dice: &mut Dice, pod: &mut Value) {
    if dice.percent(85) {
        pod["status"]["resourceClaimStatuses"] =
            json!([{ "name": "claim", "resourceClaimName": dice.pick(&["claim-1", "claim-2"]) }]);
    } else {
        pod["status"]["extendedResourceClaimStatus"] = json!({
            "resourceClaimName": "extended",
            "requestMappings": [{ "containerName": "c0", "resourceName": "example.com/gpu", "requestName": "r" }],
        });
    }
}
