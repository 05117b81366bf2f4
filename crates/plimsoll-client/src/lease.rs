use std::fmt;

use jiff::Timestamp;
use plimsoll_model::{ObjectName, Uid};
use serde_json::{Map, Value, json};

use crate::ApiClient;
use crate::api_client::{Reply, SendError, get, post, put};
use crate::clock::micros_text;
use crate::write::{Class, status_text, timeout_query};

/// The annotation in which the holder of the lease says where it serves, as an `https` URL: for people and for
/// `plimsoll explain`. It counts only while [`LEADER_ADDRESS_OF`] names the holder: kube-scheduler, when it takes the lease
/// over, leaves annotations as they are.
pub const LEADER_ADDRESS: &str = "plimsoll.dev/leader-address";

/// The annotation with the identity of the holder that wrote [`LEADER_ADDRESS`].
pub const LEADER_ADDRESS_OF: &str = "plimsoll.dev/leader-address-of";

/// The part of a `coordination.k8s.io/v1` Lease that electing a leader writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRecord {
    /// Identity of the holder; empty when nobody holds it.
    pub holder: String,
    /// How long the holder may stay silent, in whole seconds.
    pub duration_seconds: i32,
    /// When the holder took it, by its clock.
    pub acquire_time: Option<Timestamp>,
    /// When the holder last renewed it, by its clock; never compared with ours.
    pub renew_time: Option<Timestamp>,
    /// How often it has changed hands.
    pub transitions: i32,
}

/// A lease as the server has it: the record, and the whole object so that an update keeps what we do not know.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredLease {
    /// What we read of it.
    pub record: LeaseRecord,
    /// The object's identity, for events about it.
    pub uid: Uid,
    /// Its version, as the server wrote it; the precondition of an update.
    pub resource_version: String,
    /// `spec.preferredHolder`: somebody whom a coordinator would rather see there.
    pub preferred_holder: Option<String>,
    object: Map<String, Value>,
}

impl StoredLease {
    /// Reads a Lease as the API server writes it; what is missing or odd counts as unset.
    pub fn decode(json: &[u8]) -> Result<Self, serde_json::Error> {
        let object: Map<String, Value> = serde_json::from_slice(json)?;
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let number = |value: &Value| {
            value
                .as_i64()
                .and_then(|number| i32::try_from(number).ok())
                .unwrap_or(0)
        };
        let time = |value: &Value| value.as_str().and_then(|text| text.parse().ok());
        let metadata = object.get("metadata").unwrap_or(&Value::Null);
        Ok(Self {
            record: LeaseRecord {
                holder: text(&spec["holderIdentity"]),
                duration_seconds: number(&spec["leaseDurationSeconds"]),
                acquire_time: time(&spec["acquireTime"]),
                renew_time: time(&spec["renewTime"]),
                transitions: number(&spec["leaseTransitions"]),
            },
            uid: Uid::new(text(&metadata["uid"])),
            resource_version: text(&metadata["resourceVersion"]),
            preferred_holder: spec["preferredHolder"].as_str().map(str::to_owned),
            object,
        })
    }

    pub(crate) fn object_name(&self) -> ObjectName {
        let metadata = self.object.get("metadata").unwrap_or(&Value::Null);
        let text = |key: &str| metadata[key].as_str().unwrap_or_default();
        ObjectName::new(text("namespace"), text("name"))
    }

    /// Where the present holder serves, if it has said so.
    pub fn leader_address(&self) -> Option<&str> {
        let annotations = self.object.get("metadata")?.get("annotations")?;
        let of = annotations.get(LEADER_ADDRESS_OF)?.as_str()?;
        let is_holder = !of.is_empty() && of == self.record.holder;
        annotations.get(LEADER_ADDRESS)?.as_str().filter(|_| is_holder)
    }

    /// The object with `record` in place of what it held, and with the address of its holder, everything else kept.
    fn with_record(&self, record: &LeaseRecord, address: Option<&str>) -> Value {
        let mut object = self.object.clone();
        annotate(&mut object, record, address);
        let spec = object.entry("spec").or_insert(Value::Null);
        if !spec.is_object() {
            *spec = json!({});
        }
        if let Value::Object(spec) = spec {
            spec.extend(record.spec());
        }
        Value::Object(object)
    }
}

/// Says where the holder serves, or takes back what another has said.
fn annotate(object: &mut Map<String, Value>, record: &LeaseRecord, address: Option<&str>) {
    let address = address.filter(|_| !record.holder.is_empty());
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    let Value::Object(metadata) = metadata else { return };
    if address.is_none() && !metadata.contains_key("annotations") {
        return;
    }
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if annotations.is_null() {
        *annotations = json!({});
    }
    let Value::Object(annotations) = annotations else {
        return;
    };
    annotations.remove(LEADER_ADDRESS);
    annotations.remove(LEADER_ADDRESS_OF);
    if let Some(address) = address {
        annotations.insert(LEADER_ADDRESS.to_owned(), Value::from(address));
        annotations.insert(LEADER_ADDRESS_OF.to_owned(), Value::from(record.holder.as_str()));
    }
}

