//! Who may ask for what: as kube-scheduler, by paths that are open to all, by one group, and else by asking the API server.

use std::sync::Arc;
use std::time::Duration;

use crate::expiring_cache::ExpiringCache;
use crate::{Access, AccessReviewer, Verdict};

/// Its members may do everything.
const MASTERS: &str = "system:masters";

/// How requests are authorized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationOptions {
    /// `--authorization-always-allow-paths`: a `*` at the end stands for anything.
    pub always_allow_paths: Vec<String>,
    /// How long a yes counts.
    pub authorized_ttl: Duration,
    /// How long a no counts.
    pub unauthorized_ttl: Duration,
}

impl Default for AuthorizationOptions {
    fn default() -> Self {
        Self {
            always_allow_paths: ["/healthz", "/readyz", "/livez"].map(str::to_owned).into(),
            authorized_ttl: Duration::from_secs(10),
            unauthorized_ttl: Duration::from_secs(10),
        }
    }
}

/// A path that cannot be always allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("only trailing * allowed in {0:?}")]
pub struct PathError(String);

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    Allowed,
    Forbidden {
        reason: String,
    },
    /// The API server could not be asked.
    Unknown(String),
}

/// Decides about requests.
pub struct Authorizer {
    paths: Vec<String>,
    prefixes: Vec<String>,
    reviewer: Option<Arc<dyn AccessReviewer>>,
    known: ExpiringCache<Access, Verdict>,
    authorized_ttl: Duration,
    unauthorized_ttl: Duration,
}

impl std::fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authorizer")
            .field("paths", &self.paths)
            .field("prefixes", &self.prefixes)
            .finish_non_exhaustive()
    }
}

impl Authorizer {
    /// Without somebody to ask, whatever is not always allowed is forbidden.
    ///
    /// # Errors
    /// When a path has a `*` in its middle.
    pub fn new(options: &AuthorizationOptions, reviewer: Option<Arc<dyn AccessReviewer>>) -> Result<Self, PathError> {
        let (mut paths, mut prefixes) = (Vec::new(), Vec::new());
        for path in &options.always_allow_paths {
            let path = path.strip_prefix('/').unwrap_or(path);
            match (path.strip_suffix('*'), path) {
                (Some(prefix), _) if !prefix.contains('*') => prefixes.push(prefix.to_owned()),
                (None, path) if !path.contains('*') => paths.push(path.to_owned()),
                _ => return Err(PathError(path.to_owned())),
            }
        }
        Ok(Self {
            paths,
            prefixes,
            reviewer,
            known: ExpiringCache::new(),
            authorized_ttl: options.authorized_ttl,
            unauthorized_ttl: options.unauthorized_ttl,
        })
    }

    pub(crate) async fn decide(&self, access: &Access) -> Decision {
        if access.user.groups.iter().any(|group| group == MASTERS) || self.is_open(&access.path) {
            return Decision::Allowed;
        }
        let Some(reviewer) = &self.reviewer else {
            return Decision::Forbidden { reason: String::new() };
        };
        let verdict = if let Some(known) = self.known.get(access) {
            known
        } else {
            match reviewer.review(access).await {
                Ok(verdict) => {
                    self.remember(access, &verdict);
                    verdict
                }
                Err(why) => {
                    tracing::error!("Failed to make webhook authorizer request: {why}");
                    return Decision::Unknown(why);
                }
            }
        };
        match verdict {
            Verdict {
                denied: true,
                allowed: true,
                ..
            } => Decision::Unknown("webhook subject access review returned both allow and deny response".to_owned()),
            Verdict {
                denied: false,
                allowed: true,
                ..
            } => Decision::Allowed,
            Verdict { reason, .. } => Decision::Forbidden { reason },
        }
    }

    fn is_open(&self, path: &str) -> bool {
        let path = path.strip_prefix('/').unwrap_or(path);
        self.paths.iter().any(|open| open == path) || self.prefixes.iter().any(|open| path.starts_with(open.as_str()))
    }

