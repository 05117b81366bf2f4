//! `EventRecorder`: tells users what happens to their pods, without ever holding a decision up.
//!
//! Events are many and matter less than bindings: at most 1000 wait and 16 are being written; what comes
//! on top is dropped and counted, as client-go does.

mod correlator;
mod series;
mod writing;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::{Clock, EventRecord, EventReply, EventType, EventWriter, ObjectReference, TermToken};
use plimsoll_model::{Moment, Pod};
use plimsoll_telemetry::Metrics;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::correlator::Correlator;
use self::series::Series;
use self::writing::Next;
pub use self::writing::Writing;
use crate::alarm::Alarm;
use crate::mailbox::{Mailbox, Reply, Summary};
use crate::trace_context::TraceContext;

/// As client-go's broadcaster.
const QUEUE: usize = 1000;

/// Enough to keep up with binding on one API server, few enough not to compete with it.
const IN_FLIGHT: usize = 16;

/// An event is tried so often, as client-go does.
const TRIES: u32 = 12;

/// Series are looked through this often.
const SWEEP: Duration = Duration::from_mins(6);

/// An event about a pod, before the recorder adds who reports it.
#[derive(Debug, Clone)]
pub struct PodEvent {
    event_type: EventType,
    reason: &'static str,
    action: &'static str,
    note: String,
    regarding: ObjectReference,
    related: Option<ObjectReference>,
    controller: String,
    time: jiff::Timestamp,
}

fn reference(pod: &Pod) -> ObjectReference {
    ObjectReference {
        api_version: "v1".into(),
        kind: "Pod".into(),
        name: pod.name.clone(),
        uid: pod.uid.clone(),
        resource_version: pod.resource_version.to_string().into(),
    }
}

impl PodEvent {
    /// What happened to the pod; its `schedulerName` is the reporting controller.
    pub fn about(
        pod: &Pod,
        event_type: EventType,
        reason: &'static str,
        action: &'static str,
        note: String,
        time: jiff::Timestamp,
    ) -> Self {
        let controller = pod.spec.scheduler_name.to_string();
        Self {
            event_type,
            reason,
            action,
            note,
            regarding: reference(pod),
            related: None,
            controller,
            time,
        }
    }

    /// What a pod made happen to another: the first one's `schedulerName` is the reporting controller.
    #[must_use]
    pub fn because_of(self, other: &Pod) -> Self {
        Self {
            related: Some(reference(other)),
            controller: other.spec.scheduler_name.to_string(),
            ..self
        }
    }

    fn record(self, host: &str) -> EventRecord {
        EventRecord {
            event_type: self.event_type,
            reason: self.reason.into(),
            action: self.action.into(),
            note: self.note,
            regarding: self.regarding,
            related: self.related,
            reporting_instance: format!("{}-{host}", self.controller).into(),
            reporting_controller: self.controller.into(),
            event_time: self.time,
        }
    }
}

/// Tells the recorder of what happened to a pod, unless it is so far behind that this would only make it worse: then the
/// event is dropped and counted, and not even made.
pub(crate) fn report(
    recorder: &Mailbox<RecorderMessage>,
    metrics: &Metrics,
    (trace, token): (TraceContext, &Arc<TermToken>),
    event: impl FnOnce() -> PodEvent,
) {
    if usize::try_from(recorder.depth().get()).is_ok_and(|waiting| waiting >= QUEUE) {
        metrics.event_dropped();
        return;
    }
    recorder.tell(RecorderMessage::Pod {
        event: Box::new(event()),
        trace,
        token: Arc::clone(token),
    });
}

/// What the recorder hears.
#[derive(Debug)]
pub enum RecorderMessage {
    /// From the cycle. Written unless the term is over by then.
    Pod {
        /// What happened.
        event: Box<PodEvent>,
        /// The pod's trace.
        trace: TraceContext,
        /// The term it belongs to.
        token: Arc<TermToken>,
    },
    /// From the elector: a core/v1 event about the lease, exempt from the token since it tells of the token's end.
    Lease(Box<EventRecord>),
    /// From a task of its own: how a write ended.
    Written {
        /// What was written.
        writing: Box<Writing>,
        /// What came back.
        reply: EventReply,
    },
    /// From the elector, at the end: answered when nothing is under way or waits, save for what waits for another try.
    Flush(Reply<()>),
    /// From the alarm: retries or idle series are due.
    Tick,
}

