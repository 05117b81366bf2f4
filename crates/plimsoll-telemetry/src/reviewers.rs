//! What the API server is asked about whoever asks us. Somebody who can reach one does the asking.

use std::collections::BTreeMap;

use futures::future::BoxFuture;

use crate::User;

/// Asks the API server whose a token is.
pub trait TokenReviewer: Send + Sync + 'static {
    /// The user; nobody's is told by `None`. An error is why it could not be told, or the API server's own words on the
    /// token.
    fn review<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<User>, String>>;
}

/// Asks the API server whether somebody may do something.
pub trait AccessReviewer: Send + Sync + 'static {
    /// The answer, or why there is none.
    fn review<'a>(&'a self, access: &'a Access) -> BoxFuture<'a, Result<Verdict, String>>;
}

/// Reads where the cluster says how users prove who they are: the config map
/// `kube-system/extension-apiserver-authentication`.
pub trait AuthenticationLookup: Send + Sync + 'static {
    /// Its texts by key, or why they cannot be read.
    fn read(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, String>>;
}

/// Who wants to do what.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Access {
    /// Who.
    pub user: User,
    /// The method of the request in small letters.
    pub verb: String,
    /// The path.
    pub path: String,
}

/// What came of an access review.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Somebody allows it.
    pub allowed: bool,
    /// Somebody forbids it, whoever else allows it.
    pub denied: bool,
    /// Why, if that is told.
    pub reason: String,
}
