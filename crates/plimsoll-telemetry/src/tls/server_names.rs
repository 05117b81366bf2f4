use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::TlsError;
use super::identity::read;

/// A certificate for clients that ask for a server of these names: one value of `--tls-sni-cert-key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCertificate {
    /// The certificate chain.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Names of servers, `*.` at their beginning stands for one label; addresses, too. The certificate's own, if there are
    /// none.
    pub names: Vec<String>,
}

/// Why a value is none. The texts are kube-scheduler's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamedCertificateError {
    /// There is a colon and nothing behind it.
    #[error("empty names list is not allowed")]
    NoNames,
    /// There are not two files.
    #[error("expected comma separated certificate and key file paths")]
    Files,
}

impl FromStr for NamedCertificate {
    type Err = NamedCertificateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (files, names) = match text.split_once(':') {
            Some((_, names)) if names.trim().is_empty() => return Err(NamedCertificateError::NoNames),
            Some((files, names)) => (files, names.split(',').map(|name| name.trim().to_owned()).collect()),
            None => (text, Vec::new()),
        };
        let files: Vec<_> = files.split(',').map(str::trim).collect();
        match files.as_slice() {
            [certificate, key] => Ok(Self {
                certificate: certificate.into(),
                key: key.into(),
                names,
            }),
            _ => Err(NamedCertificateError::Files),
        }
    }
}

impl NamedCertificate {
    pub(super) fn files(&self) -> [PathBuf; 2] {
        [self.certificate.clone(), self.key.clone()]
    }
}

/// A certificate and the names that it is shown for.
#[derive(Debug, Clone)]
pub(super) struct Named {
    key: Arc<CertifiedKey>,
    names: Vec<String>,
    /// Whether names were given, which go before those that certificates have.
    given: bool,
}

impl Named {
    pub(super) fn load(options: &NamedCertificate) -> Result<Self, TlsError> {
        let key = read(&options.certificate, &options.key)?;
        let own = || {
            key.cert
                .first()
                .map(|certificate| names_of(certificate))
                .unwrap_or_default()
        };
        let given = !options.names.is_empty();
        let names = if given { options.names.clone() } else { own() };
        Ok(Self {
            names: names.iter().map(|name| name.to_lowercase()).collect(),
            key: Arc::new(key),
            given,
        })
    }

    pub(super) fn key(&self) -> &Arc<CertifiedKey> {
        &self.key
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.names.iter().filter_map(|name| name.parse().ok())
    }
}

/// What a certificate is for, as it says itself.
fn names_of(certificate: &[u8]) -> Vec<String> {
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    if let Ok(Some(alternatives)) = parsed.subject_alternative_name() {
        for name in &alternatives.value.general_names {
            match name {
                GeneralName::DNSName(name) => names.push((*name).to_owned()),
                GeneralName::IPAddress(bytes) => {
                    let four = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
                    let address = four.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
                    names.extend(address.ok().map(|address| address.to_string()));
                }
                _ => {}
            }
        }
    }
    names
}

/// Chooses by the name that the client asks for.
#[derive(Debug)]
pub(super) struct ByServerName {
    named: Vec<Named>,
    fallback: Arc<CertifiedKey>,
}

impl ByServerName {
    pub(super) fn new(named: &[Named], fallback: Arc<CertifiedKey>) -> Self {
        Self {
            named: named.to_vec(),
            fallback,
        }
    }

    /// Whole names go before those with a wildcard, given ones before those of certificates, earlier flags before later ones.
    fn choose(&self, server: Option<&str>) -> &Arc<CertifiedKey> {
        let Some(server) = server.map(str::to_lowercase) else {
            return &self.fallback;
        };
        let wildcard = server.split_once('.').map(|(_, parent)| format!("*.{parent}"));
        for pattern in std::iter::once(&server).chain(&wildcard) {
            for given in [true, false] {
                let has = |named: &&Named| named.given == given && named.names.contains(pattern);
                if let Some(named) = self.named.iter().find(has) {
                    return &named.key;
                }
            }
        }
        &self.fallback
    }
}

impl ResolvesServerCert for ByServerName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(self.choose(hello.server_name())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_named_by_two_files_and_perhaps_names() {
        let value = |certificate: &str, key: &str, names: &[&str]| {
            Ok(NamedCertificate {
                certificate: certificate.into(),
                key: key.into(),
                names: names.iter().map(|&name| name.to_owned()).collect(),
            })
        };
        assert_eq!("a.crt,a.key".parse(), value("a.crt", "a.key", &[]));
        assert_eq!(
            " a.crt , a.key : *.foo.com , foo.com".parse(),
            value("a.crt", "a.key", &["*.foo.com", "foo.com"])
        );
        assert_eq!(
            "a.crt,a.key:".parse::<NamedCertificate>(),
            Err(NamedCertificateError::NoNames)
        );
        for wrong in ["a.crt", "a,b,c", "a.crt:foo"] {
            assert_eq!(
                wrong.parse::<NamedCertificate>(),
                Err(NamedCertificateError::Files),
                "{wrong}"
            );
        }
    }

    #[test]
    fn whole_names_go_before_wildcards_and_given_ones_before_those_of_certificates() {
        let key = || {
            let made = rcgen::generate_simple_self_signed(["x".to_owned()]).unwrap();
            let der = made.signing_key.serialize_der().into();
            let key = rustls::pki_types::PrivateKeyDer::Pkcs8(der);
            let provider = rustls::crypto::ring::default_provider();
            Arc::new(CertifiedKey::from_der(vec![made.cert.der().clone()], key, &provider).unwrap())
        };
        let named = |names: &[&str], given| Named {
            key: key(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
            given,
        };
        let all = [
            named(&["a.foo.com", "foo.com"], false),
            named(&["*.foo.com"], true),
            named(&["foo.com"], true),
        ];
        let resolver = ByServerName::new(&all, key());
        let chosen = |server: Option<&str>| {
            let chosen = resolver.choose(server);
            all.iter().position(|named| Arc::ptr_eq(&named.key, chosen))
        };
        assert_eq!(chosen(Some("a.foo.com")), Some(0));
        assert_eq!(chosen(Some("B.foo.com")), Some(1));
        assert_eq!(chosen(Some("foo.com")), Some(2));
        assert_eq!(chosen(Some("b.a.foo.com")), None);
        assert_eq!((chosen(Some("bar.com")), chosen(None)), (None, None));
    }
}
