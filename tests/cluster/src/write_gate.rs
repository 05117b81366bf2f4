//! Holds a scheduler's writes to pods and their volumes at the API server, so that a test can act between the decision and the write with
//! certainty.
//!
//! It is an admission webhook: the API server asks before it writes, and waits for the answer.

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
use plimsoll_controlplane::{Authority, ServingCertificate, User};
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

const NAME: &str = "plimsoll-write-gate";
const PROBE: &str = "write-gate-probe";

/// What a scheduler writes of a pod, or of its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Write {
    /// Its Binding.
    Bind,
    /// Its status.
    Status,
    /// Its deletion.
    Delete,
    /// Its eviction.
    Evict,
    /// A persistent volume, by its own name.
    Volume,
    /// A persistent volume claim, by its own name.
    Claim,
}

/// A gate through which every write of a scheduler to a pod, a volume or a claim must pass. Other users go round it.
#[derive(Debug)]
pub struct WriteGate {
    doors: Arc<Doors>,
    _server: JoinSet<()>,
}

/// Writes, each with the name of the object.
type Writes = BTreeSet<(Write, String)>;

#[derive(Debug)]
struct Doors {
    /// Those that stand before a closed door.
    closed: watch::Sender<Writes>,
    /// Those that have come to the gate, through it or not.
    arrived: watch::Sender<Writes>,
    /// Failures of the server's own, for the test to show.
    failures: Mutex<Vec<String>>,
}

#[derive(Deserialize)]
struct Review {
    request: ReviewRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewRequest {
    uid: String,
    name: String,
    operation: String,
    resource: Resource,
    #[serde(default)]
    sub_resource: String,
}

#[derive(Deserialize)]
struct Resource {
    resource: String,
}

impl ReviewRequest {
    fn write(&self) -> Option<Write> {
        let what = (self.resource.resource.as_str(), self.sub_resource.as_str());
        match (self.operation.as_str(), what) {
            ("CREATE", ("pods", "binding")) => Some(Write::Bind),
            ("UPDATE", ("pods", "status")) => Some(Write::Status),
            ("DELETE", ("pods", "")) => Some(Write::Delete),
            ("CREATE", ("pods", "eviction")) => Some(Write::Evict),
            ("UPDATE", ("persistentvolumes", "")) => Some(Write::Volume),
            ("UPDATE", ("persistentvolumeclaims", "")) => Some(Write::Claim),
            _ => None,
        }
    }
}

impl WriteGate {
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
            .route("/write", routing::post(answer))
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

    /// Takes a gate that an earlier test left away, if there is one, and waits until writes pass again.
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
        anyhow::bail!("the API server still asks a write gate that is gone")
    }

    /// From now on this write of the object called `name` waits.
    pub fn close(&self, write: Write, name: &str) {
        self.doors.closed.send_modify(|closed| {
            closed.insert((write, name.to_owned()));
        });
    }

    /// Lets this write of the object called `name` pass, those waiting too.
    pub fn open(&self, write: Write, name: &str) {
        self.doors.closed.send_modify(|closed| {
            closed.remove(&(write, name.to_owned()));
        });
    }

    /// Waits until this write of the object called `name` stands at the gate.
    pub async fn arrival(&self, write: Write, name: &str) -> anyhow::Result<()> {
        self.first_arrival(&[(write, name)]).await?;
        Ok(())
    }

    /// Waits until one of these writes stands at the gate, and tells which, by its place.
    pub async fn first_arrival(&self, writes: &[(Write, &str)]) -> anyhow::Result<usize> {
        let mut arrived = self.doors.arrived.subscribe();
        let place = |arrived: &Writes| {
            writes
                .iter()
                .position(|(write, name)| arrived.contains(&(*write, (*name).to_owned())))
        };
        let wait = arrived.wait_for(|arrived| place(arrived).is_some());
        let arrived = tokio::time::timeout(Duration::from_secs(20), wait)
            .await
            .with_context(|| format!("none of {writes:?} came to the gate; {:?}", self.doors.failures))??;
        place(&arrived).context("it has just arrived")
    }

    /// The API server reads its webhooks a moment after they are written.
    async fn wait_until_honoured(&self, client: &kube::Client) -> anyhow::Result<()> {
        for _ in 0..100 {
            // What the answer is does not matter: the pod does not exist.
            let _ = probe(client).await;
            if self.doors.arrived.borrow().contains(&(Write::Bind, PROBE.to_owned())) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::bail!("the API server does not ask the write gate; {:?}", self.doors.failures)
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
    let request = review.request;
    if let Some(write) = request.write() {
        let write = (write, request.name);
        doors.arrived.send_modify(|arrived| {
            arrived.insert(write.clone());
        });
        // Fails only when the gate is gone, and then nothing holds the write any more.
        let _ = doors
            .closed
            .subscribe()
            .wait_for(|closed| !closed.contains(&write))
            .await;
    }
    Json(json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": { "uid": request.uid, "allowed": true },
    }))
}

fn configuration(port: u16, authority: &Authority) -> anyhow::Result<ValidatingWebhookConfiguration> {
    let rule = |operation: &str, resource: &str| {
        json!({
            "operations": [operation],
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": [resource],
        })
    };
    // The test and its kubelets must get past a closed door.
    let scheduler = User::scheduler(0).name;
    let whose = format!(
        "request.userInfo.username == '{scheduler}' || request.name == '{PROBE}' || \
         request.userInfo.username.startsWith('system:serviceaccount:')"
    );
    Ok(serde_json::from_value(json!({
        "metadata": { "name": NAME },
        "webhooks": [{
            "name": "write-gate.plimsoll.test",
            "clientConfig": {
                "url": format!("https://127.0.0.1:{port}/write"),
                "caBundle": ByteString(authority.pem().into_bytes()),
            },
            "rules": [
                rule("CREATE", "pods/binding"),
                rule("UPDATE", "pods/status"),
                rule("DELETE", "pods"),
                rule("CREATE", "pods/eviction"),
                rule("UPDATE", "persistentvolumes"),
                rule("UPDATE", "persistentvolumeclaims"),
            ],
            "matchConditions": [{ "name": "by-a-scheduler", "expression": whose }],
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
