//! `OpenAPI` documents, thin: enough for `kubectl` to see that the server validates fields and knows dry runs, so that
//! it sends what it was given. Schemas name their kinds and allow every field; `kubectl explain` has little to say.

use serde_json::{Map, Value, json};

use crate::discovery::GIT_VERSION;
use crate::resource::{RESOURCES, Resource};

const JSON: &str = "application/json";
/// The real server leaves the index's type to be guessed, and text is what is guessed.
const TEXT: &str = "text/plain; charset=utf-8";
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Answers `/openapi/v3`, a document below it, or `/openapi/v2`: content type and body. `None` for other paths.
///
/// `/openapi/v2` exists for old clients: JSON when it is accepted, else a protobuf document without definitions.
pub fn handle(path: &str, accept: &str) -> Option<(String, Vec<u8>)> {
    let path = path.trim_matches('/');
    let body = match path {
        "openapi/v2" if accepts_json(accept) => v2().to_string().into_bytes(),
        "openapi/v2" => return Some((V2_PROTOBUF.to_owned(), v2_protobuf())),
        "openapi/v3" => return Some((TEXT.to_owned(), v3_index().to_string().into_bytes())),
        _ => v3_document(path.strip_prefix("openapi/v3/")?)?.to_string().into_bytes(),
    };
    Some((JSON.to_owned(), body))
}

fn accepts_json(accept: &str) -> bool {
    let mut ranges = accept
        .split(',')
        .map(|range| range.split(';').next().unwrap_or("").trim());
    accept.is_empty() || ranges.any(|range| matches!(range, "application/json" | "application/*" | "*/*"))
}

/// `api/v1`, `apis/apps/v1`: the name of a group version's document.
fn document_name(resource: &Resource) -> String {
    let root = if resource.group.is_empty() { "api" } else { "apis" };
    format!("{root}/{}", resource.api_version())
}

fn v3_index() -> Value {
    let paths: Map<String, Value> = RESOURCES
        .iter()
        .map(document_name)
        .map(|name| {
            // A fixed hash: the documents of one build never change.
            let url = format!("/openapi/v3/{name}?hash={GIT_VERSION}");
            (name, json!({"serverRelativeURL": url}))
        })
        .collect();
    json!({"paths": paths})
}

fn v3_document(name: &str) -> Option<Value> {
    let kinds: Vec<&Resource> = RESOURCES.iter().filter(|r| document_name(r) == name).collect();
    if kinds.is_empty() {
        return None;
    }
    let schemas: Map<String, Value> = kinds.iter().map(|r| (schema_name(r), schema(r))).collect();
    let paths: Map<String, Value> = kinds.iter().map(|r| (object_path(r), object_operations(r))).collect();
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": GIT_VERSION},
        "paths": paths,
        "components": {"schemas": schemas},
    }))
}

fn schema_name(resource: &Resource) -> String {
    let group = resource.group.split('.').next().unwrap_or("");
    let group = if group.is_empty() { "core" } else { group };
    format!("io.k8s.api.{group}.{}.{}", resource.version, resource.kind)
}

fn group_version_kind(resource: &Resource) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": resource.kind})
}

fn schema(resource: &Resource) -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": open,
            "spec": open,
            "status": open,
        },
        "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-group-version-kind": [group_version_kind(resource)],
    })
}

fn object_path(resource: &Resource) -> String {
    let namespace = if resource.namespaced {
        "namespaces/{namespace}/"
    } else {
        ""
    };
    format!("/{}/{namespace}{}/{{name}}", document_name(resource), resource.plural)
}

/// Clients look at the patch operation to learn whether the server knows a query parameter. No media types are listed:
/// with a strategic merge patch listed, `kubectl apply` would look for merge keys in these schemas rather than use its
/// own.
fn object_operations(resource: &Resource) -> Value {
    let parameter =
        |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let parameters = ["dryRun", "fieldManager", "fieldValidation", "force"].map(parameter);
    let operation = |action: &str| {
        json!({
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": group_version_kind(resource),
            "parameters": parameters,
            "responses": {"200": {"description": "OK"}},
        })
    };
    json!({"patch": operation("patch"), "put": operation("put")})
}

fn v2() -> Value {
    let definitions: Map<String, Value> = RESOURCES.iter().map(|r| (schema_name(r), schema(r))).collect();
    let paths: Map<String, Value> = RESOURCES
        .iter()
        .map(|r| {
            let mut operations = object_operations(r);
            for name in ["patch", "put"] {
                for parameter in operations[name]["parameters"].as_array_mut().into_iter().flatten() {
                    *parameter = json!({"name": parameter["name"], "in": "query", "type": "string"});
                }
            }
            (object_path(r), operations)
        })
        .collect();
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": GIT_VERSION},
        "paths": paths,
        "definitions": definitions,
    })
}

/// A gnostic v2 `Document` that holds the `swagger` version (field 1) and the `info` (field 2) and nothing else.
fn v2_protobuf() -> Vec<u8> {
    let mut info = Vec::new();
    push_bytes(&mut info, 1, b"Kubernetes");
    push_bytes(&mut info, 2, GIT_VERSION.as_bytes());
    let mut document = Vec::new();
    push_bytes(&mut document, 1, b"2.0");
    push_bytes(&mut document, 2, &info);
    document
}

/// A length-delimited protobuf field; `bytes` is shorter than 128.
fn push_bytes(into: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    into.push(field << 3 | 2);
    into.extend(u8::try_from(bytes.len()));
    into.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json_of(path: &str) -> Value {
        let (_, body) = handle(path, "*/*").expect("answered");
        serde_json::from_slice(&body).expect("JSON")
    }

    #[test]
    fn every_document_of_the_index_exists() {
        let index = json_of("/openapi/v3");
        let paths = index["paths"].as_object().expect("paths");
        assert!(paths.contains_key("api/v1") && paths.contains_key("apis/apps/v1"));
        for entry in paths.values() {
            let url = entry["serverRelativeURL"].as_str().expect("url");
            let path = url.split('?').next().expect("path");
            assert_eq!(json_of(path)["openapi"], "3.0.0", "{url}");
        }
        assert_eq!(handle("/openapi/v3/apis/nope/v1", "*/*"), None);
        assert_eq!(handle("/openapi", "*/*"), None);
    }

    #[test]
    fn patch_operations_announce_field_validation() {
        let document = json_of("/openapi/v3/api/v1");
        let patch = &document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"];
        let names: Vec<&Value> = patch["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|p| &p["name"])
            .collect();
        assert!(names.contains(&&json!("fieldValidation")) && names.contains(&&json!("dryRun")));
        assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Pod");
    }

    #[test]
    fn version_two_speaks_json_or_protobuf() {
        assert_eq!(json_of("/openapi/v2")["swagger"], "2.0");
        let (content_type, body) = handle(
            "/openapi/v2",
            "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
        )
        .expect("answered");
        assert_eq!(content_type, V2_PROTOBUF);
        assert_eq!(&body[..5], b"\x0a\x032.0");
    }
}
