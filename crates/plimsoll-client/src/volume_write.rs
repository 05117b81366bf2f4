//! Writes to volumes and their claims, which are made before a pod is bound.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use plimsoll_model::ResourceVersion;
use plimsoll_model::storage::VolumeWrite;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api_client::{NotSent, Reply, SendError, merge_patch};
use crate::api_status::ApiStatus;
use crate::write::{Class, timeout_query, wait_asked};
use crate::{ApiClient, TermToken};

/// The outcome of one write to a volume or a claim. Texts are those that kube-scheduler gets from its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeReply {
    /// Applied; the object has this version now.
    Done(ResourceVersion),
    /// Certainly not applied: the object has changed since it was seen, is gone, or something else is wrong.
    Refused {
        /// The server's words.
        message: String,
    },
    /// 429: certainly not applied, try again no sooner than this.
    Throttled {
        /// How long to wait.
        retry_after: Duration,
        /// The server's words.
        message: String,
    },
    /// No answer, half an answer or a server error: it may be applied, now or until the write's time-out. The version that it
    /// carries keeps it from undoing what others write meanwhile.
    Unknown {
        /// What went wrong.
        error: String,
    },
    /// The request certainly never reached the server.
    NotSent(NotSent),
}

impl ApiClient {
    /// Makes a write to a volume or a claim with one merge patch, which applies to the version that was seen and to no other.
    /// Whether to try again is the caller's decision.
    pub async fn write_volume(&self, token: &Arc<TermToken>, write: &VolumeWrite) -> VolumeReply {
        let path = format!("{}{}", path(write), timeout_query(token.server_timeout()));
        let body = body(write).to_string().into_bytes();
        let reply = match self.send_fenced(token, merge_patch(&path, body)).await {
            Ok(reply) => reply,
            Err(SendError::NotSent(reason)) => return VolumeReply::NotSent(reason),
            Err(SendError::Unknown(error)) => return VolumeReply::Unknown { error },
        };
        match Class::of(&reply) {
            Class::Done => match version(&reply.body) {
                Some(version) => VolumeReply::Done(version),
                None => VolumeReply::Unknown {
                    error: "the answer shows no object".to_owned(),
                },
            },
            Class::Throttled => VolumeReply::Throttled {
                retry_after: wait_asked(&reply),
                message: words(&reply, write),
            },
            Class::NotFound | Class::Conflict | Class::Refused => VolumeReply::Refused {
                message: words(&reply, write),
            },
            Class::Unknown => VolumeReply::Unknown {
                error: words(&reply, write),
            },
        }
    }
}

fn path(write: &VolumeWrite) -> String {
    match write {
        VolumeWrite::BindVolume { volume, .. } => format!("/api/v1/persistentvolumes/{volume}"),
        VolumeWrite::SelectNode { claim, .. } => format!(
            "/api/v1/namespaces/{}/persistentvolumeclaims/{}",
            claim.namespace, claim.name
        ),
    }
}

/// UID and version are a condition: the API server refuses the patch of any other object or version.
fn body(write: &VolumeWrite) -> Value {
    match write {
        VolumeWrite::BindVolume {
            volume: _,
            uid,
            version,
            claim,
            claim_uid,
            claim_version,
            by_controller,
        } => {
            let mut body = json!({
                "metadata": { "uid": uid.as_str(), "resourceVersion": version.to_string() },
                "spec": { "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": claim.namespace.as_str(),
                    "name": claim.name.as_str(),
                    "uid": claim_uid.as_str(),
                    "resourceVersion": claim_version.to_string(),
                } },
            });
            if *by_controller {
                body["metadata"]["annotations"] = json!({ "pv.kubernetes.io/bound-by-controller": "yes" });
            }
            body
        }
        VolumeWrite::SelectNode {
            claim: _,
            uid,
            version,
            node,
        } => json!({
            "metadata": {
                "uid": uid.as_str(),
                "resourceVersion": version.to_string(),
                "annotations": { "volume.kubernetes.io/selected-node": node.as_str() },
            },
        }),
    }
}

