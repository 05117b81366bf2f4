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
    match writing.form {
        Form::Pod(series) => series.map(|series| series.count),
        Form::Core(_) => panic!("an event about a pod"),
    }
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
    assert!(series.sweep(at(100), 9).is_empty());
    let written = series.sweep(at(366), 9);
    assert_eq!(written.iter().map(count).collect::<Vec<_>>(), [Some(5)]);
    assert!(series.sweep(at(1000), 9).is_empty());
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

#[test]
fn what_is_seen_again_is_not_the_oldest() {
    let mut series = Series::default();
    for number in 0..u64::try_from(REMEMBERED).unwrap() {
        series.record(event(&number.to_string(), "no room", 1), None, at(number));
    }
    series.record(event("0", "no room", 1), None, at(5000));
    series.record(event("new", "no room", 1), None, at(5001));
    assert!(series.record(event("0", "no room", 1), None, at(5002)).is_none());
    let gone = series.record(event("1", "no room", 1), None, at(5003)).unwrap();
    assert_eq!(count(&gone), None);
    assert_eq!((series.events.len(), series.order.len()), (REMEMBERED, REMEMBERED));
}

#[test]
fn a_series_that_cannot_be_written_for_want_of_room_is_remembered() {
    let mut series = Series::default();
    for pod in ["a", "b"] {
        series.record(event(pod, "no room", 1), None, at(1));
        series.record(event(pod, "no room", 2), None, at(2));
        series.record(event(pod, "no room", 3), None, at(3));
    }
    assert_eq!(series.sweep(at(400), 1).len(), 1);
    let later = series.sweep(at(800), 1);
    assert_eq!(later.iter().map(count).collect::<Vec<_>>(), [Some(3)]);
    assert!(series.sweep(at(1200), 1).is_empty());
}

#[test]
fn a_series_that_goes_on_is_written_again_after_half_an_hour() {
    let mut series = Series::default();
    let mut written = Vec::new();
    for minute in 0..=66 {
        series.record(event("a", "no room", 1), None, at(60 * minute));
        if minute % 6 == 0 {
            written.extend(series.sweep(at(60 * minute), 9).iter().map(count));
        }
    }
    assert_eq!(written, [Some(37), Some(67)]);
}