impl Summary for RecorderMessage {
    fn summary(&self) -> String {
        match self {
            Self::Pod { event, .. } => format!("Pod {} {} {:?}", event.regarding.name, event.reason, event.note),
            Self::Lease(record) => format!("Lease {:?}", record.note),
            Self::Written { writing, reply } => format!("Written {} {reply:?}", writing.record.regarding.name),
            Self::Flush(_) => "Flush".to_owned(),
            Self::Tick => "Tick".to_owned(),
        }
    }
}

/// The actor; its state is [`EventRecorderState`].
#[derive(Debug)]
pub struct EventRecorder;

/// What the recorder needs to start.
pub struct EventRecorderArguments {
    /// Its own mailbox.
    pub mailbox: Mailbox<RecorderMessage>,
    /// Who writes.
    pub writer: EventWriter,
    /// This machine's name, part of the reporting instance.
    pub host: String,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Counters.
    pub metrics: Arc<Metrics>,
}

/// What the recorder owns.
pub struct EventRecorderState {
    mailbox: Mailbox<RecorderMessage>,
    writer: EventWriter,
    host: String,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    series: Series,
    lease_events: Correlator,
    waiting: VecDeque<Writing>,
    in_flight: usize,
    retries: VecDeque<(Moment, Writing)>,
    next_sweep: Moment,
    flushing: Vec<Reply<()>>,
    alarm: Alarm,
    tasks: TaskTracker,
    cancelled: CancellationToken,
}

impl Drop for EventRecorderState {
    fn drop(&mut self) {
        self.cancelled.cancel();
    }
}

impl EventRecorderState {
    fn accept(&mut self, writing: Option<Writing>) {
        let Some(writing) = writing else { return };
        if self.waiting.len() + self.retries.len() >= QUEUE {
            self.metrics.event_dropped();
            return;
        }
        self.waiting.push_back(writing);
    }

    fn write_next(&mut self, now: Moment) {
        while self.in_flight < IN_FLIGHT
            && let Some(writing) = self.waiting.pop_front()
        {
            if writing.token.as_ref().is_some_and(|token| !token.may_write(now)) {
                self.metrics.event_dropped();
                continue;
            }
            self.in_flight += 1;
            let writer = self.writer.clone();
            let mailbox = self.mailbox.clone();
            let cancelled = self.cancelled.clone();
            self.tasks.spawn(async move {
                if let Some(reply) = cancelled.run_until_cancelled(writing.send(&writer)).await {
                    mailbox.tell(RecorderMessage::Written {
                        writing: Box::new(writing),
                        reply,
                    });
                }
            });
        }
    }

    fn written(&mut self, writing: Writing, reply: EventReply, now: Moment) {
        self.in_flight = self.in_flight.saturating_sub(1);
        match writing.after(reply) {
            Next::Over => {}
            Next::Now(writing) => self.waiting.push_front(writing),
            Next::Later(writing, wait) => self.retry(writing, now + wait),
            Next::Rejected(writing, why) => {
                tracing::error!(event = %writing.record.regarding.name, err = why, "Server rejected event (will not retry!)");
                self.metrics.event_dropped();
            }
        }
    }

    fn retry(&mut self, mut writing: Writing, at: Moment) {
        writing.tries += 1;
        if writing.tries >= TRIES {
            tracing::error!(event = %writing.record.regarding.name, "Unable to write event (retry limit exceeded!)");
        }
        if writing.tries >= TRIES || self.waiting.len() + self.retries.len() >= QUEUE {
            self.metrics.event_dropped();
            return;
        }
        let place = self.retries.partition_point(|(other, _)| *other <= at);
        self.retries.insert(place, (at, writing));
    }

