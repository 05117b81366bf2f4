//! What the cluster itself says about how users prove who they are: a config map that kube-apiserver keeps for servers
//! beside it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::AuthenticationError;
use super::client_certificate::Authorities;
use super::request_header::Proxy;
use crate::AuthenticationLookup;

/// Authorities change every few years.
const PAUSE: Duration = Duration::from_mins(1);
/// While it is not known who may sign, nobody gets in with a certificate.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(10);

const WHERE: &str = "configmap/extension-apiserver-authentication in kube-system";

/// What no flag says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) client_ca: bool,
    pub(super) request_header: bool,
}

impl Wanted {
    pub(super) fn warn_that_nobody_can_be_asked(self) {
        let cases = [
            (self.client_ca, "client-ca-file", "client certificate"),
            (
                self.request_header,
                "requestheader-client-ca-file",
                "request-header client certificate",
            ),
        ];
        for (_, key, what) in cases.into_iter().filter(|(wanted, _, _)| *wanted) {
            tracing::warn!(
                "No authentication-kubeconfig provided in order to lookup {key} in {WHERE}, so {what} authentication won't work."
            );
        }
    }
}

/// Whom the cluster trusts.
#[derive(Default, Debug)]
pub(super) struct Trust {
    pub(super) clients: Option<Arc<Authorities>>,
    pub(super) proxy: Option<(Arc<Authorities>, Proxy)>,
}

/// Asks the cluster, and keeps its last answer.
pub(super) struct Cluster {
    lookup: Arc<dyn AuthenticationLookup>,
    wanted: Wanted,
    trust: ArcSwap<Trust>,
    answered: bool,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("wanted", &self.wanted)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    pub(super) async fn new(
        lookup: Arc<dyn AuthenticationLookup>,
        wanted: Wanted,
        tolerant: bool,
    ) -> Result<Self, AuthenticationError> {
        let (trust, answered) = match read(lookup.as_ref(), wanted).await {
            Ok(trust) => (trust, true),
            Err(why) if tolerant => {
                tracing::warn!("Error looking up in-cluster authentication configuration: {why}");
                tracing::warn!(
                    "Continuing without authentication configuration. This may treat all requests as anonymous."
                );
                tracing::warn!(
                    "To require authentication configuration lookup to succeed, set --authentication-tolerate-lookup-failure=false"
                );
                (Trust::default(), false)
            }
            Err(why) => return Err(AuthenticationError::Lookup(why)),
        };
        Ok(Self {
            lookup,
            wanted,
            trust: ArcSwap::from_pointee(trust),
            answered,
        })
    }

    pub(super) fn trust(&self) -> Arc<Trust> {
        self.trust.load_full()
    }

    /// Asks for ever. An answer that cannot be had or used changes nothing.
    pub(super) async fn follow(&self) {
        let mut well = self.answered;
        loop {
            tokio::time::sleep(if well { PAUSE } else { PAUSE_AFTER_FAILURE }).await;
            match read(self.lookup.as_ref(), self.wanted).await {
                Ok(trust) => {
                    if !well {
                        tracing::info!("Authentication configuration was read from {WHERE}");
                    }
                    self.trust.store(Arc::new(trust));
                    well = true;
                }
                Err(why) => {
                    if well {
                        tracing::warn!("Error looking up in-cluster authentication configuration: {why}");
                    }
                    well = false;
                }
            }
        }
    }
}

async fn read(lookup: &dyn AuthenticationLookup, wanted: Wanted) -> Result<Trust, String> {
    let texts = lookup.read().await?;
    let authorities = |key: &str, wanted: bool| {
        let pem = texts.get(key).filter(|pem| wanted && !pem.is_empty());
        let parsed = pem.map(|pem| Authorities::parse(pem.as_bytes())).transpose();
        parsed.map_err(|why| format!("{key} of {WHERE}: {why}"))
    };
    let clients = authorities("client-ca-file", wanted.client_ca)?.map(Arc::new);
    let proxy = authorities("requestheader-client-ca-file", wanted.request_header)?;
    let proxy = proxy.map(|authorities| proxy_of(&texts).map(|proxy| (Arc::new(authorities), proxy)));
    Ok(Trust {
        clients,
        proxy: proxy.transpose()?,
    })
}

/// Each list is a JSON array.
fn proxy_of(texts: &BTreeMap<String, String>) -> Result<Proxy, String> {
    let list = |key: &str| {
        let text = texts.get(key).map_or("", String::as_str);
        if text.is_empty() {
            return Ok(Vec::new());
        }
        serde_json::from_str::<Vec<String>>(text).map_err(|error| format!("{key} of {WHERE}: {error}"))
    };
    Ok(Proxy {
        allowed_names: list("requestheader-allowed-names")?,
        username_headers: list("requestheader-username-headers")?,
        uid_headers: list("requestheader-uid-headers")?,
        group_headers: list("requestheader-group-headers")?,
        extra_headers_prefix: list("requestheader-extra-headers-prefix")?,
    })
}
