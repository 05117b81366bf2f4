use plimsoll_client::{EventType, ObjectReference};
use plimsoll_model::ObjectName;

use super::*;

fn event(pod: &str, note: &str, second: i64) -> EventRecord {
    EventRecord {
        event_type: EventType::Warning,
        reason: "FailedScheduling".into(),
        action: "Scheduling".into(),
        note: note.to_owned(),
        regarding: ObjectReference {
            api_version: "v1".into(),
            kind: "Pod".into(),
            name: ObjectName::new("default", pod),
            uid: pod.into(),
            resource_version: "1".into(),
        },
        related: None,
        reporting_controller: "default-scheduler".into(),
        reporting_instance: "default-scheduler-host".into(),
        event_time: jiff::Timestamp::from_second(second).unwrap(),
    }
}

fn at(seconds: u64) -> Moment {
    Moment::ZERO + Duration::from_secs(seconds)
}

fn count(writing: &Writing) -> Option<u32> {
    writing.series.as_ref().map(|series| series.count)
}

#[test]
fn the_first_is_created_the_second_makes_a_series_and_later_ones_are_counted() {
    let mut series = Series::default();
    let first = series.record(event("a", "no room", 1), None, at(1)).unwrap();
    assert_eq!(count(&first), None);
    // The note is not what tells events apart.
    let second = series.record(event("a", "no ports", 2), None, at(2)).unwrap();
    assert_eq!((count(&second), second.record.note.as_str()), (Some(2), "no room"));
    assert!(series.record(event("a", "no room", 3), None, at(3)).is_none());
    let other = series.record(event("b", "no room", 3), None, at(3)).unwrap();
    assert_eq!(count(&other), None);
}

#[test]
fn an_idle_series_is_written_a_last_time_and_forgotten() {
    let mut series = Series::default();
    for second in 1..=5 {
        series.record(event("a", "no room", 1), None, at(second));
    }
    series.record(event("single", "no room", 1), None, at(5));
    assert!(series.sweep(at(100)).is_empty());
    let written = series.sweep(at(366));
    assert_eq!(written.iter().map(count).collect::<Vec<_>>(), [Some(5)]);
    assert!(series.sweep(at(1000)).is_empty());
    assert_eq!(
        count(&series.record(event("a", "no room", 1), None, at(1001)).unwrap()),
        None
    );
}

#[test]
fn memory_is_bounded_and_the_oldest_makes_room() {
    let mut series = Series::default();
    for number in 0..=u64::try_from(REMEMBERED).unwrap() {
        series.record(event(&number.to_string(), "no room", 1), None, at(number));
    }
    assert_eq!(series.events.len(), REMEMBERED);
    assert_eq!(
        count(&series.record(event("0", "no room", 1), None, at(9999)).unwrap()),
        None
    );
}
