//! Who sends a request: as kube-scheduler, by a proxy's headers, a client certificate or a token that the API server is asked
//! about. Who shows nothing is `system:anonymous`; who shows something that is not good is turned away.

mod bearer_token;
mod client_certificate;
mod cluster;
mod request_header;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use rustls::pki_types::CertificateDer;
use tokio_util::sync::CancellationToken;

use self::bearer_token::Tokens;
use self::client_certificate::Authorities;
use self::cluster::{Cluster, Trust};
use self::request_header::Proxy;
pub use self::request_header::RequestHeaderOptions;
use crate::followed::Followed;
use crate::{AuthenticationLookup, TokenReviewer, User};

/// How requests are authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthenticationOptions {
    /// `--client-ca-file`: whoever these authorities have signed for is whom the certificate names.
    pub client_ca_file: Option<PathBuf>,
    /// `--requestheader-…`.
    pub request_header: RequestHeaderOptions,
    /// `--authentication-skip-lookup`: the cluster is not asked for authorities that no flag names.
    pub skip_lookup: bool,
    /// `--authentication-tolerate-lookup-failure`: it is not necessary that it can be asked.
    pub tolerate_lookup_failure: bool,
    /// How long an answer about a token counts.
    pub token_ttl: Duration,
}

impl Default for AuthenticationOptions {
    fn default() -> Self {
        Self {
            client_ca_file: None,
            request_header: RequestHeaderOptions::default(),
            skip_lookup: false,
            tolerate_lookup_failure: true,
            token_ttl: Duration::from_secs(10),
        }
    }
}

/// Why nobody can be authenticated as was asked for. The texts are kube-scheduler's.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticationError {
    /// `--client-ca-file` cannot be used.
    #[error("unable to load client CA provider: {0}")]
    ClientCa(String),
    /// `--requestheader-client-ca-file` cannot be used.
    #[error("unable to create request header authentication config: {0}")]
    RequestHeaderCa(String),
    /// The cluster could not be asked, and had to be.
    #[error("unable to load configmap based request-header-client-ca-file: {0}")]
    Lookup(String),
}

/// What a request shows of its sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Credentials<'a> {
    /// The certificates of the connection, the sender's own first. The sender has proved that it has the first one's key,
    /// and nothing else is known of them.
    pub(crate) certificates: &'a [CertificateDer<'static>],
    /// The headers.
    pub(crate) headers: &'a HeaderMap,
}

/// Tells who sends a request.
#[derive(Debug)]
pub struct Authenticator {
    clients: Option<Followed<Authorities>>,
    proxy: Option<(Followed<Authorities>, Proxy)>,
    cluster: Option<Cluster>,
    tokens: Option<Tokens>,
}

impl Authenticator {
    /// Reads the files, and asks the cluster for what they do not say. Without somebody to ask, tokens are looked at by
    /// nobody.
    ///
    /// # Errors
    /// When a file cannot be used, or the cluster has to be asked and cannot.
    pub async fn new(
        options: &AuthenticationOptions,
        tokens: Option<Arc<dyn TokenReviewer>>,
        lookup: Option<Arc<dyn AuthenticationLookup>>,
    ) -> Result<Self, AuthenticationError> {
        let clients = options.client_ca_file.clone().map(Authorities::follow).transpose();
        let clients = clients.map_err(AuthenticationError::ClientCa)?;
        let header = &options.request_header;
        let proxy = header.client_ca_file.clone().map(Authorities::follow).transpose();
        let proxy = proxy.map_err(AuthenticationError::RequestHeaderCa)?;
        let wanted = cluster::Wanted {
            client_ca: clients.is_none(),
            request_header: proxy.is_none(),
        };
        let cluster = match lookup {
            _ if options.skip_lookup || !(wanted.client_ca || wanted.request_header) => None,
            Some(lookup) => Some(Cluster::new(lookup, wanted, options.tolerate_lookup_failure).await?),
            None => {
                wanted.warn_that_nobody_can_be_asked();
                None
            }
        };
        Ok(Self {
            clients,
            proxy: proxy.map(|authorities| (authorities, header.proxy())),
            cluster,
            tokens: tokens.map(|reviewer| Tokens::new(reviewer, options.token_ttl)),
        })
    }

    /// Reads files again that have changed. Called where a connection comes in, since certificates come with connections.
    pub(crate) async fn refresh(&self) {
        if let Some(clients) = &self.clients {
            clients.refresh().await;
        }
        if let Some((authorities, _)) = &self.proxy {
            authorities.refresh().await;
        }
    }

    /// Asks the cluster again and again, until it is told to stop.
    pub(crate) async fn follow(&self, stop: &CancellationToken) {
        if let Some(cluster) = &self.cluster {
            stop.run_until_cancelled(cluster.follow()).await;
        }
    }

    /// Who sends this. An error is for the log alone: it says what is wrong with what the sender shows.
    pub(crate) async fn authenticate(&self, credentials: Credentials<'_>) -> Result<User, String> {
        let mut wrong = Vec::new();
        for shown in [self.by_proxy(credentials), self.by_certificate(credentials)] {
            match shown {
                Ok(Some(user)) => return Ok(user.authenticated()),
                Ok(None) => {}
                Err(why) => wrong.push(why),
            }
        }
        if let Some(tokens) = &self.tokens {
            match tokens.authenticate(credentials.headers).await {
                Ok(Some(user)) => return Ok(user.authenticated()),
                Ok(None) => {}
                Err(why) => wrong.push(why),
            }
        }
        if wrong.is_empty() {
            Ok(User::anonymous())
        } else {
            Err(wrong.join(", "))
        }
    }

    fn by_proxy(&self, credentials: Credentials<'_>) -> Result<Option<User>, String> {
        let found = self.found();
        let by_flags = self.proxy.as_ref();
        let by_flags = by_flags.map(|(authorities, proxy)| (authorities.current(), proxy.clone()));
        let by_cluster = || found.and_then(|found| found.proxy.clone());
        match by_flags.or_else(by_cluster) {
            Some((authorities, proxy)) => proxy.user(&authorities, credentials),
            None => Ok(None),
        }
    }

    fn by_certificate(&self, credentials: Credentials<'_>) -> Result<Option<User>, String> {
        let by_flags = self.clients.as_ref().map(Followed::current);
        let by_cluster = || self.found().and_then(|found| found.clients.clone());
        match by_flags.or_else(by_cluster) {
            Some(authorities) => authorities.user(credentials.certificates),
            None => Ok(None),
        }
    }

    fn found(&self) -> Option<Arc<Trust>> {
        self.cluster.as_ref().map(Cluster::trust)
    }
}
