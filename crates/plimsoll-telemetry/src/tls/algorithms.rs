//! kube-scheduler's names of TLS versions, cipher suites and curves, and what of them there is here.

use std::str::FromStr;

use rustls::crypto::ring::{self, cipher_suite as suite, kx_group};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::{ProtocolVersion, SupportedCipherSuite, SupportedProtocolVersion};

/// What cannot be chosen. The texts are kube-scheduler's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsAlgorithmError {
    /// No version of that name.
    #[error("unknown tls version {0:?}")]
    Version(String),
    /// No cipher suite of that name.
    #[error("Cipher suite {0} not supported or doesn't exist")]
    CipherSuite(String),
    /// A number that no curve can have.
    #[error("curve preference {0} is out of range (must be 1-65535)")]
    CurveRange(i32),
    /// A curve that stands there already.
    #[error("duplicate curve preference {0}")]
    CurveTwice(i32),
    /// A number that no curve has.
    #[error("curve preference {0} is not supported by the current Go version")]
    Curve(i32),
    /// All that are named are curves of Go's that there are not here.
    #[error("none of the curve preferences {0:?} is there in this build: name 23, 24 or 29 too")]
    NoCurve(Vec<i32>),
}

static SINCE_12: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13, &rustls::version::TLS12];
static SINCE_13: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];

/// The oldest version that is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsVersion {
    /// 1.2: older ones are not there.
    #[default]
    Tls12,
    /// 1.3 alone.
    Tls13,
}

impl FromStr for TlsVersion {
    type Err = TlsAlgorithmError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            // The oldest that there is.
            "" | "VersionTLS10" | "VersionTLS11" | "VersionTLS12" => Ok(Self::Tls12),
            "VersionTLS13" => Ok(Self::Tls13),
            _ => Err(TlsAlgorithmError::Version(name.to_owned())),
        }
    }
}

impl TlsVersion {
    pub(super) fn versions(self) -> &'static [&'static SupportedProtocolVersion] {
        match self {
            Self::Tls12 => SINCE_12,
            Self::Tls13 => SINCE_13,
        }
    }
}

/// Cipher suites of TLS 1.2; all that there are, unless some were chosen. Those of TLS 1.3 are always there, as in Go.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CipherSuites(Option<Vec<SupportedCipherSuite>>);

/// Suites of Go's that are not there, most of them because they are insecure.
const ELSEWHERE: [&str; 16] = [
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
];

impl CipherSuites {
    /// Reads Go's names. Those that there are not here are named in the second value.
    ///
    /// # Errors
    /// When a name is none.
    pub fn named(names: &[String]) -> Result<(Self, Vec<String>), TlsAlgorithmError> {
        if names.is_empty() {
            return Ok((Self::default(), Vec::new()));
        }
        let (mut chosen, mut missing) = (Vec::new(), Vec::new());
        for name in names {
            if let Some(suite) = of_go(name) {
                chosen.push(suite);
            } else if ELSEWHERE.contains(&name.as_str()) {
                missing.push(name.clone());
            } else {
                return Err(TlsAlgorithmError::CipherSuite(name.clone()));
            }
        }
        Ok((Self(Some(chosen)), missing))
    }
}

fn of_go(name: &str) -> Option<SupportedCipherSuite> {
    Some(match name {
        "TLS_AES_128_GCM_SHA256" => suite::TLS13_AES_128_GCM_SHA256,
        "TLS_AES_256_GCM_SHA384" => suite::TLS13_AES_256_GCM_SHA384,
        "TLS_CHACHA20_POLY1305_SHA256" => suite::TLS13_CHACHA20_POLY1305_SHA256,
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256" => suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384" => suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256" | "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305" => {
            suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256
        }
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256" => suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384" => suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256" | "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305" => {
            suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256
        }
        _ => return None,
    })
}

/// Curves; all that there are, unless some were chosen. Their order does not count, as in Go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CurvePreferences(Option<Vec<i32>>);

/// P-521 and the hybrids of ML-KEM, by Go's numbers.
const CURVES_ELSEWHERE: [i32; 4] = [25, 4587, 4588, 4589];

