//! Flags of the HTTPS server's side of TLS.

use std::net::IpAddr;

use clap::ArgAction;
use plimsoll_telemetry::{
    CipherSuites, CurvePreferences, NamedCertificate, TlsAlgorithmError, TlsIdentity, TlsOptions, TlsVersion,
};

use super::{FlagError, given, parse_go_bool};

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TLS")]
#[expect(clippy::doc_markdown, reason = "it is read on a terminal")]
pub(super) struct TlsFlags {
    /// Folder of kube-scheduler.crt and kube-scheduler.key, which are made if they are not there; without effect beside
    /// --tls-cert-file
    #[arg(long, value_name = "FOLDER", default_value = "")]
    cert_dir: String,
    /// Certificate for HTTPS, read again when it changes; made in memory when there is none
    #[arg(long, value_name = "FILE", default_value = "")]
    tls_cert_file: String,
    /// Private key of --tls-cert-file
    #[arg(long, value_name = "FILE", default_value = "")]
    tls_private_key_file: String,
    /// Another certificate with its key, and perhaps the names of servers that it is for: a.crt,a.key:*.foo.com,foo.com; may
    /// be given several times
    #[arg(long, value_name = "CERT,KEY[:NAMES]", action = ArgAction::Append)]
    tls_sni_cert_key: Vec<NamedCertificate>,
    /// Oldest version that is spoken: VersionTLS12 or VersionTLS13; VersionTLS10 and VersionTLS11 are accepted and mean
    /// VersionTLS12
    #[arg(long, value_name = "VERSION", default_value = "")]
    tls_min_version: String,
    /// Cipher suites of TLS 1.2, by Go's names; those that there are not here are left out
    #[arg(long, value_name = "SUITES", value_delimiter = ',', action = ArgAction::Append)]
    tls_cipher_suites: Vec<String>,
    /// Curves, by Go's numbers: 23, 24 and 29; others that Go has are left out
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', action = ArgAction::Append, allow_negative_numbers = true)]
    tls_curve_preferences: Vec<i32>,
    /// Speak HTTP/1.1 alone
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", action = ArgAction::Set, value_parser = parse_go_bool)]
    disable_http2_serving: bool,
    /// Requests that one connection may have at once; 0 for the usual number
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    http2_max_streams_per_connection: u32,
}

/// What these flags say.
pub(super) struct Tls {
    pub(super) options: TlsOptions,
    pub(super) http2_max_streams: u32,
    pub(super) warnings: Vec<String>,
}

impl TlsFlags {
    pub(super) fn read(self, address: IpAddr) -> Result<Tls, FlagError> {
        let refused = |error: TlsAlgorithmError| FlagError::Usage(error.to_string());
        let identity = match (given(self.tls_cert_file), given(self.tls_private_key_file)) {
            (None, None) => match given(self.cert_dir) {
                Some(folder) => TlsIdentity::Folder {
                    folder: folder.into(),
                    address: Some(address),
                },
                None => TlsIdentity::SelfSigned,
            },
            (Some(certificate), Some(key)) => TlsIdentity::Files {
                certificate: certificate.into(),
                key: key.into(),
            },
            _ => return Err(FlagError::CertificateWithoutKey),
        };
        let min_version: TlsVersion = self.tls_min_version.parse().map_err(refused)?;
        let (cipher_suites, no_suites) = CipherSuites::named(&self.tls_cipher_suites).map_err(refused)?;
        let (curve_preferences, no_curves) =
            CurvePreferences::numbered(&self.tls_curve_preferences).map_err(refused)?;
        let mut warnings = Vec::new();
        if matches!(self.tls_min_version.as_str(), "VersionTLS10" | "VersionTLS11") {
            let asked = self.tls_min_version;
            warnings.push(format!(
                "--tls-min-version={asked}: TLS 1.2 is the oldest version that is spoken"
            ));
        }
        let suites = no_suites.into_iter().map(|suite| ("tls-cipher-suites", suite));
        let curves = no_curves
            .into_iter()
            .map(|curve| ("tls-curve-preferences", curve.to_string()));
        let missing = suites.chain(curves);
        warnings.extend(missing.map(|(flag, what)| format!("--{flag}: {what} is not there and not used")));
        Ok(Tls {
            http2_max_streams: self.http2_max_streams_per_connection,
            options: TlsOptions {
                identity,
                by_name: self.tls_sni_cert_key,
                min_version,
                cipher_suites,
                curve_preferences,
                http2: !self.disable_http2_serving,
            },
            warnings,
        })
    }
}
