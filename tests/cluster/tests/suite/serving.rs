//! What the scheduler serves, and to whom: as on kube-scheduler, whoever it knows through the API server and that may.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::PostParams;
use kube::{Api, Client, Config};
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, Election, Replica, Scheduler, suite};
use plimsoll_controlplane::{Authority, ServingCertificate, User};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// How long anything may take that needs no time by itself.
const LIMIT: Duration = Duration::from_mins(1);
/// The identity of a scheduler that the suite does not watch.
const APART: usize = User::REPLICAS;

/// What a client shows.
#[derive(Clone, Default)]
struct Sender {
    token: Option<String>,
    /// Certificate and key.
    files: Option<(PathBuf, PathBuf)>,
    /// Whose signature under the server's certificate counts; anybody's, if there is nobody.
    trusts: Option<Vec<u8>>,
}

impl Sender {
    fn with_token(token: &str) -> Self {
        Self {
            token: Some(token.to_owned()),
            ..Self::default()
        }
    }

    fn with_certificate(folder: &Path, name: &str, certificate: &ServingCertificate) -> anyhow::Result<Self> {
        Ok(Self {
            files: Some(write(folder, name, certificate)?),
            ..Self::default()
        })
    }

    fn client(&self, port: u16) -> anyhow::Result<Client> {
        let mut config = Config::new(format!("https://127.0.0.1:{port}").parse()?);
        config.default_retry = false;
        config.accept_invalid_certs = self.trusts.is_none();
        config.root_cert = self.trusts.clone().map(|certificate| vec![certificate]);
        config.auth_info.token = self.token.clone().map(Into::into);
        if let Some((certificate, key)) = &self.files {
            config.auth_info.client_certificate = Some(certificate.display().to_string());
            config.auth_info.client_key = Some(key.display().to_string());
        }
        Ok(Client::try_from(config)?)
    }

    /// Status and body, on a connection of its own.
    async fn asks(&self, port: u16, path: &str) -> anyhow::Result<(u16, String)> {
        let request = http::Request::get(path).body(kube::client::Body::empty())?;
        let answer = self.client(port)?.send(request).await?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect_bytes().await?;
        Ok((status, String::from_utf8(body.to_vec())?))
    }
}

fn write(folder: &Path, name: &str, certificate: &ServingCertificate) -> anyhow::Result<(PathBuf, PathBuf)> {
    let (path, key) = (folder.join(format!("{name}.crt")), folder.join(format!("{name}.key")));
    std::fs::write(&path, &certificate.certificate)?;
    std::fs::write(&key, &certificate.key)?;
    Ok((path, key))
}

/// The message of a refusal.
#[expect(clippy::needless_pass_by_value, reason = "made for it")]
fn refusal(answer: (u16, String)) -> anyhow::Result<(u16, String)> {
    let status: Value = serde_json::from_str(&answer.1).with_context(|| format!("no Status: {answer:?}"))?;
    ensure!(status["kind"] == "Status" && status["code"] == answer.0, "{status}");
    Ok((answer.0, status["message"].as_str().unwrap_or_default().to_owned()))
}

/// A service account's token.
async fn account(cluster: &Cluster<'_>, name: &str) -> anyhow::Result<String> {
    let account = json!({ "metadata": { "name": name } });
    cluster.create_in_namespace::<ServiceAccount>(account).await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client().clone(), cluster.namespace());
    let request: TokenRequest = serde_json::from_value(json!({ "spec": { "audiences": [] } }))?;
    let answer = accounts
        .create_token_request(name, &PostParams::default(), &request)
        .await?;
    answer.status.and_then(|status| status.token).context("no token")
}

/// Lets that account read metrics, and nothing else.
async fn may_read_metrics(cluster: &Cluster<'_>, account: &str) -> anyhow::Result<()> {
    let name = format!("{}-metrics", cluster.namespace());
    let rules = json!([{ "nonResourceURLs": ["/metrics"], "verbs": ["get"] }]);
    let role = json!({ "metadata": { "name": name }, "rules": rules });
    cluster.create::<ClusterRole>(role).await?;
    let binding = json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
        "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": cluster.namespace() }],
    });
    cluster.create::<ClusterRoleBinding>(binding).await
}

/// Waits until something is answered so.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let deadline = Instant::now() + LIMIT;
    while !holds().await.unwrap_or(false) {
        ensure!(Instant::now() < deadline, "in vain: {what}");
        sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}

/// Starts the scheduler under test, and waits until it serves.
async fn served(cluster: &mut Cluster<'_>) -> anyhow::Result<u16> {
    let number = cluster.start(Scheduler::under_test(), Election::Off, &[])?;
    let port = cluster.replicas()[number].port;
    let anybody = Sender::default();
    until(
        "it is ready",
        async || Ok(anybody.asks(port, "/readyz").await?.0 == 200),
    )
    .await?;
    Ok(port)
}

