//! Reading the audit logs of a long run: each line once, and requests that were never answered too.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::{ARRIVED, AuditEvent, PodWrite, log_files};

/// What a request would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A pod, by a Binding to this node; empty where the request was cut off before its body was read.
    Bind(String),
    /// A pod, otherwise.
    Pod(PodWrite),
    /// The schedulers' lease, so that it names this holder; empty when it is released, or where the request was cut off.
    Lease(String),
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// HTTP status code; 0 when the client was gone before the answer.
    pub code: u16,
    /// When, in microseconds since 1970.
    pub at: i64,
    /// The version of the object that the answer carries.
    pub revision: Option<i64>,
}

/// A request, from its arrival at an API server on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number in the logs; both of its lines have it.
    pub id: String,
    /// What for.
    pub asked: Asked,
    /// The object's namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// The UID that the pod must have, where that is known; else empty.
    pub uid: String,
    /// The group that tells schedulers apart, see [`crate::User::scheduler`].
    pub group: String,
    /// When it came in, in microseconds since 1970.
    pub received: i64,
    /// `None` while it is under way, and for good where the API server was killed meanwhile.
    pub answered: Option<Answered>,
}

impl Request {
    /// True when it may have been applied: nothing definite was answered.
    pub fn is_unknown(&self) -> bool {
        self.answered
            .as_ref()
            .is_none_or(|answered| answered.code == 0 || answered.code >= 500)
    }

    /// True when it was applied, as the API server says.
    pub fn is_done(&self) -> bool {
        self.answered
            .as_ref()
            .is_some_and(|answered| (200..300).contains(&answered.code))
    }
}

/// Follows the audit logs of a control plane that was started with [`super::Audited::Arrivals`].
#[derive(Debug)]
pub struct AuditTrail {
    dir: PathBuf,
    read_up_to: BTreeMap<PathBuf, u64>,
}

impl AuditTrail {
    pub(crate) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            read_up_to: BTreeMap::new(),
        }
    }

    /// What was written since the last time: a request that arrived and was answered comes twice, the answered one later.
    /// The lines of one API server are in its order.
    pub fn news(&mut self) -> anyhow::Result<Vec<Request>> {
        let mut news = Vec::new();
        for path in log_files(&self.dir)? {
            let from = self.read_up_to.entry(path.clone()).or_default();
            let mut file = std::fs::File::open(&path)?;
            file.seek(SeekFrom::Start(*from))?;
            let mut text = Vec::new();
            file.read_to_end(&mut text)?;
            // The last line may still be being written.
            let complete = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            *from += u64::try_from(complete)?;
            for line in text[..complete].split(|byte| *byte == b'\n') {
                if !line.is_empty() {
                    news.extend(decode(line)?);
                }
            }
        }
        Ok(news)
    }
}

fn decode(line: &[u8]) -> anyhow::Result<Option<Request>> {
    let event: AuditEvent = serde_json::from_slice(line)
        .with_context(|| format!("an audit line reads {}", String::from_utf8_lossy(line)))?;
    let group = event.group();
    let arrived = event.stage == ARRIVED;
    let Some(object) = event.object_ref else {
        return Ok(None);
    };
    let body = event.request_object.unwrap_or_default();
    let asked = match (object.resource.as_str(), object.subresource.as_str()) {
        ("pods", "binding") | ("bindings", "") => Asked::Bind(body.target.name),
        ("pods", "") => Asked::Pod(PodWrite::Delete),
        ("pods", "eviction") => Asked::Pod(PodWrite::Evict),
        ("pods", "status") => Asked::Pod(PodWrite::Status),
        ("leases", "") => Asked::Lease(body.spec.holder_identity.unwrap_or_default()),
        _ => return Ok(None),
    };
    let uid = match asked {
        Asked::Pod(PodWrite::Delete) => body.preconditions.uid,
        Asked::Pod(PodWrite::Evict) => body.delete_options.preconditions.uid,
        _ => body.metadata.uid.unwrap_or_default(),
    };
    let answered = (!arrived).then(|| Answered {
        code: event.response_status.code,
        at: event.stage_timestamp.0.as_microsecond(),
        revision: event
            .response_object
            .and_then(|object| object.metadata.resource_version?.parse().ok()),
    });
    Ok(Some(Request {
        id: event.audit_id,
        asked,
        namespace: object.namespace,
        name: object.name,
        uid,
        group,
        received: event.request_received_timestamp.0.as_microsecond(),
        answered,
    }))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::WorkDir;

    const ARRIVED: &str = r#"{"level":"RequestResponse","auditID":"x","stage":"RequestReceived","verb":"update","user":{"username":"system:kube-scheduler","groups":["replica-2","system:authenticated"]},"objectRef":{"resource":"leases","namespace":"kube-system","name":"kube-scheduler"},"requestReceivedTimestamp":"2026-01-02T03:04:05.000001Z","stageTimestamp":"2026-01-02T03:04:05.000001Z"}"#;
    const ANSWERED: &str = r#"{"level":"RequestResponse","auditID":"x","stage":"ResponseComplete","verb":"update","user":{"username":"system:kube-scheduler","groups":["replica-2","system:authenticated"]},"objectRef":{"resource":"leases","namespace":"kube-system","name":"kube-scheduler"},"responseStatus":{"metadata":{},"code":200},"requestObject":{"kind":"Lease","spec":{"holderIdentity":"host_a"}},"responseObject":{"kind":"Lease","metadata":{"resourceVersion":"77"}},"requestReceivedTimestamp":"2026-01-02T03:04:05.000001Z","stageTimestamp":"2026-01-02T03:04:05.000101Z"}"#;

    #[test]
    fn each_line_is_told_once_and_a_half_written_one_later() {
        let dir = WorkDir::new("trail-test").unwrap();
        let path = dir.path().join("audit-a.log");
        let mut trail = AuditTrail::new(dir.path());
        let append = |text: &str| {
            let mut file = std::fs::File::options().create(true).append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        append(&format!("{ARRIVED}\n{}", &ANSWERED[..100]));
        let first = trail.news().unwrap();
        assert_eq!(first.len(), 1);
        assert!(first[0].is_unknown());
        append(&format!("{}\n", &ANSWERED[100..]));
        let expected = Request {
            id: "x".to_owned(),
            asked: Asked::Lease("host_a".to_owned()),
            namespace: "kube-system".to_owned(),
            name: "kube-scheduler".to_owned(),
            uid: String::new(),
            group: "replica-2".to_owned(),
            received: 1_767_323_045_000_001,
            answered: Some(Answered {
                code: 200,
                at: 1_767_323_045_000_101,
                revision: Some(77),
            }),
        };
        assert_eq!(trail.news().unwrap(), [expected]);
        assert!(trail.news().unwrap().is_empty());
    }
}
