//! More pods than one call may move, and storms that must not keep others from their turn.

use plimsoll_framework::{EnqueueExtensions, Plugin, PluginEvents, QueueingHint};

use super::*;

/// A queue that moves only so many pods in one call.
fn in_portions_of(portion: usize) -> Fixture {
    let mut f = Fixture::new();
    f.queue.portion = portion;
    f
}

fn parked(f: &mut Fixture, count: usize) -> Vec<Arc<Pod>> {
    (0..count)
        .map(|at| f.add_rejected(pod(&format!("p{at}")), &["NodeResourcesFit"]))
        .collect()
}

#[test]
fn what_an_event_wakes_moves_in_portions_and_is_due_until_then() {
    let mut f = in_portions_of(2);
    let pods = parked(&mut f, 5);
    f.make_room();
    assert_eq!((f.queue.counts().backoff, f.queue.counts().unschedulable), (2, 3));
    assert_eq!(f.queue.next_deadline(), Some(f.now));
    let due = f
        .queue
        .pods()
        .filter(|(_, place, look)| *place == Place::Unschedulable && *look <= f.now);
    assert_eq!(due.count(), 3);
    f.queue.tick(f.now);
    assert_eq!(f.queue.counts().backoff, 4);
    f.queue.tick(f.now);
    assert_eq!(f.queue.counts().backoff, 5);
    assert!(f.queue.next_deadline().unwrap() > f.now);
    assert!(
        pods.iter()
            .all(|pod| f.queue.history_of(&pod.uid).last().unwrap().cause == ROOM)
    );
}

/// An audit would take a time long ago for one that was missed.
#[test]
fn a_pod_that_is_about_to_move_is_due_since_it_was_woken_however_long_it_had_waited() {
    let mut f = in_portions_of(1);
    parked(&mut f, 3);
    f.tick_after(200 * SECOND);
    f.make_room();
    let woken_at = f.now;
    f.pass(SECOND);
    let about_to_move = f.queue.pods().filter(|(_, place, _)| *place == Place::Unschedulable);
    let looks: Vec<_> = about_to_move.map(|(_, _, look)| look).collect();
    assert_eq!(looks, [woken_at; 2]);
}

#[test]
fn those_of_high_priority_move_first() {
    let mut f = in_portions_of(1);
    for priority in [3, 9, 5] {
        f.add_rejected(pod(&format!("p{priority}")).priority(priority), &["NodeResourcesFit"]);
    }
    f.tick_after(2 * SECOND);
    f.make_room();
    let order: Vec<_> = std::iter::from_fn(|| f.pop_name()).collect();
    assert_eq!(order, ["p9", "p5", "p3"]);
}

#[test]
fn pods_that_are_about_to_move_can_leave_change_and_be_asked_for_by_name() {
    let mut f = in_portions_of(1);
    let pods = parked(&mut f, 6);
    f.make_room();
    let waiting: Vec<_> = pods
        .iter()
        .filter(|pod| f.place(pod) == Some(Place::Unschedulable))
        .collect();
    let [deleted, bound, changed, activated, last] = waiting[..] else {
        unreachable!("one of six has moved")
    };
    f.delete(deleted);
    f.update(bound, |pod| pod.node_name = Some("n".into()));
    let changed = f.update(changed, |pod| pod.labels = [("k", "v")].into_iter().collect());
    f.queue.activate(std::slice::from_ref(&activated.uid), f.now);
    assert_eq!(f.place(activated), Some(Place::Active));
    f.settle_down();
    assert_eq!(f.place(deleted), None);
    assert_eq!(f.place(bound), None);
    assert_eq!(f.place(&changed), Some(Place::Backoff));
    assert_eq!(f.place(last), Some(Place::Backoff));
    assert_eq!(f.queue.groups.count(), 0);
}

#[test]
fn a_pod_that_is_parked_after_the_event_is_not_woken_by_it() {
    let mut f = in_portions_of(1);
    parked(&mut f, 3);
    f.make_room();
    let late = f.add_rejected(pod("late"), &["NodeResourcesFit"]);
    f.settle_down();
    assert_eq!(f.place(&late), Some(Place::Unschedulable));
    assert_eq!(f.queue.counts().backoff, 3);
}

