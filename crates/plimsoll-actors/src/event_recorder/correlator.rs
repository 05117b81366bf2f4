//! Core events, which are few and about the Lease: repeated ones are counted, similar ones combined, and too many dropped,
//! by client-go's rules.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plimsoll_client::{EventCount, EventRecord};
use plimsoll_model::Moment;

use super::writing::{Form, Writing};

/// From so many different messages on, similar events are combined.
const MESSAGES: usize = 10;

/// Similar events that are farther apart than this are not combined.
const SIMILAR_WITHIN: Duration = Duration::from_mins(10);

/// So many events about one object at once, and one more each five minutes.
const BURST: u32 = 25;
const REFILL: Duration = Duration::from_mins(5);

/// Kinds of events and objects that are remembered, of each sort; the one unused for longest makes room.
const REMEMBERED: usize = 4096;

const COMBINED: &str = "(combined from similar events): ";

type Texts = Vec<String>;

#[derive(Debug)]
struct Similar {
    messages: BTreeSet<String>,
    last: Moment,
}

#[derive(Debug)]
struct Seen {
    first: EventRecord,
    count: u32,
    last: Moment,
}

#[derive(Debug)]
struct Bucket {
    left: u32,
    /// Since when the next one grows.
    since: Moment,
}

/// What was said of late.
#[derive(Debug, Default)]
pub(super) struct Correlator {
    similar: BTreeMap<Texts, Similar>,
    seen: BTreeMap<Texts, Seen>,
    buckets: BTreeMap<Texts, Bucket>,
}

/// Who speaks, and of what.
fn subject(record: &EventRecord) -> Texts {
    let object = &record.regarding;
    [
        record.reporting_controller.as_str(),
        record.reporting_instance.as_str(),
        object.api_version.as_str(),
        object.kind.as_str(),
        object.name.namespace.as_str(),
        object.name.name.as_str(),
        object.uid.as_str(),
        record.event_type.as_str(),
    ]
    .map(str::to_owned)
    .to_vec()
}

fn with(mut subject: Texts, more: &[&str]) -> Texts {
    subject.extend(more.iter().map(|text| (*text).to_owned()));
    subject
}

impl Correlator {
    /// What to write of an event; nothing when there were too many about its object.
    pub(super) fn correlate(&mut self, mut record: EventRecord, now: Moment) -> Option<Writing> {
        let key = self.aggregate(&mut record, now);
        let (first, count) = self.observe(key, &record, now);
        if !self.has_room(&record, now) {
            return None;
        }
        let last_timestamp = record.event_time;
        let mut writing = Writing::new(
            EventRecord {
                note: record.note,
                ..first
            },
            Form::Core(EventCount { count, last_timestamp }),
        );
        writing.create = count == 1;
        Some(writing)
    }

    /// Combines it with similar ones if there were many; returns as what it is counted.
    fn aggregate(&mut self, record: &mut EventRecord, now: Moment) -> Texts {
        let key = with(subject(record), &[&record.reason]);
        make_room(&mut self.similar, |similar| similar.last);
        let similar = self.similar.entry(key.clone()).or_insert_with(|| Similar {
            messages: BTreeSet::new(),
            last: now,
        });
        if now.since(similar.last) > SIMILAR_WITHIN {
            similar.messages.clear();
        }
        similar.last = now;
        similar.messages.insert(record.note.clone());
        if similar.messages.len() < MESSAGES {
            return with(key, &[&record.note]);
        }
        // One less is enough to know that there are many.
        similar.messages.pop_first();
        record.note.insert_str(0, COMBINED);
        key
    }

    /// The event that this one repeats, itself if there is none, and how often it has happened.
    fn observe(&mut self, key: Texts, record: &EventRecord, now: Moment) -> (EventRecord, u32) {
        make_room(&mut self.seen, |seen| seen.last);
        let seen = self.seen.entry(key).or_insert_with(|| Seen {
            first: record.clone(),
            count: 0,
            last: now,
        });
        seen.count += 1;
        seen.last = now;
        (seen.first.clone(), seen.count)
    }

