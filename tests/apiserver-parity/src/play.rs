//! Plays a script against one server.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};
use http_body_util::BodyExt;
use kube::client::Body as ResponseBody;
use serde_json::Value;
use tokio::time::timeout;

use crate::normalise::Normaliser;
use crate::step::{Body, Request, Script, Step};
use crate::target::Target;

/// Longest wait for an answer or for the next event.
const PATIENCE: Duration = Duration::from_secs(20);

/// The normalised answer to one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Name of the step.
    pub step: String,
    /// Status code, media type and `Retry-After`.
    pub head: Value,
    /// The body, or the events of a watch.
    pub body: Value,
    /// Whether the embedded server's body need only be contained in the real one's.
    pub contained: bool,
}

/// Plays the whole script and returns one outcome per step that has an answer.
pub async fn play(script: &Script, target: &mut Target) -> anyhow::Result<Vec<Outcome>> {
    let mut player = Player {
        client: target.client().await?,
        normaliser: Normaliser::default(),
        watches: BTreeMap::new(),
    };
    let mut outcomes = Vec::new();
    for (name, step) in &script.steps {
        let outcome = player.step(name, step, target).await.with_context(|| name.clone())?;
        outcomes.extend(outcome);
    }
    Ok(outcomes)
}

struct Watch {
    body: ResponseBody,
    buffer: Vec<u8>,
}

struct Player {
    client: kube::Client,
    normaliser: Normaliser,
    watches: BTreeMap<&'static str, Watch>,
}

impl Player {
    async fn step(&mut self, name: &str, step: &Step, target: &mut Target) -> anyhow::Result<Option<Outcome>> {
        let outcome = |head, body, contained| Outcome {
            step: name.to_owned(),
            head,
            body,
            contained,
        };
        match step {
            Step::Request(request) => {
                let (head, body) = self.request(request).await?;
                Ok(Some(outcome(head, body, request.contained)))
            }
            Step::OpenWatch { watch, path } => {
                let (head, body) = self.open(watch, path).await?;
                Ok(Some(outcome(head, body, false)))
            }
            Step::ReadWatch { watch, events } => {
                let events = self.events(watch, *events).await?;
                Ok(Some(outcome(Value::Null, events, false)))
            }
            Step::Compact => {
                self.watches.clear();
                target.compact().await?;
                // Connections to a server that was started anew are dead.
                self.client = target.client().await?;
                Ok(None)
            }
        }
    }

    async fn send(&self, request: &Request) -> anyhow::Result<http::Response<ResponseBody>> {
        let body = match &request.body {
            Body::Empty => String::new(),
            Body::Json(value) => self.normaliser.expand(&value.to_string()),
            Body::Text(text) => self.normaliser.expand(text),
        };
        let http_request = http::Request::builder()
            .method(request.method)
            .uri(self.normaliser.expand(&request.path))
            .header("Accept", request.accept)
            .header("Content-Type", request.content_type)
            .header("User-Agent", "parity")
            .body(ResponseBody::from(body.into_bytes()))?;
        Ok(timeout(PATIENCE, self.client.send(http_request))
            .await
            .context("no answer")??)
    }

    async fn request(&mut self, request: &Request) -> anyhow::Result<(Value, Value)> {
        let response = self.send(request).await?;
        let head = head(&response);
        let bytes = timeout(PATIENCE, response.into_body().collect())
            .await
            .context("no body")??
            .to_bytes();
        let body: Value = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        for (name, pointer) in &request.captures {
            let value = body
                .pointer(pointer)
                .with_context(|| format!("no {pointer} in {body}"))?;
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            self.normaliser.capture(name, text);
        }
        Ok((head, self.normaliser.answer(body)))
    }

    async fn open(&mut self, watch: &'static str, path: &str) -> anyhow::Result<(Value, Value)> {
        let response = self.send(&Request::get(path)).await?;
        let head = head(&response);
        if response.status() != http::StatusCode::OK {
            let bytes = response.into_body().collect().await?.to_bytes();
            let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            return Ok((head, self.normaliser.answer(body)));
        }
        let opened = Watch {
            body: response.into_body(),
            buffer: Vec::new(),
        };
        self.watches.insert(watch, opened);
        Ok((head, Value::Null))
    }

    async fn events(&mut self, name: &'static str, wanted: Option<usize>) -> anyhow::Result<Value> {
        let Some(mut watch) = self.watches.remove(name) else {
            return Ok(Value::Null);
        };
        let mut events = Vec::new();
        while wanted.is_none_or(|wanted| events.len() < wanted) {
            match watch.next().await? {
                Some(event) => {
                    let event = self.normaliser.event(event);
                    // A last bookmark may come twice when the server's clock ticks between two looks at it.
                    let repeats = event["type"] == "BOOKMARK" && events.last() == Some(&event);
                    if !repeats {
                        events.push(event);
                    }
                }
                None if wanted.is_none() => return Ok(Value::Array(events)),
                None => {
                    events.push(Value::String("the watch ended".to_owned()));
                    return Ok(Value::Array(events));
                }
            }
        }
        self.watches.insert(name, watch);
        Ok(Value::Array(events))
    }
}

impl Watch {
    async fn next(&mut self) -> anyhow::Result<Option<Value>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line).context("an event is no JSON")?));
            }
            match timeout(PATIENCE, self.body.frame()).await.context("no event came")? {
                Some(frame) => {
                    if let Ok(data) = frame?.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                None if self.buffer.is_empty() => return Ok(None),
                None => bail!("the watch ended in the middle of an event"),
            }
        }
    }
}

fn head(response: &http::Response<ResponseBody>) -> Value {
    let header = |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok());
    let media_type = header("Content-Type").map(|t| t.split(';').next().unwrap_or(t));
    serde_json::json!({
        "code": response.status().as_u16(),
        "contentType": media_type,
        "retryAfter": header("Retry-After"),
    })
}
