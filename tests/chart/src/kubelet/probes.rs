//! A container's probes.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::{Container, Pod, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{Client, Config};

/// The paths that are asked, in their order, and who asks.
#[derive(Clone, Debug, Default)]
pub(super) struct Probes {
    started: Vec<Path>,
    steady: Vec<Path>,
    has_started: bool,
}

#[derive(Clone)]
struct Path {
    client: Client,
    path: String,
}

impl std::fmt::Debug for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.path)
    }
}

impl Probes {
    /// Those of the pod's container, at this address. A pod without any is ready when it runs.
    pub(super) fn of(pod: &Pod, address: Ipv4Addr) -> anyhow::Result<Self> {
        let container = pod.spec.as_ref().and_then(|spec| spec.containers.first());
        let container = container.context("no container")?;
        let path = |probe: &Option<Probe>| -> anyhow::Result<Option<Path>> {
            probe
                .as_ref()
                .map(|probe| Path::of(container, probe, address))
                .transpose()
        };
        Ok(Self {
            started: path(&container.startup_probe)?.into_iter().collect(),
            steady: [path(&container.liveness_probe)?, path(&container.readiness_probe)?]
                .into_iter()
                .flatten()
                .collect(),
            has_started: false,
        })
    }

    /// Asks. One that does not live is not ready either.
    pub(super) async fn ready(&mut self) -> bool {
        if !self.has_started {
            self.has_started = all_well(&self.started).await;
        }
        self.has_started && all_well(&self.steady).await
    }
}

async fn all_well(paths: &[Path]) -> bool {
    for path in paths {
        if !path.is_well().await {
            return false;
        }
    }
    true
}

impl Path {
    fn of(container: &Container, probe: &Probe, address: Ipv4Addr) -> anyhow::Result<Self> {
        let get = probe.http_get.as_ref().context("a probe that asks for no path")?;
        ensure!(get.scheme.as_deref() == Some("HTTPS"), "a probe without TLS");
        let port = match &get.port {
            IntOrString::Int(port) => *port,
            IntOrString::String(name) => {
                let ports = container.ports.iter().flatten();
                let named = ports.into_iter().find(|port| port.name.as_ref() == Some(name));
                named.with_context(|| format!("no port {name}"))?.container_port
            }
        };
        let mut config = Config::new(format!("https://{address}:{port}").parse()?);
        // As a kubelet, which does not look at the certificate.
        config.accept_invalid_certs = true;
        config.default_retry = false;
        let seconds = probe.timeout_seconds.unwrap_or(1).try_into().unwrap_or(1);
        config.connect_timeout = Some(Duration::from_secs(seconds));
        config.read_timeout = Some(Duration::from_secs(seconds));
        Ok(Self {
            client: Client::try_from(config)?,
            path: get.path.clone().context("a probe without a path")?,
        })
    }

    async fn is_well(&self) -> bool {
        let Ok(request) = http::Request::get(&self.path).body(Vec::new()) else {
            return false;
        };
        self.client.request_text(request).await.is_ok()
    }
}
