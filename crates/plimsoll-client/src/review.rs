//! Questions to the API server about whoever asks this process for something.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::ApiClient;
use crate::api_client::{SendError, post};

const TOKENS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
/// How long it may take to be told whose a token is, repetitions included.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a question is sent at most. Each wait is half as long again as the one before.
const TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Whose a token is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct ReviewedUser {
    /// Name.
    pub username: String,
    /// Unique id.
    pub uid: String,
    /// Groups.
    pub groups: Vec<String>,
    /// What else the authority told.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Who wants to do what.
#[derive(Debug, Clone, Copy)]
pub struct AccessQuestion<'a> {
    /// Name.
    pub user: &'a str,
    /// Unique id.
    pub uid: &'a str,
    /// Groups.
    pub groups: &'a [String],
    /// What else is known of the user.
    pub extra: &'a BTreeMap<String, Vec<String>>,
    /// The path that is asked for.
    pub path: &'a str,
    /// The method, in small letters.
    pub verb: &'a str,
}

/// Whether that may be done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct AccessReply {
    /// Somebody allows it.
    pub allowed: bool,
    /// Somebody forbids it, whoever else allows it.
    pub denied: bool,
    /// Why.
    pub reason: String,
}

#[derive(Deserialize)]
struct Review<T> {
    status: T,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenStatus {
    authenticated: bool,
    user: ReviewedUser,
    error: String,
}

/// Asks whose a token is; nobody's is `None`.
///
/// # Errors
/// With what the API server says of the token, or why it could not be asked.
pub async fn review_token(client: &ApiClient, token: &str) -> Result<Option<ReviewedUser>, String> {
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": { "token": token },
    });
    let answer = timeout(TOKEN_TIMEOUT, ask(client, TOKENS, &review)).await;
    let answer = answer.unwrap_or_else(|_| Err("no answer in time".to_owned()))?;
    let review: Review<TokenStatus> = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
    match review.status {
        status if status.authenticated => Ok(Some(status.user)),
        status if status.error.is_empty() => Ok(None),
        status => Err(status.error),
    }
}

/// Asks whether somebody may do something.
///
/// # Errors
/// With what the API server said, or why it could not be asked.
pub async fn review_access(client: &ApiClient, question: AccessQuestion<'_>) -> Result<AccessReply, String> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": question.user,
            "uid": question.uid,
            "groups": question.groups,
            "extra": question.extra,
            "nonResourceAttributes": { "path": question.path, "verb": question.verb },
        },
    });
    let answer = ask(client, ACCESS, &review).await?;
    let review: Review<AccessReply> = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
    Ok(review.status)
}

/// A question may be repeated: it changes nothing.
async fn ask(client: &ApiClient, path: &str, review: &Value) -> Result<Bytes, String> {
    let body = review.to_string().into_bytes();
    let mut pause = FIRST_PAUSE;
    for further in (0..TRIES).rev() {
        let why = match client.send_unfenced(post(path, body.clone())).await {
            Ok(reply) if reply.status.is_success() => return Ok(reply.body),
            Ok(reply) => {
                let refusal = reply.refusal();
                if !(is_passing(reply.status) || reply.retry_after().is_some()) {
                    return Err(refusal.message);
                }
                refusal.message
            }
            // A connection that was kept open may just have been closed by the other side.
            Err(SendError::Unknown(why)) => why,
            Err(SendError::NotSent(why)) => return Err(why.to_string()),
        };
        if further == 0 {
            return Err(why);
        }
        sleep(pause).await;
        pause = pause * 3 / 2;
    }
    Err("not asked".to_owned())
}

fn is_passing(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::INTERNAL_SERVER_ERROR | StatusCode::GATEWAY_TIMEOUT
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::{Script, Step};

    fn answer(status: &Value) -> Step {
        Step::answer(201, json!({ "status": status }).to_string())
    }

    async fn token(steps: impl IntoIterator<Item = Step>) -> (Result<Option<ReviewedUser>, String>, Script) {
        let script = Script::new(steps);
        let answer = review_token(&script.client(), "secret").await;
        (answer, script)
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_somebodys_nobodys_or_told_to_be_bad() {
        let jane = json!({ "authenticated": true, "user": {
            "username": "jane", "groups": ["devs"], "extra": { "scopes": ["a"] },
        }});
        let (answered, script) = token([answer(&jane)]).await;
        let user = answered.unwrap().unwrap();
        assert_eq!((user.username.as_str(), user.groups), ("jane", vec!["devs".to_owned()]));
        assert_eq!(user.extra["scopes"], ["a"]);
        assert_eq!(script.seen()[0].path, TOKENS);
        assert_eq!(token([answer(&json!({ "user": {} }))]).await.0, Ok(None));
        let bad = json!({ "user": {}, "error": "invalid bearer token" });
        assert_eq!(token([answer(&bad)]).await.0, Err("invalid bearer token".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn what_passes_is_asked_again_and_what_does_not_is_told() {
        let nobody = || answer(&json!({ "user": {} }));
        let busy = || Step::refusal(429, "TooManyRequests", "slow down");
        let (answered, script) = token([busy(), Step::refusal(500, "InternalError", "oops"), nobody()]).await;
        assert_eq!((answered, script.seen().len()), (Ok(None), 3));
        let (answered, script) = token([Step::refusal(403, "Forbidden", "you may not ask")]).await;
        assert_eq!((answered, script.seen().len()), (Err("you may not ask".to_owned()), 1));
        let (answered, script) = token([busy(), busy(), busy(), busy(), busy()]).await;
        assert_eq!((answered, script.seen().len()), (Err("slow down".to_owned()), 5));
    }

    #[tokio::test(start_paused = true)]
    async fn access_is_asked_for_by_path_and_verb() {
        let script = Script::new([answer(&json!({ "allowed": true, "reason": "RBAC: allowed" }))]);
        let groups = ["devs".to_owned()];
        let question = AccessQuestion {
            user: "jane",
            uid: "",
            groups: &groups,
            extra: &BTreeMap::new(),
            path: "/metrics",
            verb: "get",
        };
        let reply = review_access(&script.client(), question).await.unwrap();
        assert!(reply.allowed && !reply.denied);
        assert_eq!(reply.reason, "RBAC: allowed");
        let seen = script.seen();
        assert_eq!(seen[0].path, ACCESS);
        let attributes = json!({ "path": "/metrics", "verb": "get" });
        assert_eq!(seen[0].body["spec"]["nonResourceAttributes"], attributes);
    }
}
