//! The API server's own record of who bound what, when, and what it answered; and who deleted, evicted or wrote the status
//! of which pod.

use std::path::{Path, PathBuf};

use anyhow::Context;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde::Deserialize;

use crate::user::User;

mod access;
mod trail;

pub use access::AccessRequest;
pub(crate) use access::all_access_requests;
pub use trail::{Answered, Asked, AuditTrail, Request};

/// What the audit logs hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audited {
    /// What is done to pods, with the body, once it is answered: for [`bind_requests`] and [`pod_requests`]. Of schedulers
    /// and service accounts every request besides, without its body: for [`AccessRequest`].
    Answers,
    /// The same and what schedulers do to leases, each with the answer, and before that its arrival: for [`AuditTrail`],
    /// which so misses nothing when an API server is killed.
    Arrivals,
}

/// The body tells the node asked for, or the UID meant.
const ANSWERS: &str = r#"{
  "apiVersion": "audit.k8s.io/v1",
  "kind": "Policy",
  "omitStages": ["RequestReceived"],
  "rules": [
    { "level": "Request", "verbs": ["create"], "resources": [{ "group": "", "resources": ["pods/binding", "bindings", "pods/eviction"] }] },
    { "level": "Request", "verbs": ["delete"], "resources": [{ "group": "", "resources": ["pods"] }] },
    { "level": "Request", "verbs": ["patch"], "resources": [{ "group": "", "resources": ["pods/status"] }] },
    { "level": "Metadata", "users": ["system:kube-scheduler"] },
    { "level": "Metadata", "userGroups": ["system:serviceaccounts"] },
    { "level": "None" }
  ]
}"#;

/// The answer's body tells the version written.
const ARRIVALS: &str = r#"{
  "apiVersion": "audit.k8s.io/v1",
  "kind": "Policy",
  "omitManagedFields": true,
  "rules": [
    { "level": "RequestResponse", "users": ["system:kube-scheduler"], "verbs": ["create"],
      "resources": [{ "group": "", "resources": ["pods/binding", "bindings", "pods/eviction"] }] },
    { "level": "RequestResponse", "users": ["system:kube-scheduler"], "verbs": ["delete"],
      "resources": [{ "group": "", "resources": ["pods"] }] },
    { "level": "RequestResponse", "users": ["system:kube-scheduler"], "verbs": ["patch"],
      "resources": [{ "group": "", "resources": ["pods/status"] }] },
    { "level": "RequestResponse", "users": ["system:kube-scheduler"], "verbs": ["create", "update", "patch"],
      "resources": [{ "group": "coordination.k8s.io", "resources": ["leases"] }] },
    { "level": "Metadata", "verbs": ["delete"], "resources": [{ "group": "", "resources": ["pods"] }] },
    { "level": "None" }
  ]
}"#;

impl Audited {
    pub(crate) fn policy(self) -> &'static str {
        match self {
            Self::Answers => ANSWERS,
            Self::Arrivals => ARRIVALS,
        }
    }
}

/// The stage at which nothing is answered yet.
const ARRIVED: &str = "RequestReceived";

const PREFIX: &str = "audit-";

/// How the line of a Binding that was applied reads: both are in it.
const BOUND: [&str; 2] = [r#""code":201}"#, r#""subresource":"binding""#];

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

/// What is done to a pod beside binding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodWrite {
    /// `DELETE …/pods/<name>`.
    Delete,
    /// `POST …/pods/<name>/eviction`.
    Evict,
    /// `PATCH …/pods/<name>/status`.
    Status,
}

/// A write to a pod that is no Binding, and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodRequest {
    /// What was asked for.
    pub write: PodWrite,
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The UID that the pod must have, where the request says so; else empty.
    pub uid: String,
    /// The group that tells schedulers apart, see [`User::scheduler`].
    pub group: String,
    /// HTTP status code; 0 when the client was gone before the answer.
    pub code: u16,
    /// When the request came in, in microseconds since 1970.
    pub received: i64,
    /// When it was answered, in microseconds since 1970.
    pub answered: i64,
}

impl PodRequest {
    /// True when a scheduler asked.
    pub fn by_scheduler(&self) -> bool {
        self.group.starts_with(User::REPLICA_GROUP)
    }
}

