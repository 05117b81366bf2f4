use std::sync::Mutex;

use plimsoll_client::{Account, UndecodableObject};
use plimsoll_config::{ExtenderConfig, SchedulerConfig};
use plimsoll_model::testing::{claim, csi_node, node, pod, volume};
use plimsoll_model::{ObjectName, Raw, RawPolicy};
use ractor::ActorStatus;

use super::*;
use crate::assembled_config::AssembledConfig;
use crate::mailbox::Tap;
use crate::scheduling_cycle::CycleMessage;

/// A cache that knows of one pod, at version 10.
async fn filled(mailbox: &Mailbox<CacheMessage>) -> ActorRef<CacheMessage> {
    let arguments = InformerCacheArguments {
        mailbox: mailbox.clone(),
        elector: Mailbox::new("Elector", None),
        raw: RawDemand::new(RawPolicy::NOTHING),
        watches: WatchPulses::default(),
        metrics: Arc::new(Metrics::new()),
    };
    let (actor, _) = Actor::spawn(None, InformerCache, arguments).await.unwrap();
    mailbox.bind(actor.clone());
    let event = WatchEvent::Replace {
        objects: vec![Arc::new(pod("a").resource_version(10).build())],
        undecodable: Vec::new(),
        version: ResourceVersion::new(10),
        history_began_anew: false,
        raw: RawPolicy::NOTHING,
    };
    mailbox.tell(CacheMessage::Pods(WatchBatch { events: vec![event] }, Credit::none()));
    assert_eq!(view(mailbox).await.map(|view| view.pods), Some(1));
    actor
}

async fn view(mailbox: &Mailbox<CacheMessage>) -> Option<CacheView> {
    let (reply, answer) = oneshot::channel();
    mailbox.tell(CacheMessage::View(reply));
    answer.await.ok()
}

fn anew() -> CacheMessage {
    CacheMessage::HistoryBeganAnew(HistoryBeganAnew {
        kind: "pods",
        seen: ResourceVersion::new(10),
        version: ResourceVersion::new(7),
    })
}

#[tokio::test]
async fn a_read_from_before_what_is_known_ends_that_cache_and_none_that_comes_after_it() {
    let mailbox = Mailbox::new("InformerCache", None);
    let first = filled(&mailbox).await;
    let (of_a_watch, of_a_term) = (mailbox.pinned(), mailbox.pinned());
    of_a_term.tell(anew());
    first.wait(None).await.unwrap();
    assert_eq!(first.get_status(), ActorStatus::Stopped);
    filled(&mailbox).await;
    // What the term and the watches of the first still say is about what the first knew.
    assert!(!of_a_term.tell(anew()));
    let list = WatchEvent::Replace {
        objects: Vec::new(),
        undecodable: Vec::new(),
        version: ResourceVersion::new(7),
        history_began_anew: true,
        raw: RawPolicy::NOTHING,
    };
    assert!(!of_a_watch.tell(CacheMessage::Pods(WatchBatch { events: vec![list] }, Credit::none())));
    assert_eq!(view(&mailbox).await.map(|view| view.pods), Some(1));
}

/// What was sent, as one line each.
#[derive(Default)]
struct Sent(Mutex<Vec<String>>);

impl Tap for Sent {
    fn sent(&self, _: &'static str, summary: &str) {
        // Up to which versions does not matter here.
        let what = summary.split(" pods@").next().unwrap();
        self.0.lock().unwrap().push(what.to_owned());
    }
}

