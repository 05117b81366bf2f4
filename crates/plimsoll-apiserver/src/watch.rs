//! Watching: replay from a version, initial state, bookmarks, time-outs.
//!
//! A watch is pulled, never pushed: its body asks the log for what came after its cursor and sleeps until its kind
//! changes, a bookmark is due or its time is up. A watch that falls behind the log ends, and its client's next one is
//! told that its version expired.

mod plan;

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

pub(crate) use plan::WatchRequest;

use crate::{
    fault::WatchFaults,
    negotiate::Form,
    object::{Object, to_json},
    resource::Resource,
    server::Shared,
    status::ApiError,
    store::{Change, ChangeKind, Store},
    table::{IncludeObject, to_table},
};

/// The annotation on the bookmark that ends the initial events of a streaming list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";
/// How often a quiet watch hears of the newest version.
const BOOKMARK_PERIOD: Duration = Duration::from_mins(1);
/// How long before its end a watch gets a last bookmark.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// How long a streaming list waits for a version that is still to come.
pub(crate) const FRESHNESS_TIMEOUT: Duration = Duration::from_secs(3);
/// Changes handed over in one go.
const BATCH: usize = 512;
/// Objects of an initial state handed over in one go: some hundred kilobytes of them, however many there are.
const INITIAL_BATCH: usize = 64;

/// What a watch hands to its connection next.
#[derive(Debug)]
pub(crate) enum Chunk {
    Lines(Bytes),
    /// The connection breaks, after these last bytes.
    Cut(Bytes),
}

/// A running watch.
pub(crate) struct Watcher {
    shared: Arc<Shared>,
    request: WatchRequest,
    faults: WatchFaults,
    /// The version of the initial state, or the one asked for: no bookmark tells a client that it is where it began.
    start: u64,
    cursor: u64,
    /// How often the store had been restored when the watch began.
    restores: u64,
    state: State,
    deadline: Instant,
    next_bookmark: Option<Instant>,
    events_sent: u64,
}

enum State {
    /// Objects still to be shown as `ADDED`, and what to do after them.
    Initial {
        objects: std::vec::IntoIter<Object>,
        end_mark: bool,
    },
    Following,
    /// Nothing but this line, then the end.
    Failed(Value),
    Ended,
}

impl Watcher {
    /// Starts a watch; what is wrong with its version is told in an `ERROR` event, as upstream does.
    pub(crate) fn start(shared: &Arc<Shared>, request: WatchRequest, faults: WatchFaults) -> Self {
        let now = Instant::now();
        let (cursor, state, timeout, restores) = shared.transact(|store| {
            let (cursor, state) = begin(store, &request, &faults);
            let timeout = request
                .timeout
                .unwrap_or_else(|| Duration::from_secs(1800 + store.random_below(1800)));
            (cursor, state, timeout, store.restores())
        });
        let mut watcher = Self {
            shared: Arc::clone(shared),
            request,
            faults,
            start: cursor,
            cursor,
            restores,
            state,
            deadline: now + timeout,
            next_bookmark: None,
            events_sent: 0,
        };
        watcher.plan_bookmark(now);
        watcher
    }

    fn plan_bookmark(&mut self, now: Instant) {
        self.next_bookmark = None;
        if !self.request.bookmarks {
            return;
        }
        if let Some(period) = self.faults.bookmark_period {
            self.next_bookmark = Some(now + period);
            return;
        }
        let last = self.deadline.checked_sub(LAST_BOOKMARK).filter(|last| *last > now);
        self.next_bookmark = last.map(|last| last.min(now + BOOKMARK_PERIOD));
    }

