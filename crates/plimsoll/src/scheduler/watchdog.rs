//! A thread that ends the process when nothing in it answers any more.
//!
//! A plugin that never returns keeps its thread of the runtime, and with it whatever waits on that thread: on a machine with one
//! processor that is everything, elector and supervisor among them. Nothing is written then, since the term runs out by the
//! clock, and another replica leads; but this one would never come back by itself.

use std::pin::pin;
use std::thread;
use std::time::Duration;

use futures::future::{Either, select};
use plimsoll_actors::supervisor::Lifeline;
use tokio::sync::oneshot;

/// Between two questions.
const INTERVAL: Duration = Duration::from_secs(5);

/// An answer that is late by so much, thrice in a row, does not come any more. In three parts, so that a process that was
/// stopped from outside has time to answer when it goes on.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a process whose replica has failed may take to end by itself.
const FAREWELL: Duration = Duration::from_secs(10);

/// Watches as long as it lives.
pub(super) struct Watchdog {
    failed: oneshot::Sender<()>,
}

impl Watchdog {
    /// Starts the thread, which calls `bite` once if there is no answer.
    pub(super) fn start(lifeline: Lifeline, bite: fn(&str)) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let (failed, told) = oneshot::channel();
        thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || runtime.block_on(guard(lifeline, told, bite)))?;
        Ok(Self { failed })
    }

    /// The replica has failed: the process is to end by itself. A thread that is stuck in a plugin may keep it from doing so.
    pub(super) fn has_failed(self) {
        // The thread may have ended, with the replica.
        let _ = self.failed.send(());
    }
}

async fn guard(lifeline: Lifeline, failed: oneshot::Receiver<()>, bite: fn(&str)) {
    let watched = pin!(watch(async || lifeline.answers().await));
    match select(watched, failed).await {
        Either::Left(((), _)) => bite("nothing in it answers any more"),
        Either::Right((Ok(()), _)) => {
            tokio::time::sleep(FAREWELL).await;
            bite("it has failed and does not end");
        }
        // The replica has ended in order, or whoever ran it gave it up.
        Either::Right((Err(_), _)) => {}
    }
}

/// Ends when answers fail to come.
async fn watch(answers: impl AsyncFn() -> bool) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let mut answer = pin!(answers());
        let mut answered = None;
        for _ in 0..3 {
            answered = tokio::time::timeout(PATIENCE, &mut answer).await.ok();
            if answered.is_some() {
                break;
            }
        }
        match answered {
            Some(true) => {}
            // It has ended; what becomes of the process is for others to say.
            Some(false) => std::future::pending().await,
            None => return,
        }
    }
}

/// The process ends with code 1, whatever its threads do.
pub(super) fn end_process(why: &str) {
    tracing::error!("Ending the process, because {why}; look for a plugin that does not return");
    crate::logging::flush();
    std::process::exit(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_mins(10);

    /// After how long it is noticed that no answers come; each takes so long.
    async fn noticed(takes: Duration, is_there: bool) -> Option<Duration> {
        let began = tokio::time::Instant::now();
        let answers = async || {
            tokio::time::sleep(takes).await;
            is_there
        };
        let watched = tokio::time::timeout(LONG, watch(answers)).await;
        watched.ok().map(|()| began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn answers_that_do_not_come_are_noticed_and_late_ones_are_not_held_against_anybody() {
        assert_eq!(noticed(LONG, true).await, Some(INTERVAL + 3 * PATIENCE));
        assert_eq!(noticed(2 * PATIENCE + INTERVAL, true).await, None);
        assert_eq!(noticed(Duration::ZERO, true).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_replica_that_has_ended_need_not_answer() {
        assert_eq!(noticed(Duration::ZERO, false).await, None);
    }
}
