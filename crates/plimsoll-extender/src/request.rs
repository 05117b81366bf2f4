//! What extenders are asked: `ExtenderArgs`, `ExtenderBindingArgs` and `ExtenderPreemptionArgs` of
//! `k8s.io/kube-scheduler/extender/v1`, written as Go writes them: keys are the names of Go's fields, fields come in their
//! order, maps by key, and what is not set is `null`. Pods and nodes are passed on as the API server sent them.

use plimsoll_framework::{ExtenderCall, ExtenderNodes, ExtenderVictims};
use plimsoll_model::{Node, Pod, Raw};

use crate::chunks::{Chunks, ChunksWriter};

/// An object whose JSON was not kept. An extender is never sent half an object: it could take a field that is missing for one
/// that is not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the whole object of {0} is not at hand")]
pub(crate) struct NotKept(String);

/// The body of a call. Of the victims, an extender that is `node_cache_capable` is told identities alone.
pub(crate) fn request(call: &ExtenderCall, node_cache_capable: bool) -> Result<Chunks, NotKept> {
    let mut writer = ChunksWriter::default();
    match call {
        ExtenderCall::Filter { pod, nodes } | ExtenderCall::Prioritize { pod, nodes } => {
            push_pod_key(&mut writer, pod)?;
            push_nodes(&mut writer, nodes)?;
        }
        ExtenderCall::Bind { pod, node } => {
            for (key, value) in [
                ("{\"PodName\":", pod.name.name.as_str()),
                (",\"PodNamespace\":", &pod.name.namespace),
                (",\"PodUID\":", pod.uid.as_str()),
                (",\"Node\":", node),
            ] {
                writer.push(key);
                writer.push_string(value);
            }
        }
        ExtenderCall::Preempt { pod, candidates } => {
            push_pod_key(&mut writer, pod)?;
            push_candidates(&mut writer, candidates, node_cache_capable)?;
        }
    }
    writer.push("}");
    Ok(writer.finish())
}

fn push_pod_key(writer: &mut ChunksWriter, pod: &Pod) -> Result<(), NotKept> {
    writer.push("{\"Pod\":");
    writer.push_raw(pod_raw(pod)?);
    Ok(())
}

fn push_nodes(writer: &mut ChunksWriter, nodes: &ExtenderNodes) -> Result<(), NotKept> {
    match nodes {
        ExtenderNodes::Names(names) => {
            writer.push(",\"Nodes\":null,\"NodeNames\":");
            push_list(writer, names, |writer, name| {
                writer.push_string(name);
                Ok(())
            })?;
        }
        ExtenderNodes::Objects(nodes) => {
            writer.push(",\"Nodes\":{\"metadata\":{},\"items\":");
            push_list(writer, nodes, |writer, node| {
                writer.push_raw(node_raw(node)?);
                Ok(())
            })?;
            writer.push("},\"NodeNames\":null");
        }
    }
    Ok(())
}

fn push_candidates(
    writer: &mut ChunksWriter,
    candidates: &[ExtenderVictims],
    node_cache_capable: bool,
) -> Result<(), NotKept> {
    writer.push(if node_cache_capable {
        ",\"NodeNameToVictims\":null,\"NodeNameToMetaVictims\":{"
    } else {
        ",\"NodeNameToVictims\":{"
    });
    let mut by_name: Vec<_> = candidates.iter().collect();
    by_name.sort_by(|one, other| one.node.cmp(&other.node));
    for (index, victims) in by_name.into_iter().enumerate() {
        if index > 0 {
            writer.push(",");
        }
        writer.push_string(&victims.node);
        writer.push(":{\"Pods\":");
        push_list(writer, &victims.pods, |writer, pod| {
            if node_cache_capable {
                writer.push("{\"UID\":");
                writer.push_string(pod.uid.as_str());
                writer.push("}");
            } else {
                writer.push_raw(pod_raw(pod)?);
            }
            Ok(())
        })?;
        writer.push(&format!(",\"NumPDBViolations\":{}}}", victims.violations));
    }
    writer.push(if node_cache_capable {
        "}"
    } else {
        "},\"NodeNameToMetaVictims\":null"
    });
    Ok(())
}

fn push_list<T>(
    writer: &mut ChunksWriter,
    items: &[T],
    mut push: impl FnMut(&mut ChunksWriter, &T) -> Result<(), NotKept>,
) -> Result<(), NotKept> {
    writer.push("[");
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            writer.push(",");
        }
        push(writer, item)?;
    }
    writer.push("]");
    Ok(())
}