    /// The next chunk; `None` ends the watch.
    pub(crate) async fn next(mut self) -> (Self, Option<Chunk>) {
        loop {
            if Instant::now() >= self.deadline {
                self.state = State::Ended;
            }
            // Registered before looking, so that no change falls between looking and sleeping.
            let shared = Arc::clone(&self.shared);
            let mut changed = std::pin::pin!(shared.changed(self.request.resource).notified());
            changed.as_mut().enable();
            match self.ready() {
                Ready::Chunk(chunk) => return (self, Some(chunk)),
                Ready::End => return (self, None),
                Ready::Again => continue,
                Ready::Nothing => {}
            }
            let wake = self.next_bookmark.map_or(self.deadline, |at| at.min(self.deadline));
            // Which of the two it was shows in what is ready next.
            let _ = timeout_at(wake, changed).await;
        }
    }

    fn ready(&mut self) -> Ready {
        match std::mem::replace(&mut self.state, State::Following) {
            State::Initial { objects, end_mark } => self.initial(objects, end_mark),
            State::Failed(status) => {
                self.state = State::Ended;
                Ready::Chunk(Chunk::Lines(line("ERROR", &status)))
            }
            State::Ended => {
                self.state = State::Ended;
                Ready::End
            }
            State::Following => self.follow(),
        }
    }

    /// A large state goes out in pieces: its reader is at work on one while the next is put together.
    fn initial(&mut self, mut objects: std::vec::IntoIter<Object>, end_mark: bool) -> Ready {
        let mut out = Batch::new(self.faults.cut_after, self.events_sent);
        for object in objects.by_ref().take(INITIAL_BATCH) {
            out.push(&self.render("ADDED", &object));
        }
        if objects.len() > 0 {
            self.state = State::Initial { objects, end_mark };
        } else if end_mark {
            out.push(&self.bookmark(self.cursor, true));
        }
        self.hand_over(out)
    }

    fn follow(&mut self) -> Ready {
        let Some((changes, reached)) = self.pending() else {
            self.state = State::Ended;
            return Ready::End;
        };
        self.cursor = reached;
        let mut out = Batch::new(self.faults.cut_after, self.events_sent);
        for change in &changes {
            if let Some(kind) = self.request.event_kind(change) {
                out.push(&self.render_change(kind, change));
            }
        }
        let now = Instant::now();
        if self.next_bookmark.is_some_and(|at| now >= at) && changes.len() < BATCH {
            if reached > self.start || self.faults.bookmark_period.is_some() {
                out.push(&self.bookmark(reached, false));
            }
            self.plan_bookmark(now);
        }
        match self.hand_over(out) {
            Ready::Nothing if changes.len() == BATCH => Ready::Again,
            ready => ready,
        }
    }

    /// Changes of this kind after the cursor, and the version up to which they were looked at. `None`: the log no
    /// longer reaches back to the cursor, or is another one.
    fn pending(&self) -> Option<(Vec<Arc<Change>>, u64)> {
        self.shared.read(|store| {
            if store.restores() != self.restores {
                return None;
            }
            let after = store.log().after(self.request.resource, self.cursor).ok()?;
            let changes: Vec<Arc<Change>> = after.take(BATCH).cloned().collect();
            let reached = match changes.last() {
                Some(last) if changes.len() == BATCH => last.rv,
                _ => store.rv().max(self.cursor),
            };
            Some((changes, reached))
        })
    }

    fn hand_over(&mut self, batch: Batch) -> Ready {
        self.events_sent = batch.events;
        let bytes = batch.bytes.freeze();
        if batch.cut {
            self.state = State::Ended;
            return Ready::Chunk(Chunk::Cut(bytes));
        }
        if bytes.is_empty() {
            Ready::Nothing
        } else {
            Ready::Chunk(Chunk::Lines(bytes))
        }
    }

    fn render_change(&self, kind: ChangeKind, change: &Change) -> Bytes {
        if self.request.form == Form::Objects {
            return change.line(kind, self.request.resource);
        }
        self.render(kind.name(), &change.object_for(kind))
    }

    fn render(&self, kind: &str, object: &Object) -> Bytes {
        let resource = self.request.resource;
        match self.request.form {
            Form::Objects => crate::store::watch_line(kind, &object.json(resource)),
            Form::Table => {
                let table = to_table(
                    resource,
                    &object.view(resource),
                    self.request.include,
                    self.shared.now(),
                );
                line(kind, &table)
            }
            Form::Metadata => line(kind, &partial_metadata(&object.view(resource))),
        }
    }

