use std::time::Duration;

use compact_str::CompactString;
use jiff::Timestamp;
use plimsoll_model::{ObjectName, Uid};
use serde_json::{Value, json};

use crate::ApiClient;
use crate::api_client::{NotSent, Reply, SendError, patch, post};
use crate::clock::{micros_text, seconds_text};
use crate::write::{Class, status_text, wait_asked};

/// Whether an event tells of something usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// As it should be.
    Normal,
    /// Something a person may want to look at.
    Warning,
}

impl EventType {
    /// As the API writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// The object that an event is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectReference {
    /// Such as `v1`.
    pub api_version: CompactString,
    /// Such as `Pod`.
    pub kind: CompactString,
    /// Namespace and name.
    pub name: ObjectName,
    /// Its identity.
    pub uid: Uid,
    /// The version that the event speaks of; empty when it does not matter.
    pub resource_version: CompactString,
}

/// One event to tell users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    /// Normal or warning.
    pub event_type: EventType,
    /// One word for programs, such as `FailedScheduling`.
    pub reason: CompactString,
    /// What was being done, such as `Scheduling`.
    pub action: CompactString,
    /// Text for people, at most 1024 bytes.
    pub note: String,
    /// What it is about.
    pub regarding: ObjectReference,
    /// What else it has to do with, such as the pod that a victim made way for.
    pub related: Option<ObjectReference>,
    /// Name of the scheduler.
    pub reporting_controller: CompactString,
    /// The replica, such as `default-scheduler-host`.
    pub reporting_instance: CompactString,
    /// When it happened; also makes the event's name unique.
    pub event_time: Timestamp,
}

impl EventRecord {
    /// Name of the Event object: that of its subject and the time in hexadecimal nanoseconds, as client-go names it.
    /// The subject's is cut where both together are longer than a name may be.
    pub fn name(&self) -> String {
        const LONGEST_NAME: usize = 253;
        // Negative times, before 1970, do not occur.
        let nanos = u128::try_from(self.event_time.as_nanosecond()).unwrap_or(0);
        let suffix = format!(".{nanos:x}");
        let subject = self.regarding.name.name.as_str();
        let subject = subject.get(..LONGEST_NAME - suffix.len()).unwrap_or(subject);
        format!("{}{suffix}", subject.trim_end_matches(['.', '-']))
    }

    /// Namespace of the Event object: its subject's, or `default` for a cluster-wide one.
    pub fn namespace(&self) -> &str {
        let namespace = self.regarding.name.namespace.as_str();
        if namespace.is_empty() { "default" } else { namespace }
    }
}

impl ObjectReference {
    fn to_json(&self) -> Value {
        let Self {
            api_version,
            kind,
            name,
            uid,
            resource_version,
        } = self;
        let mut reference = json!({
            "apiVersion": api_version.as_str(),
            "kind": kind.as_str(),
            "name": name.name.as_str(),
            "uid": uid.as_str(),
        });
        if !name.namespace.is_empty() {
            reference["namespace"] = Value::from(name.namespace.as_str());
        }
        if !resource_version.is_empty() {
            reference["resourceVersion"] = Value::from(resource_version.as_str());
        }
        reference
    }
}

/// How often an event of one series has happened, and when last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSeries {
    /// Occurrences so far, at least 2.
    pub count: u32,
    /// The last of them.
    pub last_observed_time: Timestamp,
}

/// How often a core event has happened, and when last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventCount {
    /// Occurrences so far.
    pub count: u32,
    /// The last of them.
    pub last_timestamp: Timestamp,
}

/// The outcome of writing one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventReply {
    /// Written.
    Written,
    /// 404: for a series, the event it continues has expired and must be created anew.
    NotFound,
    /// There is an event of that name already. For one that was to be created alone it is our own, written by a request
    /// whose answer was lost.
    Exists,
    /// Refused; client-go does not try such an event again.
    Refused {
        /// HTTP status.
        code: u16,
        /// The server's words.
        message: String,
    },
    /// 429: try again no sooner than this.
    Throttled {
        /// How long to wait.
        retry_after: Duration,
    },
    /// No connection, no answer or a server error: worth another try.
    Failed {
        /// For the log.
        error: String,
    },
}

/// Writes events. It owns no buffer and repeats nothing: that is the event recorder's business. Events are not fenced,
/// because an event told late or by the wrong replica does no harm.
#[derive(Debug, Clone)]
pub struct EventWriter {
    client: ApiClient,
}

