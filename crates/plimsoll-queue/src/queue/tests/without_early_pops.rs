//! The feature gate `SchedulerPopFromBackoffQ` off.

use super::*;

fn off() -> Fixture {
    Fixture::with(QueueConfig {
        pop_from_backoff: false,
        ..QueueConfig::default()
    })
}

/// Popped, turned away and made to back off at once.
fn back_off(f: &mut Fixture, name: &str, priority: i32) -> Arc<Pod> {
    let waiting = f.add(pod(name).priority(priority));
    f.queue.pop_specific(&waiting.uid, f.now).unwrap();
    f.make_room();
    f.reject(&waiting.uid);
    assert_eq!(f.place(&waiting), Some(Place::Backoff));
    waiting
}

#[test]
fn pods_that_back_off_are_not_popped_early() {
    let mut f = off();
    let waiting = back_off(&mut f, "a", 0);
    assert_eq!(f.pop_name(), None);
    f.pass(SECOND);
    assert_eq!(f.pop_name(), None);
    f.now = f.now + Duration::from_nanos(1);
    assert_eq!(f.pop_name().as_deref(), Some("a"));
    assert_eq!(f.place(&waiting), Some(Place::InFlight));
}

#[test]
fn a_backoff_is_over_to_the_moment_and_the_deadline_says_so() {
    let mut f = off();
    f.pass(Duration::from_millis(900));
    let waiting = back_off(&mut f, "a", 0);
    let over = f.now + SECOND + Duration::from_nanos(1);
    assert_eq!(f.queue.next_deadline(), Some(over));
    f.queue.tick(f.now + SECOND);
    assert_eq!(f.place(&waiting), Some(Place::Backoff));
    f.queue.tick(over);
    assert_eq!(f.place(&waiting), Some(Place::Active));
}

#[test]
fn the_end_of_backoff_alone_orders_those_who_back_off() {
    let mut f = off();
    back_off(&mut f, "early", 1);
    f.pass(Duration::from_millis(1));
    back_off(&mut f, "late", 9);
    f.pass(SECOND);
    // Only the first one's backoff is over.
    assert_eq!(f.pop_name().as_deref(), Some("early"));
    assert_eq!(f.pop_name(), None);
}

#[test]
fn gates_are_asked_when_the_backoff_ends_and_not_when_it_begins() {
    for activated in [false, true] {
        let mut f = off();
        f.add(pod("a"));
        let popped = f.pop().unwrap().pod;
        f.shut_barrier(true);
        f.make_room();
        f.reject(&popped.uid);
        assert_eq!(f.place(&popped), Some(Place::Backoff));
        if activated {
            f.queue.activate(std::slice::from_ref(&popped.uid), f.now);
        } else {
            f.tick_after(2 * SECOND);
        }
        assert_eq!(f.place(&popped), Some(Place::Gated), "activated: {activated}");
    }
}

#[test]
fn an_own_update_is_looked_at_to_the_end_for_what_may_skip_the_backoff() {
    let patient = || Rejector::new("Patient", &[label_update()], always());
    let eager = || Rejector::new("Eager", &[toleration_update()], always());
    for (early_pops, place) in [(true, Place::Backoff), (false, Place::Active)] {
        let mut f = Fixture::listening(|| vec![patient(), eager()]);
        f.queue.config.pop_from_backoff = early_pops;
        let waiting = f.add(pod("a"));
        f.pop();
        let outcome = Outcome::Rejected {
            plugins: vec!["Patient"],
            pending_plugins: vec!["Eager"],
            preemption_plugins: Vec::new(),
            judged_at: Seq::new(f.seq),
        };
        f.settle(&waiting.uid, outcome);
        f.update(&waiting, |pod| {
            pod.labels = [("k", "v")].into_iter().collect();
            pod.spec.tolerations.push(Toleration::default());
        });
        assert_eq!(f.place(&waiting), Some(place), "early pops: {early_pops}");
    }
}

fn label_update() -> ClusterEvent {
    ClusterEvent::new(EventResource::Pod, Action::UPDATE_POD_LABEL)
}

fn toleration_update() -> ClusterEvent {
    ClusterEvent::new(EventResource::Pod, Action::UPDATE_POD_TOLERATION)
}

#[test]
fn a_configuration_may_switch_early_pops_off_and_on() {
    let mut f = Fixture::new();
    let names = ["default-scheduler"];
    for (name, priority) in [("low", 1), ("high", 9)] {
        back_off(&mut f, name, priority);
        f.pass(Duration::from_millis(10));
    }
    let off = QueueConfig {
        pop_from_backoff: false,
        ..QueueConfig::default()
    };
    f.reconfigure(off, &names, &[]);
    assert_eq!(f.pop_name(), None);
    f.reconfigure(QueueConfig::default(), &names, &[]);
    assert_eq!(f.pop_name().as_deref(), Some("high"));
}
