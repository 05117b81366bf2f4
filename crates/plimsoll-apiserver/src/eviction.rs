//! `pods/{name}/eviction`: a deletion that asks the disruption budgets first.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    admission,
    clock::rfc3339_seconds,
    delete::{DeleteOptions, delete},
    object::{Object, at, is_terminating, key, meta_str, object_at, str_at},
    pod,
    selector::LabelSelector,
    status::ApiError,
    store::{Store, Writer},
};

const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
/// Evictions under way that a budget may hold before its controller must have caught up.
const MAX_DISRUPTED_PODS: usize = 2000;

/// Evicts a pod: spends from its budget, marks it and deletes it.
pub(crate) fn evict(
    store: &mut Store,
    writer: &Writer,
    namespace: &str,
    name: &str,
    eviction: &Value,
) -> Result<(), ApiError> {
    let version = str_at(eviction, &["apiVersion"]);
    if !matches!(version, "" | "policy/v1" | "policy/v1beta1") {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version (v1)"
        )));
    }
    if meta_str(eviction, "name") != name {
        return Err(ApiError::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    let options = DeleteOptions::from_value(eviction.get("deleteOptions").unwrap_or(&Value::Null));
    let mut writer = writer.clone();
    writer.dry_run |= options.dry_run;
    let key = key(namespace, name);
    let pods = admission::pods();
    let current = store
        .get(pods, &key)
        .cloned()
        .ok_or_else(|| ApiError::not_found(pods, name))?;
    if !ignores_budgets(current.value()) {
        spend(store, &writer, namespace, current.value())?;
    }
    let options = mark_disrupted(store, &writer, &key, &current, options)?;
    delete(store, &writer, pods, namespace, name, &options)?;
    Ok(())
}

/// Pods that are finished, not started or already going disrupt nothing.
fn ignores_budgets(pod: &Value) -> bool {
    matches!(str_at(pod, &["status", "phase"]), "Succeeded" | "Failed" | "Pending") || is_terminating(pod)
}

/// Takes one disruption from the pod's budget, unless the pod does not count towards it.
fn spend(store: &mut Store, writer: &Writer, namespace: &str, pod: &Value) -> Result<(), ApiError> {
    let budgets = matching_budgets(store, namespace, pod);
    let budget = match budgets.as_slice() {
        [] => return Ok(()),
        [one] => one,
        _ => {
            let message =
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            return Err(ApiError::with_code(http::StatusCode::INTERNAL_SERVER_ERROR, message));
        }
    };
    if pod::condition_status(pod, "Ready") != "True" && unhealthy_may_go(budget.value()) {
        return Ok(());
    }
    check_budget(budget.value())?;
    let mut spent = (**budget.value()).clone();
    let allowed = count(&spent, "disruptionsAllowed") - 1;
    let status = object_at(&mut spent, "status");
    status.insert("disruptionsAllowed".to_owned(), allowed.into());
    let disrupted = status.entry("disruptedPods").or_insert_with(|| json!({}));
    disrupted[meta_str(pod, "name")] = rfc3339_seconds(writer.now).into();
    set_allowed_condition(&mut spent, allowed > 0, writer.now);
    let key = key(namespace, meta_str(budget.value(), "name"));
    store.put(writer, admission::budgets(), &key, spent);
    Ok(())
}

/// Keeps the budget's `DisruptionAllowed` condition in step with its counter.
fn set_allowed_condition(budget: &mut Value, allowed: bool, now: Timestamp) {
    let generation = at(budget, &["status", "observedGeneration"])
        .cloned()
        .unwrap_or_default();
    let (status, reason) = if allowed {
        ("True", "SufficientPods")
    } else {
        ("False", "InsufficientPods")
    };
    let conditions = object_at(budget, "status")
        .entry("conditions")
        .or_insert_with(|| json!([]));
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    let old = conditions.iter().position(|c| c["type"] == "DisruptionAllowed");
    let unchanged = old.filter(|at| conditions[*at]["status"] == status);
    let since = unchanged.map_or_else(
        || rfc3339_seconds(now).into(),
        |at| conditions[at]["lastTransitionTime"].clone(),
    );
    let condition = json!({
        "type": "DisruptionAllowed", "status": status, "reason": reason, "message": "",
        "observedGeneration": generation, "lastTransitionTime": since,
    });
    match old {
        Some(at) => conditions[at] = condition,
        None => conditions.push(condition),
    }
}

fn matching_budgets(store: &Store, namespace: &str, pod: &Value) -> Vec<Object> {
    let selects = |budget: &Object| {
        meta_str(budget.value(), "namespace") == namespace
            && LabelSelector::from_object(at(budget.value(), &["spec", "selector"])).is_some_and(|s| s.matches(pod))
    };
    store
        .table(admission::budgets())
        .values()
        .filter(|b| selects(b))
        .cloned()
        .collect()
}

fn count(budget: &Value, field: &str) -> i64 {
    at(budget, &["status", field]).and_then(Value::as_i64).unwrap_or(0)
}

fn unhealthy_may_go(budget: &Value) -> bool {
    let (healthy, desired) = (count(budget, "currentHealthy"), count(budget, "desiredHealthy"));
    str_at(budget, &["spec", "unhealthyPodEvictionPolicy"]) == "AlwaysAllow" || (healthy >= desired && desired > 0)
}

fn check_budget(budget: &Value) -> Result<(), ApiError> {
    let name = meta_str(budget, "name");
    let forbidden = |why: &str| Err(ApiError::forbidden(admission::budgets(), name, why));
    if count(budget, "observedGeneration") < budget["metadata"]["generation"].as_i64().unwrap_or(0) {
        let message = format!("The disruption budget {name} is still being processed by the server.");
        return Err(ApiError::too_many_requests(REFUSED, 10).cause("DisruptionBudget", message, ""));
    }
    if at(budget, &["status", "disruptedPods"])
        .and_then(Value::as_object)
        .is_some_and(|d| d.len() > MAX_DISRUPTED_PODS)
    {
        return forbidden("DisruptedPods map too big - too many evictions not confirmed by PDB controller");
    }
    match count(budget, "disruptionsAllowed") {
        negative if negative < 0 => forbidden("pdb disruptions allowed is negative"),
        0 => Err(ApiError::too_many_requests(REFUSED, 0).cause("DisruptionBudget", refusal(budget), "")),
        _ => Ok(()),
    }
}

/// Why a budget allows nothing, in upstream's words.
fn refusal(budget: &Value) -> String {
    let name = meta_str(budget, "name");
    let conditions = at(budget, &["status", "conditions"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let blocked = conditions
        .filter(|c| c["type"] == "DisruptionAllowed" && c["status"] == "False")
        .map(|c| (str_at(c, &["reason"]), str_at(c, &["message"])))
        .find(|(_, message)| !message.is_empty());
    let (healthy, desired) = (count(budget, "currentHealthy"), count(budget, "desiredHealthy"));
    match blocked {
        Some(("SyncFailed", message)) => format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {message}"
        ),
        _ if healthy <= desired => {
            format!("The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")
        }
        Some((reason, message)) => {
            format!("The disruption budget {name} does not allow evicting pods currently ({reason}): {message}")
        }
        None => format!("The disruption budget {name} does not allow evicting pods currently"),
    }
}

/// Adds the `DisruptionTarget` condition. Preconditions are checked before it, and not again on the version it makes.
fn mark_disrupted(
    store: &mut Store,
    writer: &Writer,
    key: &str,
    current: &Object,
    options: DeleteOptions,
) -> Result<DeleteOptions, ApiError> {
    let options = options.checked(admission::pods(), current.value())?;
    let mut pod = (**current.value()).clone();
    pod::set_condition(
        &mut pod,
        writer.now,
        "DisruptionTarget",
        "True",
        "EvictionByEvictionAPI",
        "Eviction API: evicting",
    );
    store.put(writer, admission::pods(), key, pod);
    Ok(options)
}
