//! Requests that are wrong as requests.

use serde_json::json;

use super::PODS;
use super::objects::pod;
use crate::step::{Request, Script};

pub(super) fn add(script: &mut Script) {
    script.send("an unknown kind", Request::get("/api/v1/namespaces/parity/gizmos"));
    script.send("an unknown group", Request::get("/apis/no.such.group/v1/gizmos"));
    script.send("an unknown subresource", Request::get(format!("{PODS}/write-a/gizmo")));
    script.send(
        "a method that pods have not",
        Request::method("PUT", PODS).json(pod("a")),
    );
    script.send(
        "a method that one pod has not",
        Request::post(format!("{PODS}/write-a"), pod("write-a")),
    );
    script.send("get a binding", Request::get(format!("{PODS}/write-a/binding")));
    script.send("a body that is no JSON", Request::method("POST", PODS).text("{"));
    script.send("an empty body", Request::method("POST", PODS));
    script.send(
        "a body of an unknown type",
        Request::post(PODS, pod("a")).content_type("text/plain"),
    );
    script.send("an answer of an unknown type", Request::get(PODS).accept("image/png"));
    script.send(
        "a type error",
        Request::post(
            PODS,
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": "none"}}),
        ),
    );
    let mut unknown = pod("errors-unknown");
    unknown["spec"]["color"] = json!("red");
    script.send(
        "an unknown field, strictly",
        Request::post(format!("{PODS}?fieldValidation=Strict&dryRun=All"), unknown.clone()),
    );
    script.send(
        "an unknown field, ignored",
        Request::post(format!("{PODS}?fieldValidation=Ignore&dryRun=All"), unknown),
    );
    script.send(
        "a bad field selector",
        Request::get(format!("{PODS}?fieldSelector=spec.color%3Dred")),
    );
    script.send(
        "a bad label selector",
        Request::get(format!("{PODS}?labelSelector=a%3D%3D%3Db")),
    );
    script.send("a bad limit", Request::get(format!("{PODS}?limit=x")));
    script.send("a negative limit", Request::get(format!("{PODS}?limit=-1")));
    script.send(
        "a bad continue token",
        Request::get(format!("{PODS}?limit=1&continue=nonsense")),
    );
    script.send(
        "a bad resource version",
        Request::get(format!("{PODS}?resourceVersion=x")),
    );
    script.send(
        "a match without a version",
        Request::get(format!("{PODS}?resourceVersionMatch=Exact")),
    );
    script.send(
        "an unknown match",
        Request::get(format!("{PODS}?resourceVersion=1&resourceVersionMatch=Near")),
    );
    script.send(
        "exactly version 0",
        Request::get(format!("{PODS}?resourceVersion=0&resourceVersionMatch=Exact")),
    );
}