    fn bookmark(&self, rv: u64, ends_initial: bool) -> Bytes {
        let resource = self.request.resource;
        let mut object = json!({
            "kind": resource.kind,
            "apiVersion": resource.api_version(),
            "metadata": { "resourceVersion": rv.to_string(), "creationTimestamp": null },
        });
        if ends_initial {
            object["metadata"]["annotations"] = json!({ INITIAL_EVENTS_END: "true" });
        }
        let object = match self.request.form {
            Form::Objects => object,
            Form::Metadata => partial_metadata(&object),
            Form::Table => {
                let mut table = to_table(resource, &object, IncludeObject::Metadata, self.shared.now());
                table["rows"] = json!([{ "cells": [], "object": partial_metadata(&object) }]);
                table
            }
        };
        line("BOOKMARK", &object)
    }
}

enum Ready {
    Chunk(Chunk),
    /// Nothing in this batch was for this watch, but there is more.
    Again,
    Nothing,
    End,
}

/// Lines gathered for one chunk, until a fault cuts them.
struct Batch {
    bytes: BytesMut,
    events: u64,
    cut_after: Option<u64>,
    cut: bool,
}

impl Batch {
    fn new(cut_after: Option<u64>, events: u64) -> Self {
        Self {
            bytes: BytesMut::new(),
            events,
            cut_after,
            cut: false,
        }
    }

    fn push(&mut self, line: &Bytes) {
        if self.cut {
            return;
        }
        if self.cut_after.is_some_and(|limit| self.events >= limit) {
            // In the middle of a line, as when the connection breaks.
            self.bytes.extend_from_slice(&line[..line.len() / 2]);
            self.cut = true;
            return;
        }
        self.bytes.extend_from_slice(line);
        self.events += 1;
    }
}

/// Where a watch starts.
fn begin(store: &Store, request: &WatchRequest, faults: &WatchFaults) -> (u64, State) {
    let current = store.rv();
    if let Some(error) = &faults.error {
        return (current, State::Failed(error.to_status()));
    }
    let list = |rv: u64, end_mark: bool| {
        let objects = store.table_at(request.resource, rv).ok()?;
        let objects = objects
            .iter()
            .filter(|(key, o)| request.selects(key, o.selectable()))
            .map(|(_, o)| o.clone())
            .collect::<Vec<_>>()
            .into_iter();
        Some((rv, State::Initial { objects, end_mark }))
    };
    let oldest = store.log().oldest(request.resource);
    let any = current.saturating_sub(faults.stale_by).max(oldest).max(1);
    let started = match (request.initial_events, request.version) {
        (Some(true), Some(0)) => list(any, request.bookmarks),
        (Some(true), Some(rv)) if rv > current => {
            return (
                current,
                State::Failed(ApiError::too_large_resource_version(rv, current).to_status()),
            );
        }
        (Some(true), _) => list(current, request.bookmarks),
        (Some(false), None | Some(0)) => Some((current, State::Following)),
        (None, None) => list(current, false),
        (None, Some(0)) => list(any, false),
        (_, Some(rv)) => (rv >= oldest).then_some((rv, State::Following)),
    };
    started.unwrap_or_else(|| {
        let asked = request.version.unwrap_or(0);
        let message = format!("too old resource version: {asked} ({oldest})");
        (current, State::Failed(ApiError::expired(message).to_status()))
    })
}

fn line(kind: &str, object: &Value) -> Bytes {
    crate::store::watch_line(kind, &to_json(object))
}

/// An object's metadata alone.
pub(crate) fn partial_metadata(object: &Value) -> Value {
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"] })
}

/// Whether an object under this key belongs to a namespace; the empty one is all of them.
pub(crate) fn in_namespace(resource: &Resource, namespace: &str, key: &str) -> bool {
    !resource.namespaced
        || namespace.is_empty()
        || key.strip_prefix(namespace).is_some_and(|rest| rest.starts_with('/'))
}
