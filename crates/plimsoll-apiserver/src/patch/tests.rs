use serde_json::json;

use super::*;
use crate::resource;

fn pods() -> &'static Resource {
    resource::find("", "v1", "pods").expect("pods")
}

fn nodes() -> &'static Resource {
    resource::find("", "v1", "nodes").expect("nodes")
}

fn patched(kind: &Resource, content_type: &str, current: &Value, patch: &Value) -> Result<Value, PatchError> {
    apply(
        kind,
        content_type,
        Some(current),
        patch.to_string().as_bytes(),
        None,
        false,
    )
}

fn strategic(current: &Value, patch: &Value) -> Value {
    patched(pods(), STRATEGIC_MERGE_PATCH, current, patch).expect("patch applies")
}

fn ssa(current: Option<&Value>, manager: &str, force: bool, config: &Value) -> Result<Value, PatchError> {
    apply(
        pods(),
        APPLY_PATCH,
        current,
        config.to_string().as_bytes(),
        Some(manager),
        force,
    )
}

#[test]
fn errors_carry_the_real_servers_codes() {
    let pod = json!({"metadata": {"name": "a"}});
    let code = |content_type: &str, body: &[u8], manager: Option<&str>, force: bool| {
        apply(pods(), content_type, Some(&pod), body, manager, force).map_err(|e| (e.code(), e.reason()))
    };
    assert_eq!(
        code("text/plain", b"{}", None, false),
        Err((415, "UnsupportedMediaType"))
    );
    assert_eq!(
        code("application/json", b"{}", None, false),
        Err((415, "UnsupportedMediaType"))
    );
    assert_eq!(code(JSON_PATCH, b"{}", None, false), Err((400, "BadRequest")));
    assert_eq!(code(MERGE_PATCH, b"[]", None, false), Err((400, "BadRequest")));
    assert_eq!(code(STRATEGIC_MERGE_PATCH, b"{", None, false), Err((400, "BadRequest")));
    let remove_missing = br#"[{"op":"remove","path":"/spec"}]"#;
    assert_eq!(code(JSON_PATCH, remove_missing, None, false), Err((422, "Invalid")));
    assert_eq!(code(MERGE_PATCH, b"{}", None, true), Err((422, "Invalid")));
    assert_eq!(code(APPLY_PATCH, b"{}", None, false), Err((422, "Invalid")));
    assert_eq!(
        code(APPLY_PATCH, b"apiVersion: v2", Some("m"), false),
        Err((400, "BadRequest"))
    );
    assert_eq!(
        apply(pods(), MERGE_PATCH, None, b"{}", None, false),
        Err(PatchError::NotFound)
    );
}

#[test]
fn a_missing_manager_reads_as_upstream() {
    let error = apply(pods(), APPLY_PATCH, None, b"{}", None, false).expect_err("refused");
    assert_eq!(
        error.message(),
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch"
    );
}

#[test]
fn a_charset_in_the_content_type_is_ignored() {
    let pod = json!({"a": 1});
    let merged = patched(
        pods(),
        "application/merge-patch+json; charset=utf-8",
        &pod,
        &json!({"b": 2}),
    );
    assert_eq!(merged, Ok(json!({"a": 1, "b": 2})));
}

#[test]
fn conditions_merge_by_type() {
    let pod = json!({"status": {"conditions": [
        {"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True", "reason": "x"}]}});
    let patch = json!({"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": null}]}});
    assert_eq!(
        strategic(&pod, &patch),
        json!({"status": {"conditions": [
            {"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "False"}]}})
    );
}

#[test]
fn new_entries_come_before_entries_the_patch_does_not_name() {
    let pod = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
    let patch = json!({"spec": {"containers": [{"name": "c"}, {"name": "b", "image": "i"}]}});
    let merged = strategic(&pod, &patch);
    assert_eq!(
        merged,
        json!({"spec": {"containers": [{"name": "c"}, {"name": "a"}, {"name": "b", "image": "i"}]}})
    );
}

#[test]
fn set_element_order_orders_the_whole_list() {
    let pod = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
    let patch = json!({"spec": {
        "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
        "containers": [{"name": "a", "image": "i"}]}});
    assert_eq!(
        strategic(&pod, &patch),
        json!({"spec": {"containers": [{"name": "b"}, {"name": "a", "image": "i"}]}})
    );
}

#[test]
fn delete_directives_remove_entries_and_scalars() {
    let pod = json!({"metadata": {"finalizers": ["a/x", "b/x"]},
        "spec": {"volumes": [{"name": "v"}, {"name": "w"}]}});
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/x"]},
        "spec": {"volumes": [{"name": "v", "$patch": "delete"}]}});
    assert_eq!(
        strategic(&pod, &patch),
        json!({"metadata": {"finalizers": ["b/x"]}, "spec": {"volumes": [{"name": "w"}]}})
    );
}

#[test]
fn finalizers_are_a_set() {
    let pod = json!({"metadata": {"finalizers": ["a/x"]}});
    let merged = strategic(&pod, &json!({"metadata": {"finalizers": ["a/x", "b/x"]}}));
    assert_eq!(merged, json!({"metadata": {"finalizers": ["a/x", "b/x"]}}));
}

#[test]
fn replace_directive_replaces_maps_and_lists() {
    let pod = json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"volumes": [{"name": "v"}]}});
    let patch = json!({"metadata": {"labels": {"$patch": "replace", "c": "3"}},
        "spec": {"volumes": [{"$patch": "replace"}, {"name": "w"}]}});
    assert_eq!(
        strategic(&pod, &patch),
        json!({"metadata": {"labels": {"c": "3"}}, "spec": {"volumes": [{"name": "w"}]}})
    );
}

