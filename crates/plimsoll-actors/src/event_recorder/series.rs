//! Repeated events become one series, with client-go's rules.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::{EventRecord, EventSeries, ObjectReference, TermToken};
use plimsoll_model::Moment;

/// A series that was silent for this long is written a last time and forgotten; so is a single event.
const IDLE: Duration = Duration::from_mins(6);

/// A running series is written again this often.
const REFRESH: Duration = Duration::from_mins(30);

/// Distinct events remembered; the oldest makes room.
const REMEMBERED: usize = 4096;

type Reference = (String, String, String, String, String);

fn reference(object: &ObjectReference) -> Reference {
    (
        object.kind.to_string(),
        object.name.namespace.to_string(),
        object.name.name.to_string(),
        object.uid.to_string(),
        object.resource_version.to_string(),
    )
}

/// Everything of an event but its note and time. The objects' versions are part of it, as in client-go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    kind: &'static str,
    action: String,
    reason: String,
    controller: String,
    instance: String,
    regarding: Reference,
    related: Option<Reference>,
}

impl Key {
    fn of(record: &EventRecord) -> Self {
        Self {
            kind: record.event_type.as_str(),
            action: record.action.to_string(),
            reason: record.reason.to_string(),
            controller: record.reporting_controller.to_string(),
            instance: record.reporting_instance.to_string(),
            regarding: reference(&record.regarding),
            related: record.related.as_ref().map(reference),
        }
    }
}

/// One request to the events API.
#[derive(Debug, Clone)]
pub struct Writing {
    /// The event.
    pub(crate) record: EventRecord,
    /// The series to patch onto it; a creation without.
    pub(crate) series: Option<EventSeries>,
    /// Whether it is a core/v1 event.
    pub(crate) core: bool,
    /// The term it belongs to.
    pub(crate) token: Option<Arc<TermToken>>,
    /// Tries that have failed.
    pub(crate) tries: u32,
}

impl Writing {
    pub(crate) fn core(record: EventRecord) -> Self {
        Self {
            record,
            series: None,
            core: true,
            token: None,
            tries: 0,
        }
    }
}

#[derive(Debug)]
struct Remembered {
    record: EventRecord,
    token: Option<Arc<TermToken>>,
    series: Option<EventSeries>,
    seen: Moment,
    written: Moment,
}

impl Remembered {
    fn patch(&self) -> Option<Writing> {
        let series = Some(self.series?);
        Some(Writing {
            record: self.record.clone(),
            series,
            core: false,
            token: self.token.clone(),
            tries: 0,
        })
    }
}

/// The events of the last minutes.
#[derive(Debug, Default)]
pub(crate) struct Series {
    events: BTreeMap<Key, Remembered>,
}

impl Series {
    /// Takes an event and says what to write now: the first is created, the second makes it a series, later ones are
    /// only counted.
    pub(crate) fn record(
        &mut self,
        record: EventRecord,
        token: Option<Arc<TermToken>>,
        now: Moment,
    ) -> Option<Writing> {
        let key = Key::of(&record);
        if let Some(known) = self.events.get_mut(&key) {
            known.seen = now;
            known.token = token;
            let last_observed_time = record.event_time;
            if let Some(series) = &mut known.series {
                series.count += 1;
                series.last_observed_time = last_observed_time;
                return None;
            }
            known.series = Some(EventSeries {
                count: 2,
                last_observed_time,
            });
            known.written = now;
            return known.patch();
        }
        if self.events.len() >= REMEMBERED {
            let oldest = self
                .events
                .iter()
                .min_by_key(|(_, event)| event.seen)
                .map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                self.events.remove(&oldest);
            }
        }
        let writing = Writing {
            record: record.clone(),
            series: None,
            core: false,
            token: token.clone(),
            tries: 0,
        };
        self.events.insert(
            key,
            Remembered {
                record,
                token,
                series: None,
                seen: now,
                written: now,
            },
        );
        Some(writing)
    }

    /// Forgets what is idle and says what is to be written of the rest.
    pub(crate) fn sweep(&mut self, now: Moment) -> Vec<Writing> {
        let mut writings = Vec::new();
        self.events.retain(|_, event| {
            let idle = now.since(event.seen) >= IDLE;
            if event.series.is_some() && (idle || now.since(event.written) >= REFRESH) {
                event.written = now;
                writings.extend(event.patch());
            }
            !idle
        });
        writings
    }
}

#[cfg(test)]
mod tests;
