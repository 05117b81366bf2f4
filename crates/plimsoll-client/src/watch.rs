//! List and watch of one kind, decoded straight into the model.

use std::fmt;
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use plimsoll_model::{Moment, ObjectName, RawPolicy, ResourceVersion, Uid};
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::backoff::Backoff;
use self::stream::{End, SILENCE, WatchStream};
use crate::{ApiClient, BarrierError, WatchPulse};

mod backoff;
mod frame;
mod initial;
mod kind;
mod lease;
mod list;
mod raw_policies;
pub(crate) mod stream;
mod wire;

pub use kind::{
    CsiDrivers, CsiNodes, CsiStorageCapacities, DisruptionBudgets, Namespaces, Nodes, PersistentVolumeClaims,
    PersistentVolumes, Pods, ReplicaSets, ReplicationControllers, Services, StatefulSets, StorageClasses,
    VolumeAttachments, WatchedKind,
};
pub use lease::watch_lease;
pub use raw_policies::{RawDemand, RawPolicies};

/// An object that could not be decoded. It concerns that object alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndecodableObject {
    /// Which it is; empty when not even that can be read.
    pub name: ObjectName,
    /// Its version; when that can't be read either, the last one known before it.
    pub version: ResourceVersion,
    /// Why.
    pub error: String,
}

/// What a watch says. Versions only grow, save that a `Replace` may repeat what is known, or begin anew.
#[derive(Debug, Clone)]
pub enum WatchEvent<T> {
    /// The whole collection at one version: whatever is not in it is gone, save what is undecodable.
    Replace {
        /// What could be decoded.
        objects: Vec<Arc<T>>,
        /// What could not.
        undecodable: Vec<UndecodableObject>,
        /// The version of the collection.
        version: ResourceVersion,
        /// The collection is consistent and yet older than what was seen before: the server's store was restored from a
        /// backup. What was known belongs to a history that has not happened, and versions of both cannot be compared.
        history_began_anew: bool,
        /// Of which of the objects the whole JSON was kept.
        raw: RawPolicy,
    },
    /// An object came or changed.
    Upsert(Arc<T>),
    /// An object is gone.
    Delete {
        /// Its name.
        name: ObjectName,
        /// Its identity.
        uid: Uid,
        /// The version of the deletion.
        version: ResourceVersion,
    },
    /// An object came or changed and can't be decoded.
    Undecodable(UndecodableObject),
    /// Everything up to this version has been said.
    Progress(ResourceVersion),
    /// The server does not let us list or watch; it is asked again and again.
    Forbidden {
        /// What it said.
        reason: String,
    },
}

impl<T> WatchEvent<T> {
    /// A consistent list, seen in the light of the version that was known before it.
    fn after(mut self, seen: ResourceVersion) -> Self {
        if let Self::Replace {
            version,
            history_began_anew,
            ..
        } = &mut self
        {
            *history_began_anew = *version < seen;
        }
        self
    }
}

/// Events in order, as many as were ready together.
#[derive(Debug, Clone)]
pub struct WatchBatch<T> {
    /// Never empty.
    pub events: Vec<WatchEvent<T>>,
}

/// A list of a whole collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listing {
    /// The plural of the kind.
    pub kind: &'static str,
    /// When it was asked for.
    pub begun: Moment,
    /// When all of it was there.
    pub ended: Moment,
    /// How many objects could be decoded.
    pub objects: usize,
    /// Whether the watch had listed before.
    pub again: bool,
    /// Whether it came as the beginning of a watch rather than by pages.
    pub streaming: bool,
}

/// Hears of each list of a watch.
pub struct ListingTeller(Box<dyn Fn(Listing) + Send + Sync>);

impl ListingTeller {
    /// Hears of it through this.
    pub fn new(teller: impl Fn(Listing) + Send + Sync + 'static) -> Self {
        Self(Box::new(teller))
    }
}

impl fmt::Debug for ListingTeller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListingTeller").finish_non_exhaustive()
    }
}

