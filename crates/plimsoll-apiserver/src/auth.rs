//! Who a request comes from: a small static table of bearer tokens, anonymous otherwise. Nobody is refused anything.

use std::collections::BTreeMap;

use crate::{review::User, status::ApiError};

/// Bearer tokens and the users they stand for.
#[derive(Clone, Debug, Default)]
pub struct Tokens(BTreeMap<String, User>);

impl Tokens {
    /// Adds a token; a token given twice keeps its last user.
    #[must_use]
    pub fn with(mut self, token: impl Into<String>, user: User) -> Self {
        self.0.insert(token.into(), user);
        self
    }

    /// The user behind a token.
    pub fn user(&self, token: &str) -> Option<User> {
        self.0.get(token).cloned()
    }

    /// Checks an `Authorization` header: 401 for a token that is not in the table.
    pub(crate) fn check(&self, authorization: &str) -> Result<(), ApiError> {
        match authorization.strip_prefix("Bearer ") {
            Some(token) if !self.0.contains_key(token.trim()) => Err(ApiError::unauthorized()),
            _ => Ok(()),
        }
    }
}