#[test]
fn whoever_asks_is_told_what_they_may_see() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let reader = account(cluster, "reader").await?;
        let nobody = account(cluster, "nobody").await?;
        may_read_metrics(cluster, "reader").await?;
        let namespace = cluster.namespace().to_owned();
        let port = served(cluster).await?;
        let anonymous = Sender::default();
        for path in ["/healthz", "/livez", "/readyz"] {
            assert_eq!(anonymous.asks(port, path).await?, (200, "ok".to_owned()), "{path}");
        }
        for path in [
            "/metrics",
            "/configz",
            "/readyz/shutdown",
            "/livez/ping",
            "/debug/pprof/",
            "/nowhere",
        ] {
            let told = format!("forbidden: User \"system:anonymous\" cannot get path \"{path}\"");
            assert_eq!(refusal(anonymous.asks(port, path).await?)?, (403, told));
        }
        let bad = Sender::with_token("nobodys");
        for path in ["/metrics", "/healthz"] {
            let answer = refusal(bad.asks(port, path).await?)?;
            assert_eq!(answer, (401, "Unauthorized".to_owned()), "{path}");
        }
        let told = |account: &str, path: &str| {
            let user = format!("system:serviceaccount:{namespace}:{account}");
            (403, format!("forbidden: User \"{user}\" cannot get path \"{path}\""))
        };
        let nobody = Sender::with_token(&nobody);
        assert_eq!(
            refusal(nobody.asks(port, "/metrics").await?)?,
            told("nobody", "/metrics")
        );
        assert_eq!(nobody.asks(port, "/healthz").await?.0, 200);
        let reader = Sender::with_token(&reader);
        until("the role has come to the API server's knowledge", async || {
            Ok(reader.asks(port, "/metrics").await?.0 == 200)
        })
        .await?;
        assert_eq!(
            refusal(reader.asks(port, "/configz").await?)?,
            told("reader", "/configz")
        );
        let admin = Sender::with_token(&User::admin().token());
        assert_eq!(
            admin.asks(port, "/nowhere").await?,
            (404, "404 page not found\n".to_owned())
        );
        assert_eq!(admin.asks(port, "/livez/ping").await?, (200, "ok".to_owned()));
        Ok(())
    })
}

#[test]
fn what_the_api_server_is_asked_about_those_who_ask_is_counted_with_all_requests() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let nobody = Sender::with_token(&account(cluster, "nobody").await?);
        let port = served(cluster).await?;
        let admin = Sender::with_token(&User::admin().token());
        let posts = async || {
            let (status, text) = admin.asks(port, "/metrics").await?;
            ensure!(status == 200, "{status}: {text}");
            let requests = text
                .lines()
                .filter(|line| line.starts_with("rest_client_requests_total{"));
            let posts = requests.filter(|line| line.contains("code=\"201\"") && line.contains("method=\"POST\""));
            let counts = posts.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
            Ok::<f64, anyhow::Error>(counts.sum())
        };
        // There is nothing to schedule, and no election: the questions are all there is to send.
        let before: f64 = posts().await?;
        // An administrator may do everything, whatever the API server would say.
        assert!(before >= 1.0, "whose the token is: {before}");
        assert_eq!(nobody.asks(port, "/configz").await?.0, 403);
        let after = posts().await?;
        assert!(
            after >= before + 2.0,
            "whose, and what it may do: {before}, then {after}"
        );
        Ok(())
    })
}

#[test]
fn a_client_certificate_of_the_clusters_authority_is_as_good_as_a_token() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let folder = cluster.control_plane().dir().path().to_owned();
        let authority = cluster.control_plane().authority();
        let master = authority.client("root", "system:masters")?;
        let jane = authority.client("jane", "devs")?;
        let forged = Authority::new()?.client("root", "system:masters")?;
        let port = served(cluster).await?;
        let master = Sender::with_certificate(&folder, "master", &master)?;
        assert_eq!(master.asks(port, "/metrics").await?.0, 200);
        let jane = Sender::with_certificate(&folder, "jane", &jane)?;
        let told = "forbidden: User \"jane\" cannot get path \"/metrics\"".to_owned();
        assert_eq!(refusal(jane.asks(port, "/metrics").await?)?, (403, told));
        let forged = Sender::with_certificate(&folder, "forged", &forged)?;
        let answer = refusal(forged.asks(port, "/metrics").await?)?;
        assert_eq!(answer, (401, "Unauthorized".to_owned()));
        Ok(())
    })
}

