use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use plimsoll_model::{ObjectName, Pod, Timestamp, Uid, decode_pod};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::api_client::{NotSent, Reply, SendError, get, patch, post};
use crate::{ApiClient, TermToken};

/// What the server asks for when it answers 429 without saying how long.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);

/// The outcome of one POST of a binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindReply {
    /// The pod is bound.
    Created,
    /// 409: bound already, by this request's twin or by somebody else, or the UID is another pod's. Read it to tell.
    Conflict {
        /// The server's words.
        message: String,
    },
    /// 404: the pod is gone.
    NotFound,
    /// Any other refusal; the pod was certainly not bound.
    Refused {
        /// HTTP status.
        code: u16,
        /// The server's words.
        message: String,
    },
    /// 429: certainly not bound, try again no sooner than this.
    Throttled {
        /// How long to wait.
        retry_after: Duration,
    },
    /// No answer, half an answer or a server error: the pod may be bound, now or until the write's time-out.
    Unknown {
        /// For the log.
        error: String,
    },
    /// The request certainly never reached the server.
    NotSent(NotSent),
}

/// The outcome of reading one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodRead {
    /// The pod as the server has it now.
    Found(Arc<Pod>),
    /// There is none of that name.
    Gone,
    /// It could not be read.
    Failed {
        /// For the log.
        error: String,
    },
}

/// The outcome of one patch of a pod's status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchReply {
    /// Applied.
    Patched,
    /// 404: the pod is gone.
    NotFound,
    /// 409; worth another try, as in kube-scheduler.
    Conflict {
        /// The server's words.
        message: String,
    },
    /// Any other refusal; certainly not applied, and not worth another try.
    Refused {
        /// HTTP status.
        code: u16,
        /// The server's words.
        message: String,
    },
    /// 429: certainly not applied, try again no sooner than this.
    Throttled {
        /// How long to wait.
        retry_after: Duration,
    },
    /// No answer or a server error; the patch may be applied, and applying it again does no harm.
    Unknown {
        /// HTTP status, if there was one.
        code: Option<u16>,
        /// For the log.
        error: String,
    },
    /// The request certainly never reached the server.
    NotSent(NotSent),
}

/// A condition to write into a pod's status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionPatch {
    /// Such as `PodScheduled`; the key of the merge.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// One word for programs.
    pub reason: String,
    /// Text for people.
    pub message: String,
    /// When the status last changed: the time before, while it stays the same.
    #[serde(serialize_with = "timestamp_text")]
    pub last_transition_time: Timestamp,
    /// Generation of the pod that the condition speaks of.
    pub observed_generation: i64,
}

fn timestamp_text<S: serde::Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(time.as_str())
}

/// What to do with `status.nominatedNodeName`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum NominationPatch {
    /// Leave it.
    #[default]
    Keep,
    /// Take it away.
    Clear,
    /// Name this node.
    Set(String),
}

/// A change of a pod's status; condition and nomination go in one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PodStatusPatch {
    /// The pod that is meant, where it matters: another of the same name then refuses the patch.
    pub uid: Option<Uid>,
    /// A condition to add or replace.
    pub condition: Option<ConditionPatch>,
    /// What to do with the nomination.
    pub nominated_node_name: NominationPatch,
}

impl PodStatusPatch {
    /// The strategic merge patch. Without a UID it goes, like kube-scheduler's, to whatever pod has the name.
    fn body(&self) -> Vec<u8> {
        let mut status = Map::new();
        if let Some(condition) = &self.condition {
            status.insert("conditions".to_owned(), json!([condition]));
        }
        match &self.nominated_node_name {
            NominationPatch::Keep => {}
            NominationPatch::Clear => {
                status.insert("nominatedNodeName".to_owned(), Value::Null);
            }
            NominationPatch::Set(node) => {
                status.insert("nominatedNodeName".to_owned(), Value::from(node.as_str()));
            }
        }
        let mut body = json!({ "status": status });
        if let Some(uid) = &self.uid {
            body["metadata"] = json!({ "uid": uid.as_str() });
        }
        body.to_string().into_bytes()
    }
}

