use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// Where the serving certificate comes from.
#[derive(Clone, Default)]
pub enum TlsIdentity {
    /// Made in memory for `localhost`, as kube-scheduler does when it is given none.
    #[default]
    SelfSigned,
    /// PEM files, which are read again when they change.
    Files {
        /// The certificate chain.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
    /// `kube-scheduler.crt` and `kube-scheduler.key` in this folder, as kube-scheduler names them; made when they are not
    /// there: `--cert-dir`.
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The address that is served, for a certificate that is made.
        address: Option<IpAddr>,
    },
    /// Made already.
    Made(Pem),
}

/// A certificate and its key, both PEM.
#[derive(Clone)]
pub struct Pem {
    certificate: String,
    key: String,
}

impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SelfSigned => f.write_str("SelfSigned"),
            Self::Files { certificate, .. } => f
                .debug_struct("Files")
                .field("certificate", certificate)
                .finish_non_exhaustive(),
            Self::Folder { folder, .. } => f.debug_struct("Folder").field("folder", folder).finish_non_exhaustive(),
            Self::Made(_) => f.write_str("Made"),
        }
    }
}

/// Why there is no serving certificate.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file could not be read or holds no PEM of the right kind.
    #[error("reading {path}: {source}; check --tls-cert-file, --tls-private-key-file and --tls-sni-cert-key")]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: rustls::pki_types::pem::Error,
    },
    /// The certificate could not be made.
    #[error("unable to generate self signed cert: {0}")]
    Make(#[from] rcgen::Error),
    /// It was made and cannot be kept.
    #[error("writing {path}: {source}; --cert-dir must be writable when it does not hold a certificate")]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Certificate and key do not go together.
    #[error("the serving certificate and its key cannot be used: {0}")]
    Use(#[from] rustls::Error),
    /// Something is wrong with the files.
    #[error("{0}")]
    Files(String),
}

impl TlsIdentity {
    /// The same, with everything made that has to be.
    pub(super) fn made(self) -> Result<Self, TlsError> {
        match self {
            Self::SelfSigned => {
                tracing::info!("Generated self-signed cert in-memory");
                Ok(Self::Made(Pem::make(None)?))
            }
            Self::Folder { folder, address } => {
                let (certificate, key) = (folder.join("kube-scheduler.crt"), folder.join("kube-scheduler.key"));
                if !(certificate.exists() && key.exists()) {
                    Pem::make(address)?.write(&folder, &certificate, &key)?;
                    tracing::info!(
                        "Generated self-signed cert ({}, {})",
                        certificate.display(),
                        key.display()
                    );
                }
                Ok(Self::Files { certificate, key })
            }
            other => Ok(other),
        }
    }

    /// The files that it comes from.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::Files { certificate, key } => vec![certificate.clone(), key.clone()],
            Self::SelfSigned | Self::Folder { .. } | Self::Made(_) => Vec::new(),
        }
    }

    pub(super) fn certified(&self) -> Result<CertifiedKey, TlsError> {
        match self {
            Self::Files { certificate, key } => read(certificate, key),
            Self::Made(pem) => pem.certified(),
            unmade => unmade.clone().made()?.certified(),
        }
    }
}

impl Pem {
    fn make(address: Option<IpAddr>) -> Result<Self, TlsError> {
        let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        names.extend(
            address
                .filter(|address| !address.is_unspecified())
                .map(|address| address.to_string()),
        );
        let made = rcgen::generate_simple_self_signed(names)?;
        Ok(Self {
            certificate: made.cert.pem(),
            key: made.signing_key.serialize_pem(),
        })
    }

    fn write(&self, folder: &Path, certificate: &Path, key: &Path) -> Result<(), TlsError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| TlsError::Write { path, source }
        };
        std::fs::create_dir_all(folder).map_err(failed(folder))?;
        std::fs::write(certificate, &self.certificate).map_err(failed(certificate))?;
        write_for_us_alone(key, self.key.as_bytes()).map_err(failed(key))
    }

    fn certified(&self) -> Result<CertifiedKey, TlsError> {
        let there = |source| TlsError::Read {
            path: PathBuf::from("the certificate in memory"),
            source,
        };
        let chain = CertificateDer::pem_slice_iter(self.certificate.as_bytes());
        let chain = chain.collect::<Result<Vec<_>, _>>().map_err(there)?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(there)?;
        certified(chain, key)
    }
}

fn write_for_us_alone(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;

    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(bytes)
}

/// Reads a chain and its key.
pub(super) fn read(certificate: &Path, key: &Path) -> Result<CertifiedKey, TlsError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::Read { path, source }
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(failed(certificate))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(failed(key))?;
    certified(chain, key)
}

fn certified(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<CertifiedKey, TlsError> {
    let provider = rustls::crypto::ring::default_provider();
    let certified = CertifiedKey::from_der(chain, key, &provider)?;
    Ok(certified)
}
