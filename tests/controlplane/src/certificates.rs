//! Keys and certificates of a test run.

use std::path::Path;

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};

use crate::user::User;

/// A certificate authority that lives as long as the test.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// Makes a new authority.
    pub fn new() -> anyhow::Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, "plimsoll test authority");
        Ok(Self {
            issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)?,
        })
    }

    /// The authority's certificate.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A serving certificate for `localhost` and 127.0.0.1.
    pub fn serving(&self) -> anyhow::Result<ServingCertificate> {
        let names = ["localhost", "127.0.0.1", "kubernetes.default.svc"].map(str::to_owned);
        self.sign(&CertificateParams::new(names.to_vec())?)
    }

    /// A certificate for a client of this name and group.
    pub fn client(&self, name: &str, group: &str) -> anyhow::Result<ServingCertificate> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.distinguished_name.push(rcgen::DnType::OrganizationName, group);
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> anyhow::Result<ServingCertificate> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(ServingCertificate {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

/// A certificate with its key, both PEM.
#[derive(Clone, Debug)]
pub struct ServingCertificate {
    /// The certificate.
    pub certificate: String,
    /// Its private key, PKCS #8.
    pub key: String,
}

/// Writes everything the API server reads: `ca.crt`, `serving.crt`, `serving.key`, `sa.key`, `sa.pub`; and `admin.crt` and
/// `admin.key`, by which a client may do everything without anybody being asked.
pub(crate) fn write_all(dir: &Path, authority: &Authority) -> anyhow::Result<()> {
    let serving = authority.serving()?;
    let admin = User::admin();
    let client = authority.client(&admin.name, &admin.group)?;
    let service_accounts = KeyPair::generate()?;
    for (name, text) in [
        ("ca.crt", authority.pem()),
        ("serving.crt", serving.certificate),
        ("serving.key", serving.key),
        ("admin.crt", client.certificate),
        ("admin.key", client.key),
        ("sa.key", service_accounts.serialize_pem()),
        ("sa.pub", service_accounts.public_key_pem()),
    ] {
        std::fs::write(dir.join(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(())
}
