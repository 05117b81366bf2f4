//! Guards: the few checks on which the promise rests that nothing is placed twice or past a node's line, and no pod is
//! left out. The simulation proves of each that it is needed: without it, runs go wrong.
//!
//! In the program as shipped every guard holds, which the compiler knows, so that asking costs nothing. Only with the
//! feature `broken-guards` can a test break one, on its own thread and for as long as it says.

/// A check that can be broken to show what it is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Guard {
    /// A term decides nothing before the caches have what the API server held after the lease was won.
    Barrier,
    /// A write is handed to the connection only while its term may write.
    TokenCheck,
    /// A claim is kept while it is not known whether its binding took effect.
    ClaimKeptOnUnknown,
    /// A pod is judged by columns that have every change that the queue had seen when it handed the pod out.
    SequenceCheck,
    /// The queue keeps the events that happen during an attempt, to replay them when the pod comes back.
    InFlightEvents,
}

impl Guard {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Barrier,
        Self::TokenCheck,
        Self::ClaimKeptOnUnknown,
        Self::SequenceCheck,
        Self::InFlightEvents,
    ];

    /// Its name in commands and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::TokenCheck => "token-check",
            Self::ClaimKeptOnUnknown => "claim-kept-on-unknown",
            Self::SequenceCheck => "sequence-check",
            Self::InFlightEvents => "in-flight-events",
        }
    }
}

/// Whether the guard is in place.
#[cfg(not(feature = "broken-guards"))]
#[inline]
pub const fn holds(_: Guard) -> bool {
    true
}

#[cfg(feature = "broken-guards")]
pub use self::breaking::{broken, holds};

#[cfg(feature = "broken-guards")]
mod breaking {
    use std::cell::Cell;

    use super::Guard;

    thread_local! {
        static BROKEN: Cell<Option<Guard>> = const { Cell::new(None) };
    }

    /// Whether the guard is in place on this thread.
    pub fn holds(guard: Guard) -> bool {
        BROKEN.get() != Some(guard)
    }

    /// Runs `action` with this one guard broken on this thread, whole again when it returns or panics. What it starts on
    /// other threads does not see that.
    pub fn broken<T>(guard: Guard, action: impl FnOnce() -> T) -> T {
        struct Mend(Option<Guard>);
        impl Drop for Mend {
            fn drop(&mut self) {
                BROKEN.set(self.0);
            }
        }
        let _mend = Mend(BROKEN.replace(Some(guard)));
        action()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(feature = "broken-guards"))]
    #[test]
    fn every_guard_holds_when_the_program_is_compiled() {
        const { assert!(holds(Guard::Barrier) && holds(Guard::TokenCheck)) }
    }

    #[cfg(feature = "broken-guards")]
    #[test]
    fn a_guard_is_broken_on_this_thread_for_as_long_as_asked_and_no_other_is() {
        let seen = broken(Guard::Barrier, || Guard::ALL.map(holds));
        assert_eq!(seen, [false, true, true, true, true]);
        let _ = std::panic::catch_unwind(|| broken(Guard::TokenCheck, || unreachable!("a run that panics")));
        assert_eq!(Guard::ALL.map(holds), [true; 5]);
        let elsewhere = broken(Guard::TokenCheck, || {
            std::thread::spawn(|| holds(Guard::TokenCheck)).join()
        });
        assert!(elsewhere.is_ok_and(|holds| holds));
    }
}
