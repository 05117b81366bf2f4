use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body::{Body as _, Frame};
use kube::client::Body;
use plimsoll_model::ResourceVersion;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

use super::frame::{LineTooLong, Lines};
use super::initial::InitialObjects;
use super::wire::{Line, decode_line};
use super::{RawPolicies, WatchBatch, WatchEvent, WatchedKind, excused};
use crate::api_client::{Reply, SendError, get, whole};
use crate::api_status::ApiStatus;
use crate::{ApiClient, WatchPulse};

/// Events sent together at most; keeps one message small enough to be worked off between two looks at the mailbox.
const BATCH: usize = 512;

/// A quiet watch gets a bookmark about once a minute; one that misses two is taken for dead.
pub(crate) const SILENCE: Duration = Duration::from_secs(150);

/// Why a request of a watch ended.
#[derive(Debug)]
pub(crate) enum End {
    /// A list is complete; nothing was wrong.
    Listed,
    /// The server ended a watch in good order.
    Closed,
    /// Anything that goes away by itself: go on from the last version.
    Cut {
        reason: String,
        retry_after: Option<Duration>,
    },
    /// Nothing came for so long that the stream is taken for dead; for all we know the server is well.
    Silent,
    /// The server does not let us read this kind: only somebody who changes that can help.
    Forbidden { reason: String },
    /// The history at the last version is gone: list anew.
    Expired { reason: String },
    /// More is to be kept of the objects than what was read so far.
    MoreWanted,
    /// The server does not do streaming lists.
    StreamingRefused { reason: String },
    /// Nobody receives any more.
    ReceiverGone,
}

impl End {
    pub(crate) fn cut(reason: String) -> Self {
        Self::Cut {
            reason,
            retry_after: None,
        }
    }

    fn of_status(status: &ApiStatus, retry_after: Option<Duration>) -> Self {
        let reason = format!("{}: {}", status.code, status.message);
        // A version from the future is what is left after etcd was restored from a backup.
        if status.code == StatusCode::GONE.as_u16() || status.message.contains("Too large resource version") {
            return Self::Expired { reason };
        }
        if status.code == StatusCode::FORBIDDEN.as_u16() {
            return Self::Forbidden { reason };
        }
        Self::Cut {
            reason,
            retry_after: retry_after.or_else(|| status.retry_after()),
        }
    }
}

/// What a refusal of a list or watch means.
pub(crate) fn refused(reply: &Reply) -> End {
    End::of_status(&reply.refusal(), reply.retry_after)
}

/// One open watch.
pub(crate) struct WatchStream<K: WatchedKind> {
    body: Body,
    lines: Lines,
    position: ResourceVersion,
    delivered: u64,
    raw: RawPolicies,
    sharing: K::Sharing,
    pulse: WatchPulse,
    kind: PhantomData<K>,
}

impl<K: WatchedKind> WatchStream<K> {
    /// Watches what happens after `from`, for so many seconds.
    pub(crate) async fn open(
        client: &ApiClient,
        from: ResourceVersion,
        seconds: u64,
        raw: RawPolicies,
    ) -> Result<Self, End> {
        let path = format!("{}&resourceVersion={from}", watch_path::<K>(seconds));
        Self::start(client, &path, from, raw)
            .await
            .map_err(|refusal| refusal.end)
    }

    /// Watches whatever this path asks for, from what there is now.
    pub(super) async fn open_at(client: &ApiClient, path: &str) -> Result<Self, End> {
        Self::start(client, path, ResourceVersion::new(0), RawPolicies::nothing())
            .await
            .map_err(|refusal| refusal.end)
    }

    /// Watches from a consistent list of now. Without a version the server waits until its cache has caught up with
    /// the store, as for a list without one.
    pub(crate) async fn open_list(client: &ApiClient, seconds: u64, raw: RawPolicies) -> Result<Self, End> {
        let path = format!(
            "{}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            watch_path::<K>(seconds)
        );
        Self::start(client, &path, ResourceVersion::new(0), raw)
            .await
            .map_err(|refusal| match (refusal.status, refusal.end) {
                // An older server or one without the feature says that the parameters are wrong; one whose etcd can't
                // report progress fails inside.
                (
                    Some(
                        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY | StatusCode::INTERNAL_SERVER_ERROR,
                    ),
                    End::Cut { reason, .. },
                ) => End::StreamingRefused { reason },
                (_, end) => end,
            })
    }

    async fn start(
        client: &ApiClient,
        path: &str,
        position: ResourceVersion,
        raw: RawPolicies,
    ) -> Result<Self, Refusal> {
        let unanswered = |error: SendError| Refusal {
            status: None,
            end: End::cut(error.to_string()),
        };
        let response = client.open(get(path)).await.map_err(unanswered)?;
        let status = response.status();
        if !status.is_success() {
            let reply = timeout(client.request_timeout(), whole(response)).await;
            let end = match reply {
                Ok(Ok(reply)) => refused(&reply),
                Ok(Err(_)) | Err(_) => End::cut(status.to_string()),
            };
            return Err(Refusal {
                status: Some(status),
                end,
            });
        }
        Ok(Self {
            body: response.into_body(),
            lines: Lines::default(),
            position,
            delivered: 0,
            raw,
            sharing: K::Sharing::default(),
            pulse: WatchPulse::default(),
            kind: PhantomData,
        })
    }

    /// Shows there that it works.
    pub(crate) fn with_pulse(self, pulse: WatchPulse) -> Self {
        Self { pulse, ..self }
    }