    fn remember(&self, access: &Access, verdict: &Verdict) {
        // Nobody is to fill the memory with names or paths.
        const LONGEST: usize = 10_000;
        let user = &access.user;
        let groups = user.groups.iter().map(String::len).sum::<usize>();
        let extra = user
            .extra
            .iter()
            .map(|(name, values)| name.len() + values.iter().map(String::len).sum::<usize>());
        if user.name.len() + access.path.len() + groups + extra.sum::<usize>() < LONGEST {
            let ttl = if verdict.allowed {
                self.authorized_ttl
            } else {
                self.unauthorized_ttl
            };
            self.known.put(access.clone(), verdict.clone(), ttl);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt;
    use futures::future::BoxFuture;

    use super::*;
    use crate::User;

    /// Allows `friend` everything, answers nothing about `stranger`, and counts how often it is asked.
    #[derive(Default)]
    struct Friendly(AtomicUsize);

    impl AccessReviewer for Friendly {
        fn review<'a>(&'a self, access: &'a Access) -> BoxFuture<'a, Result<Verdict, String>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let answer = match access.user.name.as_str() {
                "stranger" => Err("no answer".to_owned()),
                "both" => Ok(Verdict {
                    allowed: true,
                    denied: true,
                    ..Verdict::default()
                }),
                name => Ok(Verdict {
                    allowed: name == "friend",
                    reason: if name == "foe" {
                        "a foe".to_owned()
                    } else {
                        String::new()
                    },
                    ..Verdict::default()
                }),
            };
            async { answer }.boxed()
        }
    }

    fn access(name: &str, group: &str, path: &str) -> Access {
        Access {
            user: User {
                name: name.to_owned(),
                groups: vec![group.to_owned()],
                ..User::default()
            },
            verb: "get".to_owned(),
            path: path.to_owned(),
        }
    }

    fn forbidden(reason: &str) -> Decision {
        Decision::Forbidden {
            reason: reason.to_owned(),
        }
    }

    #[tokio::test]
    async fn open_paths_and_masters_need_nobody_and_without_somebody_to_ask_the_rest_is_forbidden() {
        let authorizer = Authorizer::new(&AuthorizationOptions::default(), None).unwrap();
        for path in ["/healthz", "/livez", "/readyz"] {
            assert_eq!(authorizer.decide(&access("a", "", path)).await, Decision::Allowed);
            // Exactly these: below them reasons are told.
            let below = format!("{path}/ping");
            assert_eq!(authorizer.decide(&access("a", "", &below)).await, forbidden(""));
        }
        assert_eq!(
            authorizer.decide(&access("a", "system:masters", "/metrics")).await,
            Decision::Allowed
        );
        assert_eq!(
            authorizer.decide(&access("a", "masters", "/metrics")).await,
            forbidden("")
        );
    }

    #[tokio::test]
    async fn a_star_at_the_end_opens_everything_below_and_nowhere_else_is_one() {
        let with = |path: &str| AuthorizationOptions {
            always_allow_paths: vec![path.to_owned()],
            ..AuthorizationOptions::default()
        };
        let authorizer = Authorizer::new(&with("/metrics*"), None).unwrap();
        for open in ["/metrics", "/metrics/slis"] {
            assert_eq!(authorizer.decide(&access("a", "", open)).await, Decision::Allowed);
        }
        assert_eq!(authorizer.decide(&access("a", "", "/healthz")).await, forbidden(""));
        for wrong in ["/a*b", "/*/*"] {
            let error = Authorizer::new(&with(wrong), None).err().unwrap();
            let told = format!("only trailing * allowed in {:?}", &wrong[1..]);
            assert_eq!(error.to_string(), told);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn answers_count_for_a_while_and_failures_do_not() {
        let reviewer = Arc::new(Friendly::default());
        let options = AuthorizationOptions {
            unauthorized_ttl: Duration::from_secs(5),
            ..AuthorizationOptions::default()
        };
        let authorizer = Authorizer::new(&options, Some(Arc::clone(&reviewer) as _)).unwrap();
        let asked = || reviewer.0.swap(0, Ordering::Relaxed);
        let friend = access("friend", "", "/metrics");
        let foe = access("foe", "", "/metrics");
        for _ in 0..3 {
            assert_eq!(authorizer.decide(&friend).await, Decision::Allowed);
            assert_eq!(authorizer.decide(&foe).await, forbidden("a foe"));
        }
        assert_eq!(asked(), 2);
        authorizer.decide(&access("friend", "", "/configz")).await;
        assert_eq!(asked(), 1, "another path is another question");
        tokio::time::advance(Duration::from_secs(5)).await;
        authorizer.decide(&friend).await;
        authorizer.decide(&foe).await;
        assert_eq!(asked(), 1, "the no is over, the yes is not");
        for _ in 0..2 {
            let unknown = authorizer.decide(&access("stranger", "", "/metrics")).await;
            assert_eq!(unknown, Decision::Unknown("no answer".to_owned()));
        }
        assert_eq!(asked(), 2);
        let both = authorizer.decide(&access("both", "", "/metrics")).await;
        assert!(matches!(both, Decision::Unknown(why) if why.contains("both allow and deny")));
    }
}
