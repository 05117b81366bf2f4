//! The client against the embedded API server, in process and on paused time.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail where it likes")]

use std::sync::Arc;
use std::time::Duration;

use plimsoll_apiserver::resource::find_plural;
use plimsoll_apiserver::{ApiServer, Config, VirtualClock as ServerClock};
use plimsoll_client::{
    ApiClient, BindReply, ConditionPatch, CsiDrivers, CsiNodes, CsiStorageCapacities, EventCount, EventRecord,
    EventReply, EventSeries, EventType, EventWriter, LeaseClient, LeaseRecord, LeaseReply, Namespaces, Nodes,
    NominationPatch, ObjectReference, PatchReply, PersistentVolumeClaims, PersistentVolumes, PodRead, PodStatusPatch,
    Pods, RawPolicies, ReplicaSets, ReplicationControllers, Services, StatefulSets, StorageClasses, TermToken,
    VirtualClock, VolumeAttachments, Watch, WatchBatch, WatchEvent, WatchedKind, consistent_account,
    consistent_version, force_progress, watch_lease,
};
use plimsoll_model::{Moment, ObjectName, Pod, Timestamp, Uid};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use serde_json::json;
use tokio::sync::mpsc::{self, Receiver};
use tokio_util::sync::CancellationToken;

fn epoch() -> jiff::Timestamp {
    "2026-11-28T02:30:00Z".parse().unwrap()
}

fn server() -> (ApiServer, ApiClient) {
    let clock = Arc::new(ServerClock::starting_at(epoch()));
    let server = ApiServer::new(Config {
        clock,
        ..Config::default()
    });
    let client = ApiClient::new(
        kube::Client::new(server.service(), "default"),
        Arc::new(VirtualClock::new(epoch())),
    );
    (server, client)
}

fn create_pod(server: &ApiServer, name: &str) {
    let pod = json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "containers": [{ "name": "c", "image": "i" }] },
    });
    server.create(find_plural("pods").unwrap(), "default", pod).unwrap();
}

fn create_node(server: &ApiServer, name: &str) {
    server
        .create(
            find_plural("nodes").unwrap(),
            "",
            json!({ "metadata": { "name": name } }),
        )
        .unwrap();
}

fn token() -> Arc<TermToken> {
    TermToken::new(1, Moment::ZERO, Duration::from_hours(1), Duration::from_secs(5))
}

async fn read(client: &ApiClient, name: &str) -> Arc<Pod> {
    match client.read_pod(&ObjectName::new("default", name)).await {
        PodRead::Found(pod) => pod,
        other => panic!("{other:?}"),
    }
}

fn describe(event: &WatchEvent<Pod>) -> String {
    match event {
        WatchEvent::Replace { objects, .. } => {
            let names: Vec<&str> = objects.iter().map(|pod| pod.name.name.as_str()).collect();
            format!("replace {}", names.join(" "))
        }
        WatchEvent::Upsert(pod) => format!("upsert {} {}", pod.name.name, pod.node_name().unwrap_or("-")),
        WatchEvent::Delete { name, .. } => format!("delete {}", name.name),
        WatchEvent::Undecodable(object) => format!("undecodable {}", object.name),
        WatchEvent::Progress(_) => "progress".to_owned(),
        WatchEvent::Forbidden { reason } => format!("forbidden {reason}"),
    }
}

/// The next events that are no bookmarks.
async fn next(source: &mut Receiver<WatchBatch<Pod>>, count: usize) -> Vec<String> {
    let mut events = Vec::new();
    while events.len() < count {
        let batch = source.recv().await.unwrap();
        events.extend(batch.events.iter().map(describe).filter(|event| event != "progress"));
    }
    events
}