/// Reads the Bindings from one audit log in JSON lines, in the order of the answers. A last line that is still being
/// written is left out.
pub fn bind_requests(log: &str) -> anyhow::Result<Vec<BindRequest>> {
    decode(log, |line| line.contains("binding"), binding)
}

/// Reads the other writes to pods from one audit log, as [`bind_requests`] does the Bindings.
pub fn pod_requests(log: &str) -> anyhow::Result<Vec<PodRequest>> {
    decode(log, is_pod_write, pod_write)
}

pub(crate) fn all_bind_requests(dir: &Path) -> anyhow::Result<Vec<BindRequest>> {
    let mut all = Vec::new();
    for log in logs(dir)? {
        all.extend(bind_requests(&log)?);
    }
    all.sort_by_key(|bind| bind.answered);
    Ok(all)
}

pub(crate) fn all_pod_requests(dir: &Path) -> anyhow::Result<Vec<PodRequest>> {
    let mut all = Vec::new();
    for log in logs(dir)? {
        all.extend(pod_requests(&log)?);
    }
    all.sort_by_key(|request| request.answered);
    Ok(all)
}

pub(crate) fn count_bound(dir: &Path) -> anyhow::Result<usize> {
    let bound = |line: &&str| BOUND.iter().all(|part| line.contains(part));
    Ok(logs(dir)?.iter().map(|log| log.lines().filter(bound).count()).sum())
}

/// The audit logs of all API servers.
fn logs(dir: &Path) -> anyhow::Result<Vec<String>> {
    let read = |path| Ok(std::fs::read_to_string(path)?);
    log_files(dir)?.into_iter().map(read).collect()
}

