//! Where spans go in a simulation: a collector that takes them, refuses them, is slow or does not answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_telemetry::Metrics;
use plimsoll_telemetry::traces::{
    ExportError, ExportLimits, ExportResult, Exporting, SpanData, SpanExporter, SpanSink,
};
use tokio::sync::Notify;
use tokio::time::sleep;

/// What a collector does with what it is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mood {
    /// It takes it.
    #[default]
    Takes,
    /// It takes it after so long.
    Slow(Duration),
    /// It answers that it does not want it.
    Refuses,
    /// It never answers.
    Hangs,
    /// Nobody is there, or it takes some connections and not others: one request in two fails.
    Flaps,
}

/// A collector that takes what it is sent has it by then.
const PATIENCE: Duration = Duration::from_mins(1);

/// A collector. Clones share one state.
#[derive(Clone, Default)]
pub struct Collector(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    mood: Mood,
    requests: u64,
    taken: BTreeMap<String, Vec<SpanData>>,
    refused: u64,
    dead: BTreeSet<String>,
    ways: Vec<Exporting>,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}

impl Collector {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, also for requests that wait.
    pub fn set_mood(&self, mood: Mood) {
        self.lock().mood = mood;
        self.0.changed.notify_waiters();
    }

    /// What each replica's spans were that it took, in the order in which they came.
    pub fn taken(&self) -> BTreeMap<String, Vec<SpanData>> {
        self.lock().taken.clone()
    }

    /// How many spans it did not take.
    pub fn refused(&self) -> u64 {
        self.lock().refused
    }

    /// The process of this replica is gone: what it had not sent never comes.
    pub fn died(&self, replica: &str) {
        self.lock().dead.insert(replica.to_owned());
    }

    /// The way from a replica to here.
    pub(crate) fn way_of(&self, replica: &str, limits: ExportLimits, metrics: &Arc<Metrics>) -> SpanSink {
        let line = Line {
            replica: replica.to_owned(),
            collector: self.clone(),
        };
        let (sink, exporting) = Exporting::through(line, limits, metrics);
        self.lock().ways.push(exporting);
        sink
    }

    /// Has everything sent that waits; nothing is taken after that.
    pub async fn finish(&self) {
        let ways = std::mem::take(&mut self.lock().ways);
        for way in ways {
            way.finish(PATIENCE).await;
        }
    }
}

#[derive(Debug)]
struct Line {
    replica: String,
    collector: Collector,
}

impl SpanExporter for Line {
    async fn export(&self, batch: Vec<SpanData>) -> ExportResult {
        let number = {
            let mut state = self.collector.lock();
            state.requests += 1;
            state.requests
        };
        loop {
            // Made before the look, so that nothing falls between the two.
            let changed = self.collector.0.changed.notified();
            let mood = self.collector.lock().mood;
            match mood {
                Mood::Hangs => changed.await,
                Mood::Slow(time) => {
                    sleep(time).await;
                    return self.take(batch);
                }
                Mood::Takes => return self.take(batch),
                Mood::Flaps if number.is_multiple_of(2) => return self.take(batch),
                Mood::Refuses | Mood::Flaps => return self.refuse(&batch),
            }
        }
    }
}

impl Line {
    fn take(&self, batch: Vec<SpanData>) -> ExportResult {
        let mut state = self.collector.lock();
        if state.dead.contains(&self.replica) {
            drop(state);
            return self.refuse(&batch);
        }
        state.taken.entry(self.replica.clone()).or_default().extend(batch);
        Ok(())
    }

    fn refuse(&self, batch: &[SpanData]) -> ExportResult {
        self.collector.lock().refused += batch.len() as u64;
        Err(ExportError::InternalFailure("the collector refuses".to_owned()))
    }
}
