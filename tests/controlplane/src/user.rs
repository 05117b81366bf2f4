//! Who may talk to the API server.

use std::fmt::Write as _;

/// A user of the API server with a bearer token.
///
/// Every scheduler is `system:kube-scheduler`, the user for which the API server brings its own roles; a group of its
/// own tells the replicas apart in the audit log without giving any of them more rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// User name.
    pub name: String,
    /// The groups, beside `system:authenticated`.
    pub group: String,
}

impl User {
    /// May do everything.
    pub fn admin() -> Self {
        Self {
            name: "plimsoll-test".to_owned(),
            group: "system:masters".to_owned(),
        }
    }

    /// A scheduler under the built-in roles; `replica` is at most [`User::REPLICAS`].
    pub fn scheduler(replica: usize) -> Self {
        Self {
            name: "system:kube-scheduler".to_owned(),
            group: format!("{}{replica}", Self::REPLICA_GROUP),
        }
    }

    /// How many scheduler identities a control plane knows: more than all tests of a suite take together.
    pub const REPLICAS: usize = 256;

    /// What the group of every scheduler starts with.
    pub const REPLICA_GROUP: &str = "replica-";

    /// The bearer token.
    pub fn token(&self) -> String {
        format!(
            "token-of-{}-{}",
            self.name.replace(':', "-"),
            self.group.replace(':', "-")
        )
    }

    /// The API server's `--token-auth-file`.
    pub(crate) fn token_file() -> String {
        let mut lines = String::new();
        for user in std::iter::once(Self::admin()).chain((0..=Self::REPLICAS).map(Self::scheduler)) {
            let _ = writeln!(
                lines,
                "{},{},{},\"{}\"",
                user.token(),
                user.name,
                user.group,
                user.group
            );
        }
        lines
    }
}
