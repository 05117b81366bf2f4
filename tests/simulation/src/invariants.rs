//! What must hold in every run, read from the API server's history of writes.

mod attachments;
mod bonds;
mod cluster;
pub mod judge;
pub mod traces;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_apiserver::ApiServer;
use serde_json::Value;

use self::cluster::{Cluster, Knowledge, text};
pub use self::volumes::{second_volumes, volume_writes, volumes_kept_for_nobody, volumes_of_two};

/// Replays the history and lists everything that was ever wrong: a pod bound twice, a node past its allocatable or with
/// a host port taken twice, a pod written by a replica that did not hold the lease at that very version, a pod bound where its
/// volumes are not, or beside another one that has a claim for one pod alone.
pub fn violations(server: &ApiServer) -> Vec<String> {
    violations_in(server, Cluster::default())
}

/// The same where the plugins that know volumes are switched off, and pods go where they like.
pub fn violations_but_of_volumes(server: &ApiServer) -> Vec<String> {
    violations_in(server, Cluster::without_volumes())
}

fn violations_in(server: &ApiServer, mut cluster: Cluster) -> Vec<String> {
    let mut found = Vec::new();
    for mutation in server.history() {
        cluster.take(&mutation, &mut found);
        if mutation.verb == "bind" {
            let (node, uid) = (
                text(&mutation.object, "/spec/nodeName"),
                text(&mutation.object, "/metadata/uid"),
            );
            let past = cluster.past_the_line(&node, &[], Knowledge::ALL);
            let shares = cluster.shares_in_vain(&uid, &[], Knowledge::ALL);
            let wrong = past.into_iter().chain(shares);
            found.extend(wrong.map(|wrong| format!("{wrong} at version {}", mutation.rv)));
        }
    }
    found
}

/// Pods that a scheduler took away although none of its preemptions named them, by the history of writes and the trace of
/// messages.
pub fn unplanned_removals(server: &ApiServer, trace: &[String]) -> Vec<String> {
    let planned: BTreeSet<&str> = trace
        .iter()
        .filter_map(|line| line.split_once("Evictor: Preempt ")?.1.split_once("victims="))
        .flat_map(|(_, victims)| victims.split_whitespace().next().unwrap_or_default().split(','))
        .collect();
    let history = server.history();
    let removals = history.iter().filter(|write| {
        let removed = write.deleted || write.verb == "delete" || write.verb == "evict";
        removed && write.resource.plural == "pods" && write.user_agent.starts_with("plimsoll")
    });
    removals
        .filter(|write| !planned.contains(text(&write.object, "/metadata/uid").as_str()))
        .map(|write| {
            let name = text(&write.object, "/metadata/name");
            format!(
                "{} removed pod {name} at version {}, and no plan named it",
                write.user_agent, write.rv
            )
        })
        .collect()
}

/// Pods that are neither bound, nor gated, nor told why not.
pub fn forgotten(server: &ApiServer) -> Vec<String> {
    let Some(pods) = plimsoll_apiserver::resource::find("", "v1", "pods") else {
        return Vec::new();
    };
    server
        .snapshot(pods)
        .iter()
        .filter(|pod| !is_explained(pod))
        .map(|pod| text(pod, "/metadata/name"))
        .collect()
}

/// Names of the nodes that pods are bound to, by pod.
pub fn placements(server: &ApiServer) -> BTreeMap<String, String> {
    let Some(pods) = plimsoll_apiserver::resource::find("", "v1", "pods") else {
        return BTreeMap::new();
    };
    let placed = server.snapshot(pods);
    let placed = placed
        .iter()
        .map(|pod| (text(pod, "/metadata/name"), text(pod, "/spec/nodeName")));
    placed.filter(|(_, node)| !node.is_empty()).collect()
}

/// Which clients have written bindings, by user agent.
pub fn binders(server: &ApiServer) -> BTreeSet<String> {
    server
        .history()
        .iter()
        .filter(|write| write.verb == "bind")
        .map(|write| write.user_agent.to_string())
        .collect()
}