fn log_files(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.path().extension().is_some_and(|e| e == "log")
        {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a line may tell of a write to a pod; those that only look are many more.
fn is_pod_write(line: &str) -> bool {
    [r#""verb":"create""#, r#""verb":"delete""#, r#""verb":"patch""#]
        .iter()
        .any(|verb| line.contains(verb))
}

/// What `read` makes of each complete line that may be of interest.
fn decode<T>(log: &str, may_be: fn(&str) -> bool, read: fn(AuditEvent) -> Option<T>) -> anyhow::Result<Vec<T>> {
    let complete = log.rfind('\n').map_or("", |end| &log[..end]);
    let event = |line| serde_json::from_str(line).with_context(|| format!("an audit line reads {line}"));
    let events = complete
        .lines()
        .filter(|line| may_be(line))
        .map(event)
        .collect::<anyhow::Result<Vec<AuditEvent>>>()?;
    let answered = events.into_iter().filter(|event| event.stage != ARRIVED);
    Ok(answered.filter_map(read).collect())
}

fn binding(event: AuditEvent) -> Option<BindRequest> {
    let group = event.group();
    let object = event.object_ref?;
    if !matches!(
        (object.resource.as_str(), object.subresource.as_str()),
        ("pods", "binding") | ("bindings", "")
    ) {
        return None;
    }
    // A request that was refused before its body was read has none.
    let body = event.request_object.unwrap_or_default();
    Some(BindRequest {
        namespace: object.namespace,
        pod: object.name,
        uid: body.metadata.uid.unwrap_or_default(),
        node: body.target.name,
        group,
        user_agent: event.user_agent,
        code: event.response_status.code,
        received: event.request_received_timestamp.0.as_microsecond(),
        answered: event.stage_timestamp.0.as_microsecond(),
    })
}

fn pod_write(event: AuditEvent) -> Option<PodRequest> {
    let group = event.group();
    let object = event.object_ref?;
    let write = match (
        event.verb.as_str(),
        object.resource.as_str(),
        object.subresource.as_str(),
    ) {
        ("delete", "pods", "") => PodWrite::Delete,
        ("create", "pods", "eviction") => PodWrite::Evict,
        ("patch", "pods", "status") => PodWrite::Status,
        _ => return None,
    };
    let body = event.request_object.unwrap_or_default();
    let uid = match write {
        PodWrite::Delete => body.preconditions.uid,
        PodWrite::Evict => body.delete_options.preconditions.uid,
        PodWrite::Status => body.metadata.uid.unwrap_or_default(),
    };
    Some(PodRequest {
        write,
        namespace: object.namespace,
        pod: object.name,
        uid,
        group,
        code: event.response_status.code,
        received: event.request_received_timestamp.0.as_microsecond(),
        answered: event.stage_timestamp.0.as_microsecond(),
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuditEvent {
    #[serde(default, rename = "auditID")]
    audit_id: String,
    #[serde(default)]
    stage: String,
    #[serde(default)]
    verb: String,
    #[serde(default, rename = "requestURI")]
    uri: String,
    user: AuditUser,
    #[serde(default)]
    user_agent: String,
    object_ref: Option<ObjectRef>,
    #[serde(default)]
    response_status: ResponseStatus,
    request_object: Option<Body>,
    response_object: Option<AnswerBody>,
    request_received_timestamp: MicroTime,
    stage_timestamp: MicroTime,
}

impl AuditEvent {
    fn group(&self) -> String {
        let groups = &self.user.groups;
        let replica = groups.iter().find(|group| group.starts_with(User::REPLICA_GROUP));
        replica.or_else(|| groups.first()).cloned().unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct AuditUser {
    #[serde(default)]
    username: String,
    #[serde(default)]
    groups: Vec<String>,
}

#[derive(Deserialize)]
struct ObjectRef {
    #[serde(default, rename = "apiGroup")]
    api_group: String,
    #[serde(default)]
    resource: String,
    #[serde(default)]
    subresource: String,
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

#[derive(Deserialize)]
struct AnswerBody {
    #[serde(default)]
    metadata: AnswerMetadata,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct AnswerMetadata {
    resource_version: Option<String>,
}

/// What is of interest of a Binding, an Eviction, delete options, a Lease or a patch of a pod.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(default)]
    metadata: BodyMetadata,
    #[serde(default)]
    target: Target,
    #[serde(default)]
    preconditions: Preconditions,
    #[serde(default)]
    delete_options: DeleteOptions,
    #[serde(default)]
    spec: BodySpec,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct BodySpec {
    holder_identity: Option<String>,
}

#[derive(Deserialize, Default)]
struct BodyMetadata {
    uid: Option<String>,
}

#[derive(Deserialize, Default)]
struct Target {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize, Default)]
struct DeleteOptions {
    #[serde(default)]
    preconditions: Preconditions,
}

#[derive(Deserialize, Default)]
struct Preconditions {
    #[serde(default)]
    uid: String,
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
        assert!(BOUND.iter().all(|part| LINE.contains(part)));
        let log = format!("{LINE}\n{}", &LINE[..200]);
        assert_eq!(bind_requests(&log).unwrap().len(), 1);
        assert!(bind_requests(&LINE[..200]).unwrap().is_empty());
    }

    #[test]
    fn a_deletion_and_an_eviction_tell_which_pod_they_mean() {
        let deletion = LINE
            .replace("/binding", "")
            .replace(r#""verb":"create""#, r#""verb":"delete""#)
            .replace(r#","subresource":"binding""#, "")
            .replace(
                r#"{"kind":"Binding","apiVersion":"v1","metadata":{"name":"p","namespace":"n","uid":"u"},"target":{"kind":"Node","name":"node-7"}}"#,
                r#"{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"}}"#,
            )
            .replace("201", "200");
        let eviction = LINE
            .replace(r#""subresource":"binding""#, r#""subresource":"eviction""#)
            .replace(
                r#""target":{"kind":"Node","name":"node-7"}"#,
                r#""deleteOptions":{"preconditions":{"uid":"u"}}"#,
            );
        let log = format!("{LINE}\n{deletion}\n{eviction}\n");
        let told: Vec<_> = pod_requests(&log)
            .unwrap()
            .into_iter()
            .map(|request| (request.write, request.uid, request.code, request.group))
            .collect();
        let by = "replica-2".to_owned();
        let expected = [
            (PodWrite::Delete, "u".to_owned(), 200, by.clone()),
            (PodWrite::Evict, "u".to_owned(), 201, by),
        ];
        assert_eq!(told, expected);
        assert_eq!(bind_requests(&log).unwrap().len(), 1);
    }
}