async fn watching(client: ApiClient, streaming: bool, server: &ApiServer) -> Vec<String> {
    let (sink, mut source) = mpsc::channel(8);
    let stop = CancellationToken::new();
    let watch = Watch::<Pods>::new(client.clone(), ChaCha8Rng::seed_from_u64(1));
    let watch = if streaming {
        watch
    } else {
        watch.without_streaming_list()
    };
    let script = async {
        let mut events = next(&mut source, 1).await;
        create_pod(server, "b");
        events.extend(next(&mut source, 1).await);
        let pod = read(&client, "a").await;
        client.bind(&token(), &pod, "n1").await;
        events.extend(next(&mut source, 1).await);
        server.delete(find_plural("pods").unwrap(), "default", "b").unwrap();
        // A pod is marked before it goes.
        events.extend(next(&mut source, 2).await);
        stop.cancel();
        events
    };
    let ((), events) = tokio::join!(biased; watch.run(sink, stop.clone()), script);
    events
}

#[tokio::test(start_paused = true)]
async fn a_watch_follows_the_server_through_a_streaming_list_and_through_pages() {
    for streaming in [true, false] {
        let (server, client) = server();
        create_node(&server, "n1");
        create_pod(&server, "a");
        let events = watching(client, streaming, &server).await;
        let expected = ["replace a", "upsert b -", "upsert a n1", "upsert b -", "delete b"];
        assert_eq!(events, expected, "streaming: {streaming}");
    }
}