fn is_explained(pod: &Value) -> bool {
    let empty = Vec::new();
    let conditions = pod
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .unwrap_or(&empty);
    !text(pod, "/spec/nodeName").is_empty()
        || conditions.iter().any(|condition| {
            text(condition, "/type") == "PodScheduled"
                && text(condition, "/status") == "False"
                && !text(condition, "/reason").is_empty()
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{self, Storage};
    use crate::{run, workload, world::World};

    #[test]
    fn the_check_finds_a_node_past_its_line() {
        let found = run(async {
            let world = World::new(1);
            world.add_node(workload::node("n", 1000, 1000, 110));
            for name in ["a", "b"] {
                world.add_pod(workload::pod(name, 600, 10));
                world.server().bind("default", name, "n").unwrap();
            }
            violations(world.server())
        });
        assert_eq!(found.len(), 1, "{found:?}");
    }

    fn world_with_volumes(attached: u64) -> World {
        let world = World::new(1);
        world.add_node(workload::node("n", 1000, 1000, 110));
        for class in storage::classes() {
            world.add_storage("storageclasses", class);
        }
        world.add_storage("csinodes", storage::csi_node("n", attached));
        world
    }

    fn pod_with_claim(name: &str) -> Value {
        let mut pod = workload::pod(name, 10, 10);
        pod["spec"]["volumes"] =
            serde_json::json!([{ "name": "data", "persistentVolumeClaim": { "claimName": name } }]);
        pod
    }

    #[test]
    fn the_check_finds_a_node_with_more_volumes_than_its_driver_allows() {
        for (attached, wrong) in [(2, 0), (1, 1)] {
            let found = run(async move {
                let world = world_with_volumes(attached);
                let storage = Storage::new(world.server(), 1);
                for name in ["a", "b"] {
                    world.add_storage(
                        "persistentvolumeclaims",
                        storage::claim(name, storage::IMMEDIATE, "ReadWriteOnce"),
                    );
                    world.add_pod(pod_with_claim(name));
                }
                for _ in 0..6 {
                    storage.look();
                    world.pass(std::time::Duration::from_secs(1)).await;
                }
                assert_eq!(storage.deeds().bound, 2);
                world.server().bind("default", "a", "n").unwrap();
                world.server().bind("default", "b", "n").unwrap();
                violations(world.server())
            });
            assert_eq!(found.len(), wrong, "{found:?}");
        }
    }

    const REPLICA: &str = "plimsoll/1 replica-a";

    /// Binds a pod as a replica does.
    fn bind(world: &World, pod: &str, node: &str) {
        let uid = text(&world.pod(pod).unwrap(), "/metadata/uid");
        world.server().bind_as(REPLICA, "default", pod, &uid, node).unwrap();
    }

    /// A world with two nodes and a volume on the first, which the claim `a` has, and a pod with that claim.
    fn world_with_a_bound_claim(access_mode: &str) -> World {
        let world = world_with_volumes(3);
        world.add_node(workload::node("m", 1000, 1000, 110));
        world.add_storage("persistentvolumes", storage::local_volume("v", "n"));
        world.add_storage(
            "persistentvolumeclaims",
            storage::claim("a", storage::LOCAL, access_mode),
        );
        edit_claim(&world, |claim| {
            claim["spec"]["volumeName"] = "v".into();
            claim["metadata"]["annotations"] = serde_json::json!({ "pv.kubernetes.io/bind-completed": "yes" });
        });
        world.add_pod(pod_with_claim("a"));
        world
    }

    fn edit_claim(world: &World, edit: impl FnOnce(&mut Value)) {
        let claims = storage::kind("persistentvolumeclaims");
        world.server().modify(claims, "default", "a", edit).unwrap();
    }

    /// What is found when a replica binds the pod to a node after this has happened.
    fn found_after(node: &'static str, happens: impl FnOnce(&World)) -> Vec<String> {
        run(async move {
            let world = world_with_a_bound_claim("ReadWriteOnce");
            happens(&world);
            bind(&world, "a", node);
            violations(world.server())
        })
    }

    #[test]
    fn the_check_finds_a_pod_whose_volume_is_elsewhere_or_not_bound_or_gone() {
        assert_eq!(found_after("n", |_| {}), Vec::<String>::new());
        let elsewhere = found_after("m", |_| {});
        assert_eq!(elsewhere.len(), 1, "{elsewhere:?}");
        assert!(
            elsewhere[0].ends_with("its claim default/a has volume v, which is elsewhere"),
            "{elsewhere:?}"
        );
        let unbound = found_after("n", |world| {
            edit_claim(world, |claim| claim["metadata"]["annotations"] = Value::Null);
        });
        assert!(unbound[0].ends_with("its claim default/a is not bound"), "{unbound:?}");
        let gone = found_after("n", |world| {
            world
                .server()
                .delete(storage::kind("persistentvolumes"), "", "v")
                .unwrap();
        });
        assert!(
            gone[0].ends_with("its claim default/a has volume v, which is gone"),
            "{gone:?}"
        );
    }

    #[test]
    fn a_claim_that_somebody_takes_away_and_a_pod_that_somebody_else_binds_are_no_replicas_fault() {
        let delete = |world: &World| {
            let claims = storage::kind("persistentvolumeclaims");
            world.server().delete(claims, "default", "a").unwrap();
        };
        assert_eq!(found_after("n", delete), Vec::<String>::new());
        // It never was where the pod went.
        assert_eq!(found_after("m", delete).len(), 1);
        run(async {
            let world = world_with_a_bound_claim("ReadWriteOnce");
            world.server().bind("default", "a", "m").unwrap();
            assert_eq!(violations(world.server()), Vec::<String>::new());
            world.judge().look();
            assert_eq!(world.judge().counts().excluded_by_claims, 1);
        });
    }

    /// What is found when a replica binds two pods with one claim of this access mode, and this happens between the two.
    fn found_of_two(mode: &'static str, happens: impl FnOnce(&World)) -> Vec<String> {
        run(async move {
            let world = world_with_a_bound_claim(mode);
            let mut other = pod_with_claim("a");
            other["metadata"]["name"] = "b".into();
            world.add_pod(other);
            bind(&world, "a", "n");
            happens(&world);
            bind(&world, "b", "n");
            assert_eq!(world.judge().found().len(), violations(world.server()).len());
            violations(world.server())
        })
    }

    #[test]
    fn the_check_finds_a_claim_for_one_pod_alone_that_two_have() {
        let found = found_of_two("ReadWriteOncePod", |_| {});
        assert_eq!(found.len(), 1, "{found:?}");
        let none = Vec::<String>::new();
        assert_eq!(found_of_two("ReadWriteOnce", |_| {}), none);
        assert_eq!(found_of_two("ReadWriteOncePod", |world| world.delete_pod("a")), none);
        assert_eq!(found_of_two("ReadWriteOncePod", |world| world.finish_pod("a")), none);
        assert_eq!(found_of_two("ReadWriteOncePod", |world| world.delete_node("n")), none);
    }

    #[test]
    fn a_second_volume_that_a_replica_makes_over_to_a_claim_is_counted() {
        run(async {
            let world = world_with_volumes(3);
            let keep = |volume: &mut Value| {
                volume["spec"]["claimRef"] = serde_json::json!({ "namespace": "default", "name": "c", "uid": "one" });
            };
            for name in ["v", "w"] {
                world.add_storage("persistentvolumes", storage::local_volume(name, "n"));
                let volumes = storage::kind("persistentvolumes");
                world.server().modify(volumes, "", name, keep).unwrap();
            }
            let mut history = world.server().history();
            assert_eq!(second_volumes(&history), 0);
            for write in &mut history {
                write.user_agent = REPLICA.into();
            }
            assert_eq!(second_volumes(&history), 1);
        });
    }

    #[test]
    fn the_check_finds_a_volume_of_two_claims_and_one_that_is_kept_for_nobody() {
        run(async {
            let world = world_with_volumes(3);
            world.add_storage("persistentvolumes", storage::local_volume("v", "n"));
            for name in ["a", "b"] {
                world.add_storage(
                    "persistentvolumeclaims",
                    storage::claim(name, storage::LOCAL, "ReadWriteOnce"),
                );
                let take = |claim: &mut Value| claim["spec"]["volumeName"] = "v".into();
                let claims = storage::kind("persistentvolumeclaims");
                world.server().modify(claims, "default", name, take).unwrap();
            }
            assert_eq!(volumes_of_two(world.server()).len(), 1);
            assert_eq!(volumes_kept_for_nobody(world.server()), Vec::<String>::new());
            let keep = |volume: &mut Value| {
                let claim = serde_json::json!({ "namespace": "default", "name": "c", "uid": "gone" });
                volume["spec"]["claimRef"] = claim;
            };
            world
                .server()
                .modify(storage::kind("persistentvolumes"), "", "v", keep)
                .unwrap();
            assert_eq!(volumes_kept_for_nobody(world.server()).len(), 1);
        });
    }
}
