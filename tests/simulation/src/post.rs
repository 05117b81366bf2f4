//! The post between the actors of one machine: messages may take their time, or wait while the process is stopped.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_actors::mailbox::Delivery;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use tokio::sync::Notify;
use tokio::task::Id;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::TaskTracker;

/// How long messages between two actors take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pace {
    /// No time, as in a process that has a core for each actor.
    #[default]
    Instant,
    /// Up to a few milliseconds.
    Quick,
    /// Mostly no time, and now and then seconds.
    Fitful,
    /// Up to twenty milliseconds, and now and then seconds.
    Slow,
}

impl Pace {
    fn draw(self, random: &mut ChaCha8Rng) -> Duration {
        let mut below = |bound: u64| random.next_u64() % bound;
        let millis = match self {
            Self::Quick => below(12).saturating_sub(8),
            Self::Fitful if below(400) == 0 => below(3_000),
            Self::Instant | Self::Fitful => 0,
            Self::Slow if below(1_000) == 0 => below(2_500),
            Self::Slow => below(20),
        };
        Duration::from_millis(millis)
    }
}

/// Who answers nobody. Its messages take their time by a generator of their own, so that they leave what others draw alone; its
/// turns still move those of others within a moment.
const ASIDE: &str = "Tracer";

/// From whom to whom: between the two nothing is overtaken. A sender is a task; the test itself is none.
type Way = (Option<Id>, &'static str);

/// Told of each message that arrives: the actor it is for, and what it says.
type Arrived = Box<dyn Fn(&'static str, &str) + Send + Sync>;

/// The post of one machine. Clones share one state.
#[derive(Clone)]
pub struct Post(Arc<Office>);

struct Office {
    state: Mutex<State>,
    changed: Notify,
    arrived: Arrived,
}

struct State {
    pace: Pace,
    random: ChaCha8Rng,
    aside: ChaCha8Rng,
    stopped: bool,
    /// The actor that gets no turn, and until when.
    stalled: Option<(&'static str, Instant)>,
    next: u64,
    waiting: BTreeMap<(Instant, u64), Letter>,
    /// When the last letter under way on each way is due, and how many there are.
    ways: HashMap<Way, (Instant, usize)>,
    delayed: u64,
}

struct Letter {
    way: Way,
    summary: String,
    deliver: Delivery,
}

impl Post {
    /// The post of a machine with this seed. Must be called on a runtime: its postman is a task of it.
    pub fn new(seed: u64, arrived: impl Fn(&'static str, &str) + Send + Sync + 'static) -> Self {
        let state = State {
            pace: Pace::Instant,
            random: ChaCha8Rng::seed_from_u64(seed),
            aside: ChaCha8Rng::seed_from_u64(seed ^ 0xa51d),
            stopped: false,
            stalled: None,
            next: 0,
            waiting: BTreeMap::new(),
            ways: HashMap::new(),
            delayed: 0,
        };
        let office = Arc::new(Office {
            state: Mutex::new(state),
            changed: Notify::new(),
            arrived: Box::new(arrived),
        });
        TaskTracker::new().spawn(carry(Arc::clone(&office)));
        Self(office)
    }

    /// From now on messages take so long.
    pub fn set_pace(&self, pace: Pace) {
        self.0.lock().pace = pace;
    }

    /// Nothing arrives any more.
    pub fn stop(&self) {
        self.0.lock().stopped = true;
    }

    /// What has waited arrives, in its order, and what comes after it.
    pub fn resume(&self) {
        self.0.lock().stopped = false;
        self.0.changed.notify_one();
    }

    /// What is sent to this actor within this time from now on arrives at its end: the actor gets no turn, as in a process whose
    /// other threads take all of a core.
    pub fn stall(&self, actor: &'static str, time: Duration) {
        self.0.lock().stalled = Some((actor, Instant::now() + time));
    }

    /// How many messages did not arrive at once.
    pub fn delayed(&self) -> u64 {
        self.0.lock().delayed
    }

    /// Takes a message for the actor called `to`, from the task that runs now. Returns what its delivery says, or true
    /// when it waits.
    pub fn takes(&self, to: &'static str, summary: String, deliver: Delivery) -> bool {
        let way = (tokio::task::try_id(), to);
        let now = Instant::now();
        let mut state = self.0.lock();
        let State {
            pace, random, aside, ..
        } = &mut *state;
        let drawn = now + pace.draw(if to == ASIDE { aside } else { random });
        let stalled = state.stalled.filter(|(actor, _)| *actor == to);
        let due = stalled.map_or(drawn, |(_, until)| drawn.max(until));
        let before = state.ways.get(&way).copied();
        if due <= now && before.is_none() && !state.stopped {
            drop(state);
            (self.0.arrived)(to, &summary);
            return deliver();
        }
        let (last, count) = before.unwrap_or((due, 0));
        let due = due.max(last);
        state.ways.insert(way, (due, count + 1));
        state.next += 1;
        state.delayed += u64::from(to != ASIDE);
        let number = state.next;
        let letter = Letter { way, summary, deliver };
        state.waiting.insert((due, number), letter);
        drop(state);
        self.0.changed.notify_one();
        true
    }
}

impl Office {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When to look again; never while the process is stopped.
    fn next_due(&self) -> Option<Instant> {
        let state = self.lock();
        let ((due, _), _) = state.waiting.first_key_value().filter(|_| !state.stopped)?;
        Some(*due)
    }

    fn take_due(&self) -> Option<Letter> {
        let mut state = self.lock();
        if state.stopped || state.waiting.first_key_value()?.0.0 > Instant::now() {
            return None;
        }
        let (_, letter) = state.waiting.pop_first()?;
        if let Some((_, count)) = state.ways.get_mut(&letter.way) {
            *count -= 1;
            if *count == 0 {
                state.ways.remove(&letter.way);
            }
        }
        Some(letter)
    }
}

/// The postman.
async fn carry(office: Arc<Office>) {
    loop {
        // Made before the look, so that nothing falls between the two.
        let changed = office.changed.notified();
        match office.next_due() {
            None => changed.await,
            Some(due) if due > Instant::now() => {
                // Either it is time, or an earlier one has come; both lead to another look.
                let _ = timeout_at(due, changed).await;
            }
            Some(_) => {
                while let Some(letter) = office.take_due() {
                    (office.arrived)(letter.way.1, &letter.summary);
                    (letter.deliver)();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run;

    /// What has arrived, in order.
    type Inbox = Arc<Mutex<Vec<u32>>>;

    fn send(post: &Post, into: &Inbox, to: &'static str, number: u32) {
        let into = Arc::clone(into);
        post.takes(
            to,
            String::new(),
            Box::new(move || {
                into.lock().unwrap().push(number);
                true
            }),
        );
    }

    #[test]
    fn messages_of_one_sender_to_one_actor_arrive_in_order_however_long_each_takes() {
        run(async {
            let post = Post::new(7, |_, _| {});
            post.set_pace(Pace::Slow);
            let [one, other] = [Inbox::default(), Inbox::default()];
            for number in 0..2_000 {
                send(&post, &one, "one", number);
                send(&post, &other, "other", number);
            }
            post.set_pace(Pace::Instant);
            send(&post, &one, "one", 2_000);
            assert!(one.lock().unwrap().len() < 2_000, "nothing was late");
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert!(one.lock().unwrap().iter().copied().eq(0..=2_000));
            assert!(other.lock().unwrap().iter().copied().eq(0..2_000));
        });
    }

    #[test]
    fn one_actor_gets_no_turn_for_a_while_and_then_everything_in_order() {
        run(async {
            let post = Post::new(7, |_, _| {});
            let [one, other] = [Inbox::default(), Inbox::default()];
            post.stall("one", Duration::from_secs(2));
            for number in 0..3 {
                send(&post, &one, "one", number);
                send(&post, &other, "other", number);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(one.lock().unwrap().is_empty());
            assert_eq!(*other.lock().unwrap(), [0, 1, 2]);
            tokio::time::sleep(Duration::from_secs(1)).await;
            send(&post, &one, "one", 3);
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(*one.lock().unwrap(), [0, 1, 2, 3]);
        });
    }

    #[test]
    fn nothing_arrives_at_a_process_that_is_stopped_and_everything_when_it_goes_on() {
        run(async {
            let post = Post::new(7, |_, _| {});
            let one = Inbox::default();
            send(&post, &one, "one", 0);
            post.stop();
            send(&post, &one, "one", 1);
            send(&post, &one, "one", 2);
            tokio::time::sleep(Duration::from_mins(1)).await;
            assert_eq!(*one.lock().unwrap(), [0]);
            post.resume();
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(*one.lock().unwrap(), [0, 1, 2]);
        });
    }
}
