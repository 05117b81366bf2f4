//! Finds the leader, asks it, and makes sense of what comes back.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use plimsoll_actors::explanation::{Explanation, NotLeading};
use plimsoll_client::{LEADER_ADDRESS, LeaseReply, ServingTrust, UserAccess, UserAnswer, UserClient};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;

use super::PodFlags;

/// So often a replica may send us on to another that leads.
const SENT_ON: usize = 3;

/// What one replica has said.
#[derive(Debug, PartialEq)]
pub(super) enum Said {
    /// The answer.
    Explained(Box<Explanation>),
    /// Another leads, at this address.
    AskLeader(String),
}

/// The leader's explanation of a pod.
pub(super) async fn ask(flags: &PodFlags) -> anyhow::Result<Explanation> {
    let access = UserAccess {
        kubeconfig: flags.kubeconfig.clone(),
        context: flags.context.clone(),
    };
    let user = UserClient::new(&access, flags.request_timeout).await?;
    let trust = ServingTrust {
        authorities: flags.certificate_authority.as_deref().map(authorities).transpose()?,
        server_name: flags.tls_server_name.clone(),
        insecure: flags.insecure_skip_tls_verify,
    };
    let pod = pod_of(flags, user.namespace())?;
    let path = format!("/debug/explain?pod={pod}");
    let mut address = match &flags.scheduler {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None => leader(flags, &user).await?,
    };
    for _ in 0..=SENT_ON {
        let answer = user.ask(&address, &path, &trust).await;
        let answer = answer.with_context(|| format!("cannot ask the scheduler at {address}{}", hint(flags)))?;
        match understand(&answer, &address)? {
            Said::Explained(explanation) => return Ok(*explanation),
            Said::AskLeader(leader) if leader != address => {
                // Nobody is left to tell when standard error is closed.
                let _ = writeln!(
                    std::io::stderr().lock(),
                    "{address} does not lead; asking the leader at {leader}"
                );
                address = leader;
            }
            Said::AskLeader(_) => break,
        }
    }
    bail!("no leader could be asked: leadership seems to change hands; try again")
}

/// `namespace/name`, each part of which can stand in a URL.
pub(super) fn pod_of(flags: &PodFlags, default_namespace: &str) -> anyhow::Result<String> {
    let (namespace, name) = match flags.pod.split_once('/') {
        Some((namespace, name)) => {
            if flags.namespace.as_ref().is_some_and(|other| other != namespace) {
                bail!("--namespace and {:?} name different namespaces", flags.pod);
            }
            (namespace, name)
        }
        None => (
            flags.namespace.as_deref().unwrap_or(default_namespace),
            flags.pod.as_str(),
        ),
    };
    let is_name = |text: &str| {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        !text.is_empty() && text.chars().all(allowed)
    };
    if !is_name(namespace) || !is_name(name) {
        bail!("{namespace}/{name} is no name of a pod: give NAME or NAMESPACE/NAME");
    }
    Ok(format!("{namespace}/{name}"))
}

/// The PEM certificates of a file.
fn authorities(file: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
    let unusable = || format!("cannot use --certificate-authority {}", file.display());
    let found = CertificateDer::pem_file_iter(file).with_context(unusable)?;
    let found: Result<Vec<_>, _> = found.map(|one| one.map(|one| one.to_vec())).collect();
    let found = found.with_context(unusable)?;
    if found.is_empty() {
        return Err(anyhow!("there is no certificate in it")).with_context(unusable);
    }
    Ok(found)
}

/// The address that the Lease names.
async fn leader(flags: &PodFlags, user: &UserClient) -> anyhow::Result<String> {
    let (namespace, name) = (
        &flags.leader_elect_resource_namespace,
        &flags.leader_elect_resource_name,
    );
    let instead = "name a replica with --scheduler";
    let lease = user.lease(namespace, name)?;
    match lease.get().await {
        LeaseReply::Lease(lease) => match (lease.record.holder.as_str(), lease.leader_address()) {
            (_, Some(address)) => checked(address),
            ("", None) => bail!("nobody holds the lease {namespace}/{name}: no scheduler leads"),
            (holder, None) => bail!(
                "the lease {namespace}/{name} is held by {holder}, which does not say in the annotation {LEADER_ADDRESS} where \
                 it serves; {instead}, or start it with --advertise-address (kube-scheduler explains nothing)"
            ),
        },
        LeaseReply::NotFound => bail!("there is no lease {namespace}/{name}; {instead}"),
        other => bail!("cannot read the lease {namespace}/{name}: {other}; {instead}"),
    }
}

/// Credentials go nowhere without TLS on somebody else's word.
fn checked(address: &str) -> anyhow::Result<String> {
    if address.starts_with("https://") {
        Ok(address.trim_end_matches('/').to_owned())
    } else {
        bail!("the leader is said to be at {address:?}, which is no https address")
    }
}

fn hint(flags: &PodFlags) -> &'static str {
    if flags.insecure_skip_tls_verify {
        ""
    } else {
        " (where its certificate is what is wrong: --certificate-authority, --tls-server-name, or --insecure-skip-tls-verify)"
    }
}

/// Any refusal: the API machinery's statuses have a message, our own answers an error.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Refusal {
    error: String,
    message: String,
}

/// What an answer means.
pub(super) fn understand(answer: &UserAnswer, address: &str) -> anyhow::Result<Said> {
    let body = &answer.body;
    let status = answer.status.as_u16();
    match status {
        200 | 404 => {
            if let Ok(explanation) = serde_json::from_slice::<Explanation>(body)
                && !explanation.pod.is_empty()
            {
                return Ok(Said::Explained(Box::new(explanation)));
            }
            bail!("{address} serves no /debug/explain: it may be kube-scheduler, or an earlier Plimsoll")
        }
        503 => {
            let standby: NotLeading = serde_json::from_slice(body).unwrap_or_default();
            match standby.leader_address {
                Some(leader) => checked(&leader).map(Said::AskLeader),
                None => bail!("{address}: {}", text_of(body)),
            }
        }
        401 => bail!("{address} does not know these credentials (401): {}", text_of(body)),
        403 => bail!(
            "{address} does not allow this user to `get` the nonResourceURL /debug/explain (403): {}",
            text_of(body)
        ),
        _ => bail!("{address} answers {status}: {}", text_of(body)),
    }
}

fn text_of(body: &[u8]) -> String {
    let refusal: Refusal = serde_json::from_slice(body).unwrap_or_default();
    [refusal.error, refusal.message]
        .into_iter()
        .find(|text| !text.is_empty())
        .unwrap_or_else(|| String::from_utf8_lossy(body).trim().to_owned())
}