impl EventWriter {
    /// A writer through `client`.
    pub fn new(client: ApiClient) -> Self {
        Self { client }
    }

    /// Creates an `events.k8s.io/v1` event, as a series if it has happened more than once by now.
    pub async fn create(&self, record: &EventRecord, series: Option<EventSeries>) -> EventReply {
        let mut body = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": { "namespace": record.namespace(), "name": record.name() },
            "eventTime": micros_text(record.event_time),
            "reportingController": record.reporting_controller.as_str(),
            "reportingInstance": record.reporting_instance.as_str(),
            "action": record.action.as_str(),
            "reason": record.reason.as_str(),
            "regarding": record.regarding.to_json(),
            "note": record.note,
            "type": record.event_type.as_str(),
        });
        if let Some(related) = &record.related {
            body["related"] = related.to_json();
        }
        if let Some(series) = series {
            body["series"] = series.to_json();
        }
        let path = format!("/apis/events.k8s.io/v1/namespaces/{}/events", record.namespace());
        reply(
            self.client
                .send_unfenced(post(&path, body.to_string().into_bytes()))
                .await,
        )
    }

    /// Turns the event that was created from `record` into a series, or moves its count on.
    pub async fn patch_series(&self, record: &EventRecord, series: EventSeries) -> EventReply {
        let body = json!({ "series": series.to_json() });
        let path = format!(
            "/apis/events.k8s.io/v1/namespaces/{}/events/{}",
            record.namespace(),
            record.name()
        );
        reply(
            self.client
                .send_unfenced(patch(&path, body.to_string().into_bytes()))
                .await,
        )
    }

    /// Creates a core `v1` event, the form in which client-go's elector tells about its Lease. Its source is the
    /// reporting controller and instance; it has no action.
    pub async fn create_core(&self, record: &EventRecord, count: EventCount) -> EventReply {
        let body = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": { "namespace": record.namespace(), "name": record.name() },
            "involvedObject": record.regarding.to_json(),
            "reason": record.reason.as_str(),
            "message": record.note,
            "source": { "component": record.reporting_controller.as_str() },
            "firstTimestamp": seconds_text(record.event_time),
            "lastTimestamp": seconds_text(count.last_timestamp),
            "count": count.count,
            "type": record.event_type.as_str(),
            "eventTime": null,
            "reportingComponent": record.reporting_controller.as_str(),
            "reportingInstance": record.reporting_instance.as_str(),
        });
        let path = format!("/api/v1/namespaces/{}/events", record.namespace());
        reply(
            self.client
                .send_unfenced(post(&path, body.to_string().into_bytes()))
                .await,
        )
    }

    /// Moves the count of the core event that was created from `record` on, and its message with it.
    pub async fn patch_core(&self, record: &EventRecord, count: EventCount) -> EventReply {
        let body = json!({
            "count": count.count,
            "lastTimestamp": seconds_text(count.last_timestamp),
            "message": record.note,
        });
        let path = format!("/api/v1/namespaces/{}/events/{}", record.namespace(), record.name());
        reply(
            self.client
                .send_unfenced(patch(&path, body.to_string().into_bytes()))
                .await,
        )
    }
}

impl EventSeries {
    fn to_json(self) -> Value {
        json!({ "count": self.count, "lastObservedTime": micros_text(self.last_observed_time) })
    }
}

fn reply(outcome: Result<Reply, SendError>) -> EventReply {
    let reply = match outcome {
        Ok(reply) => reply,
        Err(SendError::NotSent(NotSent::NoConnection(error)) | SendError::Unknown(error)) => {
            return EventReply::Failed { error };
        }
        Err(error) => {
            return EventReply::Failed {
                error: error.to_string(),
            };
        }
    };
    match Class::of(&reply) {
        Class::Done => EventReply::Written,
        Class::Conflict if reply.refusal().reason == "AlreadyExists" => EventReply::Exists,
        Class::NotFound => EventReply::NotFound,
        Class::Conflict | Class::Refused => EventReply::Refused {
            code: reply.status.as_u16(),
            message: reply.refusal().message,
        },
        Class::Throttled => EventReply::Throttled {
            retry_after: wait_asked(&reply),
        },
        Class::Unknown => EventReply::Failed {
            error: status_text(&reply),
        },
    }
}

#[cfg(test)]
mod tests;
