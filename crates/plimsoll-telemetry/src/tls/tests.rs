use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, ServerConnection};

use super::*;
use crate::certificate_authority::{Signed, TestAuthority};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("plimsoll-tls-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, signed: &Signed) -> TlsIdentity {
        let (certificate, key) = (self.0.join(format!("{name}.crt")), self.0.join(format!("{name}.key")));
        std::fs::write(&certificate, signed.pem()).unwrap();
        std::fs::write(&key, signed.key_pem()).unwrap();
        TlsIdentity::Files { certificate, key }
    }

    fn named(&self, name: &str, signed: &Signed, names: &[&str]) -> NamedCertificate {
        self.write(name, signed);
        NamedCertificate {
            certificate: self.0.join(format!("{name}.crt")),
            key: self.0.join(format!("{name}.key")),
            names: names.iter().map(|&name| name.to_owned()).collect(),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a client sees that trusts this authority.
struct Seen {
    certificate: CertificateDer<'static>,
    version: ProtocolVersion,
    protocol: Option<Vec<u8>>,
    group: String,
}

fn shake_hands(config: Arc<ServerConfig>, roots: &[CertificateDer<'static>], server: &str) -> Result<Seen, String> {
    let mut store = RootCertStore::empty();
    for root in roots {
        store.add(root.clone()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(store)
        .with_no_client_auth();
    client.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let mut client = ClientConnection::new(Arc::new(client), server.to_owned().try_into().unwrap()).unwrap();
    let mut server = ServerConnection::new(config).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        server.read_tls(&mut bytes.as_slice()).unwrap();
        server.process_new_packets().map_err(|error| error.to_string())?;
        bytes.clear();
        server.write_tls(&mut bytes).unwrap();
        client.read_tls(&mut bytes.as_slice()).unwrap();
        client.process_new_packets().map_err(|error| error.to_string())?;
    }
    Ok(Seen {
        certificate: client.peer_certificates().unwrap()[0].clone().into_owned(),
        version: client.protocol_version().unwrap(),
        protocol: client.alpn_protocol().map(<[u8]>::to_vec),
        group: format!("{:?}", client.negotiated_key_exchange_group().unwrap().name()),
    })
}

async fn seen(tls: &Tls, root: &TestAuthority, server: &str) -> Seen {
    shake_hands(tls.config(None).await, &[root.der()], server).unwrap()
}

fn with(identity: TlsIdentity) -> TlsOptions {
    TlsOptions {
        identity,
        http2: true,
        ..TlsOptions::default()
    }
}

#[tokio::test]
async fn without_files_a_certificate_for_localhost_is_made_in_memory_once() {
    let tls = Tls::new(with(TlsIdentity::SelfSigned)).unwrap();
    let made = |name: &'static str| {
        let config = tls.config(None);
        async move {
            // Nobody has signed for it: what a client would trust is the certificate itself, which it does not know.
            shake_hands(config.await, &[], name).err().unwrap()
        }
    };
    assert!(made("localhost").await.contains("UnknownIssuer"));
    let TlsIdentity::Made(_) = TlsIdentity::SelfSigned.made().unwrap() else {
        panic!("not made");
    };
    assert!(Arc::ptr_eq(&tls.config(None).await, &tls.config(None).await));
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_changes_on_disk_is_shown_to_the_next_client() {
    let folder = Folder::new("reload");
    let authority = TestAuthority::new("a");
    let [first, second] = [(); 2].map(|()| authority.server(&["localhost"]));
    let identity = folder.write("serving", &first);
    let tls = Tls::new(with(identity)).unwrap();
    assert_eq!(seen(&tls, &authority, "localhost").await.certificate, first.der());
    tokio::time::advance(std::time::Duration::from_secs(2)).await;
    // Half of a change is none.
    std::fs::write(folder.0.join("serving.crt"), second.pem()).unwrap();
    assert_eq!(seen(&tls, &authority, "localhost").await.certificate, first.der());
    folder.write("serving", &second);
    tokio::time::advance(std::time::Duration::from_secs(2)).await;
    assert_eq!(seen(&tls, &authority, "localhost").await.certificate, second.der());
}

#[tokio::test]
async fn clients_get_the_certificate_of_the_server_or_the_address_that_they_ask_for() {
    let folder = Folder::new("names");
    let authority = TestAuthority::new("a");
    let [standard, foo, address] =
        [&["localhost"][..], &["foo.example"], &["10.1.2.3"]].map(|names| authority.server(names));
    let options = TlsOptions {
        by_name: vec![
            folder.named("foo", &foo, &[]),
            folder.named("address", &address, &["10.1.2.3"]),
        ],
        ..with(folder.write("serving", &standard))
    };
    let tls = Tls::new(options).unwrap();
    assert_eq!(seen(&tls, &authority, "localhost").await.certificate, standard.der());
    assert_eq!(seen(&tls, &authority, "foo.example").await.certificate, foo.der());
    let config = tls.config("::ffff:10.1.2.3".parse().ok()).await;
    let by_address = shake_hands(config, &[authority.der()], "10.1.2.3").unwrap();
    assert_eq!(by_address.certificate, address.der());
}

#[tokio::test]
async fn versions_algorithms_and_http_2_are_as_chosen() {
    let folder = Folder::new("chosen");
    let authority = TestAuthority::new("a");
    let identity = folder.write("serving", &authority.server(&["localhost"]));
    let tls = Tls::new(with(identity.clone())).unwrap();
    let usual = seen(&tls, &authority, "localhost").await;
    assert_eq!(usual.version, ProtocolVersion::TLSv1_3);
    assert_eq!(usual.protocol.as_deref(), Some(&b"h2"[..]));
    let options = TlsOptions {
        min_version: TlsVersion::Tls13,
        curve_preferences: CurvePreferences::numbered(&[24]).unwrap().0,
        http2: false,
        ..with(identity)
    };
    let tls = Tls::new(options).unwrap();
    let chosen = seen(&tls, &authority, "localhost").await;
    assert_eq!(chosen.protocol.as_deref(), Some(&b"http/1.1"[..]));
    assert_eq!(chosen.group, "secp384r1");
}

#[test]
fn a_folder_is_filled_with_a_certificate_once_and_its_key_is_for_us_alone() {
    let folder = Folder::new("cert-dir");
    let identity = || TlsIdentity::Folder {
        folder: folder.0.join("new"),
        address: "10.0.0.1".parse().ok(),
    };
    let read = |name: &str| std::fs::read(folder.0.join("new").join(name)).unwrap();
    Tls::new(with(identity())).unwrap();
    let made = read("kube-scheduler.crt");
    Tls::new(with(identity())).unwrap();
    assert_eq!(read("kube-scheduler.crt"), made);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;

        let key = std::fs::metadata(folder.0.join("new/kube-scheduler.key")).unwrap();
        assert_eq!(key.permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = Folder::new("unusable");
    let authority = TestAuthority::new("a");
    let error = |identity| Tls::new(with(identity)).unwrap_err().to_string();
    let missing = TlsIdentity::Files {
        certificate: Path::new("/nowhere/tls.crt").into(),
        key: Path::new("/nowhere/tls.key").into(),
    };
    assert!(error(missing).starts_with("reading /nowhere/tls.crt: "));
    let mixed = folder.write("serving", &authority.server(&["localhost"]));
    std::fs::write(folder.0.join("serving.key"), authority.server(&["localhost"]).key_pem()).unwrap();
    assert!(error(mixed).starts_with("the serving certificate and its key cannot be used"));
}
