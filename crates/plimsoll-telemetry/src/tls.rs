use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Where the serving certificate comes from.
#[derive(Clone, Default)]
pub enum TlsIdentity {
    /// Made in memory for `localhost`, as kube-scheduler does when it is given none.
    #[default]
    SelfSigned,
    /// PEM files.
    Files {
        /// The certificate chain.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
}

impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SelfSigned => f.write_str("SelfSigned"),
            Self::Files { certificate, .. } => f
                .debug_struct("Files")
                .field("certificate", certificate)
                .finish_non_exhaustive(),
        }
    }
}

/// Why there is no serving certificate.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file could not be read or holds no PEM of the right kind.
    #[error("reading {path}: {source}; check --tls-cert-file and --tls-private-key-file")]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: rustls::pki_types::pem::Error,
    },
    /// The certificate could not be made.
    #[error("making a self-signed certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// Certificate and key do not go together.
    #[error("the serving certificate and its key cannot be used: {0}")]
    Use(#[from] rustls::Error),
}

impl TlsIdentity {
    pub(crate) fn server_config(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let (chain, key) = match self {
            Self::SelfSigned => {
                let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
                let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
                (vec![made.cert.der().clone()], key)
            }
            Self::Files { certificate, key } => {
                let read = |path: &PathBuf| {
                    let path = path.clone();
                    move |source| TlsError::Read { path, source }
                };
                let chain = CertificateDer::pem_file_iter(certificate)
                    .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                    .map_err(read(certificate))?;
                (chain, PrivateKeyDer::from_pem_file(key).map_err(read(key))?)
            }
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}