fn version(body: &[u8]) -> Option<ResourceVersion> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        resource_version: String,
    }
    #[derive(Deserialize)]
    struct Object {
        metadata: Metadata,
    }
    let object: Object = serde_json::from_slice(body).ok()?;
    object.metadata.resource_version.parse().ok()
}

/// What a refusal says: the message of its Status, else what client-go makes of the status code. kube-scheduler's request is a
/// PUT.
fn words(reply: &Reply, write: &VolumeWrite) -> String {
    if let Some(status) = ApiStatus::read(&reply.body) {
        return status.message;
    }
    let general = match reply.status {
        StatusCode::CONFLICT => "the server reported a conflict",
        StatusCode::NOT_FOUND => "the server could not find the requested resource",
        StatusCode::BAD_REQUEST => "the server rejected our request for an unknown reason",
        StatusCode::UNAUTHORIZED => "the server has asked for the client to provide credentials",
        StatusCode::METHOD_NOT_ALLOWED => "the server does not allow this method on the requested resource",
        StatusCode::UNPROCESSABLE_ENTITY => "the server rejected our request due to an error in our request",
        StatusCode::SERVICE_UNAVAILABLE => "the server is currently unable to handle the request",
        StatusCode::GATEWAY_TIMEOUT => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
        }
        StatusCode::TOO_MANY_REQUESTS => {
            "the server has received too many requests and has asked us to try again later"
        }
        _ => return other_words(reply, write),
    };
    format!("{general} ({})", request(write))
}

fn other_words(reply: &Reply, write: &VolumeWrite) -> String {
    let said = reply.refusal().message;
    let code = reply.status.as_u16();
    let general = match code {
        403 => said,
        500.. => format!("an error on the server ({said:?}) has prevented the request from succeeding"),
        _ => format!("the server responded with the status code {code} but did not return more information"),
    };
    format!("{general} ({})", request(write))
}

fn request(write: &VolumeWrite) -> String {
    match write {
        VolumeWrite::BindVolume { volume, .. } => format!("put persistentvolumes {volume}"),
        VolumeWrite::SelectNode { claim, .. } => format!("put persistentvolumeclaims {}", claim.name),
    }
}

#[cfg(test)]
mod tests {
    use http::Method;
    use plimsoll_model::{Moment, ObjectName, Uid};

    use super::*;
    use crate::scripted::{Chunk, Script, Step};

    const CHANGED: &str = "Operation cannot be fulfilled on persistentvolumes \"pv\": the object has been modified; please \
                           apply your changes to the latest version and try again";

    fn token() -> Arc<TermToken> {
        TermToken::new(3, Moment::ZERO, Duration::from_secs(10), Duration::from_secs(5))
    }

    fn bind_volume(by_controller: bool) -> VolumeWrite {
        VolumeWrite::BindVolume {
            volume: "pv".into(),
            uid: Uid::from("uid-pv"),
            version: ResourceVersion::new(7),
            claim: ObjectName::new("ns", "claim"),
            claim_uid: Uid::from("uid-claim"),
            claim_version: ResourceVersion::new(9),
            by_controller,
        }
    }

    fn select_node() -> VolumeWrite {
        VolumeWrite::SelectNode {
            claim: ObjectName::new("ns", "claim"),
            uid: Uid::from("uid-claim"),
            version: ResourceVersion::new(9),
            node: "n1".into(),
        }
    }