/// An endless list and watch of one kind.
///
/// ```text
///          ┌────────── 410, history lost ──────────┐
///          ▼                                       │
///   list (streaming, else paged) ──▶ Replace ──▶ follow ──▶ Upsert, Delete, Progress …
///          ▲        │                              │  ▲
///          └ failed ┘                              └──┘ cut or ended: go on from the last version
/// ```
///
/// When more is to be kept of its objects than so far, it leaves off and lists anew.
///
/// Before it goes on after a break it asks for the server's version. One that lies behind its own means that the store was
/// restored from a backup, and everything is listed anew: a watch from a version that is still to come would be told
/// nothing at first and later only a part.
///
/// A streaming list is asked without a version, which makes it consistent. A server that refuses it is asked for pages
/// instead, from then on. Time between tries grows from 0.8 s to 30 s with jitter from the given generator, is never
/// shorter than the server's `Retry-After`, and starts over once a watch delivers.
#[derive(Debug)]
pub struct Watch<K: WatchedKind> {
    client: ApiClient,
    random: ChaCha8Rng,
    backoff: Backoff,
    streaming: bool,
    position: Option<ResourceVersion>,
    /// The last position, also while everything is listed anew.
    seen: ResourceVersion,
    /// A stream has ended since; the server may not be what it was.
    broken: bool,
    raw: RawPolicies,
    /// What the last list kept of its objects.
    kept: RawPolicy,
    pulse: WatchPulse,
    teller: Option<ListingTeller>,
    /// While a stream is open it is there.
    sharing: K::Sharing,
    kind: PhantomData<K>,
}

impl<K: WatchedKind> Watch<K> {
    /// A watch that has seen nothing yet. `random` spreads reconnects; give each watch its own.
    pub fn new(client: ApiClient, random: ChaCha8Rng) -> Self {
        let backoff = Backoff::default();
        Self {
            client,
            random,
            backoff,
            streaming: true,
            position: None,
            seen: ResourceVersion::new(0),
            broken: false,
            raw: RawPolicies::nothing(),
            kept: RawPolicy::NOTHING,
            pulse: WatchPulse::default(),
            teller: None,
            sharing: K::Sharing::default(),
            kind: PhantomData,
        }
    }

    /// Shows there that it works.
    #[must_use]
    pub fn with_pulse(self, pulse: WatchPulse) -> Self {
        Self { pulse, ..self }
    }

    /// Keeps the whole JSON of the objects for which it is asked.
    #[must_use]
    pub fn keeping(self, raw: RawPolicies) -> Self {
        Self { raw, ..self }
    }

    /// Tells of each list.
    #[must_use]
    pub fn telling(self, teller: Option<ListingTeller>) -> Self {
        Self { teller, ..self }
    }

    /// Asks for pages from the start, for servers whose streaming lists are not wanted.
    #[must_use]
    pub fn without_streaming_list(self) -> Self {
        Self {
            streaming: false,
            ..self
        }
    }

    /// Runs until `stop`, or until nobody receives any more. A full `sink` holds the watch back.
    pub async fn run(mut self, sink: Sender<WatchBatch<K::Object>>, stop: CancellationToken) {
        if Box::pin(stop.run_until_cancelled(self.drive(&sink))).await.is_some() {
            tracing::debug!(kind = K::NAME, "Watch ends: nobody receives it");
        }
    }

