//! Who may do what, and who is asking.

use serde_json::json;

use crate::step::{Request, Script};

pub(super) fn add(script: &mut Script) {
    let access = |user: &str, groups: &[&str]| {
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": user, "groups": groups, "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "parity"}}})
    };
    script.send(
        "may a master",
        Request::post(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            access("bob", &["system:masters"]),
        ),
    );
    script.send(
        "may anyone",
        Request::post("/apis/authorization.k8s.io/v1/subjectaccessreviews", access("bob", &[])),
    );
    script.send(
        "may I",
        Request::post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "parity"}}}),
        ),
    );
    script.send(
        "whose is a bad token",
        Request::post(
            "/apis/authentication.k8s.io/v1/tokenreviews",
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "bad"}}),
        ),
    );
    script.send(
        "who am I",
        Request::post(
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}),
        ),
    );
}
