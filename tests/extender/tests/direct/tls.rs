use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_config::{ExtenderConfig, ExtenderTls};
use plimsoll_extender::HttpExtenders;
use plimsoll_extender_tests::{Options, PythonExtender, ServingFiles};
use plimsoll_framework::Extender;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::{ask, config, filter, started};

/// A folder of its own, which goes with this.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("plimsoll-extender-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(vec![]).unwrap();
    // OpenSSL looks authorities up by name.
    params
        .distinguished_name
        .push(DnType::CommonName, uuid::Uuid::new_v4().to_string());
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Certificate and key for names.
fn issued(authority: &Authority, names: &[&str]) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let certificate = CertificateParams::new(names)
        .unwrap()
        .signed_by(&key, authority)
        .unwrap();
    (certificate.pem(), key.serialize_pem())
}

fn serving(folder: &Folder, (certificate, key): &(String, String), clients: Option<&Authority>) -> Options {
    Options {
        tls: Some(ServingFiles {
            certificate: folder.write("server.pem", certificate),
            key: folder.write("server.key", key),
            client_authority: clients.map(|authority| folder.write("clients.pem", &authority.pem())),
        }),
        ..Options::default()
    }
}

/// The text of a filter's failure, `ok` if it went well; the address left out.
async fn outcome(python: &PythonExtender, enable_https: bool, tls: Option<ExtenderTls>) -> String {
    let extender = Extender::new(ExtenderConfig {
        enable_https,
        tls_config: tls,
        ..config(&python.url())
    });
    let answer = ask(&HttpExtenders::default(), &Arc::new(extender), filter(&["a"])).await;
    let prefix = format!("Post \"{}/filter\": ", python.url());
    answer.map_or_else(|text| text.replace(&prefix, ""), |_| "ok".to_owned())
}

