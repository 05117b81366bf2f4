use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use kube::client::ConfigExt;
use kube::config::{Cluster, KubeConfigOptions, Kubeconfig};
use plimsoll_config::{ClientConnection, ElectionConfig};
use plimsoll_telemetry::RestClientMetrics;
use tokio::net::TcpStream;
use tower::{BoxError, ServiceBuilder, ServiceExt};

use crate::fence::fenced;
use crate::term_token::time_on_the_way;
use crate::wire::FencedStream;
use crate::{ApiClient, Clock};

/// A connection that is silent for this long is probed, and given up after a few unanswered probes: a watch would
/// otherwise not notice a peer that vanished without a word.
const KEEPALIVE: Duration = Duration::from_secs(15);
/// How long the answer to a review may take.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Where the API server is, as kube-scheduler's flags say it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// `--kubeconfig`.
    pub kubeconfig: Option<PathBuf>,
    /// `--master`: overrides the server of the kubeconfig; without one it stands alone.
    pub master: Option<String>,
}

/// The API server cannot be reached for a reason that waiting does not cure.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig is missing or faulty.
    #[error("cannot use kubeconfig {path}")]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<kube::config::KubeconfigError>,
    },
    /// Neither flag is given and this is no pod with a service account.
    #[error("neither --kubeconfig nor --master is given, and the in-cluster configuration is not usable")]
    InCluster(#[source] Box<kube::config::InClusterError>),
    /// `--master` is no address.
    #[error("--master {master:?} is no URL")]
    Master {
        /// As given.
        master: String,
        /// Why.
        #[source]
        source: http::uri::InvalidUri,
    },
    /// The kubeconfig asks for something that this client does not do.
    #[error("{0} is not supported")]
    Unsupported(&'static str),
    /// A URL that is none.
    #[error("{url:?} is no URL")]
    Url {
        /// As given.
        url: String,
        /// Why.
        #[source]
        source: http::uri::InvalidUri,
    },
    /// Credentials or certificates cannot be used.
    #[error("cannot set up credentials or TLS")]
    Credentials(#[source] Box<kube::Error>),
}

/// The ways to the API server that a scheduler keeps apart: a full rate limit or a stuck request on one must not
/// keep the other from renewing the lease.
#[derive(Debug, Clone)]
pub struct Connections {
    /// For pods and nodes.
    pub main: ApiClient,
    /// For events, under a limit of its own as in kube-scheduler: bindings must not wait for them, nor they for bindings.
    pub events: ApiClient,
    /// For the lease: no rate limit, and a time-out of half the renew deadline but at least a second.
    pub leader_election: ApiClient,
}

impl Connections {
    /// The same, with their requests told of.
    #[must_use]
    pub fn measured_by(self, metrics: &Arc<RestClientMetrics>) -> Self {
        Self {
            main: self.main.measured_by(metrics),
            events: self.events.measured_by(metrics),
            leader_election: self.leader_election.measured_by(metrics),
        }
    }
}

/// Connects as kube-scheduler does. No request is made yet; must be called within a tokio runtime.
pub async fn connect(
    access: &Access,
    connection: &ClientConnection,
    election: &ElectionConfig,
    clock: Arc<dyn Clock>,
) -> Result<Connections, ConnectError> {
    let config = load_config(access).await?;
    let on_the_way = time_on_the_way(election.write_timeout());
    let host = config
        .cluster_url
        .authority()
        .map_or("", |authority| authority.as_str());
    let main = ApiClient::new(client(&config, Some(on_the_way))?, Arc::clone(&clock)).to_host(host);
    let leader_election = ApiClient::new(client(&config, None)?, clock).to_host(host);
    Ok(separate(main, leader_election, connection, election))
}

/// A way to ask about whoever asks this process: by this kubeconfig, else by the pod's service account. Nothing outside of a
/// cluster without a kubeconfig. It has a limit and a time-out of its own, kube-scheduler's for this purpose.
pub async fn connect_for_reviews(
    kubeconfig: Option<&Path>,
    clock: Arc<dyn Clock>,
) -> Result<Option<ApiClient>, ConnectError> {
    if kubeconfig.is_none() && std::env::var_os("KUBERNETES_SERVICE_HOST").is_none() {
        return Ok(None);
    }
    let access = Access {
        kubeconfig: kubeconfig.map(Path::to_owned),
        master: None,
    };
    let config = match load_config(&access).await {
        Err(error @ ConnectError::InCluster(_)) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(
                error = cause,
                "failed to read in-cluster kubeconfig for delegated authentication and authorization"
            );
            return Ok(None);
        }
        config => config?,
    };
    let limit = ClientConnection {
        qps: 200.0,
        burst: 400,
        ..ClientConnection::default()
    };
    let client = ApiClient::new(client(&config, None)?, clock)
        .with_user_agent(user_agent("reviews"))
        .with_rate_limit(&limit)
        .with_request_timeout(REVIEW_TIMEOUT);
    Ok(Some(client))
}

/// Gives two clients their names, limits and time-outs. For tests and simulations, over services in process.
pub fn separate(
    main: ApiClient,
    leader_election: ApiClient,
    connection: &ClientConnection,
    election: &ElectionConfig,
) -> Connections {
    Connections {
        events: main
            .clone()
            .with_user_agent(user_agent("events"))
            .with_rate_limit(connection),
        main: main
            .with_user_agent(user_agent("scheduler"))
            .with_rate_limit(connection),
        leader_election: leader_election
            .with_user_agent(user_agent("leader-election"))
            .with_request_timeout(lease_request_timeout(election)),
    }
}

fn lease_request_timeout(election: &ElectionConfig) -> Duration {
    (election.renew_deadline / 2).max(Duration::from_secs(1))
}

/// Reads addresses and credentials.
pub async fn load_config(access: &Access) -> Result<kube::Config, ConnectError> {
    let mut config = match (&access.kubeconfig, &access.master) {
        (Some(path), _) => from_file(path).await?,
        (None, Some(master)) => kube::Config::new(parse_master(master)?),
        (None, None) => kube::Config::incluster().map_err(|source| ConnectError::InCluster(Box::new(source)))?,
    };
    if let Some(master) = &access.master {
        config.cluster_url = parse_master(master)?;
    }
    tell_of_proxy(&config.cluster_url);
    // A repeated POST of a binding is decided by the owner of the claim, never by the client.
    config.default_retry = false;
    Ok(config)
}

async fn from_file(path: &PathBuf) -> Result<kube::Config, ConnectError> {
    let failed = |source| ConnectError::Kubeconfig {
        path: path.clone(),
        source: Box::new(source),
    };
    let mut kubeconfig = Kubeconfig::read_from(path).map_err(failed)?;
    if let Some(cluster) = current_cluster(&mut kubeconfig) {
        if cluster.proxy_url.as_deref().is_some_and(|url| !url.is_empty()) {
            return Err(ConnectError::Unsupported("a proxy-url in the kubeconfig"));
        }
        // Where one is named none is taken from the environment, in which it may even be no URL.
        cluster.proxy_url = Some("http://not-used".to_owned());
    }
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(failed)?;
    config.proxy_url = None;
    Ok(config)
}

fn current_cluster(kubeconfig: &mut Kubeconfig) -> Option<&mut Cluster> {
    let current = kubeconfig.current_context.as_deref();
    let mut contexts = kubeconfig.contexts.iter();
    let context = contexts.find(|context| Some(context.name.as_str()) == current)?;
    let name = &context.context.as_ref()?.cluster;
    let mut clusters = kubeconfig.clusters.iter_mut();
    clusters.find(|named| named.name == *name)?.cluster.as_mut()
}

/// kube-scheduler would go through the proxy that the environment names, which could pass on what was sent before the lease was
/// lost, long after it.
fn tell_of_proxy(server: &http::Uri) {
    let variables = match server.scheme_str() {
        Some("https") => ["HTTPS_PROXY", "https_proxy"],
        _ => ["HTTP_PROXY", "http_proxy"],
    };
    if variables
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|proxy| !proxy.is_empty()))
    {
        tracing::info!("The API server is called directly: proxies of the environment are not used for it");
    }
}

