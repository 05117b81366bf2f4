use serde_json::json;

use super::world::{World, node, priority_classes, requesting};

#[tokio::test(flavor = "multi_thread")]
async fn pods_go_where_the_extender_wants_them_and_are_told_why_they_do_not() {
    let Some(mut world) = World::start(3).await else { return };
    world
        .python
        .rules(&json!({ "reject": { "n0": "too warm" }, "scores": { "n2": 10 } }))
        .unwrap();
    world.schedule(
        "- {urlPrefix: URL, filterVerb: filter, prioritizeVerb: prioritize, weight: 100, nodeCacheCapable: true}",
    );
    for index in 0..5 {
        let name = format!("wanted-{index}");
        world.create(&name, &requesting(&json!({ "cpu": "100m" })));
        assert_eq!(world.node_of(&name).await, "n2");
    }
    let rules = json!({ "reject": { "n0": "too warm", "n1": "too warm" }, "never": { "n2": "too far" } });
    world.python.rules(&rules).unwrap();
    world.create("unwanted", &requesting(&json!({ "cpu": "100m" })));
    let (reason, message) = world.told("unwanted", "too warm").await;
    assert_eq!(reason, "Unschedulable");
    assert!(
        message.starts_with("0/3 nodes are available: 1 too far, 2 too warm."),
        "{message}"
    );

    // Any change may be what it waited for.
    world.python.rules(&json!({})).unwrap();
    let labelled = json!({
        "metadata": { "name": "n9" },
        "status": { "allocatable": { "cpu": "4", "memory": "8Gi", "pods": "500" } },
    });
    world.server.create(super::world::kind("nodes"), "", labelled).unwrap();
    world.node_of("unwanted").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn proxies_of_the_environment_are_used_neither_for_the_api_server_nor_for_extenders_and_the_log_says_so() {
    let Some(mut world) = World::start(1).await else { return };
    world.schedule("- {urlPrefix: URL, filterVerb: filter, nodeCacheCapable: true}");
    world.create("a", &requesting(&json!({ "cpu": "100m" })));
    world.node_of("a").await;
    assert_eq!(world.python.report().unwrap()["calls"]["filter"], 1);
    let told = world.whole_log();
    for whom in ["it", "extenders"] {
        let line = format!("called directly: proxies of the environment are not used for {whom}");
        assert!(told.contains(&line), "{line}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_nodes_go_to_an_extender_that_does_not_know_them() {
    let Some(mut world) = World::start(3).await else { return };
    world
        .python
        .rules(&json!({ "reject": { "n0": "no", "n2": "no" } }))
        .unwrap();
    world.schedule("- {urlPrefix: URL, filterVerb: filter}");
    world.create("a", &requesting(&json!({ "cpu": "100m" })));
    assert_eq!(world.node_of("a").await, "n1");
    let report = world.python.report().unwrap();
    let sent: serde_json::Value = serde_json::from_str(report["requests"][0]["body"].as_str().unwrap()).unwrap();
    assert_eq!(sent["Nodes"]["items"][0]["status"]["allocatable"]["pods"], "500");
    assert_eq!(sent["Pod"]["spec"]["containers"][0]["image"], "i");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extender_binds_and_a_binding_that_failed_is_made_good() {
    let Some(mut world) = World::start(2).await else { return };
    world.schedule("- {urlPrefix: URL, bindVerb: bind, nodeCacheCapable: true, httpTimeout: 2s}");
    world.create("plain", &requesting(&json!({ "cpu": "100m" })));
    world.node_of("plain").await;
    world
        .until("the extender did it", |world| {
            (world.python.report().unwrap()["bound"] == 1).then_some(())
        })
        .await;

    for (index, fault) in ["error:full", "status:500", "close", "lost", "hang:5", "nothing"]
        .iter()
        .enumerate()
    {
        world.python.script("bind", &[fault]).unwrap();
        let name = format!("failed-{index}");
        world.create(&name, &requesting(&json!({ "cpu": "100m" })));
        world.node_of(&name).await;
    }
    for pod in world.pods() {
        assert!(node(&pod).is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_may_fail_stops_nobody_and_one_that_may_not_is_told_of() {
    let Some(mut world) = World::start(2).await else { return };
    world.python.script("filter", &["status:500"]).unwrap();
    world.schedule(
        "- {urlPrefix: 'http://127.0.0.1:1', filterVerb: filter, nodeCacheCapable: true, ignorable: true}\n\
         - {urlPrefix: URL, filterVerb: filter, nodeCacheCapable: true}",
    );
    world.create("a", &requesting(&json!({ "cpu": "100m" })));
    let (reason, message) = world.told("a", "code 500").await;
    let url = world.python.url();
    assert_eq!(reason, "SchedulerError");
    assert!(
        message.contains(&format!("failed filter with extender at URL {url}/filter, code 500")),
        "{message}"
    );
    world.node_of("a").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extender_is_asked_about_its_own_resources_alone() {
    let Some(mut world) = World::start(3).await else { return };
    world
        .python
        .rules(&json!({ "reject": { "n0": "no licence", "n1": "no licence" } }))
        .unwrap();
    world.schedule(
        "- urlPrefix: URL\n  filterVerb: filter\n  nodeCacheCapable: true\n  managedResources:\n  \
         - {name: example.com/licence, ignoredByScheduler: true}",
    );
    for index in 0..4 {
        let name = format!("plain-{index}");
        world.create(&name, &requesting(&json!({ "cpu": "100m" })));
        world.node_of(&name).await;
    }
    assert_eq!(world.python.report().unwrap()["calls"]["filter"], 0);
    // No node offers the resource, and the scheduler does not mind.
    let spec = json!({ "containers": [{ "resources": {
        "requests": { "example.com/licence": "1" }, "limits": { "example.com/licence": "1" } } }] });
    world.create("licensed", &spec);
    assert_eq!(world.node_of("licensed").await, "n2");
    assert_eq!(world.python.report().unwrap()["calls"]["filter"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extender_has_a_say_in_whom_to_evict() {
    for capable in [true, false] {
        let Some(mut world) = World::start(2).await else { return };
        world.python.rules(&json!({ "drop_nodes": ["n0"] })).unwrap();
        world.schedule(&format!(
            "- {{urlPrefix: URL, preemptVerb: preempt, nodeCacheCapable: {capable}}}"
        ));
        for name in ["low-0", "low-1"] {
            let mut spec = requesting(&json!({ "cpu": "4" }));
            spec["terminationGracePeriodSeconds"] = 0.into();
            world.create(name, &spec);
            world.node_of(name).await;
        }
        let on_n0 = world.pods().into_iter().find(|pod| node(pod) == Some("n0")).unwrap();
        let class = json!({ "metadata": { "name": "high" }, "value": 1000 });
        world.server.create(priority_classes(), "", class).unwrap();
        let mut spec = requesting(&json!({ "cpu": "4" }));
        spec["priorityClassName"] = "high".into();
        world.create("high", &spec);
        assert_eq!(world.node_of("high").await, "n1", "nodeCacheCapable: {capable}");
        let spared = on_n0["metadata"]["name"].as_str().unwrap();
        assert_eq!(node(&world.pod(spared).unwrap()), Some("n0"));
        assert!(world.python.report().unwrap()["calls"]["preempt"].as_u64() >= Some(1));
    }
}
