//! Claims and volumes as admission and status see them.

use serde_json::json;

use super::*;

const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";

fn class(name: &str, is_default: bool) -> Value {
    json!({"metadata": {"name": name, "annotations": {
            "storageclass.kubernetes.io/is-default-class": if is_default { "true" } else { "false" }}},
        "provisioner": "disk.example.com", "allowVolumeExpansion": is_default})
}

fn claim(name: &str, class: &Value) -> Value {
    json!({"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": class}})
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_asks_for_no_class_gets_the_newest_default_one() {
    let server = server();
    let made = async |name: &str, class: &Value| {
        let (code, claim) = server.call("POST", CLAIMS, claim(name, class)).await;
        assert_eq!(code, 201, "{claim}");
        claim["spec"]["storageClassName"].clone()
    };
    assert_eq!(made("before", &json!(null)).await, json!(null));
    server.call("POST", CLASSES, class("old", true)).await;
    server.call("POST", CLASSES, class("other", false)).await;
    assert_eq!(made("first", &json!(null)).await, "old");
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    server.call("POST", CLASSES, class("z-new", true)).await;
    server.call("POST", CLASSES, class("new", true)).await;
    assert_eq!(
        made("second", &json!(null)).await,
        "new",
        "of equally new ones the first by name"
    );
    assert_eq!(made("empty", &json!("")).await, "");
    assert_eq!(made("own", &json!("other")).await, "other");
}

#[tokio::test(start_paused = true)]
async fn a_claim_grows_once_it_is_bound_and_if_its_class_lets_it() {
    let server = server();
    server.call("POST", CLASSES, class("grows", true)).await;
    server.call("POST", CLASSES, class("stays", false)).await;
    for (name, code, message) in [
        ("grows", 200, ""),
        (
            "stays",
            403,
            "persistentvolumeclaims \"stays\" is forbidden: only dynamically provisioned pvc can be resized and the \
             storageclass that provisions the pvc must support resize",
        ),
    ] {
        server.call("POST", CLAIMS, claim(name, &json!(name))).await;
        let path = format!("{CLAIMS}/{name}");
        let (bound, _) = server
            .call(
                "PATCH",
                &format!("{path}/status"),
                json!({"status": {"phase": "Bound"}}),
            )
            .await;
        assert_eq!(bound, 200);
        let more = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
        let (answered, answer) = server.call("PATCH", &path, more).await;
        assert_eq!(answered, code, "{answer}");
        assert_eq!(answer["message"].as_str().unwrap_or_default(), message);
    }
}
