//! Repeated events become one series, with client-go's rules.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::{EventRecord, EventSeries, ObjectReference, TermToken};
use plimsoll_model::Moment;

use super::writing::{Form, Writing};

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

#[derive(Debug)]
struct Remembered {
    record: EventRecord,
    token: Option<Arc<TermToken>>,
    series: Option<EventSeries>,
    seen: Moment,
    written: Moment,
    /// Its place in the order.
    sighting: u64,
}

impl Remembered {
    fn writing(&self) -> Writing {
        Writing {
            create: self.series.is_none(),
            token: self.token.clone(),
            ..Writing::new(self.record.clone(), Form::Pod(self.series))
        }
    }
}

/// The events of the last minutes.
#[derive(Debug, Default)]
pub(crate) struct Series {
    events: BTreeMap<Arc<Key>, Remembered>,
    /// From the one that was silent for longest to the one that was seen last.
    order: BTreeMap<u64, Arc<Key>>,
    sightings: u64,
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
        let key = Arc::new(Key::of(&record));
        self.sightings += 1;
        self.order.insert(self.sightings, Arc::clone(&key));
        if let Some(known) = self.events.get_mut(&key) {
            self.order.remove(&known.sighting);
            known.sighting = self.sightings;
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
            return Some(known.writing());
        }
        if self.events.len() >= REMEMBERED
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.events.remove(&oldest);
        }
        let event = Remembered {
            record,
            token,
            series: None,
            seen: now,
            written: now,
            sighting: self.sightings,
        };
        let writing = event.writing();
        self.events.insert(key, event);
        Some(writing)
    }

    /// Forgets what is idle and says what is to be written of the rest, at most so many events; others have to wait for the
    /// next time.
    pub(crate) fn sweep(&mut self, now: Moment, most: usize) -> Vec<Writing> {
        let mut writings = Vec::new();
        self.order.retain(|_, key| {
            let Some(event) = self.events.get_mut(key) else {
                return false;
            };
            let idle = now.since(event.seen) >= IDLE;
            if event.series.is_some() && (idle || now.since(event.written) >= REFRESH) {
                if writings.len() >= most {
                    return true;
                }
                event.written = now;
                writings.push(event.writing());
            }
            if idle {
                self.events.remove(key);
            }
            !idle
        });
        writings
    }
}

#[cfg(test)]
mod tests;
