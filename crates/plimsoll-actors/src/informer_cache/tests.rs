use plimsoll_model::testing::pod;
use ractor::ActorStatus;

use super::*;

/// A cache that knows of one pod, at version 10.
async fn filled(mailbox: &Mailbox<CacheMessage>) -> ActorRef<CacheMessage> {
    let arguments = InformerCacheArguments {
        mailbox: mailbox.clone(),
        elector: Mailbox::new("Elector", None),
        metrics: Arc::new(Metrics::new()),
    };
    let (actor, _) = Actor::spawn(None, InformerCache, arguments).await.unwrap();
    mailbox.bind(actor.clone());
    let event = WatchEvent::Replace {
        objects: vec![Arc::new(pod("a").resource_version(10).build())],
        undecodable: Vec::new(),
        version: ResourceVersion::new(10),
        history_began_anew: false,
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
    };
    assert!(!of_a_watch.tell(CacheMessage::Pods(WatchBatch { events: vec![list] }, Credit::none())));
    assert_eq!(view(&mailbox).await.map(|view| view.pods), Some(1));
}