fn parse_master(master: &str) -> Result<http::Uri, ConnectError> {
    let url = if master.contains("://") {
        master.to_owned()
    } else {
        format!("http://{master}")
    };
    url.parse().map_err(|source| ConnectError::Master {
        master: master.to_owned(),
        source,
    })
}

/// Our own stack over kube's parts: HTTP/1.1, so that no request waits behind a watch; no retries; no request logging,
/// which would log every outage at error level for each request; and the fence innermost, at the connection and again at its
/// socket.
///
/// What the other side's system has not acknowledged `on_the_way` is given up together with the connection: a request that was
/// sent in time must not be sent again by the operating system when the network is whole again and another replica leads. On
/// systems other than Linux that cannot be asked for.
pub(crate) fn client(config: &kube::Config, on_the_way: Option<Duration>) -> Result<kube::Client, ConnectError> {
    let failed = |source| ConnectError::Credentials(Box::new(source));
    if config.proxy_url.is_some() {
        return Err(ConnectError::Unsupported(
            "a proxy (proxy-url in the kubeconfig, or HTTPS_PROXY in the environment, whatever NO_PROXY says)",
        ));
    }
    let connector = connector(config, on_the_way);
    let connector = connector.map_response(stream as fn(_) -> _);
    let connector = config
        .rustls_https_connector_with_connector(connector)
        .map_err(failed)?;
    let connection = HyperClient::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(config.extra_headers_layer().map_err(failed)?)
        .option_layer(config.auth_layer().map_err(failed)?)
        .map_err(BoxError::from)
        .service(fenced(connection));
    Ok(kube::Client::new(service, config.default_namespace.clone()))
}

fn connector(config: &kube::Config, on_the_way: Option<Duration>) -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(
        config
            .connect_timeout
            .map_or(CONNECT_TIMEOUT, |own| own.min(CONNECT_TIMEOUT)),
    ));
    connector.set_keepalive(Some(KEEPALIVE));
    connector.set_keepalive_interval(Some(KEEPALIVE));
    // Where the time below is set, it counts in place of this number.
    connector.set_keepalive_retries(Some(3));
    #[cfg(any(target_os = "linux", target_os = "android"))]
    connector.set_tcp_user_timeout(on_the_way);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = on_the_way;
    connector
}

/// Closing a connection resets it: a request that was given up must not be delivered later by our operating system or by what
/// lies between. What the receiver's system has acknowledged is out of reach: the process there reads it all the same.
fn stream(stream: TokioIo<TcpStream>) -> FencedStream<TokioIo<TcpStream>> {
    if let Err(error) = stream.inner().set_zero_linger() {
        tracing::warn!(%error, "A connection cannot be made to end with a reset");
    }
    FencedStream::new(stream)
}

/// `plimsoll/0.1.0 (linux/amd64) scheduler`: the form of Kubernetes' own components, with Go's names of platforms.
fn user_agent(purpose: &str) -> HeaderValue {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let text = format!(
        "plimsoll/{} ({}/{arch}) {purpose}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS
    );
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("plimsoll"))
}

#[cfg(test)]
mod tests;
