//! The two servers.

use std::path::PathBuf;

use anyhow::Context;
use kube::config::{KubeConfigOptions, Kubeconfig};
use plimsoll_apiserver::review::User as EmbeddedUser;
use plimsoll_apiserver::{ApiServer, Config, Serving, Tls, Tokens};
use plimsoll_controlplane::{ControlPlane, Programs, User};
use tokio::net::TcpListener;

const TOKEN: &str = "parity";

/// A server that a script is played against.
pub enum Target {
    /// The embedded server, over TLS on a loopback port.
    Embedded(ApiServer, Serving),
    /// etcd and kube-apiserver.
    Real(Box<ControlPlane>),
}

impl Target {
    /// Starts the embedded server.
    pub async fn embedded() -> anyhow::Result<Self> {
        // More than one TLS provider is compiled in; a second call changes nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let admin = EmbeddedUser {
            name: "plimsoll-test".to_owned(),
            uid: String::new(),
            groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
        };
        let server = ApiServer::new(Config {
            tokens: Tokens::default().with(TOKEN, admin),
            ..Config::default()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let serving = server.serve(listener, Tls::SelfSigned)?;
        Ok(Self::Embedded(server, serving))
    }

    /// Starts the real programs.
    pub async fn real(programs: Programs) -> anyhow::Result<Self> {
        let plane = ControlPlane::builder(programs).name("parity").start().await?;
        Ok(Self::Real(Box::new(plane)))
    }

    /// A client of an administrator that never retries by itself.
    pub async fn client(&self) -> anyhow::Result<kube::Client> {
        match self {
            Self::Real(plane) => plane.client(&User::admin()).await,
            Self::Embedded(_, serving) => {
                let kubeconfig = Kubeconfig::from_yaml(&serving.kubeconfig(Some(TOKEN)))?;
                let options = KubeConfigOptions::default();
                let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
                config.default_retry = false;
                Ok(kube::Client::try_from(config)?)
            }
        }
    }

    /// Writes a kubeconfig into `dir` and returns its path.
    pub fn kubeconfig(&self, dir: &std::path::Path) -> anyhow::Result<PathBuf> {
        match self {
            Self::Real(plane) => plane.server().kubeconfig(&User::admin()),
            Self::Embedded(_, serving) => {
                let path = dir.join("kubeconfig");
                std::fs::write(&path, serving.kubeconfig(Some(TOKEN))).context("kubeconfig")?;
                Ok(path)
            }
        }
    }

    /// Forgets all history up to now.
    ///
    /// A running kube-apiserver goes on answering from its watch cache; it is started anew, on the same port, so that
    /// it remembers no more than etcd.
    pub async fn compact(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Embedded(server, _) => server.compact(server.resource_version()),
            Self::Real(plane) => {
                plane.etcd().compact().await?;
                plane.stop_server()?;
                plane.start_server().await?;
            }
        }
        Ok(())
    }
}
