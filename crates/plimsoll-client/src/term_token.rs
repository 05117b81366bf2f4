use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_model::Moment;
use plimsoll_model::guard::{Guard, holds};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::Clock;

/// The right to write during one term of leadership.
///
/// It keeps the fencing rule: a write goes only while nobody else can hold the lease, even if every message of ours is
/// late. The deadline is the moment read *before* the last successful renewal was sent, plus the renew deadline, on a
/// clock that counts suspended time. Every write carries a server-side time-out of at most `write_timeout`, the lease
/// duration less the renew deadline; so one sent at the very deadline is decided before the lease can change hands.
///
/// The server's time-out begins when it reads the request. What it gets is therefore a fifth shorter than allowed: that fifth
/// is for the way there, for clocks that run at different speeds, and for what the operating system sends again. A connection
/// on which nothing is acknowledged for so long is given up (see `connect`).
///
/// Who does what: the elector creates, renews and cancels it; each write passes through [`TermToken::begin`] and the
/// check at the connection; the elector asks [`TermToken::decided`] before it releases the lease.
#[derive(Debug)]
pub struct TermToken {
    number: u64,
    renew_deadline: Duration,
    write_timeout: Duration,
    deadline: AtomicU64,
    cancelled: CancellationToken,
    writes: Mutex<Writes>,
    settled: Notify,
}

#[derive(Debug, Default)]
struct Writes {
    next: u64,
    /// Until when each write under way may still be applied, should its answer never come.
    under_way: BTreeMap<u64, Moment>,
    /// The same, over writes that ended without a definite answer.
    unknown_until: Moment,
}