fn pod_raw(pod: &Pod) -> Result<&Raw, NotKept> {
    let missing = || NotKept(format!("pod {}/{}", pod.name.namespace, pod.name.name));
    pod.raw.as_ref().ok_or_else(missing)
}

fn node_raw(node: &Node) -> Result<&Raw, NotKept> {
    let missing = || NotKept(format!("node {}", node.name));
    node.raw.as_ref().ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_model::testing;

    use super::*;

    fn pod(name: &str) -> Arc<Pod> {
        let json = format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"new":1.50}}}}"#);
        Arc::new(Pod {
            raw: Some(Raw::of_object(json.as_bytes()).unwrap()),
            ..testing::pod(name).build()
        })
    }

    fn node(name: &str) -> Arc<Node> {
        let json = format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
        Arc::new(Node {
            raw: Some(Raw::of_object(json.as_bytes()).unwrap()),
            ..testing::node(name).build()
        })
    }

    fn written(call: &ExtenderCall, node_cache_capable: bool) -> String {
        request(call, node_cache_capable).unwrap().concat()
    }

    const POD: &str = r#"{"metadata":{"name":"p"},"spec":{"new":1.50}}"#;

    #[test]
    fn filter_and_prioritize_carry_the_pod_and_names_or_nodes() {
        let nodes = ExtenderNodes::Names(vec!["b\"".into(), "a".into()]);
        let names = ExtenderCall::Filter { pod: pod("p"), nodes };
        assert_eq!(
            written(&names, true),
            format!(r#"{{"Pod":{POD},"Nodes":null,"NodeNames":["b\"","a"]}}"#)
        );
        let nodes = ExtenderNodes::Objects(vec![node("b"), node("a")]);
        let objects = ExtenderCall::Prioritize { pod: pod("p"), nodes };
        assert_eq!(
            written(&objects, false),
            format!(
                r#"{{"Pod":{POD},"Nodes":{{"metadata":{{}},"items":[{{"metadata":{{"name":"b"}}}},{{"metadata":{{"name":"a"}}}}]}},"NodeNames":null}}"#
            )
        );
    }

    #[test]
    fn bind_carries_names_and_the_identity() {
        let pod = pod("p");
        let expected = format!(
            r#"{{"PodName":"p","PodNamespace":"{}","PodUID":"{}","Node":"n"}}"#,
            pod.name.namespace,
            pod.uid.as_str()
        );
        let node = "n".into();
        assert_eq!(written(&ExtenderCall::Bind { pod, node }, false), expected);
    }

    #[test]
    fn preempt_carries_the_victims_by_name_of_the_node_whole_or_by_identity() {
        let victims = |node: &str, pods: &[&str], violations| ExtenderVictims {
            node: node.into(),
            pods: pods.iter().map(|name| pod(name)).collect(),
            violations,
        };
        let call = ExtenderCall::Preempt {
            pod: pod("p"),
            candidates: vec![victims("z", &["p"], 0), victims("n", &["p", "p"], 2)],
        };
        let uid = pod("p").uid.clone();
        let uid = uid.as_str();
        assert_eq!(
            written(&call, true),
            format!(
                r#"{{"Pod":{POD},"NodeNameToVictims":null,"NodeNameToMetaVictims":{{"n":{{"Pods":[{{"UID":"{uid}"}},{{"UID":"{uid}"}}],"NumPDBViolations":2}},"z":{{"Pods":[{{"UID":"{uid}"}}],"NumPDBViolations":0}}}}}}"#
            )
        );
        assert_eq!(
            written(&call, false),
            format!(
                r#"{{"Pod":{POD},"NodeNameToVictims":{{"n":{{"Pods":[{POD},{POD}],"NumPDBViolations":2}},"z":{{"Pods":[{POD}],"NumPDBViolations":0}}}},"NodeNameToMetaVictims":null}}"#
            )
        );
    }

    #[test]
    fn an_object_that_was_not_kept_is_an_error_and_not_half_an_object() {
        let pod = Arc::new(testing::pod("p").build());
        let nodes = ExtenderNodes::Names(vec![]);
        let error = request(
            &ExtenderCall::Filter {
                pod: Arc::clone(&pod),
                nodes,
            },
            true,
        )
        .unwrap_err();
        assert!(error.to_string().ends_with("/p is not at hand"), "{error}");
        let node = "n".into();
        assert!(
            request(&ExtenderCall::Bind { pod, node }, false).is_ok(),
            "it needs names alone"
        );
    }
}