#[test]
fn a_claim_that_comes_apart_leaves_a_pod_on_its_way_that_another_event_has_woken() {
    let mut f = in_portions_of(1);
    let pods = parked(&mut f, 3);
    f.make_room();
    let waiting = pods
        .iter()
        .find(|pod| f.place(pod) == Some(Place::Unschedulable))
        .unwrap();
    let old = Some(Arc::clone(waiting));
    f.queue.observe(ROOM, EventObjects::Pod { old, new: None }, f.now);
    f.settle_down();
    assert_eq!(f.place(waiting), Some(Place::Backoff));
}

#[test]
fn gated_pods_that_are_woken_in_vain_wait_for_the_next_event() {
    let mut f = in_portions_of(1);
    f.shut_barrier(true);
    let pods: Vec<_> = (0..4).map(|at| f.add(pod(&format!("p{at}")))).collect();
    f.queue.take_metrics();
    f.make_room();
    f.settle_down();
    assert!(pods.iter().all(|pod| f.place(pod) == Some(Place::Gated)));
    assert_eq!(
        f.queue.take_metrics().incoming,
        [(("unschedulable", "AssignedPodDelete".to_owned()), 4)]
    );
    f.shut_barrier(false);
    f.make_room();
    f.settle_down();
    assert!(pods.iter().all(|pod| f.place(pod) == Some(Place::Active)));
}

#[test]
fn deadlines_and_ends_of_backoff_come_in_portions_too() {
    let mut f = in_portions_of(2);
    parked(&mut f, 5);
    f.tick_after(301 * SECOND);
    assert_eq!(f.queue.counts().active, 2);
    assert!(f.queue.next_deadline().unwrap() <= f.now);
    f.settle_down();
    assert_eq!(f.queue.counts().active, 5);

    let mut f = in_portions_of(2);
    for _ in parked(&mut f, 5) {
        f.make_room();
    }
    f.settle_down();
    assert_eq!(f.queue.counts().backoff, 5);
    f.tick_after(3 * SECOND);
    assert_eq!(f.queue.counts().active, 2);
    assert!(f.queue.next_deadline().unwrap() <= f.now);
    f.settle_down();
    assert_eq!(f.queue.counts().active, 5);
}

#[test]
fn another_configuration_looks_at_pods_that_are_about_to_move() {
    let mut f = in_portions_of(1);
    parked(&mut f, 4);
    f.make_room();
    f.reconfigure(QueueConfig::default(), &["default-scheduler"], &[]);
    assert_eq!(f.queue.counts().backoff, 4);
    f.settle_down();
    assert_eq!(f.queue.counts().backoff, 4);
    assert_eq!(f.queue.groups.count(), 0);
}

#[test]
fn an_event_that_hints_exclude_costs_one_hint_however_many_pods_are_alike() {
    let never = || Rejector::new("Never", &[ROOM], Box::new(|_, _, _| Ok(QueueingHint::Skip)));
    let mut f = Fixture::listening(|| vec![never()]);
    for at in 0..2_000 {
        f.add_rejected(pod(&format!("p{at}")).label("app", "web"), &["Never"]);
    }
    f.queue.take_metrics();
    for _ in 0..10 {
        f.make_room();
    }
    assert_eq!(f.queue.take_metrics().wakeups.asked, 10);
    // Nobody listens to namespaces here: not even that.
    f.queue.observe(
        ClusterEvent::new(EventResource::Namespace, Action::UPDATE),
        EventObjects::None,
        f.now,
    );
    assert_eq!(f.queue.take_metrics().wakeups.asked, 0);
    assert_eq!(f.queue.counts().unschedulable, 2_000);
}

/// A queue whose profile has this plugin too.
fn with_plugin(name: &str, hints: impl Fn() -> Arc<dyn EnqueueExtensions>) -> Fixture {
    Fixture::of_profiles(|fixture| {
        let mut profile = fixture.profile("default-scheduler");
        profile.events.push(PluginEvents::new(name, Some(hints())));
        profile.events.sort_by(|a, b| a.plugin().cmp(b.plugin()));
        vec![profile]
    })
}

/// Hears of every update of every pod, and none of them helps.
struct Heedless;

impl Plugin for Heedless {
    fn name(&self) -> &'static str {
        "Heedless"
    }
}

impl EnqueueExtensions for Heedless {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        vec![ClusterEvent::new(EventResource::Pod, Action::UPDATE)]
    }

    fn may_help_some_pod(&self, _: ClusterEvent, _: ClusterEvent, _: &EventObjects) -> bool {
        false
    }
}