impl Sent {
    async fn taken(&self, cache: &Mailbox<CacheMessage>) -> Vec<String> {
        view(cache).await.unwrap();
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn with_extender(set: impl FnOnce(&mut ExtenderConfig)) -> Arc<AssembledConfig> {
    let mut extender = ExtenderConfig::default();
    set(&mut extender);
    let config = SchedulerConfig {
        extenders: vec![extender],
        ..SchedulerConfig::default()
    };
    let profiles = Vec::new();
    Arc::new(AssembledConfig { config, profiles })
}

fn switch(to: &Arc<AssembledConfig>) -> CacheMessage {
    let assembled = Arc::clone(to);
    CacheMessage::Reconfigure { term: 1, assembled }
}

fn begin(term: u64) -> (CacheMessage, oneshot::Receiver<()>) {
    let (reply, begun) = oneshot::channel();
    (CacheMessage::Begin(term, reply), begun)
}

fn lists<T>(objects: Vec<T>, version: u64, raw: RawPolicy) -> WatchBatch<T> {
    let event = WatchEvent::Replace {
        objects: objects.into_iter().map(Arc::new).collect(),
        undecodable: Vec::new(),
        version: ResourceVersion::new(version),
        history_began_anew: false,
        raw,
    };
    WatchBatch { events: vec![event] }
}

#[tokio::test]
async fn nobody_switches_to_a_configuration_that_needs_whole_objects_before_they_are_there() {
    let cache = Mailbox::new("InformerCache", None);
    filled(&cache).await;
    let sent = Arc::new(Sent::default());
    let tap: Arc<dyn Tap> = Arc::clone(&sent) as Arc<dyn Tap>;
    let plain = with_extender(|_| ());
    cache.tell(CacheMessage::Subscribe {
        term: 1,
        queue: Mailbox::new("SchedulingQueue", None),
        cycle: Mailbox::new("SchedulingCycle", Some(tap)),
        assembled: Arc::clone(&plain),
    });
    assert_eq!(sent.taken(&cache).await, ["Changes 1"]);
    let filters = with_extender(|extender| extender.filter_verb = "filter".to_owned());
    cache.tell(switch(&plain));
    cache.tell(switch(&filters));
    cache.tell(switch(&filters));
    assert_eq!(sent.taken(&cache).await.len(), 1, "only the one that needs none");
    let policy = filters.raw_policy();
    let mut whole = pod("a").resource_version(10).build();
    whole.raw = Some(Raw::of_object(b"{}").unwrap());
    cache.tell(CacheMessage::Pods(
        lists(vec![whole], 11, policy.of_pods()),
        Credit::none(),
    ));
    assert_eq!(
        sent.taken(&cache).await,
        ["Changes 1"],
        "the pod once more, and no switch without nodes"
    );
    cache.tell(CacheMessage::Nodes(
        lists(vec![node("n").build()], 11, policy.of_nodes()),
        Credit::none(),
    ));
    let told = sent.taken(&cache).await;
    assert_eq!(told.len(), 2, "the node, and one switch: {told:?}");
    // What is there now serves whoever comes next.
    cache.tell(switch(&filters));
    assert_eq!(sent.taken(&cache).await.len(), 1);
}

#[tokio::test]
async fn a_term_that_needs_whole_objects_begins_when_they_are_there() {
    let cache = Mailbox::new("InformerCache", None);
    filled(&cache).await;
    let sent = Arc::new(Sent::default());
    let tap: Arc<dyn Tap> = Arc::clone(&sent) as Arc<dyn Tap>;
    let cycle = Mailbox::new("SchedulingCycle", Some(tap));
    let subscribe = |term, assembled| CacheMessage::Subscribe {
        term,
        queue: Mailbox::new("SchedulingQueue", None),
        cycle: cycle.clone(),
        assembled,
    };
    let scores = with_extender(|extender| {
        extender.prioritize_verb = "prioritize".to_owned();
        extender.node_cache_capable = true;
    });
    let policy = scores.raw_policy();
    cache.tell(CacheMessage::Keep(policy));
    cache.tell(subscribe(1, Arc::clone(&scores)));
    assert!(sent.taken(&cache).await.is_empty());
    // One that is over does not begin any more.
    cache.tell(CacheMessage::Unsubscribe(1));
    cache.tell(CacheMessage::Pods(
        lists(vec![pod("a").resource_version(10).build()], 11, policy),
        Credit::none(),
    ));
    assert!(sent.taken(&cache).await.is_empty());
    cache.tell(subscribe(2, scores));
    assert_eq!(sent.taken(&cache).await, ["Changes 1"]);
}

#[tokio::test]
async fn what_an_earlier_term_said_and_comes_late_is_not_heard() {
    let cache = Mailbox::new("InformerCache", None);
    filled(&cache).await;
    let sent = Arc::new(Sent::default());
    let tap: Arc<dyn Tap> = Arc::clone(&sent) as Arc<dyn Tap>;
    let cycle = Mailbox::new("SchedulingCycle", Some(tap));
    let plain = with_extender(|_| ());
    let subscribe = |term| CacheMessage::Subscribe {
        term,
        queue: Mailbox::new("SchedulingQueue", None),
        cycle: cycle.clone(),
        assembled: Arc::clone(&plain),
    };
    cache.tell(subscribe(2));
    assert_eq!(sent.taken(&cache).await, ["Changes 1"]);
    cache.tell(subscribe(1));
    cache.tell(switch(&plain));
    cache.tell(begin(1).0);
    assert!(sent.taken(&cache).await.is_empty(), "the second term has not caught up");
    cache.tell(CacheMessage::Unsubscribe(1));
    cache.tell(begin(2).0);
    assert_eq!(
        sent.taken(&cache).await,
        ["Begin"],
        "the second term is still heard and told"
    );
    // A term that is over before it has subscribed does not come back, either.
    cache.tell(CacheMessage::Unsubscribe(3));
    cache.tell(begin(2).0);
    assert!(sent.taken(&cache).await.is_empty());
}

#[tokio::test]
async fn a_term_waits_for_its_own_whole_objects_before_it_begins_and_not_for_those_of_the_next_configuration() {
    let cache = Mailbox::new("InformerCache", None);
    filled(&cache).await;
    let sent = Arc::new(Sent::default());
    let tap: Arc<dyn Tap> = Arc::clone(&sent) as Arc<dyn Tap>;
    let cycle = Mailbox::new("SchedulingCycle", Some(tap));
    let subscribe = |assembled: &Arc<AssembledConfig>| CacheMessage::Subscribe {
        term: 1,
        queue: Mailbox::new("SchedulingQueue", None),
        cycle: cycle.clone(),
        assembled: Arc::clone(assembled),
    };
    let scores = with_extender(|extender| {
        extender.prioritize_verb = "prioritize".to_owned();
        extender.node_cache_capable = true;
    });
    let filters = with_extender(|extender| extender.filter_verb = "filter".to_owned());
    cache.tell(subscribe(&scores));
    cache.tell(switch(&filters));
    let (message, mut begun) = begin(1);
    cache.tell(message);
    assert!(sent.taken(&cache).await.is_empty());
    assert!(begun.try_recv().is_err());
    // Pods come whole; nodes, which the next configuration needs, do not.
    let pods = vec![pod("a").resource_version(10).build()];
    let policy = filters.raw_policy().of_pods();
    cache.tell(CacheMessage::Pods(lists(pods, 11, policy), Credit::none()));
    assert_eq!(sent.taken(&cache).await, ["Changes 1", "Begin"]);
    assert_eq!(begun.try_recv(), Ok(()));
}

#[tokio::test]
async fn a_kind_with_an_object_that_cannot_be_decoded_is_not_told_by_its_number() {
    let cache = Mailbox::new("InformerCache", None);
    filled(&cache).await;
    let broken = || UndecodableObject {
        name: ObjectName::new("default", "broken"),
        version: ResourceVersion::new(11),
        error: "no".to_owned(),
    };
    let told = async |event: WatchEvent<Pod>| {
        cache.tell(CacheMessage::Pods(WatchBatch { events: vec![event] }, Credit::none()));
        let (reply, answer) = oneshot::channel();
        cache.tell(CacheMessage::Holdings(reply));
        answer.await.unwrap().of(Kind::Pods)
    };
    // One object of two has gone meanwhile, and one that was never known is in its place.
    let account = Mark::Account(Account {
        version: ResourceVersion::new(20),
        newest: ResourceVersion::new(11),
        count: 1,
    });
    let known = told(WatchEvent::Progress(ResourceVersion::new(11))).await;
    assert!(account.is_passed_by(known));
    let holding = told(WatchEvent::Undecodable(broken())).await;
    assert_eq!((holding.count, holding.applied), (known.count, known.applied));
    assert!(!account.is_passed_by(holding));
    let listed = |version| lists(vec![pod("a").resource_version(10).build()], version, RawPolicy::NOTHING);
    let older = told(listed(9).events.remove(0)).await;
    assert!(!older.complete, "that was before");
    let newer = told(listed(12).events.remove(0)).await;
    assert!(newer.complete);
}

/// Takes what a cycle is sent, and keeps the changes.
struct Hears(Arc<Mutex<Vec<Change>>>);

impl Actor for Hears {
    type Msg = CycleMessage;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<CycleMessage>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<CycleMessage>,
        message: CycleMessage,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        if let CycleMessage::Changes(told) = message {
            self.0.lock().unwrap().extend(told.changes.iter().cloned());
        }
        Ok(())
    }
}

fn told_name(delta: &Delta) -> String {
    match delta {
        Delta::PodAdded(pod) => format!("pod {}", pod.name),
        Delta::NodeAdded(node) => format!("node {}", node.name),
        Delta::StorageChanged { old, new } => {
            let (mark, object) = match (old, new) {
                (None, Some(new)) => ("+", new),
                (Some(_), Some(new)) => ("", new),
                (old, _) => ("-", old.as_ref().unwrap()),
            };
            format!("{mark}{} {}", object.kind().as_str(), object.name())
        }
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn a_term_is_told_storage_before_nodes_and_nodes_before_pods_and_then_each_change() {
    let cache = Mailbox::new("InformerCache", None);
    filled(&cache).await;
    let storage = |objects: Vec<StorageObject>, version| {
        let kind = objects[0].kind();
        CacheMessage::Storage(kind, lists(objects, version, RawPolicy::NOTHING), Credit::none())
    };
    cache.tell(CacheMessage::Nodes(
        lists(vec![node("n").build()], 11, RawPolicy::NOTHING),
        Credit::none(),
    ));
    cache.tell(storage(vec![claim("data").object()], 12));
    cache.tell(storage(vec![volume("v").object()], 13));
    cache.tell(storage(vec![csi_node("n").object()], 14));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let cycle = Mailbox::new("SchedulingCycle", None);
    let (actor, _) = Actor::spawn(None, Hears(Arc::clone(&heard)), ()).await.unwrap();
    cycle.bind(actor.clone());
    cache.tell(CacheMessage::Subscribe {
        term: 1,
        queue: Mailbox::new("SchedulingQueue", None),
        cycle,
        assembled: with_extender(|_| ()),
    });
    cache.tell(storage(
        vec![volume("v").resource_version(20).object(), volume("w").object()],
        21,
    ));
    let gone = WatchEvent::Delete {
        name: ObjectName::new("default", "data"),
        uid: claim("data").build().uid,
        version: ResourceVersion::new(22),
    };
    let gone = WatchBatch { events: vec![gone] };
    cache.tell(CacheMessage::Storage(
        StorageKind::PersistentVolumeClaim,
        gone,
        Credit::none(),
    ));
    view(&cache).await.unwrap();
    actor.drain_and_wait(None).await.unwrap();
    let heard = heard.lock().unwrap();
    let names: Vec<String> = heard.iter().map(|change| told_name(&change.delta)).collect();
    assert_eq!(
        names,
        [
            "+CSINode n",
            "+PersistentVolume v",
            "+PersistentVolumeClaim default/data",
            "node n",
            "pod default/a",
            "PersistentVolume v",
            "+PersistentVolume w",
            "-PersistentVolumeClaim default/data",
        ]
    );
    let numbers: Vec<u64> = heard.iter().map(|change| change.seq.as_u64()).collect();
    assert_eq!(numbers, (1..=8).collect::<Vec<u64>>());
}
