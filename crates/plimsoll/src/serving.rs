//! From flags to a guarded server: who is asked about whoever asks this process for something.

use std::collections::BTreeMap;
use std::net::{Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_actors::http_server::Listen;
use plimsoll_client::{
    AccessQuestion, ApiClient, Clock, ConnectError, connect_for_reviews, read_config_map, review_access, review_token,
};
use plimsoll_telemetry::{
    About, Access, AccessReviewer, AuthenticationError, AuthenticationLookup, AuthenticationOptions, Authenticator,
    AuthorizationOptions, Authorizer, Guard, PathError, RestClientMetrics, ServingOptions, TokenReviewer, User,
    Verdict,
};

/// Where, how and to whom health, metrics and debugging are served.
#[derive(Debug, Clone)]
pub struct Serving {
    /// Address, port and TLS.
    pub options: ServingOptions,
    /// How senders of requests are told.
    pub authentication: AuthenticationOptions,
    /// How to reach who is asked about tokens, and for the authorities that the cluster trusts.
    pub authentication_kubeconfig: Option<PathBuf>,
    /// Who may ask for what.
    pub authorization: AuthorizationOptions,
    /// How to reach who is asked about that.
    pub authorization_kubeconfig: Option<PathBuf>,
    /// The host, without a port, under which others reach this replica; the address itself, unless it means every one.
    pub advertised: Option<String>,
    /// What an operator should know of the flags.
    pub warnings: Vec<String>,
}

/// Why nothing can be served as asked for.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// `--authentication-kubeconfig` or the cluster that this runs in.
    #[error("failed to get delegated authentication kubeconfig: {}", cause(.0))]
    AuthenticationKubeconfig(ConnectError),
    /// `--authorization-kubeconfig` or the cluster that this runs in.
    #[error("failed to get delegated authorization kubeconfig: {}", cause(.0))]
    AuthorizationKubeconfig(ConnectError),
    /// Nobody could be authenticated.
    #[error(transparent)]
    Authentication(#[from] AuthenticationError),
    /// A path that cannot be always allowed.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// The error and what is behind it.
fn cause(error: &ConnectError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

impl Serving {
    /// Finds out whom to ask, and asks for the authorities that the cluster trusts. Its requests are told of by `metrics`.
    pub(crate) async fn listen(
        self,
        about: About,
        metrics: &Arc<RestClientMetrics>,
        clock: Arc<dyn Clock>,
    ) -> Result<Listen, ServingError> {
        for warning in &self.warnings {
            tracing::warn!("{warning}");
        }
        let connect = |kubeconfig: Option<PathBuf>| {
            let clock = Arc::clone(&clock);
            async move {
                let client = connect_for_reviews(kubeconfig.as_deref().map(Path::new), clock).await?;
                Ok(client.map(|client| client.measured_by(metrics)))
            }
        };
        let authentication = connect(self.authentication_kubeconfig).await;
        let authentication = authentication.map_err(ServingError::AuthenticationKubeconfig)?;
        let authorization = connect(self.authorization_kubeconfig).await;
        let authorization = authorization.map_err(ServingError::AuthorizationKubeconfig)?;
        if authorization.is_none() {
            tracing::warn!(
                "No authorization-kubeconfig provided, so SubjectAccessReview of authorization tokens won't work."
            );
        }
        let reviews = |client: &ApiClient| Arc::new(Reviews(client.clone()));
        let authenticator = Authenticator::new(
            &self.authentication,
            authentication.as_ref().map(|client| reviews(client) as _),
            authentication.as_ref().map(|client| reviews(client) as _),
        );
        let guard = Guard {
            authenticator: authenticator.await?,
            authorizer: Authorizer::new(
                &self.authorization,
                authorization.as_ref().map(|client| reviews(client) as _),
            )?,
        };
        Ok(Listen {
            options: on_all_families(self.options),
            guard: Arc::new(guard),
            about: Arc::new(about),
            advertised: self.advertised,
        })
    }
}

/// `0.0.0.0` means every address of the host, IPv6 ones included, as it does in Go.
fn on_all_families(mut options: ServingOptions) -> ServingOptions {
    let every = Ipv6Addr::UNSPECIFIED;
    // A host without IPv6 refuses the probe.
    if options.address.ip().is_unspecified() && UdpSocket::bind((every, 0)).is_ok() {
        options.address = SocketAddr::new(every.into(), options.address.port());
    }
    options
}

/// Asks an API server.
struct Reviews(ApiClient);

impl TokenReviewer for Reviews {
    fn review<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<User>, String>> {
        async move {
            let user = review_token(&self.0, token).await?;
            Ok(user.map(|user| User {
                name: user.username,
                uid: user.uid,
                groups: user.groups,
                extra: user.extra,
            }))
        }
        .boxed()
    }
}

impl AccessReviewer for Reviews {
    fn review<'a>(&'a self, access: &'a Access) -> BoxFuture<'a, Result<Verdict, String>> {
        async move {
            let User {
                name,
                uid,
                groups,
                extra,
            } = &access.user;
            let question = AccessQuestion {
                user: name,
                uid,
                groups,
                extra,
                path: &access.path,
                verb: &access.verb,
            };
            let reply = review_access(&self.0, question).await?;
            Ok(Verdict {
                allowed: reply.allowed,
                denied: reply.denied,
                reason: reply.reason,
            })
        }
        .boxed()
    }
}

impl AuthenticationLookup for Reviews {
    fn read(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, String>> {
        read_config_map(&self.0, "kube-system", "extension-apiserver-authentication").boxed()
    }
}