impl ApiClient {
    /// Binds `pod` to `node` with one POST that is never repeated here. The UID goes along, so that a pod of the same
    /// name that came later is not bound instead.
    pub async fn bind(&self, token: &Arc<TermToken>, pod: &Pod, node: &str) -> BindReply {
        let ObjectName { namespace, name } = &pod.name;
        let body = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": { "namespace": namespace.as_str(), "name": name.as_str(), "uid": pod.uid.as_str() },
            "target": { "kind": "Node", "name": node },
        });
        let path = format!(
            "{}/binding{}",
            pod_path(&pod.name),
            timeout_query(token.server_timeout())
        );
        let reply = match self
            .send_fenced(token, post(&path, body.to_string().into_bytes()))
            .await
        {
            Ok(reply) => reply,
            Err(SendError::NotSent(reason)) => return BindReply::NotSent(reason),
            Err(SendError::Unknown(error)) => return BindReply::Unknown { error },
        };
        match Class::of(&reply) {
            Class::Done => BindReply::Created,
            Class::NotFound => BindReply::NotFound,
            Class::Conflict => BindReply::Conflict {
                message: reply.refusal().message,
            },
            Class::Throttled => BindReply::Throttled {
                retry_after: wait_asked(&reply),
            },
            Class::Refused => BindReply::Refused {
                code: reply.status.as_u16(),
                message: reply.refusal().message,
            },
            Class::Unknown => BindReply::Unknown {
                error: status_text(&reply),
            },
        }
    }

    /// Reads one pod as the server has it now, not from a cache that may be behind.
    pub async fn read_pod(&self, name: &ObjectName) -> PodRead {
        let reply = match self.send(get(&pod_path(name))).await {
            Ok(reply) => reply,
            Err(error) => {
                return PodRead::Failed {
                    error: error.to_string(),
                };
            }
        };
        match Class::of(&reply) {
            Class::Done => match decode_pod(&reply.body) {
                Ok(pod) => PodRead::Found(Arc::new(pod)),
                Err(error) => PodRead::Failed {
                    error: error.to_string(),
                },
            },
            Class::NotFound => PodRead::Gone,
            _ => PodRead::Failed {
                error: status_text(&reply),
            },
        }
    }

    /// Changes a pod's status with one strategic merge patch. Whether to try again is the caller's decision.
    pub async fn patch_pod_status(
        &self,
        token: &Arc<TermToken>,
        name: &ObjectName,
        change: &PodStatusPatch,
    ) -> PatchReply {
        self.patch_wanted_pod_status(token, &CancellationToken::new(), name, change)
            .await
    }

    /// The same, unless it is withdrawn before its turn has come.
    pub async fn patch_wanted_pod_status(
        &self,
        token: &Arc<TermToken>,
        withdrawn: &CancellationToken,
        name: &ObjectName,
        change: &PodStatusPatch,
    ) -> PatchReply {
        let path = format!("{}/status{}", pod_path(name), timeout_query(token.server_timeout()));
        let sent = self.send_wanted(token, withdrawn, patch(&path, change.body()));
        let reply = match sent.await {
            Ok(reply) => reply,
            Err(SendError::NotSent(reason)) => return PatchReply::NotSent(reason),
            Err(SendError::Unknown(error)) => return PatchReply::Unknown { code: None, error },
        };
        let code = reply.status.as_u16();
        match Class::of(&reply) {
            Class::Done => PatchReply::Patched,
            Class::NotFound => PatchReply::NotFound,
            Class::Conflict => PatchReply::Conflict {
                message: reply.refusal().message,
            },
            Class::Throttled => PatchReply::Throttled {
                retry_after: wait_asked(&reply),
            },
            Class::Refused => PatchReply::Refused {
                code,
                message: reply.refusal().message,
            },
            Class::Unknown => PatchReply::Unknown {
                code: Some(code),
                error: status_text(&reply),
            },
        }
    }
}

/// What a status means for a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Done,
    NotFound,
    Conflict,
    Throttled,
    Refused,
    Unknown,
}

impl Class {
    pub(crate) fn of(reply: &Reply) -> Self {
        match reply.status {
            StatusCode::NOT_FOUND => Self::NotFound,
            StatusCode::CONFLICT => Self::Conflict,
            StatusCode::TOO_MANY_REQUESTS => Self::Throttled,
            status if status.is_success() => Self::Done,
            status if crate::api_client::is_definite(status) => Self::Refused,
            _ => Self::Unknown,
        }
    }
}

pub(crate) fn wait_asked(reply: &Reply) -> Duration {
    reply.retry_after().unwrap_or(DEFAULT_RETRY_AFTER)
}

/// Status and message of a refusal, for logs.
pub(crate) fn status_text(reply: &Reply) -> String {
    format!("{}: {}", reply.status.as_u16(), reply.refusal().message)
}

pub(crate) fn pod_path(name: &ObjectName) -> String {
    format!("/api/v1/namespaces/{}/pods/{}", name.namespace, name.name)
}

/// `?timeout=4s`, in the form of Go durations.
pub(crate) fn timeout_query(timeout: Duration) -> String {
    if timeout.subsec_nanos() == 0 {
        format!("?timeout={}s", timeout.as_secs())
    } else {
        format!("?timeout={}ms", timeout.as_millis())
    }
}

#[cfg(test)]
mod tests;