fn trusting(pem: &str) -> ExtenderTls {
    ExtenderTls {
        ca_data: pem.as_bytes().to_vec(),
        ..ExtenderTls::default()
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

const UNKNOWN: &str = "tls: failed to verify certificate: x509: certificate signed by unknown authority";

#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_verified_as_configured() {
    let folder = Folder::new();
    let authority = authority();
    let options = serving(&folder, &issued(&authority, &["127.0.0.1", "extender.test"]), None);
    let Some(python) = PythonExtender::start(&options).unwrap() else {
        return;
    };
    let pem = authority.pem();
    let file = ExtenderTls {
        ca_file: text(&folder.write("ca.pem", &pem)),
        ..ExtenderTls::default()
    };
    let named = |name: &str| ExtenderTls {
        server_name: name.to_owned(),
        ..trusting(&pem)
    };
    let insecure = ExtenderTls {
        insecure: true,
        server_name: "anything.test".to_owned(),
        ..ExtenderTls::default()
    };
    assert_eq!(outcome(&python, false, None).await, UNKNOWN);
    assert_eq!(
        outcome(&python, false, Some(trusting(&super::tls::authority().pem()))).await,
        UNKNOWN
    );
    for (enable_https, tls) in [
        (false, Some(trusting(&pem))),
        (true, Some(file)),
        // Without an authority, nothing is verified: kube-scheduler's rule.
        (true, None),
        (false, Some(insecure)),
        (true, Some(named("extender.test"))),
    ] {
        assert_eq!(
            outcome(&python, enable_https, tls.clone()).await,
            "ok",
            "{enable_https} {tls:?}"
        );
    }
    let other = outcome(&python, true, Some(named("other.test"))).await;
    assert!(
        other.starts_with("tls: failed to verify certificate: x509: "),
        "{other}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_its_own_authority_is_trusted_when_it_is_named() {
    // As `openssl req -x509` makes them.
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap().pem();
    let folder = Folder::new();
    let options = serving(&folder, &(certificate.clone(), key.serialize_pem()), None);
    let Some(python) = PythonExtender::start(&options).unwrap() else {
        return;
    };
    assert_eq!(outcome(&python, true, Some(trusting(&certificate))).await, "ok");
    let misnamed = ExtenderTls {
        server_name: "other.test".to_owned(),
        ..trusting(&certificate)
    };
    assert_ne!(outcome(&python, true, Some(misnamed)).await, "ok");
    assert_ne!(outcome(&python, true, Some(trusting(&authority().pem()))).await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_shows_its_certificate_and_reads_it_again_when_it_is_renewed() {
    let folder = Folder::new();
    let (authority, clients, strangers) = (authority(), self::authority(), self::authority());
    let options = serving(&folder, &issued(&authority, &["127.0.0.1"]), Some(&clients));
    let Some(python) = PythonExtender::start(&options).unwrap() else {
        return;
    };
    assert_ne!(outcome(&python, false, Some(trusting(&authority.pem()))).await, "ok");
    let (certificate, key) = issued(&clients, &["scheduler"]);
    let data = ExtenderTls {
        cert_data: certificate.clone().into_bytes(),
        key_data: key.clone().into_bytes(),
        ..trusting(&authority.pem())
    };
    assert_eq!(outcome(&python, false, Some(data)).await, "ok");

    let stranger = issued(&strangers, &["scheduler"]);
    let files = ExtenderTls {
        cert_file: text(&folder.write("client.pem", &stranger.0)),
        key_file: text(&folder.write("client.key", &stranger.1)),
        ..trusting(&authority.pem())
    };
    let extender = Arc::new(Extender::new(ExtenderConfig {
        tls_config: Some(files),
        ..config(&python.url())
    }));
    let extenders = HttpExtenders::default();
    assert!(ask(&extenders, &extender, filter(&["a"])).await.is_err());
    folder.write("client.pem", &certificate);
    folder.write("client.key", &key);
    assert!(
        ask(&extenders, &extender, filter(&["a"])).await.is_ok(),
        "renewed files"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_to_a_server_without_is_told() {
    let Some(python) = started() else { return };
    let url = python.url().replace("http:", "https:");
    let extender = Arc::new(Extender::new(ExtenderConfig {
        enable_https: true,
        ..config(&url)
    }));
    let text = ask(&HttpExtenders::default(), &extender, filter(&["a"]))
        .await
        .unwrap_err();
    assert_eq!(
        text,
        format!("Post \"{url}/filter\": http: server gave HTTP response to HTTPS client")
    );
}

#[tokio::test]
async fn certificates_that_cannot_be_used_are_told_before_any_call() {
    let folder = Folder::new();
    let (pem, other) = (issued(&authority(), &["a"]), issued(&authority(), &["b"]));
    let check = async |tls: ExtenderTls, enable_https: bool| {
        let config = ExtenderConfig {
            enable_https,
            tls_config: Some(tls),
            ..config("https://extender")
        };
        HttpExtenders::check(&config)
            .await
            .map_or_else(|error| error.to_string(), |()| "ok".to_owned())
    };
    let none = text(&folder.0.join("none.pem"));
    let client = |certificate: &str, key: &str| ExtenderTls {
        insecure: true,
        cert_data: certificate.as_bytes().to_vec(),
        key_data: key.as_bytes().to_vec(),
        ..ExtenderTls::default()
    };
    let insecure = ExtenderTls {
        insecure: true,
        ..trusting(&pem.0)
    };
    assert_eq!(
        check(insecure, false).await,
        "specifying a root certificates file with the insecure flag is not allowed"
    );
    let missing = ExtenderTls {
        ca_file: none.clone(),
        ..ExtenderTls::default()
    };
    assert_eq!(
        check(missing, true).await,
        format!("open {none}: no such file or directory")
    );
    for (authorities, expected) in [
        (
            "junk",
            "unable to load root certificates: unable to parse bytes as PEM block",
        ),
        (
            &pem.1,
            "unable to load root certificates: no valid certificate authority data seen",
        ),
        (&pem.0, "ok"),
    ] {
        assert_eq!(check(trusting(authorities), true).await, expected);
    }
    for (tls, expected) in [
        (client(&pem.0, &pem.1), "ok"),
        // As client-go: half an identity is none.
        (client(&pem.0, ""), "ok"),
        (
            client("junk", &pem.1),
            "tls: failed to find any PEM data in certificate input",
        ),
        (client(&pem.0, "junk"), "tls: failed to find any PEM data in key input"),
        (client(&pem.0, &other.1), "tls: private key does not match public key"),
    ] {
        assert_eq!(check(tls, false).await, expected);
    }
}
