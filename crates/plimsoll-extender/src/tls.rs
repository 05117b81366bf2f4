use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_config::{ExtenderConfig, ExtenderTls};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::failure::system_text;

/// Why an extender cannot be reached over TLS: its configuration names certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Authorities are given, and the server's certificate shall not be verified.
    #[error("specifying a root certificates file with the insecure flag is not allowed")]
    InsecureAuthorities,
    /// A file cannot be read.
    #[error("open {path}: {}", system_text(source))]
    Read {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// There is no certificate among the authorities.
    #[error("unable to load root certificates: {0}")]
    Authorities(&'static str),
    /// The client's certificate or key cannot be used.
    #[error("tls: {0}")]
    Client(String),
    /// The name to verify is none.
    #[error("tlsConfig.serverName {0:?} is neither a host name nor an address")]
    ServerName(String),
    /// The TLS library refuses.
    #[error("tls: {0}")]
    Library(#[from] Error),
}

/// What an extender's configuration says about TLS, as client-go understands it.
///
/// Its files are read again for each new connection, so that certificates can be renewed under a running scheduler.
/// (kube-scheduler reads the client's certificate and key again, and the authorities only once.)
#[derive(Debug)]
pub(crate) struct TlsOptions {
    tls: ExtenderTls,
    insecure: bool,
    made: Mutex<Option<(Material, Arc<ClientConfig>)>>,
}

/// The bytes of certificates and keys.
#[derive(Clone, PartialEq, Eq)]
struct Material {
    authorities: Option<Vec<u8>>,
    client: Option<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Material").finish_non_exhaustive()
    }
}

impl TlsOptions {
    pub(crate) fn new(config: &ExtenderConfig) -> Self {
        let tls = config.tls_config.clone().unwrap_or_default();
        let has_authorities = !tls.ca_file.is_empty() || !tls.ca_data.is_empty();
        Self {
            insecure: tls.insecure || (config.enable_https && !has_authorities),
            tls,
            made: Mutex::default(),
        }
    }

    /// The name that the server's certificate must be for, when it is not the host's.
    pub(crate) fn server_name(&self) -> Result<Option<ServerName<'static>>, SetupError> {
        let name = &self.tls.server_name;
        if name.is_empty() {
            return Ok(None);
        }
        let parsed = ServerName::try_from(name.clone());
        parsed.map(Some).map_err(|_| SetupError::ServerName(name.clone()))
    }

    /// For a new connection: made anew when a file has changed.
    pub(crate) async fn client_config(&self) -> Result<Arc<ClientConfig>, SetupError> {
        let material = self.read().await?;
        if let Some((of, config)) = &*self.made.lock().unwrap_or_else(PoisonError::into_inner)
            && *of == material
        {
            return Ok(Arc::clone(config));
        }
        let roots = match &material.authorities {
            Some(authorities) => Some(parse_authorities(authorities)?),
            None if self.insecure => None,
            None => Some(system_authorities().await),
        };
        let config = Arc::new(client_config(roots, material.client.as_ref())?);
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        *made = Some((material, Arc::clone(&config)));
        Ok(config)
    }

    /// Whether everything that is configured can be used. The authorities of the system are not: a scheduler that reaches its
    /// extenders without TLS may be on a system that has none.
    pub(crate) async fn check(&self) -> Result<(), SetupError> {
        self.server_name()?;
        let material = self.read().await?;
        let roots = material.authorities.as_deref().map(parse_authorities).transpose()?;
        client_config(roots, material.client.as_ref()).map(drop)
    }

    async fn read(&self) -> Result<Material, SetupError> {
        let tls = &self.tls;
        let authorities = data_or_file(&tls.ca_data, &tls.ca_file).await?;
        if authorities.is_some() && self.insecure {
            return Err(SetupError::InsecureAuthorities);
        }
        let certificate = data_or_file(&tls.cert_data, &tls.cert_file).await?;
        let key = data_or_file(&tls.key_data, &tls.key_file).await?;
        Ok(Material {
            authorities,
            client: certificate.zip(key),
        })
    }
}

