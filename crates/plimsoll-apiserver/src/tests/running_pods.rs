//! Pods that run, of which a server without a history keeps the text alone.

use serde_json::json;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_running_pod_is_read_selected_and_changed_like_any_other() {
    let server = server_with(Config {
        keep_history: false,
        ..Config::default()
    });
    let mut made = pod("a");
    made["metadata"]["labels"] = json!({ "app": "web" });
    made["spec"]["nodeName"] = json!("n");
    server.create(pods(), "default", made).expect("created");
    let path = "/api/v1/namespaces/default/pods/a";
    let mut running = server.get_ok(path).await;
    running["status"]["phase"] = json!("Running");
    let (code, written) = server.call("PUT", &format!("{path}/status"), running).await;
    assert_eq!(code, 200, "{written}");
    assert_eq!(server.get_ok(path).await, written);

    for (selector, count) in [
        ("labelSelector=app%3Dweb", 1),
        ("labelSelector=app%3Ddb", 0),
        ("fieldSelector=status.phase%3DRunning,spec.nodeName%3Dn", 1),
        ("fieldSelector=status.phase%21%3DRunning", 0),
    ] {
        let list = server.get_ok(&format!("/api/v1/pods?{selector}")).await;
        assert_eq!(list["items"].as_array().map(Vec::len), Some(count), "{selector}");
    }

    let from = server.resource_version();
    let mut events = server
        .watch(&format!(
            "{PODS}?watch=true&resourceVersion={from}&fieldSelector=status.phase%3DRunning"
        ))
        .await;
    server
        .modify(pods(), "default", "a", |pod| {
            pod["metadata"]["labels"] = json!({ "app": "db" });
        })
        .expect("changed");
    assert_eq!(events.short().await, format!("MODIFIED a@{}", from + 1));
    let mut done = server.get_ok(path).await;
    assert_eq!(done["spec"], written["spec"]);
    done["status"]["phase"] = json!("Succeeded");
    let (code, _) = server.call("PUT", &format!("{path}/status"), done).await;
    assert_eq!(code, 200);
    let left = events.next().await.expect("an event");
    assert_eq!(
        (&left["type"], &left["object"]["metadata"]["labels"]["app"]),
        (&json!("DELETED"), &json!("db"))
    );
}