impl TermToken {
    /// The token of term `number`, won by a lease write that was sent at `renew_sent`.
    pub fn new(number: u64, renew_sent: Moment, renew_deadline: Duration, write_timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            number,
            renew_deadline,
            write_timeout,
            deadline: AtomicU64::new((renew_sent + renew_deadline).as_nanos()),
            cancelled: CancellationToken::new(),
            writes: Mutex::default(),
            settled: Notify::new(),
        })
    }

    /// The token of term `number` that never runs out, for a scheduler that runs without leader election.
    pub fn without_election(number: u64, write_timeout: Duration) -> Arc<Self> {
        Self::new(number, Moment::ZERO, Duration::MAX, write_timeout)
    }

    /// The number of the term; each term of a process has a higher one than the last.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// From this moment on nothing is written.
    pub fn deadline(&self) -> Moment {
        Moment::from_nanos(self.deadline.load(Ordering::SeqCst))
    }

    /// Extends the term: a renewal sent at `renew_sent` succeeded. The moment must be read before sending.
    pub fn renewed(&self, renew_sent: Moment) {
        self.deadline
            .fetch_max((renew_sent + self.renew_deadline).as_nanos(), Ordering::SeqCst);
    }

    /// Ends the term for good. When this returns, no further write begins.
    pub fn cancel(&self) {
        let _writes = self.lock();
        self.cancelled.cancel();
    }

    /// Whether the term was ended.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// Resolves once the term is ended.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// A token that is cancelled along with the term, for tasks that live as long as it does.
    pub fn cancellation(&self) -> CancellationToken {
        self.cancelled.child_token()
    }

    /// Whether nobody else can lead yet at this moment, by our own clock. What is written is asked of
    /// [`TermToken::may_write`].
    pub fn leads_alone(&self, now: Moment) -> bool {
        now < self.deadline()
    }

    /// Whether a write may be handed to the connection now.
    pub fn may_write(&self, now: Moment) -> bool {
        (!self.is_cancelled() && now < self.deadline()) || !holds(Guard::TokenCheck)
    }

    /// Registers a write that is about to be sent; none when the term does not allow it any more.
    pub fn begin(self: &Arc<Self>, now: Moment) -> Option<WriteUnderWay> {
        // We wait for it no longer than the write time-out, so it is on its way by then; the server's own time-out begins
        // when it arrives.
        self.begin_within(now, self.write_timeout + self.server_timeout())
    }

    /// Registers a write that somebody else makes for us, and that is over after this long: an extender's binding, which the
    /// API server's time-out does not end. None when the term does not allow it any more.
    pub fn begin_within(self: &Arc<Self>, now: Moment, limit: Duration) -> Option<WriteUnderWay> {
        let mut writes = self.lock();
        if !self.may_write(now) {
            return None;
        }
        let id = writes.next;
        writes.next += 1;
        writes.under_way.insert(id, now + limit);
        drop(writes);
        Some(WriteUnderWay {
            token: Arc::clone(self),
            id,
            definite: false,
        })
    }

    /// Writes sent whose answer has not come yet.
    pub fn under_way(&self) -> usize {
        self.lock().under_way.len()
    }

    /// The moment from which no write sent so far can still be applied; in the past or zero when all are decided.
    pub fn undecided_until(&self) -> Moment {
        let writes = self.lock();
        writes
            .under_way
            .values()
            .copied()
            .fold(writes.unknown_until, Moment::max)
    }

    /// Whether every write has a definite answer or its server-side time-out has passed: the lease may be released.
    pub fn is_decided(&self, now: Moment) -> bool {
        self.undecided_until() <= now
    }

    /// Waits until [`TermToken::is_decided`]. Call it after [`TermToken::cancel`], else new writes keep it waiting.
    pub async fn decided(&self, clock: &dyn Clock) {
        loop {
            let settled = self.settled.notified();
            let left = self.undecided_until().since(clock.now());
            if left.is_zero() {
                return;
            }
            // Either an answer comes or time passes; both lead to another look.
            let _ = tokio::time::timeout(left, settled).await;
        }
    }

    /// The time-out to send to the server: shorter than allowed by an allowance for the way there.
    pub fn server_timeout(&self) -> Duration {
        let rest = self.write_timeout.saturating_sub(time_on_the_way(self.write_timeout));
        let whole = if rest >= Duration::from_secs(1) {
            Duration::from_secs(rest.as_secs())
        } else {
            Duration::from_millis(u64::try_from(rest.as_millis()).unwrap_or(u64::MAX))
        };
        // A time-out of zero would mean none at all.
        whole.max(Duration::from_millis(1))
    }

    /// How long a writer waits for its answer before it calls the outcome unknown.
    pub fn write_timeout(&self) -> Duration {
        self.write_timeout
    }

    fn lock(&self) -> MutexGuard<'_, Writes> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of a write's time that is kept for its way to the server.
pub(crate) fn time_on_the_way(write_timeout: Duration) -> Duration {
    write_timeout / 5
}

/// A write between sending and answer. Dropped without [`WriteUnderWay::answered`], its outcome counts as unknown.
#[derive(Debug)]
#[must_use = "dropping it at once makes the outcome unknown"]
pub struct WriteUnderWay {
    token: Arc<TermToken>,
    id: u64,
    definite: bool,
}

impl WriteUnderWay {
    /// The server said definitely that the write was applied or was not, or it was never sent.
    pub fn answered(mut self) {
        self.definite = true;
    }
}

