//! The server from outside: requests against the service in process.

mod bindings;
mod determinism;
mod faults;
mod lists;
mod running_pods;
mod serving;
mod storage;
mod watches;
mod writes;

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::{
    ApiBody, ApiServer, Config, ConnectionLost, VirtualClock,
    resource::{Resource, find},
};

const START: &str = "2026-01-01T00:00:00Z";

fn server() -> ApiServer {
    server_with(Config::default())
}

/// A server whose clock follows tokio's.
fn server_with(config: Config) -> ApiServer {
    let clock = VirtualClock::starting_at(START.parse().expect("a time"));
    ApiServer::new(Config {
        clock: Arc::new(clock),
        ..config
    })
}

fn kind(group: &str, plural: &str) -> &'static Resource {
    find(group, "v1", plural).expect("a known kind")
}

fn pods() -> &'static Resource {
    kind("", "pods")
}

fn pod(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "containers": [{ "name": "c", "image": "i" }] } })
}

const PODS: &str = "/api/v1/namespaces/default/pods";

impl ApiServer {
    async fn send(&self, request: http::Request<Full<Bytes>>) -> Result<http::Response<ApiBody>, ConnectionLost> {
        self.service().oneshot(request).await
    }

    async fn call(&self, method: &str, path: &str, body: impl Into<Option<Value>>) -> (u16, Value) {
        let content_type = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        self.call_as(method, path, content_type, body).await
    }

    async fn call_as(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: impl Into<Option<Value>>,
    ) -> (u16, Value) {
        let bytes = body.into().map(|b| b.to_string()).unwrap_or_default();
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .body(Full::from(bytes))
            .expect("a request");
        let response = self.send(request).await.expect("a response");
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn get_ok(&self, path: &str) -> Value {
        let (code, body) = self.call("GET", path, None).await;
        assert_eq!(code, 200, "{body}");
        body
    }

    async fn watch(&self, path: &str) -> Events {
        let request = http::Request::builder()
            .uri(path)
            .body(Full::default())
            .expect("a request");
        let response = self.send(request).await.expect("a response");
        assert_eq!(response.status(), 200);
        Events {
            body: response.into_body(),
            buffer: Vec::new(),
        }
    }
}

/// The events of a watch.
struct Events {
    body: ApiBody,
    buffer: Vec<u8>,
}

impl Events {
    /// The next event; `None` at the end of the watch.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).expect("a whole event"));
            }
            let frame = self.body.frame().await?.ok()?;
            self.buffer.extend_from_slice(frame.data_ref()?);
        }
    }

    /// The next event as `TYPE name@version`.
    async fn short(&mut self) -> String {
        match self.next().await {
            None => "END".to_owned(),
            Some(event) => {
                let text = |v: &Value| v.as_str().unwrap_or("-").to_owned();
                let metadata = &event["object"]["metadata"];
                format!(
                    "{} {}@{}",
                    text(&event["type"]),
                    text(&metadata["name"]),
                    text(&metadata["resourceVersion"])
                )
            }
        }
    }
}