#[test]
fn an_event_that_a_plugin_excludes_for_all_pods_costs_no_hint_even_if_no_two_are_alike() {
    let mut f = with_plugin("Heedless", || Arc::new(Heedless));
    for at in 0..50 {
        let distinct = pod(&format!("p{at}")).label("index", &at.to_string());
        f.add_rejected(distinct, &["Heedless"]);
    }
    let running = f.add(pod("running").on("n"));
    f.queue.take_metrics();
    f.update(&running, |_| {});
    assert_eq!(f.queue.take_metrics().wakeups.asked, 0);
    assert_eq!(f.queue.counts().unschedulable, 50);
}

/// Takes nothing for helpful, whatever the labels of pods.
struct Blind;

impl Plugin for Blind {
    fn name(&self) -> &'static str {
        "Blind"
    }
}

impl EnqueueExtensions for Blind {
    fn events_to_register(&self) -> Vec<ClusterEvent> {
        vec![ROOM]
    }

    fn reads_labels(&self) -> bool {
        false
    }

    fn queueing_hint(
        &self,
        _: ClusterEvent,
        _: ClusterEvent,
        _: &Pod,
        _: &EventObjects,
    ) -> Result<QueueingHint, String> {
        Ok(QueueingHint::Skip)
    }
}

#[test]
fn pods_that_differ_in_labels_alone_are_asked_for_once_where_no_hint_reads_labels() {
    let mut f = with_plugin("Blind", || Arc::new(Blind));
    for at in 0..50 {
        let distinct = pod(&format!("p{at}")).label("index", &at.to_string());
        f.add_rejected(distinct, &["Blind"]);
    }
    let asked = |f: &mut Fixture| {
        f.queue.take_metrics();
        f.make_room();
        f.queue.take_metrics().wakeups.asked
    };
    assert_eq!(asked(&mut f), 1);
    f.add_rejected(pod("large").cpu("64"), &["Blind"]);
    assert_eq!(asked(&mut f), 2);
    // Those that a plugin turned away which reads labels are told apart.
    for at in 0..3 {
        let distinct = pod(&format!("q{at}")).label("index", &at.to_string());
        f.add_rejected(distinct, &["Blind", "TaintToleration"]);
    }
    assert_eq!(asked(&mut f), 5);
}

/// A thousand pods that never fit are woken by an event every 10 ms, each attempt takes 1 ms, and now and then somebody
/// important comes.
#[test]
fn a_storm_of_pods_that_do_not_fit_delays_a_new_pod_of_higher_priority_by_no_more_than_the_attempt_under_way() {
    let mut f = in_portions_of(64);
    parked(&mut f, 1_000);
    let mut attempts_before = Vec::new();
    let mut important: Option<(Arc<Pod>, usize)> = None;
    for turn in 0..20_000_usize {
        f.pass(Duration::from_millis(1));
        if turn % 10 == 0 {
            f.make_room();
        }
        if turn % 1_000 == 500 {
            let name = format!("important-{turn}");
            important = Some((f.add(pod(&name).priority(1_000)), 0));
        }
        if f.queue.next_deadline().is_some_and(|due| due <= f.now) {
            f.queue.tick(f.now);
        }
        let Some(popped) = f.pop() else { continue };
        match &mut important {
            Some((pod, before)) if pod.uid == popped.pod.uid => {
                attempts_before.push(*before);
                important = None;
                f.settle(&popped.pod.uid, Outcome::Placed);
                continue;
            }
            Some((_, before)) => *before += 1,
            None => {}
        }
        f.reject(&popped.pod.uid);
    }
    assert_eq!(attempts_before.len(), 20);
    assert!(attempts_before.iter().all(|before| *before == 0), "{attempts_before:?}");
}

/// A pod that was turned away and then helped must not wait behind others of lower priority that are helped all the time.
#[test]
fn a_woken_pod_of_higher_priority_comes_before_the_storm_as_soon_as_its_backoff_is_over() {
    let mut f = in_portions_of(16);
    parked(&mut f, 200);
    let important = f.add_rejected(pod("important").priority(1_000), &["NodeResourcesFit"]);
    f.make_room();
    let woken_at = f.now;
    loop {
        f.pass(Duration::from_millis(5));
        f.make_room();
        let popped = f.pop().unwrap();
        if popped.pod.uid == important.uid {
            break;
        }
        f.reject(&popped.pod.uid);
    }
    assert!(f.now.since(woken_at) <= 2 * SECOND, "{:?}", f.now.since(woken_at));
}