impl Drop for WriteUnderWay {
    fn drop(&mut self) {
        let mut writes = self.token.lock();
        if let Some(until) = writes.under_way.remove(&self.id)
            && !self.definite
        {
            writes.unknown_until = writes.unknown_until.max(until);
        }
        drop(writes);
        self.token.settled.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VirtualClock;

    const RENEW: Duration = Duration::from_secs(10);
    const WRITE: Duration = Duration::from_secs(5);

    fn at(seconds: u64) -> Moment {
        Moment::ZERO + Duration::from_secs(seconds)
    }

    fn token() -> Arc<TermToken> {
        TermToken::new(1, at(100), RENEW, WRITE)
    }

    #[test]
    fn writing_ends_at_the_deadline_and_a_renewal_moves_it() {
        let token = token();
        assert!(token.may_write(at(109)));
        assert!(!token.may_write(at(110)));
        token.renewed(at(105));
        assert!(token.may_write(at(114)));
        assert!(!token.may_write(at(115)));
    }

    #[test]
    fn a_late_answer_of_an_older_renewal_does_not_shorten_the_term() {
        let token = token();
        token.renewed(at(106));
        token.renewed(at(102));
        assert_eq!(token.deadline(), at(116));
    }

    #[test]
    fn nothing_begins_after_cancel_and_a_renewal_does_not_revive_it() {
        let token = token();
        token.cancel();
        token.renewed(at(108));
        assert!(token.begin(at(108)).is_none());
    }

    #[test]
    fn a_definite_answer_leaves_nothing_undecided() {
        let token = token();
        let write = token.begin(at(101)).unwrap();
        assert_eq!(token.under_way(), 1);
        assert!(!token.is_decided(at(109)));
        assert!(token.is_decided(at(110)));
        write.answered();
        assert_eq!(token.under_way(), 0);
        assert!(token.is_decided(at(101)));
    }

    #[test]
    fn an_unknown_outcome_stays_undecided_until_its_time_out() {
        let token = token();
        drop(token.begin(at(103)).unwrap());
        drop(token.begin(at(101)).unwrap());
        assert_eq!(token.undecided_until(), at(112));
    }

    #[test]
    fn a_write_made_by_somebody_else_is_open_for_as_long_as_that_may_take() {
        let token = token();
        drop(token.begin_within(at(101), Duration::from_mins(1)).unwrap());
        assert_eq!(token.undecided_until(), at(161));
        assert!(token.begin_within(at(110), Duration::from_mins(1)).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn decided_waits_for_the_answer_or_the_time_out_whichever_is_first() {
        let clock = VirtualClock::new(jiff::Timestamp::UNIX_EPOCH);
        let token = TermToken::new(1, Moment::ZERO, RENEW, WRITE);
        let write = token.begin(clock.now()).unwrap();
        drop(token.begin(clock.now()).unwrap());
        token.decided(&clock).await;
        assert_eq!(clock.now(), at(9));
        drop(write);

        let write = token.begin(clock.now()).unwrap();
        let answer = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            write.answered();
        };
        tokio::join!(biased; token.decided(&clock), answer);
        assert_eq!(clock.now(), at(10));
    }

    /// Lease duration and renew deadline in milliseconds, and the speeds of three clocks: the holder's, the API server's and the
    /// candidate's. Everything is counted from the moment at which the last renewal was sent, in true time.
    #[test]
    fn a_write_sent_at_the_last_moment_is_decided_before_anybody_else_leads_though_clocks_differ_by_a_percent() {
        for (lease, renew) in [
            (15_000, 10_000),
            (3_000, 2_000),
            (60_000, 40_000),
            (137_000, 107_000),
            (15_000, 14_000),
        ] {
            let (lease, renew) = (Duration::from_millis(lease), Duration::from_millis(renew));
            let token = TermToken::new(1, Moment::ZERO, renew, lease.checked_sub(renew).unwrap());
            for (slow, fast) in [(1.0, 1.0), (1.005, 0.995)] {
                // The holder's clock and the server's are slow, the candidate's is fast.
                let last_sent = renew.mul_f64(slow);
                let decided = last_sent + token.server_timeout().mul_f64(slow);
                let free_from = lease.mul_f64(fast);
                assert!(decided < free_from, "{lease:?} {renew:?}: {decided:?} {free_from:?}");
            }
        }
    }

    #[test]
    fn the_time_out_sent_is_whole_and_below_the_one_allowed() {
        for (allowed, sent) in [(5_000, 4_000), (15_000, 12_000), (2_500, 2_000), (1_000, 800), (1, 1)] {
            let token = TermToken::new(1, Moment::ZERO, RENEW, Duration::from_millis(allowed));
            assert_eq!(token.server_timeout(), Duration::from_millis(sent), "{allowed}");
        }
    }
}
