use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, header};
use ring::digest::{SHA256, digest};

use crate::expiring_cache::ExpiringCache;
use crate::{TokenReviewer, User};

/// Asks about tokens, and remembers what it heard. Tokens themselves are not kept.
pub(super) struct Tokens {
    reviewer: Arc<dyn TokenReviewer>,
    known: ExpiringCache<[u8; 32], Option<User>>,
    ttl: Duration,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("ttl", &self.ttl).finish_non_exhaustive()
    }
}

impl Tokens {
    pub(super) fn new(reviewer: Arc<dyn TokenReviewer>, ttl: Duration) -> Self {
        Self {
            reviewer,
            known: ExpiringCache::new(),
            ttl,
        }
    }

    /// Whose the token is; nobody, if there is none. A token that is nobody's is an error.
    pub(super) async fn authenticate(&self, headers: &HeaderMap) -> Result<Option<User>, String> {
        let Some(token) = bearer_token(headers) else {
            return Ok(None);
        };
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        let answer = if let Some(known) = self.known.get(&key) {
            known
        } else {
            let answer = self.reviewer.review(token).await?;
            self.known.put(key, answer.clone(), self.ttl);
            answer
        };
        answer.map(Some).ok_or_else(|| "invalid bearer token".to_owned())
    }
}

/// What stands behind `Bearer` in the header.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim();
    let mut parts = text.splitn(3, ' ');
    let scheme = parts.next()?;
    let token = parts.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