#[tokio::test(start_paused = true)]
async fn history_that_was_compacted_is_reported_as_gone() {
    let (server, client) = server();
    create_pod(&server, "a");
    let (sink, _source) = mpsc::channel::<WatchBatch<Pod>>(8);
    let from = consistent_version::<Pods>(&client).await.unwrap();
    create_pod(&server, "b");
    create_pod(&server, "c");
    server.compact(server.resource_version());
    let end = force_progress::<Pods>(&client, from, &RawPolicies::nothing(), &sink).await;
    assert!(matches!(end, Err(plimsoll_client::BarrierError::Expired(_))), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn a_quiet_watch_is_brought_to_a_consistent_version_within_seconds() {
    let (server, client) = server();
    create_pod(&server, "a");
    let cached = consistent_version::<Pods>(&client).await.unwrap();
    // Something else moves the store on; no pod changes.
    create_node(&server, "n1");
    let wanted = consistent_version::<Pods>(&client).await.unwrap();
    assert!(wanted > cached);
    let (sink, mut source) = mpsc::channel::<WatchBatch<Pod>>(8);
    let started = tokio::time::Instant::now();
    let reached = force_progress::<Pods>(&client, cached, &RawPolicies::nothing(), &sink)
        .await
        .unwrap();
    assert!(reached >= wanted, "{reached} {wanted}");
    assert!(started.elapsed() <= Duration::from_secs(4));
    assert_eq!(describe(&source.recv().await.unwrap().events[0]), "progress");
}

#[tokio::test(start_paused = true)]
async fn an_account_tells_what_is_there_without_the_objects() {
    let (server, client) = server();
    let nothing = consistent_account::<Pods>(&client).await.unwrap();
    assert_eq!((nothing.newest.as_u64(), nothing.count), (0, 0));
    for name in ["a", "b", "c"] {
        create_pod(&server, name);
    }
    let newest = server.resource_version();
    // Neither another kind nor a deletion changes what the newest is.
    create_node(&server, "n1");
    let pods = find_plural("pods").unwrap();
    server.delete(pods, "default", "a").unwrap();
    let account = consistent_account::<Pods>(&client).await.unwrap();
    assert_eq!((account.newest.as_u64(), account.count), (newest, 2));
    assert_eq!(account.version, consistent_version::<Pods>(&client).await.unwrap());
    assert!(account.version > account.newest);
}

#[tokio::test(start_paused = true)]
async fn whoever_watches_a_lease_hears_of_each_write_and_of_no_other_lease() {
    let (_server, client) = server();
    let lease = |name: &str| LeaseClient::new(client.clone(), "kube-system", name);
    let record = |holder: &str| LeaseRecord {
        holder: holder.to_owned(),
        duration_seconds: 15,
        acquire_time: None,
        renew_time: None,
        transitions: 0,
    };
    let LeaseReply::Lease(stored) = lease("kube-scheduler").create(&record("a")).await else {
        panic!("not created")
    };
    lease("another").create(&record("x")).await;
    let (sink, mut source) = mpsc::channel(8);
    let watching = watch_lease(lease("kube-scheduler"), ChaCha8Rng::seed_from_u64(1), sink);
    let writing = async {
        // Past the end of the first watch, so that the second is tried too.
        for (seconds, holder) in [(1, ""), (400, "b")] {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            let LeaseReply::Lease(now) = lease("kube-scheduler").get().await else {
                panic!("not there")
            };
            lease("another").update(&stored, &record("y")).await;
            lease("kube-scheduler").update(&now, &record(holder)).await;
        }
        std::future::pending::<()>().await;
    };
    let mut holders = Vec::new();
    let hearing = async {
        while holders.last().map(String::as_str) != Some("b") {
            for event in source.recv().await.unwrap().events {
                if let WatchEvent::Upsert(lease) = event {
                    holders.push(lease.record.holder.clone());
                }
            }
        }
    };
    let rest = futures::future::select(Box::pin(watching), Box::pin(writing));
    let heard = matches!(
        futures::future::select(Box::pin(hearing), rest).await,
        futures::future::Either::Left(_)
    );
    assert!(heard, "the watch ended");
    assert_eq!(holders.first().map(String::as_str), Some("a"));
    assert!(holders.iter().all(|holder| ["a", "", "b"].contains(&holder.as_str())));
    assert!(holders.iter().any(String::is_empty), "{holders:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_bound_once() {
    let (server, client) = server();
    create_node(&server, "n1");
    create_pod(&server, "a");
    let pod = read(&client, "a").await;
    assert_eq!(client.bind(&token(), &pod, "n1").await, BindReply::Created);
    let again = client.bind(&token(), &pod, "n1").await;
    assert!(matches!(again, BindReply::Conflict { .. }), "{again:?}");
    assert_eq!(read(&client, "a").await.node_name(), Some("n1"));

    let pods = find_plural("pods").unwrap();
    create_pod(&server, "b");
    let old = read(&client, "b").await;
    server.delete(pods, "default", "b").unwrap();
    assert_eq!(client.bind(&token(), &old, "n1").await, BindReply::NotFound);
    create_pod(&server, "b");
    let namesake = client.bind(&token(), &old, "n1").await;
    assert!(
        matches!(namesake, BindReply::Conflict { .. }),
        "another pod's UID: {namesake:?}"
    );
    assert_eq!(read(&client, "b").await.node_name(), None);
}

#[tokio::test(start_paused = true)]
async fn condition_and_nomination_are_set_and_the_nomination_is_cleared() {
    let (server, client) = server();
    create_pod(&server, "a");
    let name = ObjectName::new("default", "a");
    let condition = ConditionPatch {
        kind: "PodScheduled".to_owned(),
        status: "False".to_owned(),
        reason: "Unschedulable".to_owned(),
        message: "no node".to_owned(),
        last_transition_time: Timestamp::new("2026-11-28T02:30:00Z"),
        observed_generation: 1,
    };
    let nominated_node_name = NominationPatch::Set("n1".to_owned());
    let patch = PodStatusPatch {
        condition: Some(condition),
        nominated_node_name,
        ..PodStatusPatch::default()
    };
    assert_eq!(
        client.patch_pod_status(&token(), &name, &patch).await,
        PatchReply::Patched
    );
    let pod = read(&client, "a").await;
    assert_eq!(pod.status.nominated_node_name.as_deref(), Some("n1"));
    let clear = PodStatusPatch {
        condition: None,
        nominated_node_name: NominationPatch::Clear,
        ..PodStatusPatch::default()
    };
    assert_eq!(
        client.patch_pod_status(&token(), &name, &clear).await,
        PatchReply::Patched
    );
    assert_eq!(read(&client, "a").await.status.nominated_node_name, None);
    let stored = server.get(find_plural("pods").unwrap(), "default", "a").unwrap();
    assert_eq!(stored["status"]["conditions"][0]["reason"], "Unschedulable");
}

#[tokio::test(start_paused = true)]
async fn of_two_who_saw_the_same_lease_one_takes_it() {
    let (_server, client) = server();
    let lease = LeaseClient::new(client, "kube-system", "kube-scheduler");
    let record = |holder: &str| LeaseRecord {
        holder: holder.to_owned(),
        duration_seconds: 15,
        acquire_time: Some(epoch()),
        renew_time: Some(epoch()),
        transitions: 0,
    };
    assert_eq!(lease.get().await, LeaseReply::NotFound);
    let LeaseReply::Lease(stored) = lease.create(&record("a")).await else {
        panic!("not created")
    };
    assert_eq!(stored.record, record("a"));
    assert!(matches!(lease.create(&record("b")).await, LeaseReply::Conflict { .. }));
    assert!(matches!(
        lease.update(&stored, &record("b")).await,
        LeaseReply::Lease(_)
    ));
    assert!(matches!(
        lease.update(&stored, &record("c")).await,
        LeaseReply::Conflict { .. }
    ));
    let LeaseReply::Lease(stored) = lease.get().await else {
        panic!("gone")
    };
    assert_eq!(stored.record.holder, "b");
}

#[tokio::test(start_paused = true)]
async fn events_are_accepted_and_become_series() {
    let (server, client) = server();
    create_pod(&server, "a");
    let pod = read(&client, "a").await;
    let writer = EventWriter::new(client);
    let record = EventRecord {
        event_type: EventType::Warning,
        reason: "FailedScheduling".into(),
        action: "Scheduling".into(),
        note: "no node".to_owned(),
        regarding: ObjectReference {
            api_version: "v1".into(),
            kind: "Pod".into(),
            name: pod.name.clone(),
            uid: pod.uid.clone(),
            resource_version: pod.resource_version.to_string().into(),
        },
        related: None,
        reporting_controller: "default-scheduler".into(),
        reporting_instance: "default-scheduler-host".into(),
        event_time: epoch(),
    };
    assert_eq!(writer.create(&record, None).await, EventReply::Written);
    assert_eq!(writer.create(&record, None).await, EventReply::Exists, "its own twin");
    let series = EventSeries {
        count: 2,
        last_observed_time: epoch(),
    };
    assert_eq!(writer.patch_series(&record, series).await, EventReply::Written);
    let mut lease = record.clone();
    lease.event_type = EventType::Normal;
    lease.regarding = ObjectReference {
        api_version: "coordination.k8s.io/v1".into(),
        kind: "Lease".into(),
        name: ObjectName::new("kube-system", "kube-scheduler"),
        uid: Uid::from("u"),
        resource_version: "1".into(),
    };
    let count = |count| EventCount {
        count,
        last_timestamp: epoch(),
    };
    assert_eq!(writer.create_core(&lease, count(1)).await, EventReply::Written);
    assert_eq!(writer.patch_core(&lease, count(2)).await, EventReply::Written);
}

/// What a watch of one kind first says: the names of its objects.
async fn first_list<K: WatchedKind>(client: &ApiClient) -> Vec<String> {
    let (sink, mut source) = mpsc::channel(8);
    let stop = CancellationToken::new();
    let watch = Watch::<K>::new(client.clone(), ChaCha8Rng::seed_from_u64(1));
    let listening = async {
        let batch = source.recv().await.unwrap();
        stop.cancel();
        batch
    };
    let ((), batch) = tokio::join!(biased; watch.run(sink, stop.clone()), listening);
    match batch.events.as_slice() {
        [
            WatchEvent::Replace {
                objects, undecodable, ..
            },
        ] => {
            assert!(undecodable.is_empty(), "{undecodable:?}");
            objects.iter().map(|object| K::name(object).to_string()).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn every_watched_kind_is_listed() {
    let (server, client) = server();
    let template = json!({"metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let selector = json!({"matchLabels": {"app": "web"}});
    let specs = [
        ("services", json!({"selector": {"app": "web"}, "ports": [{"port": 80}]})),
        (
            "replicationcontrollers",
            json!({"selector": {"app": "web"}, "template": template}),
        ),
        ("replicasets", json!({"selector": selector, "template": template})),
        (
            "statefulsets",
            json!({"selector": selector, "template": template, "serviceName": "web"}),
        ),
    ];
    for (plural, spec) in specs {
        let object = json!({"metadata": {"name": plural, "namespace": "default"}, "spec": spec});
        server
            .create(find_plural(plural).unwrap(), "default", object)
            .unwrap_or_else(|error| panic!("{plural}: {error:?}"));
    }
    create_node(&server, "n1");
    assert_eq!(first_list::<Services>(&client).await, ["default/services"]);
    assert_eq!(
        first_list::<ReplicationControllers>(&client).await,
        ["default/replicationcontrollers"]
    );
    assert_eq!(first_list::<ReplicaSets>(&client).await, ["default/replicasets"]);
    assert_eq!(first_list::<StatefulSets>(&client).await, ["default/statefulsets"]);
    assert_eq!(first_list::<Nodes>(&client).await, ["n1"]);
    assert!(first_list::<Namespaces>(&client).await.contains(&"default".to_owned()));
}

/// One object of each kind of storage, named after its plural.
fn create_storage(server: &ApiServer) {
    let spec = |spec: serde_json::Value| json!({ "spec": spec });
    let room = json!({"storage": "1Gi"});
    let driver = "disk.example.com";
    let objects = [
        ("storageclasses", "", json!({ "provisioner": driver })),
        ("csidrivers", "", spec(json!({}))),
        (
            "csinodes",
            "",
            spec(json!({"drivers": [{"name": driver, "nodeID": "n"}]})),
        ),
        ("csistoragecapacities", "default", json!({"storageClassName": "fast"})),
        (
            "volumeattachments",
            "",
            spec(json!({"attacher": driver, "nodeName": "n", "source": {"persistentVolumeName": "v"}})),
        ),
        (
            "persistentvolumes",
            "",
            spec(
                json!({"capacity": room, "accessModes": ["ReadWriteOnce"], "csi": {"driver": driver, "volumeHandle": "h"}}),
            ),
        ),
        (
            "persistentvolumeclaims",
            "default",
            spec(json!({"resources": {"requests": room}, "accessModes": ["ReadWriteOnce"]})),
        ),
    ];
    for (plural, namespace, mut object) in objects {
        object["metadata"] = json!({ "name": plural, "namespace": namespace });
        server
            .create(find_plural(plural).unwrap(), namespace, object)
            .unwrap_or_else(|error| panic!("{plural}: {error:?}"));
    }
}

async fn listed_and_accounted<K: WatchedKind>(client: &ApiClient) -> Vec<String> {
    let account = consistent_account::<K>(client).await.unwrap();
    let names = first_list::<K>(client).await;
    assert_eq!(account.count, names.len(), "{}", K::NAME);
    names
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_storage_is_listed_and_accounted_for() {
    let (server, client) = server();
    create_storage(&server);
    let cluster_wide = [
        listed_and_accounted::<StorageClasses>(&client).await,
        listed_and_accounted::<CsiDrivers>(&client).await,
        listed_and_accounted::<CsiNodes>(&client).await,
        listed_and_accounted::<VolumeAttachments>(&client).await,
        listed_and_accounted::<PersistentVolumes>(&client).await,
    ];
    let expected = [
        "storageclasses",
        "csidrivers",
        "csinodes",
        "volumeattachments",
        "persistentvolumes",
    ];
    assert_eq!(cluster_wide.concat(), expected);
    let namespaced = [
        listed_and_accounted::<CsiStorageCapacities>(&client).await,
        listed_and_accounted::<PersistentVolumeClaims>(&client).await,
    ];
    assert_eq!(
        namespaced.concat(),
        ["default/csistoragecapacities", "default/persistentvolumeclaims"]
    );
}
