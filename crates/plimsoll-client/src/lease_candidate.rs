use std::fmt;

use http::StatusCode;
use http_body_util::BodyExt;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::ApiClient;
use crate::api_client::{Reply, SendError, delete, get, post, put, whole};
use crate::clock::micros_text;
use crate::write::{Class, status_text, timeout_query};

/// The one strategy of Kubernetes' own coordinator: the candidate that emulates the oldest version leads, and of equals
/// the one whose object is oldest.
const STRATEGY: &str = "OldestEmulationVersion";

/// The Kubernetes version that this scheduler stands in for, in the three parts that the API server wants.
const VERSION: &str = "1.36.0";

/// As long as a watch may be quiet before it is begun anew.
const WATCH_SECONDS: u64 = 300;

/// A watch event of one small object is far below this.
const LONGEST_EVENT: usize = 1 << 20;

/// A `coordination.k8s.io/v1beta1` `LeaseCandidate` as the server has it: what the candidate reads of it, and the whole
/// object so that an update keeps the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCandidate {
    /// Its version, as the server wrote it.
    pub resource_version: String,
    /// When the candidate last said that it is there, by its clock.
    pub renew_time: Option<Timestamp>,
    /// When the coordinator last asked whether it is there, by the coordinator's clock.
    pub ping_time: Option<Timestamp>,
    object: Map<String, Value>,
}

impl StoredCandidate {
    /// Reads a `LeaseCandidate` as the API server writes it; what is missing or odd counts as unset.
    ///
    /// # Errors
    /// When it is no object at all.
    pub fn decode(json: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json).map(Self::of)
    }

    fn of(object: Map<String, Value>) -> Self {
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let time = |value: &Value| value.as_str().and_then(|text| text.parse().ok());
        let version = object.get("metadata").unwrap_or(&Value::Null)["resourceVersion"].as_str();
        Self {
            resource_version: version.unwrap_or_default().to_owned(),
            renew_time: time(&spec["renewTime"]),
            ping_time: time(&spec["pingTime"]),
            object,
        }
    }

    /// Whether the coordinator waits for an answer.
    pub fn is_asked(&self) -> bool {
        self.ping_time > self.renew_time
    }

    /// The coordinator's clock wrote the question. An answer by a clock behind that one would count as none, and the question
    /// as still open; so it is never dated before it.
    fn renewed(&self, at: Timestamp) -> Value {
        let at = self.ping_time.map_or(at, |asked| at.max(asked));
        let mut object = self.object.clone();
        let spec = object.entry("spec").or_insert(Value::Null);
        if !spec.is_object() {
            *spec = json!({});
        }
        spec["renewTime"] = Value::from(micros_text(at));
        Value::Object(object)
    }
}

/// The outcome of one request about a `LeaseCandidate`.
#[derive(Debug, Clone, PartialEq)]
pub enum CandidateReply {
    /// As it was read or written, or as a watch says that it has become.
    Candidate(Box<StoredCandidate>),
    /// There is none, or no more.
    NotFound,
    /// A watch came to its end with nothing to tell.
    Quiet,
    /// Refused, no answer or a server error; a write may have been applied all the same.
    Failed {
        /// For the log.
        error: String,
    },
}

impl fmt::Display for CandidateReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Candidate(stored) => write!(f, "version {}", stored.resource_version),
            Self::NotFound => f.write_str("not found"),
            Self::Quiet => f.write_str("nothing new"),
            Self::Failed { error } => f.write_str(error),
        }
    }
}

/// The `LeaseCandidate` of one replica, named for its identity, beside the Lease that it stands for. Not fenced: whoever is a
/// candidate has no term yet.
#[derive(Debug, Clone)]
pub struct LeaseCandidateClient {
    client: ApiClient,
    namespace: String,
    lease: String,
    identity: String,
}

impl LeaseCandidateClient {
    /// The candidate `identity` for the lease `namespace`/`lease`.
    pub fn new(
        client: ApiClient,
        namespace: impl Into<String>,
        lease: impl Into<String>,
        identity: impl Into<String>,
    ) -> Self {
        Self {
            client,
            namespace: namespace.into(),
            lease: lease.into(),
            identity: identity.into(),
        }
    }

    /// Reads it.
    pub async fn get(&self) -> CandidateReply {
        reply(self.client.send(get(&self.path())).await)
    }

