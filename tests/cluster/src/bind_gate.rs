//! Holds Bindings at the API server, so that a test can act between the decision and the bind with certainty.
//!
//! It is an admission webhook for `pods/binding`: the API server asks before it binds, and waits for the answer.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use axum::extract::State;
use axum::{Json, Router, routing};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::api::{Api, DeleteParams, PostParams};
use plimsoll_controlplane::{Authority, ServingCertificate};
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

const NAME: &str = "plimsoll-bind-gate";
const PROBE: &str = "bind-gate-probe";

/// A gate through which every Binding of the cluster must pass.
#[derive(Debug)]
pub struct BindGate {
    doors: Arc<Doors>,
    _server: JoinSet<()>,
}

#[derive(Debug)]
struct Doors {
    /// Pods whose Bindings stand before a closed door.
    closed: watch::Sender<BTreeSet<String>>,
    /// Pods of which a Binding has come to the gate, through it or not.
    arrived: watch::Sender<BTreeSet<String>>,
    /// Failures of the server's own, for the test to show.
    failures: Mutex<Vec<String>>,
}

#[derive(Deserialize)]
struct Review {
    request: ReviewRequest,
}

#[derive(Deserialize)]
struct ReviewRequest {
    uid: String,
    name: String,
}

impl BindGate {
    /// Sets the gate up, all doors open, and waits until the API server honours it.
    pub(crate) async fn start(client: &kube::Client, authority: &Authority) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let doors = Arc::new(Doors {
            closed: watch::channel(BTreeSet::new()).0,
            arrived: watch::channel(BTreeSet::new()).0,
            failures: Mutex::new(Vec::new()),
        });
        let router = Router::new()
            .route("/bind", routing::post(answer))
            .with_state(Arc::clone(&doors));
        let tls = TlsListener {
            listener,
            acceptor: acceptor(&authority.serving()?)?,
        };
        let mut server = JoinSet::new();
        let reporter = Arc::clone(&doors);
        server.spawn(async move {
            if let Err(error) = axum::serve(tls, router).await {
                reporter
                    .failures
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(error.to_string());
            }
        });
        let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
        configurations
            .create(&PostParams::default(), &configuration(port, authority)?)
            .await?;
        let gate = Self { doors, _server: server };
        gate.wait_until_honoured(client).await?;
        Ok(gate)
    }

    /// Takes a gate that an earlier test left away, if there is one, and waits until Bindings pass again.
    pub(crate) async fn remove(client: &kube::Client) -> anyhow::Result<()> {
        let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
        match configurations.delete(NAME, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(()),
            outcome => drop(outcome?),
        }
        // The probe's pod does not exist: 404 comes from behind the gate, anything else from before it.
        for _ in 0..100 {
            if matches!(probe(client).await, Err(kube::Error::Api(status)) if status.is_not_found()) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::bail!("the API server still asks a bind gate that is gone")
    }

    /// From now on Bindings of the pod called `name` wait.
    pub fn close(&self, name: &str) {
        self.doors.closed.send_modify(|closed| {
            closed.insert(name.to_owned());
        });
    }

    /// Lets the Bindings of the pod called `name` pass, those waiting too.
    pub fn open(&self, name: &str) {
        self.doors.closed.send_modify(|closed| {
            closed.remove(name);
        });
    }

    /// Waits until a Binding of the pod called `name` stands at the gate.
    pub async fn arrival(&self, name: &str) -> anyhow::Result<()> {
        let mut arrived = self.doors.arrived.subscribe();
        let wait = arrived.wait_for(|arrived| arrived.contains(name));
        tokio::time::timeout(Duration::from_secs(20), wait)
            .await
            .with_context(|| format!("no Binding of {name} came to the gate; {:?}", self.doors.failures))??;
        Ok(())
    }

    /// The API server reads its webhooks a moment after they are written.
    async fn wait_until_honoured(&self, client: &kube::Client) -> anyhow::Result<()> {
        for _ in 0..100 {
            // What the answer is does not matter: the pod does not exist.
            let _ = probe(client).await;
            if self.doors.arrived.borrow().contains(PROBE) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::bail!("the API server does not ask the bind gate; {:?}", self.doors.failures)
    }
}

/// Asks for a Binding that binds nothing.
async fn probe(client: &kube::Client) -> Result<String, kube::Error> {
    let body = json!({ "metadata": { "name": PROBE }, "target": { "kind": "Node", "name": "nowhere" } });
    let request = http::Request::post(format!("/api/v1/namespaces/default/pods/{PROBE}/binding?dryRun=All"))
        .header("content-type", "application/json")
        .body(body.to_string().into_bytes())
        .map_err(kube::Error::HttpError)?;
    client.request_text(request).await
}

async fn answer(State(doors): State<Arc<Doors>>, Json(review): Json<Review>) -> Json<Value> {
    let name = review.request.name;
    doors.arrived.send_modify(|arrived| {
        arrived.insert(name.clone());
    });
    // Fails only when the gate is gone, and then nothing holds the Binding any more.
    let _ = doors
        .closed
        .subscribe()
        .wait_for(|closed| !closed.contains(&name))
        .await;
    Json(json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": { "uid": review.request.uid, "allowed": true },
    }))
}

fn configuration(port: u16, authority: &Authority) -> anyhow::Result<ValidatingWebhookConfiguration> {
    Ok(serde_json::from_value(json!({
        "metadata": { "name": NAME },
        "webhooks": [{
            "name": "bind-gate.plimsoll.test",
            "clientConfig": {
                "url": format!("https://127.0.0.1:{port}/bind"),
                "caBundle": ByteString(authority.pem().into_bytes()),
            },
            "rules": [{
                "operations": ["CREATE"],
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["pods/binding"],
            }],
            "failurePolicy": "Fail",
            "timeoutSeconds": 30,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    }))?)
}

fn acceptor(serving: &ServingCertificate) -> anyhow::Result<TlsAcceptor> {
    let certificate = rustls::pki_types::CertificateDer::from_pem_slice(serving.certificate.as_bytes())?;
    let key = rustls::pki_types::PrivateKeyDer::from_pem_slice(serving.key.as_bytes())?;
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            // A client that breaks off its connection is no reason to stop serving.
            if let Ok((stream, address)) = self.listener.accept().await
                && let Ok(stream) = self.acceptor.accept(stream).await
            {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}
