//! Every pending pod is looked at again when something changes that could help it, and only pods of ours are touched.

use std::time::Duration;

use plimsoll_apiserver::fault::{Action, Rule};
use plimsoll_simulation::world::{Setup, World};
use plimsoll_simulation::{invariants, rules, run, workload};
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);

/// A small pod with more in its spec.
fn pod_with(name: &str, spec: &Value) -> Value {
    let mut pod = workload::pod(name, 600, 10);
    for (key, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][key] = value.clone();
    }
    pod
}

/// A pod waits in a cluster that cannot take it; a change lets it in, well before it would be looked at anyway.
fn woken_by(pod: Value, prepare: impl FnOnce(&World), change: impl FnOnce(&World)) {
    run(async move {
        let (world, _replica) = World::led(50).await;
        prepare(&world);
        world.add_pod(pod);
        world.pass(30 * SECOND).await;
        assert_eq!(world.node_of("a"), None);
        let reason = world.explanation("a").map_or_else(String::new, |(reason, _)| reason);
        assert!(reason == "Unschedulable" || reason == "SchedulingGated", "{reason}");
        change(&world);
        world
            .until("the pod is bound", 12 * SECOND, || world.node_of("a").is_some())
            .await;
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn a_pod_whose_gate_is_taken_away_is_placed() {
    let gated = pod_with("a", &json!({"schedulingGates": [{"name": "example.com/hold"}]}));
    woken_by(
        gated,
        |world| world.add_node(workload::node("n1", 1000, 8000, 110)),
        |world| {
            world.edit_pod("a", |pod| pod["spec"]["schedulingGates"] = json!([]));
        },
    );
}

#[test]
fn a_new_node_wakes_what_did_not_fit() {
    woken_by(
        pod_with("a", &json!({})),
        |world| world.add_node(workload::node("n1", 100, 8000, 110)),
        |world| world.add_node(workload::node("n2", 1000, 8000, 110)),
    );
}

#[test]
fn a_new_label_wakes_what_asked_for_it() {
    woken_by(
        pod_with("a", &json!({"nodeSelector": {"disk": "ssd"}})),
        |world| world.add_node(workload::node("n1", 1000, 8000, 110)),
        |world| world.edit_node("n1", |node| node["metadata"]["labels"]["disk"] = json!("ssd")),
    );
}

#[test]
fn a_taint_taken_away_wakes_what_it_kept_off() {
    woken_by(
        pod_with("a", &json!({})),
        |world| {
            let mut node = workload::node("n1", 1000, 8000, 110);
            node["spec"]["taints"] = json!([{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]);
            world.add_node(node);
        },
        |world| world.edit_node("n1", |node| node["spec"]["taints"] = json!([])),
    );
}

#[test]
fn a_new_toleration_wakes_its_pod() {
    woken_by(
        pod_with("a", &json!({})),
        |world| {
            let mut node = workload::node("n1", 1000, 8000, 110);
            node["spec"]["taints"] = json!([{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]);
            world.add_node(node);
        },
        |world| {
            world.edit_pod("a", |pod| {
                let tolerations = pod["spec"]["tolerations"].as_array_mut();
                let tolerate = json!({"key": "dedicated", "operator": "Exists"});
                match tolerations {
                    Some(tolerations) => tolerations.push(tolerate),
                    None => pod["spec"]["tolerations"] = json!([tolerate]),
                }
            });
        },
    );
}

#[test]
fn an_uncordoned_node_wakes_what_waited() {
    woken_by(
        pod_with("a", &json!({})),
        |world| {
            world.add_node(workload::node("n1", 1000, 8000, 110));
            world.edit_node("n1", |node| node["spec"]["unschedulable"] = json!(true));
        },
        |world| {
            world.edit_node("n1", |node| {
                node["spec"]["unschedulable"] = json!(false);
                node["spec"]["taints"] = json!([]);
            });
        },
    );
}

#[test]
fn room_left_by_a_deleted_pod_is_taken() {
    woken_by(
        pod_with("a", &json!({})),
        |world| {
            world.add_node(workload::node("n1", 1000, 8000, 110));
            world.add_pod(workload::pod("big", 900, 10));
            world.server().bind("default", "big", "n1").unwrap();
        },
        |world| world.delete_pod("big"),
    );
}

#[test]
fn room_left_by_a_finished_pod_is_taken() {
    woken_by(
        pod_with("a", &json!({})),
        |world| {
            world.add_node(workload::node("n1", 1000, 8000, 110));
            world.add_pod(workload::pod("big", 900, 10));
            world.server().bind("default", "big", "n1").unwrap();
        },
        |world| world.finish_pod("big"),
    );
}

#[test]
fn a_host_port_set_free_is_taken() {
    let ports = json!([{"containerPort": 80, "hostPort": 8080}]);
    let with_port = |name: &str| {
        let mut pod = workload::pod(name, 10, 10);
        pod["spec"]["containers"][0]["ports"] = ports.clone();
        pod
    };
    woken_by(
        with_port("a"),
        |world| {
            world.add_node(workload::node("n1", 1000, 8000, 110));
            world.add_pod(with_port("first"));
            world.server().bind("default", "first", "n1").unwrap();
        },
        |world| world.delete_pod("first"),
    );
}

#[test]
fn a_pod_changed_while_its_binding_is_under_way_is_bound_once() {
    run(async {
        let (world, _replica) = World::led(51).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let hold = Action::Hold {
            gate: "bind".to_owned(),
        };
        world.server().faults().add(Rule::new(rules::bindings(), hold).times(1));
        world.add_pod(workload::pod("a", 600, 10));
        let under_way = || world.server().faults().held("bind") == 1;
        world.until("the binding is held", 5 * SECOND, under_way).await;
        for number in 0..3 {
            world.edit_pod("a", |pod| {
                pod["metadata"]["labels"] = json!({"round": number.to_string()});
            });
            world.pass(SECOND / 2).await;
        }
        world.server().faults().release("bind");
        world.until_bound(1, 10 * SECOND).await;
        world.pass(20 * SECOND).await;
        world.check();
        let bindings = world
            .server()
            .history()
            .iter()
            .filter(|write| write.verb == "bind")
            .count();
        assert_eq!(bindings, 1);
    });
}

#[test]
fn pods_of_another_scheduler_are_left_alone_and_count() {
    run(async {
        let (world, _replica) = World::led(52).await;
        world.add_node(workload::node("n1", 1000, 8000, 110));
        world.add_pod(pod_with("foreign", &json!({"schedulerName": "somebody-else"})));
        world.add_pod(workload::pod("ours", 600, 10));
        world
            .until("ours is bound", 10 * SECOND, || world.node_of("ours").is_some())
            .await;
        world.pass(30 * SECOND).await;
        assert_eq!(world.node_of("foreign"), None);
        assert_eq!(world.explanation("foreign"), None);
        world.delete_pod("ours");
        world.server().bind("default", "foreign", "n1").unwrap();
        world.add_pod(workload::pod("next", 600, 10));
        world.pass(30 * SECOND).await;
        assert_eq!(world.node_of("next"), None);
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn the_more_important_pod_gets_the_only_place() {
    run(async {
        let world = World::new(53);
        for (name, priority) in [("low", "low"), ("high", "high"), ("middle", "middle")] {
            let classes = plimsoll_apiserver::resource::find("scheduling.k8s.io", "v1", "priorityclasses").unwrap();
            let value = match priority {
                "low" => 1,
                "middle" => 50,
                _ => 1000,
            };
            let class = json!({
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": priority}, "value": value,
            });
            world.server().create(classes, "", class).unwrap();
            world.add_pod(pod_with(name, &json!({"priorityClassName": priority})));
        }
        world.add_node(workload::node("n1", 1000, 8000, 110));
        let _replica = world.start("replica-a", Setup::default()).await;
        world.until_bound(1, 30 * SECOND).await;
        world.pass(5 * SECOND).await;
        assert_eq!(
            invariants::placements(world.server()).into_keys().collect::<Vec<_>>(),
            ["high"]
        );
        world.delete_pod("high");
        world.until_bound(1, 15 * SECOND).await;
        assert_eq!(
            invariants::placements(world.server()).into_keys().collect::<Vec<_>>(),
            ["middle"]
        );
        world.check();
        world.check_nothing_forgotten();
    });
}

#[test]
fn a_pod_that_needs_what_is_not_there_yet_is_told_and_never_bound() {
    run(async {
        let (world, _replica) = World::led(54).await;
        let claims = json!([{"name": "gpu", "resourceClaimName": "gpu"}]);
        let unsupported = [("device", json!({"resourceClaims": claims}), "DynamicResources")];
        for (name, spec, _) in &unsupported {
            world.add_pod(pod_with(name, spec));
        }
        world.add_pod(workload::pod("plain", 100, 10));
        for number in 0..8 {
            world.add_node(workload::node(&format!("n{number}"), 1000, 8000, 110));
            world.pass(2 * SECOND).await;
        }
        world.pass(400 * SECOND).await;
        for (name, _, plugin) in &unsupported {
            assert_eq!(world.node_of(name), None, "{name}");
            let (reason, message) = world.explanation(name).unwrap();
            assert_eq!(reason, "Unschedulable", "{name}");
            assert!(message.contains(plugin), "{name}: {message}");
        }
        assert!(world.node_of("plain").is_some());
        world.check();
        world.check_nothing_forgotten();
    });
}