#[test]
fn a_certificate_that_changes_on_disk_is_served_without_a_restart() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let folder = cluster.control_plane().dir().path().join("reloaded");
        std::fs::create_dir_all(&folder)?;
        let [first, second] = [Authority::new()?, Authority::new()?];
        let (certificate, key) = write(&folder, "serving", &first.serving()?)?;
        let flags = [
            "--leader-elect=false".to_owned(),
            format!("--tls-cert-file={}", certificate.display()),
            format!("--tls-private-key-file={}", key.display()),
        ];
        let flags: Vec<_> = flags.iter().map(String::as_str).collect();
        let control_plane = cluster.control_plane();
        let kubeconfig = control_plane.server().kubeconfig(&User::scheduler(APART))?;
        let scheduler = Scheduler::under_test();
        let mut replica = Replica::start_through(scheduler, APART, &kubeconfig, &flags, &[], control_plane)?;
        let trusts = |authority: &Authority| Sender {
            trusts: Some(pem_to_der(&authority.pem())),
            ..Sender::default()
        };
        let (of_first, of_second) = (trusts(&first), trusts(&second));
        let port = replica.port;
        let well = async |sender: &Sender| Ok(sender.asks(port, "/livez").await?.0 == 200);
        until("it serves", async || well(&of_first).await).await?;
        ensure!(
            well(&of_second).await.is_err(),
            "the second authority has signed for nothing yet"
        );
        write(&folder, "serving", &second.serving()?)?;
        until("the other certificate is served", async || well(&of_second).await).await?;
        ensure!(well(&of_first).await.is_err(), "the first certificate is still served");
        replica.process.kill()
    })
}

fn pem_to_der(pem: &str) -> Vec<u8> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;

    CertificateDer::from_pem_slice(pem.as_bytes())
        .expect("a certificate")
        .to_vec()
}

#[test]
fn configuration_flags_and_status_are_told_as_json() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let port = served(cluster).await?;
        let admin = Sender::with_token(&User::admin().token());
        let (status, body) = admin.asks(port, "/configz").await?;
        let shown: Value = serde_json::from_str(&body)?;
        let config = &shown["componentconfig"];
        assert_eq!((status, &config["kind"]), (200, &json!("KubeSchedulerConfiguration")));
        assert_eq!(config["apiVersion"], "kubescheduler.config.k8s.io/v1");
        assert_eq!(config["leaderElection"]["leaderElect"], false);
        assert_eq!(config["clientConnection"]["qps"], 5000);
        assert_eq!(config["profiles"][0]["schedulerName"], "default-scheduler");
        for (path, kind) in [("/flagz", "Flagz"), ("/statusz", "Statusz")] {
            let accept = format!("application/json;v=v1beta1;g=config.k8s.io;as={kind}");
            let request = http::Request::get(path).header("accept", accept);
            let answer = admin.client(port)?.request_text(request.body(Vec::new())?).await?;
            let shown: Value = serde_json::from_str(&answer)?;
            assert_eq!(
                (&shown["kind"], &shown["apiVersion"]),
                (&json!(kind), &json!("config.k8s.io/v1beta1"))
            );
            assert_eq!(shown["metadata"]["name"], "kube-scheduler");
            if kind == "Flagz" {
                assert_eq!(shown["flags"]["secure-port"], port.to_string());
                assert_eq!(shown["flags"]["leader-elect"], "false");
            } else {
                assert_eq!(shown["emulationVersion"], "1.36");
                let paths = ["/configz", "/flagz", "/healthz", "/livez", "/metrics", "/readyz"];
                assert_eq!(shown["paths"], json!(paths));
            }
            let (status, text) = admin.asks(port, path).await?;
            ensure!(status == 200 && text.contains("kube-scheduler "), "{text}");
        }
        Ok(())
    })
}

#[test]
fn sigusr2_has_nodes_and_waiting_pods_written_to_the_log() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        let number = cluster.start(Scheduler::under_test(), Election::Off, &[])?;
        cluster.create_nodes([node("n1")]).await?;
        cluster.create_pods([pod("a"), pod("huge").cpu("1000")]).await?;
        cluster.bound("a").await?;
        cluster.why_pending("huge").await?;
        let process = &cluster.replicas()[number].process;
        process.ask_for_dump()?;
        until("both dumps are there", async || {
            let log = process.log_text();
            let dumps = ["Dump of cached NodeInfo", "Dump of scheduling queue"];
            Ok(dumps.iter().all(|dump| log.contains(dump)))
        })
        .await?;
        let log = process.log_text();
        for told in [
            "Node name: n1",
            "Deleted: false",
            "name: a, ",
            "name: huge, ",
            "unschedulablePods:1",
        ] {
            ensure!(log.contains(told), "{told} is missing in\n{log}");
        }
        ensure!(!log.contains("Cache mismatch"), "something does not agree:\n{log}");
        Ok(())
    })
}
