//! An extender that writes down what it is asked.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method};
use axum::{Json, Router, routing};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtenderCall {
    /// The first part of the path: which of the extenders was asked.
    pub extender: String,
    /// The second: what.
    pub verb: String,
    /// `POST application/json`, if all is well.
    pub how: String,
    /// The body.
    pub body: Value,
}

impl ExtenderCall {
    /// The pod that it is about.
    pub fn pod(&self) -> &str {
        let of_bind = self.body.get("PodName");
        let name = of_bind.or_else(|| self.body.pointer("/Pod/metadata/name"));
        name.and_then(Value::as_str).unwrap_or_default()
    }
}

/// Serves `/whole/<verb>`, which takes and gives whole objects, and `/names/<verb>`, which takes and gives names.
///
/// Every node is fit and equally good, no pod is ever bound, and the extender of names lets nobody be evicted, so that the
/// cluster stays as it is.
#[derive(Debug)]
pub struct ExtenderRecorder {
    calls: Arc<Mutex<Vec<ExtenderCall>>>,
    port: u16,
    _server: JoinSet<()>,
}

impl ExtenderRecorder {
    /// Starts one on a free port.
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let calls = Arc::new(Mutex::new(Vec::new()));
        let router = Router::new()
            .route("/{extender}/{verb}", routing::any(record))
            .with_state(Arc::clone(&calls));
        let mut server = JoinSet::new();
        server.spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self {
            calls,
            port,
            _server: server,
        })
    }

    /// Where it is, with nothing behind the port.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it was asked since this was last asked.
    pub fn take(&self) -> Vec<ExtenderCall> {
        std::mem::take(&mut self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The first call of each of these: extender, verb and pod.
    pub async fn first_of_each(
        &self,
        wanted: &[(&str, &str, &str)],
        limit: Duration,
    ) -> anyhow::Result<Vec<ExtenderCall>> {
        let deadline = tokio::time::Instant::now() + limit;
        loop {
            let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let first = wanted.iter().map(|wanted| {
                let is_wanted = |call: &&ExtenderCall| (&*call.extender, &*call.verb, call.pod()) == *wanted;
                calls
                    .iter()
                    .find(is_wanted)
                    .cloned()
                    .with_context(|| format!("{wanted:?}"))
            });
            let found: anyhow::Result<Vec<_>> = first.collect();
            if found.is_ok() || tokio::time::Instant::now() >= deadline {
                return found.context("the extender was not asked");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn record(
    State(calls): State<Arc<Mutex<Vec<ExtenderCall>>>>,
    Path((extender, verb)): Path<(String, String)>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Json<Value> {
    let media = headers.get("content-type").and_then(|value| value.to_str().ok());
    let call = ExtenderCall {
        how: format!("{method} {}", media.unwrap_or("-")),
        body: serde_json::from_slice(&body).unwrap_or_else(|error| json!(error.to_string())),
        extender,
        verb,
    };
    let reply = answer(&call);
    calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    Json(reply)
}

fn answer(call: &ExtenderCall) -> Value {
    let body = &call.body;
    match (call.verb.as_str(), call.extender.as_str()) {
        ("filter", "whole") => json!({ "Nodes": body["Nodes"] }),
        ("filter", _) => json!({ "NodeNames": names(body) }),
        ("prioritize", _) => {
            let scores = names(body).into_iter().map(|name| json!({ "Host": name, "Score": 1 }));
            scores.collect()
        }
        ("preempt", "whole") => json!({ "NodeNameToMetaVictims": identities(&body["NodeNameToVictims"]) }),
        ("preempt", _) => json!({ "NodeNameToMetaVictims": {} }),
        ("bind", _) => json!({ "Error": "nobody is bound" }),
        _ => json!({ "Error": "an unknown verb" }),
    }
}

fn names(body: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let list = |value: &Value, name: fn(&Value) -> &Value| {
        let items = value.as_array().into_iter().flatten();
        items.filter_map(|item| text(name(item))).collect::<Vec<_>>()
    };
    match &body["NodeNames"] {
        Value::Null => list(&body["Nodes"]["items"], |node| &node["metadata"]["name"]),
        names => list(names, |name| name),
    }
}

/// Victims by UID.
fn identities(victims: &Value) -> Value {
    let nodes = victims.as_object().into_iter().flatten();
    let of_node = |(node, victims): (&String, &Value)| {
        let pods = victims["Pods"].as_array().into_iter().flatten();
        let pods: Vec<Value> = pods.map(|pod| json!({ "UID": pod["metadata"]["uid"] })).collect();
        let of_node = json!({ "Pods": pods, "NumPDBViolations": victims["NumPDBViolations"] });
        (node.clone(), of_node)
    };
    Value::Object(nodes.map(of_node).collect())
}

/// Every place in which two values differ, and how: `what` names the whole.
pub fn json_differences(what: &str, left: &Value, right: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    compare(what, left, right, &mut differences);
    differences
}

fn compare(at: &str, left: &Value, right: &Value, out: &mut Vec<String>) {
    match (left, right) {
        (Value::Object(of_left), Value::Object(of_right)) => {
            let only_right = of_right.keys().filter(|key| !of_left.contains_key(*key));
            for key in of_left.keys().chain(only_right) {
                let at = format!("{at}/{key}");
                match (of_left.get(key), of_right.get(key)) {
                    (Some(left), Some(right)) => compare(&at, left, right, out),
                    (Some(left), None) => out.push(format!("{at}: {left} | absent")),
                    (None, Some(right)) => out.push(format!("{at}: absent | {right}")),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(of_left), Value::Array(of_right)) if of_left.len() == of_right.len() => {
            for (number, (left, right)) in of_left.iter().zip(of_right).enumerate() {
                compare(&format!("{at}/{number}"), left, right, out);
            }
        }
        _ if left == right => {}
        _ => out.push(format!("{at}: {left} | {right}")),
    }
}

/// An error that lists them, unless there are none.
pub fn ensure_same(differences: &[String]) -> anyhow::Result<()> {
    ensure!(
        differences.is_empty(),
        "kube-scheduler | Plimsoll:\n{}",
        differences.join("\n")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_is_told_with_its_place() {
        let left = json!({ "a": 1, "b": [{ "c": null }, 2], "d": {} });
        let right = json!({ "a": 1, "b": [{ "c": 0 }, 2], "e": [] });
        assert_eq!(
            json_differences("x", &left, &right),
            ["x/b/0/c: null | 0", "x/d: {} | absent", "x/e: absent | []"]
        );
        assert!(json_differences("x", &left, &left).is_empty());
        assert_eq!(json_differences("x", &json!([1]), &json!([1, 2])), ["x: [1] | [1,2]"]);
    }
}
