//! Requests in the name of a user, with the credentials of their kubeconfig: to the API server and to schedulers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{StatusCode, Uri};
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::api_client::{SendError, get};
use crate::connect::client;
use crate::{ApiClient, ConnectError, LeaseClient, SystemClock};

/// Whose credentials to use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserAccess {
    /// The kubeconfig; without one those of `KUBECONFIG`, else `~/.kube/config`, else the service account of the pod.
    pub kubeconfig: Option<PathBuf>,
    /// A context of it in place of the current one.
    pub context: Option<String>,
}

/// How the serving certificate of a scheduler is judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServingTrust {
    /// Certificates of authorities (DER); those of the cluster in the kubeconfig if there are none.
    pub authorities: Option<Vec<Vec<u8>>>,
    /// The name in the certificate, where it is not the host in the URL.
    pub server_name: Option<String>,
    /// Whether any certificate will do.
    pub insecure: bool,
}

/// What came back, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserAnswer {
    /// Its status.
    pub status: StatusCode,
    /// Its body.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The address or the credentials cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Nothing came back.
    #[error("{0}")]
    Unanswered(String),
}

/// A user with their credentials.
#[derive(Clone)]
pub struct UserClient {
    config: kube::Config,
    request_timeout: Duration,
}

impl UserClient {
    /// Reads the credentials. Nothing is asked yet.
    ///
    /// # Errors
    /// When there are none, or they cannot be read.
    pub async fn new(access: &UserAccess, request_timeout: Duration) -> Result<Self, ConnectError> {
        let options = KubeConfigOptions {
            context: access.context.clone(),
            ..KubeConfigOptions::default()
        };
        let mut config = match &access.kubeconfig {
            Some(path) => of_file(path.clone(), &options).await?,
            None => of_environment(&options).await?,
        };
        config.default_retry = false;
        Ok(Self {
            config,
            request_timeout,
        })
    }

    /// The namespace of the context.
    pub fn namespace(&self) -> &str {
        &self.config.default_namespace
    }

    /// A lease at the API server.
    ///
    /// # Errors
    /// When the credentials cannot be used.
    pub fn lease(&self, namespace: &str, name: &str) -> Result<LeaseClient, ConnectError> {
        Ok(LeaseClient::new(self.api_client(&self.config)?, namespace, name))
    }

    /// Asks a scheduler at `url` for a path.
    ///
    /// # Errors
    /// When it cannot be asked or does not answer.
    pub async fn ask(&self, url: &str, path: &str, trust: &ServingTrust) -> Result<UserAnswer, AskError> {
        let cluster_url = url.parse::<Uri>().map_err(|source| ConnectError::Url {
            url: url.to_owned(),
            source,
        })?;
        let mut config = self.config.clone();
        config.cluster_url = cluster_url;
        config.accept_invalid_certs = trust.insecure;
        config.tls_server_name = trust.server_name.clone();
        if let Some(authorities) = &trust.authorities {
            config.root_cert = Some(authorities.clone());
            config.root_cert_file = None;
        }
        match self.api_client(&config)?.send(get(path)).await {
            Ok(reply) => Ok(UserAnswer {
                status: reply.status,
                body: reply.body,
            }),
            Err(SendError::NotSent(why)) => Err(AskError::Unanswered(why.to_string())),
            Err(SendError::Unknown(why)) => Err(AskError::Unanswered(why)),
        }
    }

    fn api_client(&self, config: &kube::Config) -> Result<ApiClient, ConnectError> {
        let client = ApiClient::new(client(config, None)?, Arc::new(SystemClock));
        Ok(client.with_request_timeout(self.request_timeout))
    }
}

async fn of_file(path: PathBuf, options: &KubeConfigOptions) -> Result<kube::Config, ConnectError> {
    let failed = |source| ConnectError::Kubeconfig {
        path: path.clone(),
        source: Box::new(source),
    };
    let kubeconfig = Kubeconfig::read_from(&path).map_err(failed)?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, options).await;
    config.map_err(failed)
}

/// As `kubectl` finds them. Without any file it is the error about the file that is told, outside of pods.
async fn of_environment(options: &KubeConfigOptions) -> Result<kube::Config, ConnectError> {
    match kube::Config::from_kubeconfig(options).await {
        Ok(config) => Ok(config),
        Err(source) => kube::Config::incluster().map_err(|_| ConnectError::Kubeconfig {
            path: std::env::var_os("KUBECONFIG").map_or_else(|| "~/.kube/config".into(), PathBuf::from),
            source: Box::new(source),
        }),
    }
}
