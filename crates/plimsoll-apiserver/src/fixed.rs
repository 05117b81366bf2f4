//! Paths that name no kind: health, discovery, `OpenAPI` and the control endpoint for faults.

use http::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::{
    answer::Answer,
    discovery,
    fault::{Rule, RuleId},
    openapi,
    request::Request,
    resource::RESOURCES,
    server::Shared,
    status::{ApiError, success},
};

const HEALTH: [&str; 3] = ["/healthz", "/livez", "/readyz"];

pub(crate) fn answer(shared: &Shared, request: &Request, body: &[u8]) -> Answer {
    let path = request.path.as_str();
    if shared.fault_endpoint && (path == "/_faults" || path.starts_with("/_faults/")) {
        return control(shared, request, body).unwrap_or_else(|error| Answer::error(&error));
    }
    if HEALTH
        .iter()
        .any(|health| path == *health || path.strip_prefix(health).is_some_and(|p| p.starts_with('/')))
    {
        return Answer::text(StatusCode::OK, "ok");
    }
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return Answer::text(StatusCode::NOT_FOUND, "404 page not found\n");
    }
    let accept = request.header(&header::ACCEPT);
    if let Some(value) = discovery::handle(path, accept) {
        let mut answer = Answer::value(StatusCode::OK, &value);
        if discovery::is_aggregated(path, accept) {
            answer.content_type = discovery::AGGREGATED_CONTENT_TYPE.into();
        }
        return answer;
    }
    if let Some((content_type, bytes)) = openapi::handle(path, accept) {
        let mut answer = Answer::json(StatusCode::OK, bytes.into());
        answer.content_type = content_type.into();
        return answer;
    }
    if is_below_a_group(path) {
        return Answer::error(&ApiError::no_such_path());
    }
    Answer::text(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// Whether a path without a meaning lies below an API group that exists: there the answer is a `Status`.
fn is_below_a_group(path: &str) -> bool {
    let mut segments = path.trim_matches('/').split('/');
    match (segments.next(), segments.next()) {
        (Some("api"), Some(_)) => true,
        (Some("apis"), Some(group)) => RESOURCES.iter().any(|r| r.group == group),
        _ => false,
    }
}

/// `/_faults`: GET lists the rules, POST adds one, DELETE removes all; `/_faults/{id}`: DELETE removes one;
/// `/_faults/gates/{name}`: GET tells how many requests wait, POST opens the gate, DELETE closes it.
fn control(shared: &Shared, request: &Request, body: &[u8]) -> Result<Answer, ApiError> {
    let faults = &shared.faults;
    let segments: Vec<&str> = request.path.trim_matches('/').split('/').skip(1).collect();
    let ok = |value: &Value| Ok(Answer::value(StatusCode::OK, value));
    match (&request.method, segments.as_slice()) {
        (&Method::GET, []) => {
            let rules = faults.rules();
            let rules: Vec<Value> = rules
                .iter()
                .map(|(id, rule, fired)| json!({ "id": id, "rule": rule, "fired": fired }))
                .collect();
            ok(&json!({ "rules": rules }))
        }
        (&Method::POST, []) => {
            let rule: Rule = serde_json::from_slice(body).map_err(|e| ApiError::bad_request(e.to_string()))?;
            Ok(Answer::value(StatusCode::CREATED, &json!({ "id": faults.add(rule) })))
        }
        (&Method::DELETE, []) => {
            faults.clear();
            ok(&success(None))
        }
        (&Method::GET, ["gates", gate]) => ok(&json!({ "waiting": faults.held(gate) })),
        (&Method::POST, ["gates", gate]) => {
            faults.release(gate);
            ok(&success(None))
        }
        (&Method::DELETE, ["gates", gate]) => {
            faults.close(gate);
            ok(&success(None))
        }
        (&Method::DELETE, [id]) => {
            let removed = id.parse().is_ok_and(|id| faults.remove(RuleId(id)));
            if removed {
                ok(&success(None))
            } else {
                Err(ApiError::with_code(StatusCode::NOT_FOUND, "no such rule"))
            }
        }
        _ => Err(ApiError::method_not_allowed()),
    }
}