    fn applied(version: &str) -> Step {
        Step::ok(&json!({ "metadata": { "name": "pv", "resourceVersion": version } }))
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_applies_to_the_version_that_was_seen_and_bounds_the_server() {
        let claim_ref = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "ns", "name": "claim",
            "uid": "uid-claim", "resourceVersion": "9",
        });
        let pv = "/api/v1/persistentvolumes/pv?timeout=4s";
        let cases = [
            (
                bind_volume(true),
                pv,
                json!({
                    "metadata": {
                        "uid": "uid-pv", "resourceVersion": "7",
                        "annotations": { "pv.kubernetes.io/bound-by-controller": "yes" },
                    },
                    "spec": { "claimRef": claim_ref },
                }),
            ),
            (
                bind_volume(false),
                pv,
                json!({ "metadata": { "uid": "uid-pv", "resourceVersion": "7" }, "spec": { "claimRef": claim_ref } }),
            ),
            (
                select_node(),
                "/api/v1/namespaces/ns/persistentvolumeclaims/claim?timeout=4s",
                json!({ "metadata": {
                    "uid": "uid-claim", "resourceVersion": "9",
                    "annotations": { "volume.kubernetes.io/selected-node": "n1" },
                } }),
            ),
        ];
        for (write, path, body) in cases {
            let script = Script::new([applied("12")]);
            let reply = script.client().write_volume(&token(), &write).await;
            assert_eq!(reply, VolumeReply::Done(ResourceVersion::new(12)));
            let seen = &script.seen()[0];
            assert_eq!((&seen.method, seen.path.as_str()), (&Method::PATCH, path));
            assert_eq!(seen.content_type, "application/merge-patch+json");
            assert_eq!(seen.body, body);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_answer_has_one_meaning() {
        let refused = |message: &str| VolumeReply::Refused {
            message: message.to_owned(),
        };
        let unknown = |error: &str| VolumeReply::Unknown {
            error: error.to_owned(),
        };
        let throttled = |seconds, message: &str| VolumeReply::Throttled {
            retry_after: Duration::from_secs(seconds),
            message: message.to_owned(),
        };
        let gone = "persistentvolumes \"pv\" not found";
        let cases = [
            (applied("8"), VolumeReply::Done(ResourceVersion::new(8)), true),
            (Step::refusal(409, "Conflict", CHANGED), refused(CHANGED), true),
            (Step::refusal(404, "NotFound", gone), refused(gone), true),
            (Step::refusal(403, "Forbidden", "no"), refused("no"), true),
            (Step::refusal(422, "Invalid", "bad"), refused("bad"), true),
            (
                Step::refusal(429, "", "slow").retry_after(4),
                throttled(4, "slow"),
                true,
            ),
            (Step::refusal(500, "InternalError", "etcd"), unknown("etcd"), false),
            (Step::refusal(504, "Timeout", "late"), unknown("late"), false),
            (Step::lost(), unknown("ServiceError: connection reset by peer"), false),
            (Step::answer(200, "{}"), unknown("the answer shows no object"), true),
        ];
        for (step, expected, decided) in cases {
            let script = Script::new([step.clone()]);
            let (client, token) = (script.client(), token());
            assert_eq!(
                client.write_volume(&token, &bind_volume(true)).await,
                expected,
                "{step:?}"
            );
            assert_eq!(token.is_decided(client.clock().now()), decided, "{step:?}");
            assert_eq!(script.seen().len(), 1, "nothing is repeated here");
        }
        let cut = Script::new([Step::answer(200, "{").then(Chunk::Break)]);
        let reply = cut.client().write_volume(&token(), &select_node()).await;
        assert!(matches!(reply, VolumeReply::Unknown { .. }), "{reply:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_no_status_reads_as_it_does_for_kube_scheduler() {
        let cases = [
            (409, "the server reported a conflict (put persistentvolumes pv)"),
            (
                404,
                "the server could not find the requested resource (put persistentvolumes pv)",
            ),
            (
                503,
                "the server is currently unable to handle the request (put persistentvolumes pv)",
            ),
            (403, "<html> (put persistentvolumes pv)"),
            (
                502,
                "an error on the server (\"<html>\") has prevented the request from succeeding (put persistentvolumes pv)",
            ),
            (
                418,
                "the server responded with the status code 418 but did not return more information (put persistentvolumes pv)",
            ),
        ];
        for (code, text) in cases {
            let script = Script::new([Step::answer(code, "<html>")]);
            let said = match script.client().write_volume(&token(), &bind_volume(true)).await {
                VolumeReply::Refused { message } => message,
                VolumeReply::Unknown { error } => error,
                other => panic!("{other:?}"),
            };
            assert_eq!(said, text);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_sent_once_the_term_is_over() {
        let script = Script::new([]);
        let token = token();
        token.cancel();
        let reply = script.client().write_volume(&token, &select_node()).await;
        assert_eq!(reply, VolumeReply::NotSent(NotSent::TermOver));
        assert!(script.seen().is_empty());
    }
}