impl LeaseRecord {
    fn spec(&self) -> Map<String, Value> {
        let time = |time: Option<Timestamp>| time.map_or(Value::Null, |time| Value::from(micros_text(time)));
        let mut spec = Map::new();
        spec.insert("holderIdentity".to_owned(), Value::from(self.holder.as_str()));
        spec.insert("leaseDurationSeconds".to_owned(), Value::from(self.duration_seconds));
        spec.insert("acquireTime".to_owned(), time(self.acquire_time));
        spec.insert("renewTime".to_owned(), time(self.renew_time));
        spec.insert("leaseTransitions".to_owned(), Value::from(self.transitions));
        spec
    }
}

/// The outcome of one request about a lease.
#[derive(Debug, Clone, PartialEq)]
pub enum LeaseReply {
    /// The lease as read or written.
    Lease(Box<StoredLease>),
    /// There is none.
    NotFound,
    /// 409: it changed since it was read, or somebody created it first. The write was not applied.
    Conflict {
        /// The server's words.
        message: String,
    },
    /// Any other refusal; a write was certainly not applied.
    Refused {
        /// HTTP status.
        code: u16,
        /// The server's words.
        message: String,
    },
    /// No answer or a server error. A write may have been applied all the same; reading tells.
    Unreachable {
        /// For the log.
        error: String,
    },
}

impl fmt::Display for LeaseReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lease(stored) => write!(f, "held by {:?}", stored.record.holder),
            Self::NotFound => f.write_str("not found"),
            Self::Conflict { message } => f.write_str(message),
            Self::Refused { code, message } => write!(f, "{code}: {message}"),
            Self::Unreachable { error } => f.write_str(error),
        }
    }
}

/// One Lease object. Its requests are bounded by the client's request time-out, here and at the server, and are not
/// fenced: they are what the fence is made of. Nothing is repeated here.
#[derive(Debug, Clone)]
pub struct LeaseClient {
    client: ApiClient,
    namespace: String,
    name: String,
    /// Where this replica serves.
    address: Option<String>,
}

impl LeaseClient {
    /// The lease `namespace`/`name` through `client`, which should have a connection and no rate limit of its own.
    pub fn new(client: ApiClient, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            client,
            namespace: namespace.into(),
            name: name.into(),
            address: None,
        }
    }

    /// From now on what this client writes as a holder says that the holder serves there, an `https` URL; or nothing.
    #[must_use]
    pub fn advertising(self, address: Option<String>) -> Self {
        Self { address, ..self }
    }

    pub(crate) fn client(&self) -> &ApiClient {
        &self.client
    }

    /// Its namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads it.
    pub async fn get(&self) -> LeaseReply {
        reply(self.client.send(get(&self.path(true))).await)
    }

    /// Creates it; [`LeaseReply::Conflict`] when it exists.
    pub async fn create(&self, record: &LeaseRecord) -> LeaseReply {
        let mut lease = Map::new();
        lease.insert("apiVersion".to_owned(), Value::from("coordination.k8s.io/v1"));
        lease.insert("kind".to_owned(), Value::from("Lease"));
        lease.insert(
            "metadata".to_owned(),
            json!({ "namespace": self.namespace, "name": self.name }),
        );
        lease.insert("spec".to_owned(), Value::Object(record.spec()));
        annotate(&mut lease, record, self.address.as_deref());
        let body = Value::Object(lease);
        reply(
            self.client
                .send_unfenced(post(&self.path(false), body.to_string().into_bytes()))
                .await,
        )
    }

    /// Replaces `stored` if it is still the version at the server.
    pub async fn update(&self, stored: &StoredLease, record: &LeaseRecord) -> LeaseReply {
        let body = stored
            .with_record(record, self.address.as_deref())
            .to_string()
            .into_bytes();
        reply(self.client.send_unfenced(put(&self.path(true), body)).await)
    }

    fn path(&self, named: bool) -> String {
        let query = timeout_query(self.client.request_timeout());
        let collection = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace);
        if named {
            format!("{collection}/{}{query}", self.name)
        } else {
            format!("{collection}{query}")
        }
    }
}

fn reply(outcome: Result<Reply, SendError>) -> LeaseReply {
    let reply = match outcome {
        Ok(reply) => reply,
        Err(error) => {
            return LeaseReply::Unreachable {
                error: error.to_string(),
            };
        }
    };
    match Class::of(&reply) {
        Class::Done => match StoredLease::decode(&reply.body) {
            Ok(stored) => LeaseReply::Lease(Box::new(stored)),
            Err(error) => LeaseReply::Unreachable {
                error: format!("cannot read the lease: {error}"),
            },
        },
        Class::NotFound => LeaseReply::NotFound,
        Class::Conflict => LeaseReply::Conflict {
            message: reply.refusal().message,
        },
        Class::Refused | Class::Throttled => LeaseReply::Refused {
            code: reply.status.as_u16(),
            message: reply.refusal().message,
        },
        Class::Unknown => LeaseReply::Unreachable {
            error: status_text(&reply),
        },
    }
}

#[cfg(test)]
mod tests;
