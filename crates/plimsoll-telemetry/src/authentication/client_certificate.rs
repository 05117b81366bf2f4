use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::User;
use crate::followed::Followed;

/// By this the API server names in reviews and logs which certificate was shown.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
/// What a subject's user id stands under.
const UID: [u64; 8] = [1, 3, 6, 1, 4, 1, 57683, 2];

/// Those whose signature under a client certificate counts.
#[derive(Debug)]
pub(super) struct Authorities {
    verifier: Arc<dyn ClientCertVerifier>,
}

impl Authorities {
    /// Reads a bundle of certificates in PEM.
    pub(super) fn parse(pem: &[u8]) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| error.to_string())?;
            roots.add(certificate).map_err(|error| error.to_string())?;
        }
        if roots.is_empty() {
            return Err("there is no certificate in it".to_owned());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let verifier = verifier.map_err(|error| error.to_string())?;
        Ok(Self { verifier })
    }

    /// Those of a file, which is followed.
    pub(super) fn follow(path: PathBuf) -> Result<Followed<Self>, String> {
        let file = path.clone();
        Followed::new(vec![path], move || {
            let told = |why: String| format!("{}: {why}", file.display());
            let pem = std::fs::read(&file).map_err(|error| told(error.to_string()))?;
            Self::parse(&pem).map_err(told)
        })
    }

    /// Whether one of them has signed for the first of these certificates; the others may lead to it.
    pub(super) fn verify(&self, certificates: &[CertificateDer<'static>]) -> Result<(), String> {
        let Some((own, others)) = certificates.split_first() else {
            return Err("there is no certificate".to_owned());
        };
        let verified = self.verifier.verify_client_cert(own, others, UnixTime::now());
        verified.map(drop).map_err(|error| error.to_string())
    }

    /// Whom the certificates name; nobody, if there are none.
    pub(super) fn user(&self, certificates: &[CertificateDer<'static>]) -> Result<Option<User>, String> {
        let Some(own) = certificates.first() else {
            return Ok(None);
        };
        let subject = Subject::parse(own)?;
        let verified = self.verify(certificates);
        verified.map_err(|why| format!("verifying certificate {} failed: {why}", subject.certificate))?;
        if subject.common_name.is_empty() {
            return Ok(None);
        }
        let uid = match subject.uids.as_slice() {
            [] => String::new(),
            [uid] if uid.is_empty() => return Err("UID cannot be an empty string".to_owned()),
            [uid] => uid.clone(),
            uids => return Err(format!("expected 1 UID, but found multiple: {uids:?}")),
        };
        let fingerprint = ring::digest::digest(&ring::digest::SHA256, own);
        let fingerprint = fingerprint.as_ref().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        Ok(Some(User {
            name: subject.common_name,
            uid,
            groups: subject.organizations,
            extra: [(CREDENTIAL_ID.to_owned(), vec![format!("X509SHA256={fingerprint}")])].into(),
        }))
    }
}

/// Whom a certificate is for.
pub(super) struct Subject {
    pub(super) common_name: String,
    organizations: Vec<String>,
    uids: Vec<String>,
    /// For the log.
    certificate: String,
}

impl Subject {
    pub(super) fn parse(certificate: &CertificateDer<'_>) -> Result<Self, String> {
        let parsed = X509Certificate::from_der(certificate);
        let (_, parsed) = parsed.map_err(|error| format!("x509: malformed certificate: {error}"))?;
        let subject = parsed.subject();
        let uid = x509_parser::der_parser::asn1_rs::Oid::from(&UID).ok();
        let is_uid = |oid: &x509_parser::der_parser::asn1_rs::Oid<'_>| uid.as_ref().is_some_and(|uid| uid == oid);
        let text =
            |attribute: &x509_parser::x509::AttributeTypeAndValue<'_>| attribute.as_str().ok().map(str::to_owned);
        let uids = subject
            .iter_attributes()
            .filter(|attribute| is_uid(attribute.attr_type()));
        Ok(Self {
            // The last of several counts.
            common_name: subject.iter_common_name().filter_map(text).last().unwrap_or_default(),
            organizations: subject.iter_organization().filter_map(text).collect(),
            uids: uids.filter_map(text).collect(),
            certificate: format!("SN={}", parsed.tbs_certificate.serial),
        })
    }
}