    fn tick(&mut self, now: Moment) {
        self.alarm.rang();
        while self.retries.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, writing)) = self.retries.pop_front() {
                self.waiting.push_back(writing);
            }
        }
        if now >= self.next_sweep {
            self.next_sweep = now + SWEEP;
            let room = QUEUE.saturating_sub(self.waiting.len() + self.retries.len());
            for writing in self.series.sweep(now, room) {
                self.accept(Some(writing));
            }
        }
    }
}

impl Actor for EventRecorder {
    type Msg = RecorderMessage;
    type State = EventRecorderState;
    type Arguments = EventRecorderArguments;

    async fn pre_start(
        &self,
        _: ActorRef<RecorderMessage>,
        arguments: EventRecorderArguments,
    ) -> Result<EventRecorderState, ActorProcessingErr> {
        let now = arguments.clock.now();
        Ok(EventRecorderState {
            mailbox: arguments.mailbox,
            writer: arguments.writer,
            host: arguments.host,
            clock: arguments.clock,
            metrics: arguments.metrics,
            series: Series::default(),
            lease_events: Correlator::default(),
            waiting: VecDeque::new(),
            in_flight: 0,
            retries: VecDeque::new(),
            next_sweep: now + SWEEP,
            flushing: Vec::new(),
            alarm: Alarm::default(),
            tasks: TaskTracker::new(),
            cancelled: CancellationToken::new(),
        })
    }

    async fn handle(
        &self,
        _: ActorRef<RecorderMessage>,
        message: RecorderMessage,
        state: &mut EventRecorderState,
    ) -> Result<(), ActorProcessingErr> {
        state.mailbox.depth().taken();
        let now = state.clock.now();
        match message {
            RecorderMessage::Pod { event, trace, token } => trace.span("Pod").in_scope(|| {
                let record = event.record(&state.host);
                let writing = state.series.record(record, Some(token), now);
                state.accept(writing);
            }),
            RecorderMessage::Lease(record) => match state.lease_events.correlate(*record, now) {
                Some(writing) => state.accept(Some(writing)),
                None => state.metrics.event_dropped(),
            },
            RecorderMessage::Written { writing, reply } => state.written(*writing, reply, now),
            RecorderMessage::Flush(reply) => state.flushing.push(reply),
            RecorderMessage::Tick => state.tick(now),
        }
        state.write_next(now);
        if state.in_flight == 0 {
            for reply in state.flushing.drain(..) {
                reply.send(());
            }
        }
        let due = state
            .retries
            .front()
            .map_or(state.next_sweep, |(at, _)| state.next_sweep.min(*at));
        state
            .alarm
            .arm(&state.mailbox, Some(due), now, || RecorderMessage::Tick);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::testing::pod;

    use super::*;
    use crate::log_subject::trace_of;

    /// A recorder that does not get on.
    struct Stuck;

    impl Actor for Stuck {
        type Msg = RecorderMessage;
        type State = ();
        type Arguments = ();

        async fn pre_start(&self, _: ActorRef<RecorderMessage>, (): ()) -> Result<(), ActorProcessingErr> {
            Ok(())
        }

        async fn handle(
            &self,
            _: ActorRef<RecorderMessage>,
            _: RecorderMessage,
            (): &mut (),
        ) -> Result<(), ActorProcessingErr> {
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn while_too_many_wait_events_are_dropped_and_counted_before_they_are_made() {
        let (actor, _) = Actor::spawn(None, Stuck, ()).await.expect("it starts");
        let recorder = Mailbox::new("EventRecorder", None);
        recorder.bind(actor);
        let (metrics, pod) = (Metrics::new(), pod("a").build());
        let token = TermToken::without_election(1, Duration::from_secs(1));
        let mut made = 0;
        for _ in 0..QUEUE + 5 {
            report(&recorder, &metrics, (trace_of(&pod), &token), || {
                made += 1;
                let time = jiff::Timestamp::UNIX_EPOCH;
                PodEvent::about(&pod, EventType::Normal, "Scheduled", "Binding", String::new(), time)
            });
        }
        assert_eq!(made, QUEUE);
        let text = metrics.text().expect("it can be told");
        assert!(text.contains("plimsoll_events_dropped_total 5\n"), "{text}");
    }
}