    async fn drive(&mut self, sink: &Sender<WatchBatch<K::Object>>) {
        loop {
            let started = Instant::now();
            let round = match self.position {
                None if self.streaming => self.list_streaming(sink).await,
                None => self.list_paged(sink).await,
                Some(from) => self.follow(from, sink).await,
            };
            if round.delivered {
                self.backoff.reset();
            }
            let healthy = round.delivered && started.elapsed() >= SHORT_WATCH;
            self.broken = matches!(
                round.end,
                End::Closed | End::Cut { .. } | End::Silent | End::Forbidden { .. }
            );
            if !matches!(round.end, End::Silent) {
                self.pulse.excused.beat();
            }
            match round.end {
                End::ReceiverGone => return,
                End::Listed => {}
                End::MoreWanted => {
                    tracing::info!(kind = K::NAME, "Whole objects are wanted, listing anew");
                    self.position = None;
                }
                End::StreamingRefused { reason } => {
                    tracing::info!(kind = K::NAME, reason, "Streaming list refused, listing by pages");
                    self.streaming = false;
                }
                End::Expired { reason } => {
                    tracing::info!(kind = K::NAME, reason, "Watch expired, listing anew");
                    self.position = None;
                    self.pause(self.backoff.is_fresh(), None).await;
                }
                End::Closed => {
                    tracing::debug!(kind = K::NAME, "Watch closed by the server, going on");
                    self.pause(healthy || started.elapsed() >= SHORT_WATCH, None).await;
                }
                End::Forbidden { reason } => {
                    tracing::error!(
                        kind = K::NAME,
                        reason,
                        "May not be read; this user needs get, list and watch on it. Trying again"
                    );
                    let forbidden = WatchEvent::Forbidden { reason };
                    if sink
                        .send(WatchBatch {
                            events: vec![forbidden],
                        })
                        .await
                        .is_err()
                    {
                        return;
                    }
                    self.pause(false, None).await;
                }
                End::Silent => {
                    tracing::warn!(
                        kind = K::NAME,
                        "Watch silent for {} s, going on anew",
                        SILENCE.as_secs()
                    );
                    self.pause(healthy, None).await;
                }
                End::Cut { reason, retry_after } if self.position.is_none() => {
                    tracing::warn!(kind = K::NAME, reason, "Listing failed, trying again");
                    self.pause(false, retry_after).await;
                }
                End::Cut { reason, retry_after } => {
                    tracing::warn!(kind = K::NAME, reason, "Watch broken, going on from the last version");
                    self.pause(healthy && retry_after.is_none(), retry_after).await;
                }
            }
        }
    }

    /// Waits before the next try; a try that may go at once still counts, in case it fails at once too.
    async fn pause(&mut self, at_once: bool, retry_after: Option<Duration>) {
        let delay = self.backoff.next(&mut self.random);
        if !at_once {
            let waiting = tokio::time::sleep(delay.max(retry_after.unwrap_or_default()));
            excused(&self.pulse, waiting).await;
        }
    }

    /// Makes sure that the server has come as far as we have.
    async fn check_history(&self, from: ResourceVersion) -> Result<(), End> {
        let version = list::version::<K>(&self.client).await?;
        if version < from {
            let reason = format!("the server is at version {version}, before {from}: its history began anew");
            return Err(End::Expired { reason });
        }
        Ok(())
    }

    async fn follow(&mut self, from: ResourceVersion, sink: &Sender<WatchBatch<K::Object>>) -> Round {
        let seconds = self.watch_seconds();
        // A request waits for its turn first, under a limit that may be low.
        if std::mem::take(&mut self.broken)
            && let Err(end) = excused(&self.pulse, self.check_history(from)).await
        {
            return Round { end, delivered: false };
        }
        let opening = WatchStream::<K>::open(&self.client, from, seconds, self.raw.clone());
        let mut stream = match excused(&self.pulse, opening).await {
            Ok(stream) => stream
                .with_pulse(self.pulse.clone())
                .sharing(std::mem::take(&mut self.sharing)),
            Err(end) => return Round { end, delivered: false },
        };
        self.deliver(&mut stream, sink).await
    }

    async fn deliver(&mut self, stream: &mut WatchStream<K>, sink: &Sender<WatchBatch<K::Object>>) -> Round {
        let before = stream.delivered();
        // What is lost of a batch when it leaves off comes again with the list.
        let end = match select(pin!(self.raw.exceed(self.kept, K::raw)), pin!(stream.deliver(sink))).await {
            Either::Left(_) => End::MoreWanted,
            Either::Right((end, _)) => end,
        };
        self.sharing = stream.take_sharing();
        self.seen = stream.position();
        self.position = Some(self.seen);
        Round {
            end,
            delivered: stream.delivered() > before,
        }
    }