#[test]
fn retain_keys_clears_the_other_members_of_a_union() {
    let pod = json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}});
    let patch = json!({"spec": {"volumes": [
        {"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]}});
    assert_eq!(
        strategic(&pod, &patch),
        json!({"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]}})
    );
}

#[test]
fn tolerations_and_taints_are_replaced_as_a_whole() {
    let pod = json!({"spec": {"tolerations": [{"key": "a"}]}});
    let patch = json!({"spec": {"tolerations": [{"key": "b"}]}});
    assert_eq!(strategic(&pod, &patch), patch);
    let node = json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}});
    let patch = json!({"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}});
    assert_eq!(patched(nodes(), STRATEGIC_MERGE_PATCH, &node, &patch), Ok(patch));
}

#[test]
fn an_entry_without_its_merge_key_is_the_real_servers_500() {
    let pod = json!({"spec": {"containers": [{"name": "a"}]}});
    let patch = json!({"spec": {"containers": [{"image": "i"}]}});
    let error = patched(pods(), STRATEGIC_MERGE_PATCH, &pod, &patch).expect_err("refused");
    assert_eq!(error.code(), 500);
}

#[test]
fn null_removes_and_new_values_lose_their_nulls_and_directives() {
    let pod = json!({"metadata": {"labels": {"a": "1"}}});
    let patch = json!({"metadata": {"labels": {"a": null}, "annotations": {"x": null, "y": "1"}}});
    assert_eq!(
        strategic(&pod, &patch),
        json!({"metadata": {"labels": {}, "annotations": {"y": "1"}}})
    );
}

fn config(image: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": labels},
        "spec": {"containers": [{"name": "c", "image": image}]}})
}

#[test]
fn apply_creates_and_records_the_manager() {
    let created = ssa(None, "me", false, &config("i:1", &json!({"a": "1"}))).expect("created");
    let entry = &created["metadata"]["managedFields"][0];
    assert_eq!(entry["manager"], "me");
    assert_eq!(entry["operation"], "Apply");
    assert_eq!(
        entry["fieldsV1"],
        json!({"f:metadata": {"f:labels": {"f:a": {}}},
            "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:image": {}, "f:name": {}}}}})
    );
}

#[test]
fn yaml_bodies_are_read() {
    let body = b"apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n";
    let created = apply(pods(), APPLY_PATCH, None, body, Some("me"), false).expect("created");
    assert_eq!(created["metadata"]["name"], "p");
}

#[test]
fn what_a_manager_no_longer_applies_is_removed() {
    let first = ssa(None, "me", false, &config("i:1", &json!({"a": "1", "b": "2"}))).expect("created");
    let second = ssa(Some(&first), "me", false, &config("i:1", &json!({"b": "2"}))).expect("applied");
    assert_eq!(second["metadata"]["labels"], json!({"b": "2"}));
    let third = ssa(
        Some(&second),
        "me",
        false,
        &json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}),
    )
    .expect("applied");
    assert_eq!(third["metadata"].get("labels"), None);
    assert_eq!(third.get("spec"), None);
}

#[test]
fn shared_fields_stay_until_the_last_owner_lets_go() {
    let first = ssa(None, "me", false, &config("i:1", &json!({"a": "1"}))).expect("created");
    let other = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "1"}}});
    let second = ssa(Some(&first), "you", false, &other).expect("same value, no conflict");
    let third = ssa(Some(&second), "me", false, &config("i:1", &json!({}))).expect("applied");
    assert_eq!(third["metadata"]["labels"], json!({"a": "1"}));
}

#[test]
fn another_value_for_an_owned_field_conflicts_unless_forced() {
    let first = ssa(None, "me", false, &config("i:1", &json!({"a": "1"}))).expect("created");
    let theirs = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "2"}}});
    let error = ssa(Some(&first), "you", false, &theirs).expect_err("conflict");
    assert_eq!(error.code(), 409);
    assert_eq!(
        error.message(),
        "Apply failed with 1 conflict: conflict with \"me\": .metadata.labels.a"
    );
    let forced = ssa(Some(&first), "you", true, &theirs).expect("forced");
    assert_eq!(forced["metadata"]["labels"]["a"], "2");
    let again = ssa(Some(&forced), "me", false, &config("i:1", &json!({"a": "1"})));
    assert_eq!(again.expect_err("lost").code(), 409);
}

#[test]
fn an_update_takes_ownership_of_what_it_changes() {
    let first = ssa(None, "me", false, &config("i:1", &json!({"a": "1"}))).expect("created");
    let mut second = first.clone();
    second["metadata"]["labels"]["a"] = json!("2");
    record_update(pods(), Some(&first), &mut second, "kubectl-edit", None);
    let error = ssa(Some(&second), "me", false, &config("i:1", &json!({"a": "1"}))).expect_err("conflict");
    assert_eq!(
        error.message(),
        "Apply failed with 1 conflict: conflict with \"kubectl-edit\" using v1: .metadata.labels.a"
    );
}

#[test]
fn an_apply_that_changes_nothing_leaves_the_object_equal() {
    let mut first = ssa(None, "me", false, &config("i:1", &json!({"a": "1"}))).expect("created");
    stamp_managed_fields(&mut first, jiff::Timestamp::UNIX_EPOCH);
    assert_eq!(first["metadata"]["managedFields"][0]["time"], "1970-01-01T00:00:00Z");
    let second = ssa(Some(&first), "me", false, &config("i:1", &json!({"a": "1"}))).expect("applied");
    assert_eq!(second, first);
}
