//! Who asked for what at all: what permissions are held against.

use std::path::Path;

use super::{AuditEvent, User, decode, logs};

/// A request as the API server's authorizer sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessRequest {
    /// Who asks.
    pub user: String,
    /// The group that tells schedulers apart, see [`User::scheduler`], else the first of the user's groups.
    pub group: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, …
    pub verb: String,
    /// The group of the resource; empty for the core.
    pub api_group: String,
    /// With the subresource, as in `pods/binding`; empty when it is no resource.
    pub resource: String,
    /// Its namespace; empty for those of the whole cluster, and for all namespaces.
    pub namespace: String,
    /// Its name, where one object is meant.
    pub name: String,
    /// The path and query.
    pub uri: String,
    /// HTTP status code; 0 where the client was gone before the answer.
    pub code: u16,
    /// When it was answered, or a watch begun, in microseconds since 1970.
    pub answered: i64,
}

impl AccessRequest {
    /// True when the API server refused it for want of a permission.
    pub fn was_forbidden(&self) -> bool {
        self.code == 403
    }

    /// True when a scheduler of the suite asked, by the cluster's own roles.
    pub fn by_scheduler(&self) -> bool {
        self.group.starts_with(User::REPLICA_GROUP)
    }
}

pub(crate) fn all_access_requests(dir: &Path) -> anyhow::Result<Vec<AccessRequest>> {
    let mut all = Vec::new();
    for log in logs(dir)? {
        all.extend(decode(&log, by_scheduler_or_account, |event| Some(access(event)))?);
    }
    all.sort_by_key(|request| request.answered);
    Ok(all)
}

fn by_scheduler_or_account(line: &str) -> bool {
    line.contains(r#""username":"system:kube-scheduler""#) || line.contains(r#""username":"system:serviceaccount:"#)
}

fn access(event: AuditEvent) -> AccessRequest {
    let group = event.group();
    let (api_group, resource, namespace, name) = match event.object_ref {
        Some(object) if object.subresource.is_empty() => {
            (object.api_group, object.resource, object.namespace, object.name)
        }
        Some(object) => {
            let resource = format!("{}/{}", object.resource, object.subresource);
            (object.api_group, resource, object.namespace, object.name)
        }
        None => Default::default(),
    };
    AccessRequest {
        user: event.user.username,
        group,
        verb: event.verb,
        api_group,
        resource,
        namespace,
        name,
        uri: event.uri,
        code: event.response_status.code,
        answered: event.stage_timestamp.0.as_microsecond(),
    }
}