    fn has_room(&mut self, record: &EventRecord, now: Moment) -> bool {
        make_room(&mut self.buckets, |bucket| bucket.since);
        let bucket = self.buckets.entry(subject(record)).or_insert(Bucket {
            left: BURST,
            since: now,
        });
        while bucket.left < BURST && now.since(bucket.since) >= REFILL {
            bucket.left += 1;
            bucket.since = bucket.since + REFILL;
        }
        if bucket.left == BURST {
            bucket.since = now;
        }
        let has_room = bucket.left > 0;
        bucket.left = bucket.left.saturating_sub(1);
        has_room
    }
}

fn make_room<T>(remembered: &mut BTreeMap<Texts, T>, last: impl Fn(&T) -> Moment) {
    if remembered.len() < REMEMBERED {
        return;
    }
    let oldest = remembered.iter().min_by_key(|(_, value)| last(value));
    if let Some(key) = oldest.map(|(key, _)| key.clone()) {
        remembered.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_client::{EventType, ObjectReference};
    use plimsoll_model::ObjectName;

    use super::*;

    fn event(note: &str, second: i64) -> EventRecord {
        EventRecord {
            event_type: EventType::Normal,
            reason: "LeaderElection".into(),
            action: "".into(),
            note: note.to_owned(),
            regarding: ObjectReference {
                api_version: "coordination.k8s.io/v1".into(),
                kind: "Lease".into(),
                name: ObjectName::new("kube-system", "kube-scheduler"),
                uid: "u".into(),
                resource_version: "1".into(),
            },
            related: None,
            reporting_controller: "default-scheduler".into(),
            reporting_instance: "".into(),
            event_time: jiff::Timestamp::from_second(second).unwrap(),
        }
    }

    fn at(seconds: u64) -> Moment {
        Moment::ZERO + Duration::from_secs(seconds)
    }

    fn count(writing: &Writing) -> u32 {
        match writing.form {
            Form::Core(count) => count.count,
            Form::Pod(_) => panic!("a core event"),
        }
    }

    #[test]
    fn an_event_that_comes_again_is_counted_on_the_first() {
        let mut correlator = Correlator::default();
        let first = correlator.correlate(event("a became leader", 1), at(1)).unwrap();
        let mut again = event("a became leader", 9);
        again.regarding.resource_version = "2".into();
        let again = correlator.correlate(again, at(9)).unwrap();
        assert_eq!((count(&first), first.create), (1, true));
        assert_eq!((count(&again), again.create), (2, false));
        assert_eq!(again.record.name(), first.record.name());
        let other = correlator.correlate(event("a stopped leading", 9), at(9)).unwrap();
        assert_eq!((count(&other), other.create), (1, true));
    }

    #[test]
    fn from_the_tenth_message_within_ten_minutes_on_similar_events_are_combined() {
        let mut correlator = Correlator::default();
        let mut said = |number: u64, second: u64| {
            let note = format!("{number} became leader");
            let writing = correlator
                .correlate(event(&note, second.cast_signed()), at(second))
                .unwrap();
            (count(&writing), writing.record.note)
        };
        for number in 1..10 {
            assert_eq!(said(number, number), (1, format!("{number} became leader")));
        }
        assert_eq!(said(10, 10), (1, format!("{COMBINED}10 became leader")));
        assert_eq!(said(11, 11), (2, format!("{COMBINED}11 became leader")));
        assert_eq!(said(12, 11 + 601), (1, "12 became leader".to_owned()));
    }

    #[test]
    fn more_than_25_about_one_object_are_dropped_and_one_more_is_let_through_each_five_minutes() {
        let mut correlator = Correlator::default();
        let mut written = |second: u64| correlator.correlate(event("a became leader", 1), at(second)).is_some();
        assert!((0..25).all(|_| written(0)));
        assert!(!written(299));
        assert!(written(300));
        assert!(!written(301));
    }
}
