use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{HeaderName, HeaderValue};

use super::*;
use crate::certificate_authority::{Signed, TestAuthority};

/// Knows the token `good`, is told of `late` that the server is down, and counts how often it is asked.
#[derive(Default)]
struct Asked(AtomicUsize);

impl TokenReviewer for Asked {
    fn review<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<User>, String>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let answer = match token {
            "good" => Ok(Some(user("jane", &["devs"]))),
            "late" => Err("the server is down".to_owned()),
            "spoken-of" => Err("[invalid bearer token, unknown]".to_owned()),
            _ => Ok(None),
        };
        async { answer }.boxed()
    }
}

fn user(name: &str, groups: &[&str]) -> User {
    User {
        name: name.to_owned(),
        groups: groups.iter().map(|&group| group.to_owned()).collect(),
        ..User::default()
    }
}

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let pair =
        |(name, value): &(&'static str, &'static str)| (HeaderName::from_static(name), HeaderValue::from_static(value));
    let mut headers = HeaderMap::new();
    for (name, value) in pairs.iter().map(pair) {
        headers.append(name, value);
    }
    headers
}

fn certificates(signed: &[&Signed]) -> Vec<CertificateDer<'static>> {
    signed.iter().map(|signed| signed.der()).collect()
}

/// Who it is, without what tells one certificate from another.
async fn who(
    authenticator: &Authenticator,
    certificates: &[CertificateDer<'static>],
    headers: &HeaderMap,
) -> Result<(String, Vec<String>), String> {
    let credentials = Credentials { certificates, headers };
    let user = authenticator.authenticate(credentials).await?;
    Ok((user.name, user.groups))
}

#[expect(clippy::unnecessary_wraps, reason = "to be compared with an answer")]
fn named(name: &str, groups: &[&str]) -> Result<(String, Vec<String>), String> {
    let user = user(name, groups);
    Ok((user.name, user.groups))
}

fn anonymous() -> Result<(String, Vec<String>), String> {
    named("system:anonymous", &["system:unauthenticated"])
}

async fn with_tokens() -> (Arc<Asked>, Authenticator) {
    let asked = Arc::new(Asked::default());
    let options = AuthenticationOptions::default();
    let authenticator = Authenticator::new(&options, Some(Arc::clone(&asked) as _), None);
    (asked, authenticator.await.unwrap())
}

fn bearer(text: &'static str) -> HeaderMap {
    headers(&[("authorization", text)])
}

#[tokio::test]
async fn who_shows_nothing_is_anonymous_and_a_bad_token_is_turned_away() {
    let (_, authenticator) = with_tokens().await;
    for nothing in ["", "Bearer", "Bearer ", "Bearer  good", "Basic good"] {
        assert_eq!(
            who(&authenticator, &[], &bearer(nothing)).await,
            anonymous(),
            "{nothing:?}"
        );
    }
    for good in ["Bearer good", "bearer good", " Bearer good more"] {
        let jane = named("jane", &["devs", "system:authenticated"]);
        assert_eq!(who(&authenticator, &[], &bearer(good)).await, jane, "{good:?}");
    }
    let turned_away = |why: &str| Err(why.to_owned());
    assert_eq!(
        who(&authenticator, &[], &bearer("Bearer bad")).await,
        turned_away("invalid bearer token")
    );
    assert_eq!(
        who(&authenticator, &[], &bearer("Bearer late")).await,
        turned_away("the server is down")
    );
}

#[tokio::test]
async fn without_somebody_to_ask_every_token_is_as_good_as_none() {
    let authenticator = Authenticator::new(&AuthenticationOptions::default(), None, None)
        .await
        .unwrap();
    assert_eq!(who(&authenticator, &[], &bearer("Bearer good")).await, anonymous());
}

#[tokio::test(start_paused = true)]
async fn an_answer_about_a_token_counts_for_a_while_and_a_failure_does_not() {
    let (asked, authenticator) = with_tokens().await;
    let count = || asked.0.swap(0, Ordering::Relaxed);
    for _ in 0..3 {
        for token in ["Bearer good", "Bearer bad"] {
            let _ = who(&authenticator, &[], &bearer(token)).await;
        }
    }
    assert_eq!(count(), 2);
    for _ in 0..3 {
        for token in ["Bearer late", "Bearer spoken-of"] {
            assert!(who(&authenticator, &[], &bearer(token)).await.is_err());
        }
    }
    assert_eq!(count(), 6);
    tokio::time::advance(Duration::from_secs(10)).await;
    let _ = who(&authenticator, &[], &bearer("Bearer good")).await;
    assert_eq!(count(), 1);
}

/// What a config map says, which may change, or that it cannot be read.
#[derive(Default)]
struct ConfigMap(Mutex<Option<BTreeMap<String, String>>>);

impl ConfigMap {
    fn says(&self, texts: &[(&str, String)]) {
        let texts = texts.iter().map(|(key, text)| ((*key).to_owned(), text.clone()));
        *self.0.lock().unwrap() = Some(texts.collect());
    }
}

impl AuthenticationLookup for ConfigMap {
    fn read(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, String>> {
        let texts = self.0.lock().unwrap().clone();
        async { texts.ok_or_else(|| "forbidden".to_owned()) }.boxed()
    }
}

async fn with_cluster(cluster: &Arc<ConfigMap>) -> Authenticator {
    let options = AuthenticationOptions::default();
    let tokens = Some(Arc::new(Asked::default()) as _);
    Authenticator::new(&options, tokens, Some(Arc::clone(cluster) as _))
        .await
        .unwrap()
}

#[tokio::test]
async fn a_client_certificate_names_user_and_groups_and_one_of_others_counts_only_beside_a_token() {
    let ours = TestAuthority::new("ours");
    let cluster = Arc::new(ConfigMap::default());
    cluster.says(&[("client-ca-file", ours.pem())]);
    let authenticator = with_cluster(&cluster).await;
    let jane = certificates(&[&ours.client("jane", Some("devs"))]);
    let none = HeaderMap::new();
    assert_eq!(
        who(&authenticator, &jane, &none).await,
        named("jane", &["devs", "system:authenticated"])
    );
    let credentials = Credentials {
        certificates: &jane,
        headers: &none,
    };
    let user = authenticator.authenticate(credentials).await.unwrap();
    let id = &user.extra["authentication.kubernetes.io/credential-id"];
    assert!(
        id.len() == 1 && id[0].starts_with("X509SHA256=") && id[0].len() == 75,
        "{id:?}"
    );

    let theirs = TestAuthority::new("theirs");
    let stranger = certificates(&[&theirs.client("jane", Some("system:masters"))]);
    let refused = who(&authenticator, &stranger, &none).await.unwrap_err();
    assert!(refused.starts_with("verifying certificate SN="), "{refused}");
    assert_eq!(
        who(&authenticator, &stranger, &bearer("Bearer good")).await,
        named("jane", &["devs", "system:authenticated"])
    );
    let of_a_server = certificates(&[&ours.server(&["localhost"])]);
    assert_eq!(
        who(&authenticator, &of_a_server, &none).await.map(|(name, _)| name),
        Ok("rcgen self signed cert".to_owned())
    );
}

fn proxied(cluster: &ConfigMap, authority: &TestAuthority, allowed: &str) {
    let list = |text: &str| text.to_owned();
    cluster.says(&[
        ("requestheader-client-ca-file", authority.pem()),
        ("requestheader-allowed-names", list(allowed)),
        ("requestheader-username-headers", list("[\"X-Remote-User\"]")),
        ("requestheader-group-headers", list("[\"X-Remote-Group\"]")),
        ("requestheader-extra-headers-prefix", list("[\"X-Remote-Extra-\"]")),
    ]);
}

#[tokio::test]
async fn a_proxy_that_is_known_says_who_the_user_is_and_nobody_else_does() {
    let authority = TestAuthority::new("proxies");
    let cluster = Arc::new(ConfigMap::default());
    proxied(&cluster, &authority, "[\"front-proxy-client\"]");
    let authenticator = with_cluster(&cluster).await;
    let said = headers(&[
        ("x-remote-user", "jane"),
        ("x-remote-group", "devs"),
        ("x-remote-group", "ops"),
        ("x-remote-extra-scopes", "a"),
        ("x-remote-extra-acme.com%2fproject", "p"),
    ]);
    let proxy = certificates(&[&authority.client("front-proxy-client", None)]);
    let credentials = Credentials {
        certificates: &proxy,
        headers: &said,
    };
    let user = authenticator.authenticate(credentials).await.unwrap();
    assert_eq!(user.name, "jane");
    assert_eq!(user.groups, ["devs", "ops", "system:authenticated"]);
    let one = |key: &str, value: &str| (key.to_owned(), vec![value.to_owned()]);
    assert_eq!(user.extra, [one("scopes", "a"), one("acme.com/project", "p")].into());

    assert_eq!(who(&authenticator, &proxy, &HeaderMap::new()).await, anonymous());
    assert_eq!(who(&authenticator, &[], &said).await, anonymous());
    let other = certificates(&[&authority.client("other", None)]);
    let refused = who(&authenticator, &other, &said).await.unwrap_err();
    assert_eq!(refused, "x509: subject with cn=other is not in the allowed list");
    let stranger = certificates(&[&TestAuthority::new("strangers").client("front-proxy-client", None)]);
    assert!(who(&authenticator, &stranger, &said).await.is_err());

    proxied(&cluster, &authority, "[]");
    let any = with_cluster(&cluster).await;
    let jane = named("jane", &["devs", "ops", "system:authenticated"]);
    assert_eq!(who(&any, &other, &said).await, jane);
}

#[tokio::test(start_paused = true)]
async fn what_the_cluster_says_is_asked_for_again_and_a_failure_changes_nothing() {
    let [first, second] = ["first", "second"].map(TestAuthority::new);
    let cluster = Arc::new(ConfigMap::default());
    let authenticator = with_cluster(&cluster).await;
    let none = HeaderMap::new();
    let of_first = certificates(&[&first.client("a", None)]);
    let of_second = certificates(&[&second.client("b", None)]);
    assert_eq!(who(&authenticator, &of_first, &none).await, anonymous());

    let later = async {
        let wait = |seconds| tokio::time::sleep(Duration::from_secs(seconds));
        cluster.says(&[("client-ca-file", first.pem())]);
        wait(11).await;
        assert_eq!(who(&authenticator, &of_first, &none).await.unwrap().0, "a");
        cluster.says(&[("client-ca-file", "no certificate".to_owned())]);
        wait(61).await;
        assert_eq!(who(&authenticator, &of_first, &none).await.unwrap().0, "a");
        cluster.says(&[("client-ca-file", second.pem())]);
        wait(61).await;
        assert_eq!(who(&authenticator, &of_second, &none).await.unwrap().0, "b");
        assert!(who(&authenticator, &of_first, &none).await.is_err());
    };
    let stop = CancellationToken::new();
    futures::future::select(std::pin::pin!(later), std::pin::pin!(authenticator.follow(&stop))).await;
}

#[tokio::test]
async fn a_failed_look_up_is_fatal_only_where_that_was_asked_for() {
    let strict = AuthenticationOptions {
        tolerate_lookup_failure: false,
        ..AuthenticationOptions::default()
    };
    let cluster = || Some(Arc::new(ConfigMap::default()) as _);
    let error = Authenticator::new(&strict, None, cluster()).await.unwrap_err();
    let told = "unable to load configmap based request-header-client-ca-file: forbidden";
    assert_eq!(error.to_string(), told);
    let skipped = AuthenticationOptions {
        skip_lookup: true,
        ..strict
    };
    assert!(Authenticator::new(&skipped, None, cluster()).await.is_ok());
    assert!(
        Authenticator::new(&AuthenticationOptions::default(), None, cluster())
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn authorities_of_flags_come_from_files_and_go_before_the_clusters() {
    let [ours, theirs] = ["ours", "theirs"].map(TestAuthority::new);
    let path = std::env::temp_dir().join(format!("plimsoll-client-ca-{}", std::process::id()));
    std::fs::write(&path, ours.pem()).unwrap();
    let cluster = Arc::new(ConfigMap::default());
    cluster.says(&[("client-ca-file", theirs.pem())]);
    let options = AuthenticationOptions {
        client_ca_file: Some(path.clone()),
        ..AuthenticationOptions::default()
    };
    let authenticator = Authenticator::new(&options, None, Some(cluster as _)).await.unwrap();
    let none = HeaderMap::new();
    let jane = certificates(&[&ours.client("jane", None)]);
    assert_eq!(
        who(&authenticator, &jane, &none).await,
        named("jane", &["system:authenticated"])
    );
    let joe = certificates(&[&theirs.client("joe", None)]);
    assert!(who(&authenticator, &joe, &none).await.is_err());
    std::fs::write(&path, "").unwrap();
    let error = Authenticator::new(&options, None, None).await.unwrap_err().to_string();
    assert!(error.starts_with("unable to load client CA provider: "), "{error}");
    std::fs::remove_file(&path).unwrap();
}