    /// Lets its objects hold what those before them hold.
    pub(crate) fn sharing(self, sharing: K::Sharing) -> Self {
        Self { sharing, ..self }
    }

    /// What its objects hold, for those of the next one.
    pub(crate) fn take_sharing(&mut self) -> K::Sharing {
        std::mem::take(&mut self.sharing)
    }

    /// The last version that was delivered.
    pub(crate) fn position(&self) -> ResourceVersion {
        self.position
    }

    /// How many events were delivered.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Reads the list at the beginning of the stream. Changes may mix with it.
    pub(crate) async fn collect_initial(&mut self) -> Result<WatchEvent<K::Object>, End> {
        let mut initial = InitialObjects::<K>::default();
        // The same for all of it, however long it takes, so that the list can say what it has.
        let raw = self.raw.now();
        loop {
            while let Some(line) = self.lines.next() {
                match decode_line::<K>(&line, self.position, raw, &mut self.sharing).map_err(End::cut)? {
                    Line::Event(WatchEvent::Upsert(object), _) => initial.upsert(object),
                    Line::Event(WatchEvent::Undecodable(object), _) => initial.undecodable(object),
                    Line::Event(WatchEvent::Delete { name, .. }, _) => initial.delete(name),
                    Line::Bookmark {
                        version,
                        initial_events_end: true,
                    } => {
                        self.position = version;
                        return Ok(initial.replace(version, raw));
                    }
                    Line::Event(..) | Line::Bookmark { .. } => {}
                    Line::Error(status) if status.code == StatusCode::INTERNAL_SERVER_ERROR.as_u16() => {
                        return Err(End::StreamingRefused { reason: status.message });
                    }
                    Line::Error(status) => return Err(End::of_status(&status, None)),
                }
            }
            self.fill().await?;
            self.pulse.listing.beat();
        }
    }

    /// Delivers everything until the stream ends, in batches of what is ready.
    pub(crate) async fn deliver(&mut self, sink: &Sender<WatchBatch<K::Object>>) -> End {
        loop {
            let (events, end) = self.next_batch().await;
            let count = u64::try_from(events.len()).unwrap_or(u64::MAX);
            if count > 0 && excused(&self.pulse, sink.send(WatchBatch { events })).await.is_err() {
                return End::ReceiverGone;
            }
            self.delivered = self.delivered.saturating_add(count);
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// What is ready now, or else the next that comes; and the end, if that has come.
    async fn next_batch(&mut self) -> (Vec<WatchEvent<K::Object>>, Option<End>) {
        let mut events = Vec::new();
        loop {
            if let Err(end) = self.take_lines(&mut events) {
                return (events, Some(end));
            }
            if events.len() >= BATCH {
                return (events, None);
            }
            let filled = if events.is_empty() {
                self.fill().await
            } else {
                match self.fill_if_ready().await {
                    Some(filled) => filled,
                    None => return (events, None),
                }
            };
            if let Err(end) = filled {
                return (events, Some(end));
            }
        }
    }

    /// Decodes the lines at hand, until none is left or a batch is full.
    fn take_lines(&mut self, events: &mut Vec<WatchEvent<K::Object>>) -> Result<(), End> {
        let raw = self.raw.now();
        while events.len() < BATCH
            && let Some(line) = self.lines.next()
        {
            match decode_line::<K>(&line, self.position, raw, &mut self.sharing).map_err(End::cut)? {
                Line::Event(event, version) => {
                    self.position = version;
                    events.push(event);
                }
                Line::Bookmark { version, .. } => {
                    self.position = version;
                    events.push(WatchEvent::Progress(version));
                }
                Line::Error(status) => return Err(End::of_status(&status, None)),
            }
        }
        Ok(())
    }

    /// Waits for the next chunk.
    async fn fill(&mut self) -> Result<(), End> {
        let body = &mut self.body;
        let frame = timeout(SILENCE, poll_fn(|context| Pin::new(&mut *body).poll_frame(context))).await;
        match frame {
            Ok(frame) => self.feed(frame),
            Err(_) => Err(End::Silent),
        }
    }

    /// Takes the next chunk if it is there already.
    async fn fill_if_ready(&mut self) -> Option<Result<(), End>> {
        let body = &mut self.body;
        let ready = poll_fn(|context| match Pin::new(&mut *body).poll_frame(context) {
            Poll::Ready(frame) => Poll::Ready(Some(frame)),
            Poll::Pending => Poll::Ready(None),
        });
        let frame = ready.await?;
        Some(self.feed(frame))
    }

    fn feed(&mut self, frame: Option<Result<Frame<Bytes>, kube::Error>>) -> Result<(), End> {
        match frame {
            // A line without its end says nothing about its object: it comes again from the last version.
            None if self.lines.is_cut() => Err(End::cut("the connection ended within a line".to_owned())),
            None => Err(End::Closed),
            Some(Err(error)) => Err(End::cut(format!("the connection broke: {error}"))),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(chunk) => self
                    .lines
                    .feed(chunk)
                    .map_err(|LineTooLong| End::cut("a line without end".to_owned())),
                Err(_trailers) => Ok(()),
            },
        }
    }
}

struct Refusal {
    status: Option<StatusCode>,
    end: End,
}

fn watch_path<K: WatchedKind>(seconds: u64) -> String {
    let selector = K::FIELD_SELECTOR
        .map(|selector| format!("&fieldSelector={selector}"))
        .unwrap_or_default();
    format!(
        "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}{selector}",
        K::PATH
    )
}