/// Data wins over a file; none when neither is given.
async fn data_or_file(data: &[u8], path: &str) -> Result<Option<Vec<u8>>, SetupError> {
    if !data.is_empty() {
        return Ok(Some(data.to_vec()));
    }
    if path.is_empty() {
        return Ok(None);
    }
    let read = tokio::fs::read(path).await;
    read.map(Some).map_err(|source| SetupError::Read {
        path: path.to_owned(),
        source,
    })
}

fn parse_authorities(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, SetupError> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect();
    let usable: Vec<_> = certificates
        .iter()
        .filter(|certificate| RootCertStore::empty().add((*certificate).clone()).is_ok())
        .cloned()
        .collect();
    match (certificates.is_empty(), usable.is_empty()) {
        (true, _) if !pem.windows(10).any(|window| window == b"-----BEGIN") => {
            Err(SetupError::Authorities("unable to parse bytes as PEM block"))
        }
        (true, _) => Err(SetupError::Authorities("no valid certificate authority data seen")),
        (false, true) => Err(SetupError::Authorities("failed to parse certificate")),
        (false, false) => Ok(usable),
    }
}

/// Those of the operating system, where Go looks for them, too.
async fn system_authorities() -> Vec<CertificateDer<'static>> {
    let load = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs);
    load.await.map(|loaded| loaded.certs).unwrap_or_default()
}

/// No authorities: the server's certificate is not verified.
fn client_config(
    roots: Option<Vec<CertificateDer<'static>>>,
    client: Option<&(Vec<u8>, Vec<u8>)>,
) -> Result<ClientConfig, SetupError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let verifier: Arc<dyn ServerCertVerifier> = match roots {
        Some(roots) => Arc::new(Verifier::new(roots, &provider)?),
        None => Arc::new(NoVerification(provider)),
    };
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let Some((certificate, key)) = client else {
        return Ok(builder.with_no_client_auth());
    };
    let unusable = |text: &str| SetupError::Client(text.to_owned());
    let chain: Vec<_> = CertificateDer::pem_slice_iter(certificate)
        .filter_map(Result::ok)
        .collect();
    if chain.is_empty() {
        return Err(unusable("failed to find any PEM data in certificate input"));
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| unusable("failed to find any PEM data in key input"))?;
    builder.with_client_auth_cert(chain, key).map_err(|error| match error {
        Error::InconsistentKeys(_) => unusable("private key does not match public key"),
        other => SetupError::Library(other),
    })
}

/// Verifies as Go does, who takes a certificate that is itself among the authorities, also when it is marked as an authority:
/// `openssl req -x509` makes such ones.
#[derive(Debug)]
struct Verifier {
    strict: Arc<WebPkiServerVerifier>,
    roots: Vec<CertificateDer<'static>>,
}

impl Verifier {
    fn new(roots: Vec<CertificateDer<'static>>, provider: &Arc<CryptoProvider>) -> Result<Self, SetupError> {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(roots.iter().cloned());
        let strict = WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider))
            .build()
            .map_err(|_| SetupError::Authorities("the system has no root certificates"))?;
        Ok(Self { strict, roots })
    }

    /// Whether the certificate was refused only for where it stands in the chain. Its validity was looked at before that.
    fn is_misplaced(&self, error: &Error, certificate: &CertificateDer<'_>) -> bool {
        let by_place = match error {
            Error::InvalidCertificate(CertificateError::UnknownIssuer) => true,
            Error::InvalidCertificate(CertificateError::Other(other)) => other.0.to_string() == "CaUsedAsEndEntity",
            _ => false,
        };
        by_place && self.roots.contains(certificate)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let strict = self
            .strict
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match strict {
            Err(error) if self.is_misplaced(&error, end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.strict.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.strict.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.strict.supported_verify_schemes()
    }
}

/// Takes any server for the right one.
#[derive(Debug)]
struct NoVerification(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerification {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
