//! A certificate authority for one run, and a server certificate it signed.

use std::{io, net::IpAddr, sync::Arc};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};

const DNS_NAMES: [&str; 4] = [
    "localhost",
    "kubernetes",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

pub(super) struct Certificates {
    pub(super) authority_pem: String,
    pub(super) server: Arc<ServerConfig>,
}

impl Certificates {
    pub(super) fn generate(ip: IpAddr) -> io::Result<Self> {
        let authority = authority().map_err(io::Error::other)?;
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = server_params(ip)
            .and_then(|params| params.signed_by(&key, &authority))
            .map_err(io::Error::other)?;
        let chain = vec![certificate.der().clone(), authority.der().clone()];
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(io::Error::other)?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            authority_pem: authority.pem(),
            server: Arc::new(server),
        })
    }
}

fn authority() -> Result<CertifiedIssuer<'static, KeyPair>, rcgen::Error> {
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, "plimsoll-apiserver-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate()?)
}

fn server_params(ip: IpAddr) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(DNS_NAMES.map(str::to_owned).to_vec())?;
    params.distinguished_name.push(DnType::CommonName, "plimsoll-apiserver");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    for ip in [ip, IpAddr::from([127, 0, 0, 1])] {
        params.subject_alt_names.push(SanType::IpAddress(ip));
    }
    Ok(params)
}