impl CurvePreferences {
    /// Reads Go's numbers. Those of curves that there are not here are in the second value.
    ///
    /// # Errors
    /// When a number is none or stands there twice, or nothing is left that there is here.
    pub fn numbered(numbers: &[i32]) -> Result<(Self, Vec<i32>), TlsAlgorithmError> {
        if numbers.is_empty() {
            return Ok((Self::default(), Vec::new()));
        }
        let (mut chosen, mut missing) = (Vec::new(), Vec::new());
        for (place, &number) in numbers.iter().enumerate() {
            if u16::try_from(number).map_or(true, |number| number == 0) {
                return Err(TlsAlgorithmError::CurveRange(number));
            }
            if numbers.iter().take(place).any(|earlier| *earlier == number) {
                return Err(TlsAlgorithmError::CurveTwice(number));
            }
            match number {
                23 | 24 | 29 => chosen.push(number),
                other if CURVES_ELSEWHERE.contains(&other) => missing.push(other),
                other => return Err(TlsAlgorithmError::Curve(other)),
            }
        }
        if chosen.is_empty() {
            return Err(TlsAlgorithmError::NoCurve(numbers.to_vec()));
        }
        Ok((Self(Some(chosen)), missing))
    }

    fn group(number: i32) -> &'static dyn SupportedKxGroup {
        match number {
            23 => kx_group::SECP256R1,
            24 => kx_group::SECP384R1,
            _ => kx_group::X25519,
        }
    }
}

/// What computes, with the algorithms that were chosen.
pub(super) fn provider(suites: &CipherSuites, curves: &CurvePreferences) -> CryptoProvider {
    let mut provider = ring::default_provider();
    if let Some(chosen) = &suites.0 {
        let is_13 = |suite: &SupportedCipherSuite| suite.version().version == ProtocolVersion::TLSv1_3;
        provider
            .cipher_suites
            .retain(|suite| is_13(suite) || chosen.contains(suite));
    }
    if let Some(chosen) = &curves.0 {
        let chosen: Vec<_> = chosen
            .iter()
            .map(|&number| CurvePreferences::group(number).name())
            .collect();
        provider.kx_groups.retain(|group| chosen.contains(&group.name()));
    }
    provider
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suites(names: &[&str]) -> Result<Vec<String>, TlsAlgorithmError> {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let (chosen, _) = CipherSuites::named(&names)?;
        let provider = provider(&chosen, &CurvePreferences::default());
        Ok(provider
            .cipher_suites
            .iter()
            .map(|suite| format!("{:?}", suite.suite()))
            .collect())
    }

    #[test]
    fn cipher_suites_have_gos_names_and_those_of_tls_1_3_stay() {
        assert_eq!(suites(&[]).unwrap().len(), 9);
        let chosen = suites(&["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_RSA_WITH_AES_128_CBC_SHA"]).unwrap();
        assert_eq!(chosen.len(), 4, "{chosen:?}");
        assert!(chosen.contains(&"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256".to_owned()));
        let named = ["TLS_RSA_WITH_AES_128_CBC_SHA".to_owned()];
        assert_eq!(CipherSuites::named(&named).unwrap().1, named);
        let error = suites(&["TLS_NONE"]).unwrap_err().to_string();
        assert_eq!(error, "Cipher suite TLS_NONE not supported or doesn't exist");
    }

    #[test]
    fn curves_have_gos_numbers() {
        let chosen = |numbers: &[i32]| {
            let (curves, _) = CurvePreferences::numbered(numbers)?;
            Ok::<_, TlsAlgorithmError>(provider(&CipherSuites::default(), &curves).kx_groups.len())
        };
        assert_eq!(chosen(&[]), Ok(3));
        assert_eq!(chosen(&[29, 4588, 23]), Ok(2));
        for (numbers, text) in [
            (&[0][..], "curve preference 0 is out of range (must be 1-65535)"),
            (&[65536], "curve preference 65536 is out of range (must be 1-65535)"),
            (&[29, 29], "duplicate curve preference 29"),
            (&[7], "curve preference 7 is not supported by the current Go version"),
            (
                &[4588],
                "none of the curve preferences [4588] is there in this build: name 23, 24 or 29 too",
            ),
        ] {
            assert_eq!(chosen(numbers).unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn versions_have_gos_names() {
        let version = |name: &str| name.parse::<TlsVersion>();
        for name in ["", "VersionTLS10", "VersionTLS11", "VersionTLS12"] {
            assert_eq!(version(name), Ok(TlsVersion::Tls12));
        }
        assert_eq!(version("VersionTLS13"), Ok(TlsVersion::Tls13));
        assert_eq!(version("1.3").unwrap_err().to_string(), "unknown tls version \"1.3\"");
    }
}
