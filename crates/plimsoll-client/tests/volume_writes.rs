//! Writes to volumes and claims against the embedded API server, in process and on paused time.

#![expect(clippy::unwrap_used, reason = "a test may fail where it likes")]

use std::sync::Arc;
use std::time::Duration;

use plimsoll_apiserver::resource::find_plural;
use plimsoll_apiserver::{ApiServer, Config, VirtualClock as ServerClock};
use plimsoll_client::{ApiClient, TermToken, VirtualClock, VolumeReply};
use plimsoll_model::storage::VolumeWrite;
use plimsoll_model::{Moment, ObjectName, ResourceVersion, Uid};
use serde_json::json;

fn server() -> (ApiServer, ApiClient) {
    let epoch: jiff::Timestamp = "2026-11-28T02:30:00Z".parse().unwrap();
    let server = ApiServer::new(Config {
        clock: Arc::new(ServerClock::starting_at(epoch)),
        ..Config::default()
    });
    let client = ApiClient::new(
        kube::Client::new(server.service(), "default"),
        Arc::new(VirtualClock::new(epoch)),
    );
    (server, client)
}

fn token() -> Arc<TermToken> {
    TermToken::new(1, Moment::ZERO, Duration::from_hours(1), Duration::from_secs(5))
}

fn create_volume(server: &ApiServer) -> serde_json::Value {
    let volume = json!({
        "metadata": { "name": "pv" },
        "spec": {
            "capacity": { "storage": "1Gi" },
            "accessModes": ["ReadWriteOnce"],
            "hostPath": { "path": "/data" },
        },
    });
    let resource = find_plural("persistentvolumes").unwrap();
    server.create(resource, "", volume).unwrap();
    server.get(resource, "", "pv").unwrap().as_ref().clone()
}

fn create_claim(server: &ApiServer) -> serde_json::Value {
    let claim = json!({
        "metadata": { "name": "claim", "namespace": "default" },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    });
    let resource = find_plural("persistentvolumeclaims").unwrap();
    server.create(resource, "default", claim).unwrap();
    server.get(resource, "default", "claim").unwrap().as_ref().clone()
}

fn uid_and_version(object: &serde_json::Value) -> (Uid, ResourceVersion) {
    let uid = object["metadata"]["uid"].as_str().unwrap();
    let version = object["metadata"]["resourceVersion"].as_str().unwrap();
    (Uid::from(uid), version.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_volume_is_made_over_to_a_claim_once_and_never_in_another_version_than_was_seen() {
    let (server, client) = server();
    let (claim_uid, claim_version) = uid_and_version(&create_claim(&server));
    let (uid, version) = uid_and_version(&create_volume(&server));
    let write = VolumeWrite::BindVolume {
        volume: "pv".into(),
        uid: uid.clone(),
        version,
        claim: ObjectName::new("default", "claim"),
        claim_uid: claim_uid.clone(),
        claim_version,
        by_controller: true,
    };
    let VolumeReply::Done(written) = client.write_volume(&token(), &write).await else {
        panic!("not written");
    };
    let volume = server.get(find_plural("persistentvolumes").unwrap(), "", "pv").unwrap();
    assert_eq!(uid_and_version(&volume), (uid, written));
    assert_eq!(
        volume["spec"]["claimRef"],
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default", "name": "claim",
            "uid": claim_uid.as_str(), "resourceVersion": claim_version.to_string(),
        })
    );
    assert_eq!(
        volume["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"],
        "yes"
    );
    assert_eq!(volume["spec"]["capacity"]["storage"], "1Gi", "all else stays");
    let message = "Operation cannot be fulfilled on persistentvolumes \"pv\": the object has been modified; \
                   please apply your changes to the latest version and try again";
    assert_eq!(
        client.write_volume(&token(), &write).await,
        VolumeReply::Refused {
            message: message.to_owned()
        }
    );
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_told_its_node_and_one_that_is_gone_is_told_of_in_the_servers_words() {
    let (server, client) = server();
    let resource = find_plural("persistentvolumeclaims").unwrap();
    let (uid, version) = uid_and_version(&create_claim(&server));
    let write = VolumeWrite::SelectNode {
        claim: ObjectName::new("default", "claim"),
        uid,
        version,
        node: "n1".into(),
    };
    let reply = client.write_volume(&token(), &write).await;
    assert!(matches!(reply, VolumeReply::Done(_)), "{reply:?}");
    let claim = server.get(resource, "default", "claim").unwrap();
    let annotations = &claim["metadata"]["annotations"];
    assert_eq!(annotations["volume.kubernetes.io/selected-node"], "n1");
    server
        .modify(resource, "default", "claim", |claim| {
            claim["metadata"]["finalizers"] = json!([]);
        })
        .unwrap();
    server.delete(resource, "default", "claim").unwrap();
    assert_eq!(
        client.write_volume(&token(), &write).await,
        VolumeReply::Refused {
            message: "persistentvolumeclaims \"claim\" not found".to_owned()
        }
    );
    // Another of the same name is not written either.
    create_claim(&server);
    let reply = client.write_volume(&token(), &write).await;
    assert!(matches!(reply, VolumeReply::Refused { .. }), "{reply:?}");
}
