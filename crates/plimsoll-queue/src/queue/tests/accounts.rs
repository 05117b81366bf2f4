//! What the queue tells of one pod.

use super::*;

#[test]
fn an_account_says_where_a_pod_is_since_when_why_and_when_it_is_looked_at_next() {
    let mut f = Fixture::new();
    f.pass(10 * SECOND);
    let came = f.now;
    let pod = f.add_at(Place::InFlight, "a");
    f.pass(SECOND);
    let settled = f.now;
    f.reject(&pod.uid);
    f.pass(SECOND);
    let account = f.queue.account_of(&pod.uid).unwrap();
    assert_eq!(
        (account.place, account.since, account.added),
        (Place::Unschedulable, settled, came)
    );
    assert_eq!(account.cause.unwrap().to_string(), "ScheduleAttemptFailure");
    assert_eq!(account.rejected_by, ["NodeResourcesFit"]);
    assert_eq!((account.attempts, account.company, account.ahead), (1, 1, None));
    assert!(account.next_look > settled + QueueConfig::default().max_in_unschedulable);
    f.pass(30 * SECOND);
    let woken = f.now;
    f.make_room();
    let account = f.queue.account_of(&pod.uid).unwrap();
    assert_eq!((account.place, account.since), (Place::Active, woken));
    assert_eq!(account.cause.unwrap().to_string(), "AssignedPodDelete");
    f.delete(&pod);
    assert_eq!(f.queue.account_of(&pod.uid), None);
}

#[test]
fn an_account_tells_when_a_pod_is_tried_again_for_what_its_last_attempt_said_and_not_an_earlier_one() {
    let mut f = Fixture::new();
    let pod = f.add_at(Place::Unschedulable, "a");
    let other = f.add_at(Place::Unschedulable, "other");
    let of = |f: &Fixture, pod: &Pod| {
        let account = f.queue.account_of(&pod.uid).unwrap();
        let page = f.queue.page(0, 10).pods;
        let listed = page.iter().find(|listed| listed.pod.uid == pod.uid).unwrap();
        let told = (account.retry_at, account.next_look);
        assert_eq!((listed.retry_at, listed.next_look), told, "a page tells the same");
        told
    };
    let long = of(&f, &pod).1;
    let (late, soon) = (f.now + 60 * SECOND, f.now + 30 * SECOND);
    f.queue.retry_at(&other.uid, soon);
    f.queue.retry_at(&pod.uid, late);
    f.queue.retry_at(&pod.uid, late + SECOND);
    assert_eq!(of(&f, &pod), (Some(late), late), "and not as late as without it");
    assert_eq!(of(&f, &other), (Some(soon), soon));
    f.pass(10 * SECOND);
    f.make_room();
    assert_eq!(of(&f, &pod).0, None, "its turn comes anyway");
    while f.pop_name().is_some() {}
    f.reject(&pod.uid);
    let (retry_at, next_look) = of(&f, &pod);
    assert!(
        retry_at.is_none() && next_look > long,
        "another attempt: {retry_at:?}, {next_look:?}"
    );
}

#[test]
fn an_account_of_an_active_pod_says_how_many_come_before_it() {
    let mut f = Fixture::new();
    let low = f.add(pod("low").priority(1));
    let high = f.add(pod("high").priority(9));
    let late = f.add(pod("late").priority(1));
    let ahead = |pod: &Pod| {
        let account = f.queue.account_of(&pod.uid).unwrap();
        (account.ahead, account.company)
    };
    assert_eq!(
        [ahead(&high), ahead(&low), ahead(&late)].map(|(ahead, _)| ahead),
        [Some(0), Some(1), Some(2)]
    );
    assert_eq!(ahead(&low).1, 3);
}

#[test]
fn an_account_names_who_holds_a_pod_back() {
    let mut f = Fixture::new();
    let gated = f.add_at(Place::Gated, "gated");
    assert_eq!(f.queue.account_of(&gated.uid).unwrap().gate.as_deref(), Some("Gates"));
    let preempting = f.add_at(Place::InFlight, "preempting");
    f.queue.hold(&preempting.uid, f.now);
    f.reject(&preempting.uid);
    assert!(f.queue.account_of(&preempting.uid).unwrap().held_for_victims);
    f.queue.release(&preempting.uid, crate::Release::Quietly, f.now);
    let account = f.queue.account_of(&preempting.uid).unwrap();
    assert_eq!((account.held_for_victims, account.victims_going), (false, true));
}
