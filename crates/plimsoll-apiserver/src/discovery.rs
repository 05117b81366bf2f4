//! Discovery documents: `/version`, `/api`, `/apis` and what hangs below them, plain and aggregated.

use serde_json::{Value, json};

use crate::resource::{RESOURCES, Resource, Subresource};

/// The Kubernetes version that this server answers as.
pub const GIT_VERSION: &str = "v1.36.3";

/// `Content-Type` of an aggregated document.
pub const AGGREGATED_CONTENT_TYPE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Answers a discovery path; `None` when the path is none, or names a group or version that does not exist.
///
/// Whether the answer is aggregated (and has [`AGGREGATED_CONTENT_TYPE`]) is told by [`is_aggregated`].
pub fn handle(path: &str, accept: &str) -> Option<Value> {
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    match segments.as_slice() {
        ["version"] => Some(version()),
        ["api" | "apis"] if is_aggregated(path, accept) => Some(aggregated(segments[0] == "api")),
        ["api"] => Some(core_versions()),
        ["apis"] => Some(group_list()),
        ["api", version] => resource_list("", version),
        ["apis", group] => group_document(group).filter(|_| !group.is_empty()),
        ["apis", group, version] if !group.is_empty() => resource_list(group, version),
        _ => None,
    }
}

/// Whether the client asks for, and this path has, the aggregated form.
pub fn is_aggregated(path: &str, accept: &str) -> bool {
    matches!(path.trim_matches('/'), "api" | "apis") && accept.split(',').any(wants_aggregated)
}

fn wants_aggregated(media_range: &str) -> bool {
    let parts: Vec<&str> = media_range.split(';').map(str::trim).collect();
    matches!(parts.first(), Some(&"application/json"))
        && parts.contains(&"g=apidiscovery.k8s.io")
        && parts.contains(&"v=v2")
        && parts.contains(&"as=APIGroupDiscoveryList")
}

fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "plimsoll-apiserver",
        "platform": "linux/amd64",
    })
}

fn core_versions() -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}],
    })
}

/// The named groups in the order of their first kind in the table, each with its versions, preferred first.
fn groups() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for resource in RESOURCES.iter().filter(|r| !r.group.is_empty()) {
        match groups.iter_mut().find(|(name, _)| *name == resource.group) {
            Some((_, versions)) if versions.contains(&resource.version) => {}
            Some((_, versions)) => versions.push(resource.version),
            None => groups.push((resource.group, vec![resource.version])),
        }
    }
    for (_, versions) in &mut groups {
        versions.sort_by_key(|version| stability(version));
    }
    groups
}

/// Released versions before beta before alpha.
fn stability(version: &str) -> u8 {
    if version.contains("alpha") {
        2
    } else {
        u8::from(version.contains("beta"))
    }
}

fn group_value(name: &str, versions: &[&str]) -> Value {
    let entry = |version: &&str| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    json!({
        "name": name,
        "versions": versions.iter().map(entry).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(entry),
    })
}

fn group_list() -> Value {
    let groups: Vec<Value> = groups()
        .iter()
        .map(|(name, versions)| group_value(name, versions))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

fn group_document(group: &str) -> Option<Value> {
    let groups = groups();
    let (name, versions) = groups.iter().find(|(name, _)| *name == group)?;
    let mut document = group_value(name, versions);
    document["kind"] = json!("APIGroup");
    document["apiVersion"] = json!("v1");
    Some(document)
}

fn kinds_of(group: &str, version: &str) -> Vec<&'static Resource> {
    let mut kinds: Vec<&Resource> = RESOURCES
        .iter()
        .filter(|r| r.group == group && r.version == version)
        .collect();
    kinds.sort_by_key(|r| r.plural);
    kinds
}

fn resource_list(group: &str, version: &str) -> Option<Value> {
    let kinds = kinds_of(group, version);
    let first = kinds.first()?;
    let resources: Vec<Value> = kinds
        .iter()
        .flat_map(|r| {
            let subresources = r.subresources.iter().map(|s| subresource_entry(r, s));
            std::iter::once(resource_entry(r)).chain(subresources)
        })
        .collect();
    let mut list = json!({"kind": "APIResourceList", "groupVersion": first.api_version(), "resources": resources});
    // The core list leaves its own version out, as it always has.
    if !group.is_empty() {
        list["apiVersion"] = json!("v1");
    }
    Some(list)
}

fn resource_entry(resource: &Resource) -> Value {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    entry
}

