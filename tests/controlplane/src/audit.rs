//! The API server's own record of who bound what, when, and what it answered.

use std::path::Path;

use anyhow::Context;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde::Deserialize;

use crate::user::User;

/// Only Bindings are of interest, with the body, for the node asked for.
pub(crate) const POLICY: &str = r#"{
  "apiVersion": "audit.k8s.io/v1",
  "kind": "Policy",
  "omitStages": ["RequestReceived"],
  "rules": [
    { "level": "Request", "verbs": ["create"], "resources": [{ "group": "", "resources": ["pods/binding", "bindings"] }] },
    { "level": "None" }
  ]
}"#;

const PREFIX: &str = "audit-";

/// How the line of a Binding that was applied reads.
const BOUND: &str = r#""code":201}"#;

pub(crate) fn file_name(server: &str) -> String {
    format!("{PREFIX}{server}.log")
}

/// A `POST …/pods/<name>/binding` and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindRequest {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The pod's UID as the scheduler gave it; empty when it gave none.
    pub uid: String,
    /// The node asked for.
    pub node: String,
    /// The group that tells schedulers apart, see [`User::scheduler`].
    pub group: String,
    /// The client's name for itself, such as `kube-scheduler/v1.36.3 …`.
    pub user_agent: String,
    /// HTTP status code.
    pub code: u16,
    /// When the request came in, in microseconds since 1970.
    pub received: i64,
    /// When it was answered, in microseconds since 1970.
    pub answered: i64,
}

impl BindRequest {
    /// True when the API server bound the pod.
    pub fn bound(&self) -> bool {
        self.code == 201
    }
}

/// Reads the Bindings from one audit log in JSON lines, in the order of the answers. A last line that is still being
/// written is left out.
pub fn bind_requests(log: &str) -> anyhow::Result<Vec<BindRequest>> {
    let complete = log.rfind('\n').map_or("", |end| &log[..end]);
    complete
        .lines()
        .map(decode)
        .collect::<anyhow::Result<Vec<_>>>()
        .map(|all| all.into_iter().flatten().collect())
}

pub(crate) fn read_all(dir: &Path) -> anyhow::Result<Vec<BindRequest>> {
    let mut all = Vec::new();
    for log in logs(dir)? {
        all.extend(bind_requests(&log)?);
    }
    all.sort_by_key(|bind| bind.answered);
    Ok(all)
}

pub(crate) fn count_bound(dir: &Path) -> anyhow::Result<usize> {
    Ok(logs(dir)?
        .iter()
        .map(|log| log.lines().filter(|line| line.contains(BOUND)).count())
        .sum())
}

/// The audit logs of all API servers.
fn logs(dir: &Path) -> anyhow::Result<Vec<String>> {
    let mut logs = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.path().extension().is_some_and(|e| e == "log")
        {
            logs.push(std::fs::read_to_string(entry.path())?);
        }
    }
    Ok(logs)
}

fn decode(line: &str) -> anyhow::Result<Option<BindRequest>> {
    let event: AuditEvent = serde_json::from_str(line).with_context(|| format!("an audit line reads {line}"))?;
    let Some(object) = event.object_ref else {
        return Ok(None);
    };
    // A request that was refused before its body was read has none.
    let body = event.request_object.unwrap_or_default();
    let group = event
        .user
        .groups
        .iter()
        .find(|group| group.starts_with(User::REPLICA_GROUP));
    Ok(Some(BindRequest {
        namespace: object.namespace,
        pod: object.name,
        uid: body.metadata.uid,
        node: body.target.name,
        group: group.or_else(|| event.user.groups.first()).cloned().unwrap_or_default(),
        user_agent: event.user_agent,
        code: event.response_status.code,
        received: event.request_received_timestamp.0.as_microsecond(),
        answered: event.stage_timestamp.0.as_microsecond(),
    }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuditEvent {
    user: AuditUser,
    #[serde(default)]
    user_agent: String,
    object_ref: Option<ObjectRef>,
    #[serde(default)]
    response_status: ResponseStatus,
    request_object: Option<Body>,
    request_received_timestamp: MicroTime,
    stage_timestamp: MicroTime,
}

#[derive(Deserialize)]
struct AuditUser {
    #[serde(default)]
    groups: Vec<String>,
}

#[derive(Deserialize)]
struct ObjectRef {
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
}

#[derive(Deserialize, Default)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
}

#[derive(Deserialize, Default)]
struct Body {
    #[serde(default)]
    metadata: BodyMetadata,
    #[serde(default)]
    target: Target,
}

#[derive(Deserialize, Default)]
struct BodyMetadata {
    #[serde(default)]
    uid: String,
}

#[derive(Deserialize, Default)]
struct Target {
    #[serde(default)]
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","auditID":"x","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/n/pods/p/binding","verb":"create","user":{"username":"system:kube-scheduler","groups":["replica-2","system:authenticated"]},"sourceIPs":["127.0.0.1"],"userAgent":"kube-scheduler/v1.36.3","objectRef":{"resource":"pods","namespace":"n","name":"p","uid":"u","apiVersion":"v1","subresource":"binding"},"responseStatus":{"metadata":{},"status":"Success","code":201},"requestObject":{"kind":"Binding","apiVersion":"v1","metadata":{"name":"p","namespace":"n","uid":"u"},"target":{"kind":"Node","name":"node-7"}},"requestReceivedTimestamp":"2026-01-02T03:04:05.000001Z","stageTimestamp":"2026-01-02T03:04:05.000101Z"}"#;

    #[test]
    fn a_binding_tells_who_bound_what_where_and_the_answer() {
        let binds = bind_requests(&format!("{LINE}\n")).unwrap();
        let expected = BindRequest {
            namespace: "n".to_owned(),
            pod: "p".to_owned(),
            uid: "u".to_owned(),
            node: "node-7".to_owned(),
            group: "replica-2".to_owned(),
            user_agent: "kube-scheduler/v1.36.3".to_owned(),
            code: 201,
            received: 1_767_323_045_000_001,
            answered: 1_767_323_045_000_101,
        };
        assert_eq!(binds, vec![expected]);
    }

    #[test]
    fn a_half_written_last_line_waits_for_its_end() {
        assert!(LINE.contains(BOUND));
        let log = format!("{LINE}\n{}", &LINE[..200]);
        assert_eq!(bind_requests(&log).unwrap().len(), 1);
        assert!(bind_requests(&LINE[..200]).unwrap().is_empty());
    }
}
