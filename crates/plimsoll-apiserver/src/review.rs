//! Answers to `TokenReview`, `SubjectAccessReview` and their like.
//!
//! This server knows no RBAC: [`AccessPolicy`] allows everyone everything unless told otherwise.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Members may do everything, whatever the policy.
const MASTERS: &str = "system:masters";

/// Who a token belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// User name, such as `system:kube-scheduler`.
    pub name: String,
    /// Unique id.
    pub uid: String,
    /// Groups.
    pub groups: Vec<String>,
}

impl User {
    fn to_value(&self) -> Value {
        let mut user = json!({"username": self.name});
        if !self.uid.is_empty() {
            user["uid"] = json!(self.uid);
        }
        if !self.groups.is_empty() {
            user["groups"] = json!(self.groups);
        }
        user
    }
}

/// Who is allowed what, as far as access reviews tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPolicy {
    /// Whether users who are in no list are allowed. On by default.
    pub allow_by_default: bool,
    /// Users who are denied everything, unless they are in `system:masters`.
    pub denied_users: BTreeSet<String>,
}

impl Default for AccessPolicy {
    fn default() -> Self {
        Self {
            allow_by_default: true,
            denied_users: BTreeSet::new(),
        }
    }
}

impl AccessPolicy {
    /// Whether a user of these groups may do anything at all, and why not.
    pub fn decide(&self, user: &str, groups: &[String]) -> (bool, &'static str) {
        if groups.iter().any(|g| g == MASTERS) {
            (true, "")
        } else if self.denied_users.contains(user) {
            (false, "the user is denied by the server's policy")
        } else if self.allow_by_default {
            (true, "")
        } else {
            (false, "the server allows no one by default")
        }
    }

    /// Answers a `SubjectAccessReview`.
    pub fn subject_access_review(&self, review: &Value) -> Value {
        let user = review.pointer("/spec/user").and_then(Value::as_str).unwrap_or("");
        let groups: Vec<String> = review
            .pointer("/spec/groups")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|g| g.as_str().map(str::to_owned))
            .collect();
        self.answer(review, "SubjectAccessReview", user, &groups)
    }

    /// Answers a `SelfSubjectAccessReview` of `user`.
    pub fn self_subject_access_review(&self, review: &Value, user: &User) -> Value {
        self.answer(review, "SelfSubjectAccessReview", &user.name, &user.groups)
    }

    fn answer(&self, review: &Value, kind: &str, user: &str, groups: &[String]) -> Value {
        let (allowed, reason) = self.decide(user, groups);
        let mut status = json!({"allowed": allowed});
        if !reason.is_empty() {
            status["reason"] = json!(reason);
        }
        answered(review, "authorization.k8s.io/v1", kind, status)
    }
}

/// Answers a `SubjectAccessReview` under the default policy.
pub fn subject_access_review(review: &Value) -> Value {
    AccessPolicy::default().subject_access_review(review)
}

/// Answers a `TokenReview`; `user_of` knows whom a token belongs to.
pub fn token_review(review: &Value, user_of: &dyn Fn(&str) -> Option<User>) -> Value {
    let token = review.pointer("/spec/token").and_then(Value::as_str).unwrap_or("");
    let status = match Some(token).filter(|t| !t.is_empty()).and_then(user_of) {
        Some(user) => json!({"authenticated": true, "user": user.to_value()}),
        None => json!({"user": {}, "error": "invalid bearer token"}),
    };
    answered(review, "authentication.k8s.io/v1", "TokenReview", status)
}

/// Answers a `SelfSubjectReview`.
pub fn self_subject_review(review: &Value, user: &User) -> Value {
    let status = json!({"userInfo": user.to_value()});
    answered(review, "authentication.k8s.io/v1", "SelfSubjectReview", status)
}

/// The review with its kind, metadata and answer; what was asked stays.
fn answered(review: &Value, api_version: &str, kind: &str, status: Value) -> Value {
    let mut answer: Map<String, Value> = review.as_object().cloned().unwrap_or_default();
    answer.insert("apiVersion".to_owned(), json!(api_version));
    answer.insert("kind".to_owned(), json!(kind));
    answer.entry("metadata").or_insert_with(|| json!({}));
    if let Some(spec) = answer.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|name, value| !(name == "groups" && value.as_array().is_some_and(Vec::is_empty)));
    }
    answer.insert("status".to_owned(), status);
    Value::Object(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knows_t(token: &str) -> Option<User> {
        (token == "t").then(|| User {
            name: "u".to_owned(),
            uid: "1".to_owned(),
            groups: vec!["g".to_owned()],
        })
    }

    #[test]
    fn a_known_token_names_its_user() {
        let review = token_review(&json!({"spec": {"token": "t"}}), &knows_t);
        assert_eq!(review["kind"], "TokenReview");
        assert_eq!(
            review["status"],
            json!({"authenticated": true, "user": {"username": "u", "uid": "1", "groups": ["g"]}})
        );
    }

    #[test]
    fn unknown_and_empty_tokens_are_not_authenticated() {
        for token in ["x", ""] {
            let review = token_review(&json!({"spec": {"token": token}}), &knows_t);
            assert_eq!(review["status"].get("authenticated"), None);
            assert_eq!(review["status"]["error"], "invalid bearer token");
        }
    }

    #[test]
    fn the_policy_denies_listed_users_but_no_master() {
        let policy = AccessPolicy {
            allow_by_default: true,
            denied_users: ["eve".to_owned()].into(),
        };
        let allowed = |user: &str, groups: Value| {
            let review = policy.subject_access_review(&json!({"spec": {"user": user, "groups": groups}}));
            review["status"]["allowed"].clone()
        };
        assert_eq!(allowed("bob", json!([])), true);
        assert_eq!(allowed("eve", json!([])), false);
        assert_eq!(allowed("eve", json!(["system:masters"])), true);
        let closed = AccessPolicy {
            allow_by_default: false,
            ..AccessPolicy::default()
        };
        let user = knows_t("t").expect("known");
        assert_eq!(
            closed.self_subject_access_review(&json!({}), &user)["status"]["allowed"],
            false
        );
        assert_eq!(
            subject_access_review(&json!({"spec": {"user": "x"}}))["status"]["allowed"],
            true
        );
    }
}