    /// Creates it, renewed at `wall`.
    pub async fn create(&self, wall: Timestamp) -> CandidateReply {
        let body = json!({
            "apiVersion": "coordination.k8s.io/v1beta1",
            "kind": "LeaseCandidate",
            "metadata": { "namespace": self.namespace, "name": self.identity },
            "spec": {
                "leaseName": self.lease,
                "binaryVersion": VERSION,
                "emulationVersion": VERSION,
                "strategy": STRATEGY,
                "renewTime": micros_text(wall),
            },
        });
        let path = format!("{}{}", self.collection(), timeout_query(self.client.request_timeout()));
        reply(self.client.send(post(&path, body.to_string().into_bytes())).await)
    }

    /// Says that it is there, at `wall`, if `stored` is still the version at the server.
    pub async fn renew(&self, stored: &StoredCandidate, wall: Timestamp) -> CandidateReply {
        let body = stored.renewed(wall).to_string().into_bytes();
        reply(self.client.send(put(&self.path(), body)).await)
    }

    /// Takes it away.
    pub async fn delete(&self) -> CandidateReply {
        let outcome = self.client.send(delete(&self.path(), b"{}".to_vec())).await;
        match outcome {
            // The answer is the object as it was, or a word of success.
            Ok(reply) if matches!(Class::of(&reply), Class::Done) => CandidateReply::NotFound,
            other => reply(other),
        }
    }

    /// Waits until it is another than `stored`, or gone, or the watch ends.
    pub async fn changed(&self, stored: &StoredCandidate) -> CandidateReply {
        let path = format!(
            "{}?watch=true&fieldSelector=metadata.name%3D{}&resourceVersion={}&timeoutSeconds={WATCH_SECONDS}",
            self.collection(),
            self.identity,
            stored.resource_version,
        );
        let failed = |error: String| CandidateReply::Failed { error };
        let response = match self.client.open(get(&path)).await {
            Ok(response) => response,
            Err(error) => return failed(error.to_string()),
        };
        if response.status() != StatusCode::OK {
            return reply(whole(response).await);
        }
        let mut body = response.into_body();
        let mut line = Vec::new();
        while let Some(frame) = body.frame().await {
            match frame.map(http_body::Frame::into_data) {
                Ok(Ok(data)) => line.extend_from_slice(&data),
                Ok(Err(_)) => {}
                Err(error) => return failed(error.to_string()),
            }
            // One event is enough; more of them tell of what is read anew anyway.
            if let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                return event(line.get(..end).unwrap_or_default());
            }
            if line.len() > LONGEST_EVENT {
                return failed("an event without end".to_owned());
            }
        }
        CandidateReply::Quiet
    }

    fn collection(&self) -> String {
        format!(
            "/apis/coordination.k8s.io/v1beta1/namespaces/{}/leasecandidates",
            self.namespace
        )
    }

    fn path(&self) -> String {
        let query = timeout_query(self.client.request_timeout());
        format!("{}/{}{query}", self.collection(), self.identity)
    }
}

/// What one line of a watch says.
fn event(line: &[u8]) -> CandidateReply {
    let failed = |error: String| CandidateReply::Failed { error };
    let event: Value = match serde_json::from_slice(line) {
        Ok(event) => event,
        Err(error) => return failed(format!("cannot read the event: {error}")),
    };
    match (event["type"].as_str(), &event["object"]) {
        (Some("ADDED" | "MODIFIED"), Value::Object(object)) => {
            CandidateReply::Candidate(Box::new(StoredCandidate::of(object.clone())))
        }
        (Some("DELETED"), _) => CandidateReply::NotFound,
        (Some("BOOKMARK"), _) => CandidateReply::Quiet,
        (_, object) => failed(object["message"].as_str().unwrap_or("a strange event").to_owned()),
    }
}

fn reply(outcome: Result<Reply, SendError>) -> CandidateReply {
    let failed = |error: String| CandidateReply::Failed { error };
    let reply = match outcome {
        Ok(reply) => reply,
        Err(error) => return failed(error.to_string()),
    };
    match Class::of(&reply) {
        Class::Done => match StoredCandidate::decode(&reply.body) {
            Ok(stored) => CandidateReply::Candidate(Box::new(stored)),
            Err(error) => failed(format!("cannot read the candidate: {error}")),
        },
        Class::NotFound => CandidateReply::NotFound,
        Class::Conflict | Class::Refused | Class::Throttled | Class::Unknown => failed(status_text(&reply)),
    }
}

#[cfg(test)]
mod tests;