fn subresource_entry(resource: &Resource, subresource: &Subresource) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", resource.plural, subresource.name),
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": if subresource.kind.is_empty() { resource.kind } else { subresource.kind },
        "verbs": subresource.verbs,
    });
    if (subresource.group, subresource.version) != (resource.group, resource.version) && !subresource.kind.is_empty() {
        if !subresource.group.is_empty() {
            entry["group"] = json!(subresource.group);
        }
        entry["version"] = json!(subresource.version);
    }
    entry
}

fn aggregated(core: bool) -> Value {
    let groups = if core { vec![("", vec!["v1"])] } else { groups() };
    let items: Vec<Value> = groups
        .iter()
        .map(|(name, versions)| {
            let versions: Vec<Value> = versions.iter().map(|v| aggregated_version(name, v)).collect();
            let metadata = if core { json!({}) } else { json!({"name": name}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn aggregated_version(group: &str, version: &str) -> Value {
    let resources: Vec<Value> = kinds_of(group, version).into_iter().map(aggregated_resource).collect();
    json!({"version": version, "resources": resources, "freshness": "Current"})
}

fn aggregated_resource(resource: &Resource) -> Value {
    let mut entry = json!({
        "resource": resource.plural,
        // The group and version of the list are left to be understood.
        "responseKind": {"group": "", "version": "", "kind": resource.kind},
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    let subresources: Vec<Value> = resource
        .subresources
        .iter()
        .map(|s| {
            let is_foreign = !s.kind.is_empty() && (s.group, s.version) != (resource.group, resource.version);
            let (group, version) = if is_foreign { (s.group, s.version) } else { ("", "") };
            let kind = if s.kind.is_empty() { resource.kind } else { s.kind };
            json!({
                "subresource": s.name,
                "responseKind": {"group": group, "version": version, "kind": kind},
                "verbs": s.verbs,
            })
        })
        .collect();
    if !subresources.is_empty() {
        entry["subresources"] = json!(subresources);
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCEPT_AGGREGATED: &str =
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

    #[test]
    fn every_kind_is_found_under_its_group_and_version() {
        for resource in RESOURCES {
            let path = if resource.group.is_empty() {
                format!("/api/{}", resource.version)
            } else {
                format!("/apis/{}/{}", resource.group, resource.version)
            };
            let list = handle(&path, "*/*").expect("listed");
            let names: Vec<&str> = list["resources"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|r| r["name"].as_str())
                .collect();
            assert!(names.contains(&resource.plural), "{} in {path}", resource.plural);
        }
    }

    #[test]
    fn unknown_paths_are_none_of_ours() {
        for path in [
            "/api/v2",
            "/apis/nope",
            "/apis/apps/v9",
            "/healthz",
            "/api/v1/pods",
            "/",
        ] {
            assert_eq!(handle(path, "*/*"), None, "{path}");
        }
    }

    #[test]
    fn groups_prefer_the_released_version() {
        let group = handle("/apis/coordination.k8s.io", "").expect("group");
        assert_eq!(group["preferredVersion"]["version"], "v1");
        assert_eq!(group["kind"], "APIGroup");
    }

    #[test]
    fn aggregated_discovery_is_given_when_asked_for() {
        let core = handle("/api", ACCEPT_AGGREGATED).expect("aggregated");
        assert_eq!(core["kind"], "APIGroupDiscoveryList");
        assert!(is_aggregated("/apis", ACCEPT_AGGREGATED));
        assert!(!is_aggregated("/apis", "application/json"));
        assert!(!is_aggregated("/api/v1", ACCEPT_AGGREGATED));
        let pods = core["items"][0]["versions"][0]["resources"]
            .as_array()
            .and_then(|all| all.iter().find(|r| r["resource"] == "pods"))
            .expect("pods");
        assert_eq!(pods["scope"], "Namespaced");
        let eviction = pods["subresources"]
            .as_array()
            .and_then(|all| all.iter().find(|s| s["subresource"] == "eviction"))
            .expect("eviction");
        assert_eq!(eviction["responseKind"]["group"], "policy");
        assert_eq!(
            handle("/api", "application/json").expect("plain")["kind"],
            "APIVersions"
        );
    }

    #[test]
    fn subresources_name_foreign_groups_only() {
        let list = handle("/api/v1", "").expect("core");
        let find = |name: &str| {
            let all = list["resources"].as_array().expect("resources");
            all.iter().find(|r| r["name"] == name).cloned().expect("listed")
        };
        assert_eq!(find("pods/eviction")["group"], "policy");
        assert_eq!(find("pods/status").get("group"), None);
        assert_eq!(find("pods/binding").get("version"), None);
    }
}