    async fn list_streaming(&mut self, sink: &Sender<WatchBatch<K::Object>>) -> Round {
        let begun = self.client.clock().now();
        let seconds = self.watch_seconds();
        let opening = WatchStream::<K>::open_list(&self.client, seconds, self.raw.clone());
        let listed = match excused(&self.pulse, opening).await {
            Ok(stream) => {
                let mut stream = stream
                    .with_pulse(self.pulse.clone())
                    .sharing(std::mem::take(&mut self.sharing));
                stream.collect_initial().await.map(|initial| (stream, initial))
            }
            Err(end) => Err(end),
        };
        match listed {
            Ok((mut stream, initial)) => {
                self.tell_listed(&initial, begun, true);
                let initial = initial.after(self.seen);
                self.note_kept(&initial);
                let batch = WatchBatch { events: vec![initial] };
                if excused(&self.pulse, sink.send(batch)).await.is_err() {
                    return Round {
                        end: End::ReceiverGone,
                        delivered: false,
                    };
                }
                self.deliver(&mut stream, sink).await
            }
            Err(end) => Round { end, delivered: false },
        }
    }

    async fn list_paged(&mut self, sink: &Sender<WatchBatch<K::Object>>) -> Round {
        let begun = self.client.clock().now();
        let listing = list::pages::<K>(&self.client, self.raw.now(), &mut self.sharing, &self.pulse);
        let (event, version) = match excused(&self.pulse, listing).await {
            Ok(listed) => listed,
            Err(end) => return Round { end, delivered: false },
        };
        self.tell_listed(&event, begun, false);
        let event = event.after(self.seen);
        self.note_kept(&event);
        let batch = WatchBatch { events: vec![event] };
        if excused(&self.pulse, sink.send(batch)).await.is_err() {
            return Round {
                end: End::ReceiverGone,
                delivered: false,
            };
        }
        self.seen = version;
        self.position = Some(version);
        Round {
            end: End::Listed,
            delivered: false,
        }
    }

    fn tell_listed(&self, list: &WatchEvent<K::Object>, begun: Moment, streaming: bool) {
        if let (Some(teller), WatchEvent::Replace { objects, .. }) = (&self.teller, list) {
            (teller.0)(Listing {
                kind: K::NAME,
                begun,
                ended: self.client.clock().now(),
                objects: objects.len(),
                again: self.seen > ResourceVersion::new(0),
                streaming,
            });
        }
    }

    fn note_kept(&mut self, list: &WatchEvent<K::Object>) {
        if let WatchEvent::Replace { raw, .. } = list {
            self.kept = K::raw(*raw);
        }
    }

    /// Between 5 and 10 minutes, so that watches of many clients do not end together.
    fn watch_seconds(&mut self) -> u64 {
        300 + u64::from(self.random.next_u32() % 301)
    }
}

/// The whole collection as it is now, for a cache that its watch does not bring forward. `seen` is what the cache has.
///
/// # Errors
/// When the server gives no whole list.
pub async fn consistent_list<K: WatchedKind>(
    client: &ApiClient,
    seen: ResourceVersion,
    raw: &RawPolicies,
) -> Result<WatchBatch<K::Object>, BarrierError> {
    match list::pages::<K>(client, raw.now(), &mut K::Sharing::default(), &WatchPulse::default()).await {
        Ok((event, _)) => Ok(WatchBatch {
            events: vec![event.after(seen)],
        }),
        Err(End::Cut { reason, .. } | End::Expired { reason } | End::Forbidden { reason }) => {
            Err(BarrierError::Failed(reason))
        }
        Err(_) => Err(BarrierError::Failed("the list did not come to its end".to_owned())),
    }
}

/// Between two signs of life of a watch that waits.
const EXCUSE: Duration = Duration::from_secs(30);

/// Waits for something that is no fault of the watch, and says so all the while.
async fn excused<T>(pulse: &WatchPulse, waiting: impl Future<Output = T>) -> T {
    let mut waiting = pin!(waiting);
    loop {
        match tokio::time::timeout(EXCUSE, &mut waiting).await {
            Ok(done) => return done,
            Err(_) => pulse.excused.beat(),
        }
    }
}

/// A watch that lived shorter than this and ended is not worth repeating at once.
const SHORT_WATCH: Duration = Duration::from_secs(1);

/// How one request of a watch went.
struct Round {
    end: End,
    /// Whether a watch, not only a list, said anything.
    delivered: bool,
}

#[cfg(test)]
mod tests;
