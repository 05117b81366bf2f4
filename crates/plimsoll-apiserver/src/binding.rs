//! `pods/{name}/binding` and `bindings`: giving a pod its node, once.

use serde_json::Value;

use crate::{
    admission,
    cause::{self, Cause},
    create::check_type_is,
    object::{at, is_terminating, key, meta_str, metadata_mut, object_at, str_at},
    pod,
    status::ApiError,
    store::{Store, Writer},
    update::{precondition_conflict, uid_conflict},
};

/// Binds a pod to a node.
pub(crate) fn bind(
    store: &mut Store,
    writer: &Writer,
    namespace: &str,
    name: &str,
    mut binding: Value,
) -> Result<(), ApiError> {
    check_type_is("v1", "Binding", &mut binding)?;
    let own_namespace = meta_str(&binding, "namespace");
    if !own_namespace.is_empty() && own_namespace != namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let pod_name = meta_str(&binding, "name").to_owned();
    if !name.is_empty() && name != pod_name {
        return Err(ApiError::bad_request(
            "name in URL does not match name in Binding object",
        ));
    }
    check_target(&binding)?;
    let key = key(namespace, &pod_name);
    let pods = admission::pods();
    let current = store
        .get(pods, &key)
        .cloned()
        .ok_or_else(|| ApiError::not_found(pods, &pod_name))?;
    check_preconditions(namespace, &pod_name, &binding, current.value())?;
    check_unbound(&pod_name, current.value())?;

    let bound = bound(store, writer, current.value(), &binding);
    store.put(writer, pods, &key, bound);
    Ok(())
}

fn check_target(binding: &Value) -> Result<(), ApiError> {
    let mut causes = Vec::new();
    let kind = str_at(binding, &["target", "kind"]);
    if !matches!(kind, "" | "Node") {
        causes.push(Cause::not_supported("target.kind", &kind.into(), &["Node", "<empty>"]));
    }
    if str_at(binding, &["target", "name"]).is_empty() {
        causes.push(Cause::required("target.name", ""));
    }
    if causes.is_empty() {
        Ok(())
    } else {
        // Upstream hands the bare list of causes on, which is no API error.
        Err(ApiError::unexplained(cause::join(&causes)))
    }
}

fn check_preconditions(namespace: &str, name: &str, binding: &Value, pod: &Value) -> Result<(), ApiError> {
    let pods = admission::pods();
    let (asked, is) = (meta_str(binding, "uid"), meta_str(pod, "uid"));
    if !asked.is_empty() && asked != is {
        return Err(uid_conflict(pods, namespace, name, asked, is));
    }
    let (asked, is) = (meta_str(binding, "resourceVersion"), meta_str(pod, "resourceVersion"));
    if !asked.is_empty() && asked != is {
        let failed = format!(
            "Precondition failed: ResourceVersion in precondition: {asked}, ResourceVersion in object meta: {is}"
        );
        return Err(precondition_conflict(pods, namespace, name, &failed));
    }
    Ok(())
}

/// Refuses a pod that is going, is bound already (even to the same node) or is gated.
fn check_unbound(name: &str, pod: &Value) -> Result<(), ApiError> {
    let node = str_at(pod, &["spec", "nodeName"]);
    let why = if is_terminating(pod) {
        format!("pod {name} is being deleted, cannot be assigned to a host")
    } else if !node.is_empty() {
        format!("pod {name} is already assigned to node \"{node}\"")
    } else if pod::has_gates(pod) {
        format!("pod {name} has non-empty .spec.schedulingGates")
    } else {
        return Ok(());
    };
    Err(ApiError::conflict("", "pods/binding", name, &why))
}

fn bound(store: &Store, writer: &Writer, current: &Value, binding: &Value) -> Value {
    let mut pod = current.clone();
    let node = str_at(binding, &["target", "name"]);
    object_at(&mut pod, "spec").insert("nodeName".to_owned(), node.into());
    object_at(&mut pod, "status").remove("nominatedNodeName");
    for field in ["annotations", "labels"] {
        let Some(extra) = at(binding, &["metadata", field]).and_then(Value::as_object) else {
            continue;
        };
        let own = metadata_mut(&mut pod)
            .entry(field)
            .or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let Some(own) = own.as_object_mut() {
            own.extend(extra.clone());
        }
    }
    if str_at(binding, &["target", "kind"]) == "Node" {
        admission::add_topology_labels(store, node, &mut pod);
    }
    pod::set_condition(&mut pod, writer.now, "PodScheduled", "True", "", "");
    pod
}
