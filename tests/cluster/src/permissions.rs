//! Roles, held against what was asked of the API server.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, bail};
use plimsoll_controlplane::AccessRequest;
use serde_json::Value;

/// One thing that may be done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Permission {
    /// Where; everywhere when it is empty.
    namespace: String,
    verb: String,
    api_group: String,
    /// With the subresource.
    resource: String,
    /// Which; all of them when it is empty.
    name: String,
}

/// What roles allow, one thing at a time.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    all: BTreeSet<Permission>,
}

impl Permissions {
    /// What these `ClusterRole`s and `Role`s allow together.
    pub fn of<'a>(roles: impl IntoIterator<Item = &'a Value>) -> anyhow::Result<Self> {
        let mut all = BTreeSet::new();
        for role in roles {
            let namespace = role.pointer("/metadata/namespace").and_then(Value::as_str);
            for rule in role["rules"].as_array().context("a role without rules")? {
                all.extend(each(namespace.unwrap_or_default(), rule));
            }
        }
        Ok(Self { all })
    }

    /// What `deploy/plimsoll.yaml` lets replicas do.
    pub fn of_the_manifest() -> anyhow::Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/plimsoll.yaml");
        let objects: Vec<Value> = serde_saphyr::from_multiple(&std::fs::read_to_string(manifest)?)?;
        let is_role = |object: &&Value| object["kind"] == "ClusterRole" || object["kind"] == "Role";
        let of_a_replica = |object: &&Value| object["metadata"]["name"] != "plimsoll:explain";
        Self::of(objects.iter().filter(is_role).filter(of_a_replica))
    }

    /// The same, and what some tests take beside it: a Lease of another name, a coordinator's candidates, and a Policy in a
    /// `ConfigMap`.
    pub(crate) fn of_tests() -> anyhow::Result<Self> {
        let mut permissions = Self::of_the_manifest()?;
        let more = serde_json::json!({ "rules": [
            { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
              "verbs": ["get", "watch", "create", "update"] },
            { "apiGroups": ["coordination.k8s.io"], "resources": ["leasecandidates"],
              "verbs": ["get", "watch", "create", "update", "delete"] },
            { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] },
        ] });
        permissions.all.extend(Self::of([&more])?.all);
        Ok(permissions)
    }

    /// What was asked for without a permission, each once. Paths that are no resources are left out: every user may ask for
    /// the API server's version and what it serves.
    pub fn missing<'a>(&self, requests: impl IntoIterator<Item = &'a AccessRequest>) -> BTreeSet<String> {
        let beyond = |request: &&AccessRequest| {
            let covers = |permission: &Permission| permission.covers(request);
            !request.resource.is_empty() && !self.all.iter().any(covers)
        };
        requests.into_iter().filter(beyond).map(words).collect()
    }

    /// What nobody asked for.
    pub fn unused<'a>(&self, requests: impl IntoIterator<Item = &'a AccessRequest>) -> BTreeSet<String> {
        let mut unused = self.all.clone();
        for request in requests {
            unused.retain(|permission| !permission.covers(request));
        }
        unused.iter().map(Permission::words).collect()
    }

    /// How much there is.
    pub fn count(&self) -> usize {
        self.all.len()
    }
}

/// Names the file in which all tests note what replicas asked for, to tell afterwards what none of them did.
const NOTES: &str = "PLIMSOLL_ASKED";

/// Notes requests for afterwards, where that is wanted.
pub(crate) fn note(requests: &[AccessRequest]) -> anyhow::Result<()> {
    let Some(path) = std::env::var_os(NOTES) else {
        return Ok(());
    };
    let lines: BTreeSet<String> = requests.iter().map(line).collect();
    let text: String = lines.into_iter().collect();
    File::options()
        .create(true)
        .append(true)
        .open(path)?
        .write_all(text.as_bytes())?;
    Ok(())
}

fn line(request: &AccessRequest) -> String {
    let AccessRequest {
        verb,
        api_group,
        resource,
        namespace,
        name,
        ..
    } = request;
    format!("{verb}\t{api_group}\t{resource}\t{namespace}\t{name}\n")
}

/// The requests that tests noted in a file.
pub fn noted(text: &str) -> anyhow::Result<Vec<AccessRequest>> {
    let request = |line: &str| {
        let parts: Vec<String> = line.split('\t').map(str::to_owned).collect();
        let Ok([verb, api_group, resource, namespace, name]) = <[String; 5]>::try_from(parts) else {
            bail!("no request: {line}");
        };
        Ok(AccessRequest {
            verb,
            api_group,
            resource,
            namespace,
            name,
            ..AccessRequest::default()
        })
    };
    text.lines().map(request).collect()
}

fn each(namespace: &str, rule: &Value) -> Vec<Permission> {
    let texts = |field: &str| -> Vec<String> {
        let values = rule[field].as_array();
        let texts = values.into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    };
    let mut names = texts("resourceNames");
    if names.is_empty() {
        names.push(String::new());
    }
    let mut all = Vec::new();
    for api_group in texts("apiGroups") {
        for resource in texts("resources") {
            for verb in texts("verbs") {
                for name in &names {
                    all.push(Permission {
                        namespace: namespace.to_owned(),
                        verb: verb.clone(),
                        api_group: api_group.clone(),
                        resource: resource.clone(),
                        name: name.clone(),
                    });
                }
            }
        }
    }
    all
}

impl Permission {
    fn covers(&self, request: &AccessRequest) -> bool {
        self.verb == request.verb
            && self.api_group == request.api_group
            && self.resource == request.resource
            && (self.namespace.is_empty() || self.namespace == request.namespace)
            && (self.name.is_empty() || self.name == request.name)
    }

    fn words(&self) -> String {
        format!(
            "{} {}/{} {} in {}",
            self.verb, self.api_group, self.resource, self.name, self.namespace
        )
    }
}

fn words(request: &AccessRequest) -> String {
    format!(
        "{} {}/{} {} in {}",
        request.verb, request.api_group, request.resource, request.name, request.namespace
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(verb: &str, resource: &str, namespace: &str, name: &str) -> AccessRequest {
        AccessRequest {
            verb: verb.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            ..AccessRequest::default()
        }
    }

    #[test]
    fn what_is_asked_without_a_rule_and_rules_that_nobody_needs_are_told() {
        let everywhere = json!({ "rules": [{ "apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": ["get", "patch"] }] });
        let one = json!({ "metadata": { "namespace": "n" }, "rules": [
            { "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["c"], "verbs": ["get"] },
        ] });
        let permissions = Permissions::of([&everywhere, &one]).unwrap();
        assert_eq!(permissions.count(), 5);
        let requests = [
            asked("get", "pods", "a", "p"),
            asked("patch", "pods/status", "a", "p"),
            asked("get", "configmaps", "n", "c"),
            asked("get", "configmaps", "n", "other"),
            asked("get", "configmaps", "a", "c"),
            asked("list", "pods", "", ""),
            asked("get", "", "", ""),
        ];
        let missing: Vec<String> = permissions.missing(&requests).into_iter().collect();
        let expected = [
            "get /configmaps c in a",
            "get /configmaps other in n",
            "list /pods  in ",
        ];
        assert_eq!(missing, expected);
        let text: String = requests.iter().map(line).collect();
        assert_eq!(noted(&text).unwrap(), requests);
        let unused: Vec<String> = permissions.unused(&requests).into_iter().collect();
        assert_eq!(unused, ["get /pods/status  in ", "patch /pods  in "]);
    }
}
