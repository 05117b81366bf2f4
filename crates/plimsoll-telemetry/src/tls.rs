//! The server's side of TLS: which certificate, which versions and algorithms.

mod algorithms;
mod client_certificates;
mod identity;
mod server_names;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::sign::CertifiedKey;

pub use self::algorithms::{CipherSuites, CurvePreferences, TlsAlgorithmError, TlsVersion};
use self::client_certificates::Whoever;
pub use self::identity::{TlsError, TlsIdentity};
use self::server_names::{ByServerName, Named};
pub use self::server_names::{NamedCertificate, NamedCertificateError};
use crate::followed::Followed;

/// How TLS is spoken.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// The certificate.
    pub identity: TlsIdentity,
    /// Others, by the name of the server that clients ask for: `--tls-sni-cert-key`.
    pub by_name: Vec<NamedCertificate>,
    /// `--tls-min-version`.
    pub min_version: TlsVersion,
    /// `--tls-cipher-suites`.
    pub cipher_suites: CipherSuites,
    /// `--tls-curve-preferences`.
    pub curve_preferences: CurvePreferences,
    /// Whether HTTP/2 is offered.
    pub http2: bool,
}

/// What connections are accepted with; files are followed.
pub(crate) struct Tls {
    configs: Followed<Configs>,
}

/// What was made of the files.
struct Configs {
    /// For whoever names a server, and everybody else.
    standard: Arc<ServerConfig>,
    /// For those who name none and have come to an address that a certificate is for.
    by_address: BTreeMap<IpAddr, Arc<ServerConfig>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.configs.fmt(f)
    }
}

impl Tls {
    /// Reads or makes the certificates.
    pub(crate) fn new(options: TlsOptions) -> Result<Self, TlsError> {
        let options = TlsOptions {
            // One that is made in memory is made once.
            identity: options.identity.made()?,
            ..options
        };
        let mut paths: Vec<PathBuf> = options.identity.files();
        paths.extend(options.by_name.iter().flat_map(NamedCertificate::files));
        let load = move || Configs::load(&options).map_err(|error| error.to_string());
        Followed::new(paths, load)
            .map(|configs| Self { configs })
            .map_err(TlsError::Files)
    }

    /// What a connection to this address of ours is accepted with.
    pub(crate) async fn config(&self, address: Option<IpAddr>) -> Arc<ServerConfig> {
        self.configs.refresh().await;
        let configs = self.configs.current();
        let own = address.and_then(|address| configs.by_address.get(&address.to_canonical()));
        Arc::clone(own.unwrap_or(&configs.standard))
    }
}

impl Configs {
    fn load(options: &TlsOptions) -> Result<Self, TlsError> {
        let standard = Arc::new(options.identity.certified()?);
        let named = options.by_name.iter().map(Named::load).collect::<Result<Vec<_>, _>>()?;
        let config = |fallback: &Arc<CertifiedKey>| options.config(ByServerName::new(&named, Arc::clone(fallback)));
        let mut by_address = BTreeMap::new();
        for named in &named {
            for address in named.addresses() {
                if let std::collections::btree_map::Entry::Vacant(free) = by_address.entry(address) {
                    free.insert(config(named.key())?);
                }
            }
        }
        Ok(Self {
            standard: config(&standard)?,
            by_address,
        })
    }
}

impl TlsOptions {
    fn config(&self, certificates: ByServerName) -> Result<Arc<ServerConfig>, TlsError> {
        let provider = Arc::new(algorithms::provider(&self.cipher_suites, &self.curve_preferences));
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(self.min_version.versions())?
            .with_client_cert_verifier(Arc::new(Whoever::new(&provider)))
            .with_cert_resolver(Arc::new(certificates));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        if self.http2 {
            config.alpn_protocols.insert(0, b"h2".to_vec());
        }
        Ok(Arc::new(config))
    }
}
