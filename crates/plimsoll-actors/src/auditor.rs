//! `Auditor`: holds what the cache, the queue and the cycle know of pending pods against each other, once a minute and when
//! asked. It owns no pod, only what earlier audits have found.
//!
//! A marker goes round: cache → queue → cycle → queue. Mailboxes keep their order, so it comes to the queue after all
//! changes that the cache had sent, to the cycle after all pods that the queue had handed out, and back to the queue after
//! all that the cycle had settled. Each tells what it owns as the marker comes by. So a pod on its way between two actors is
//! on one of their accounts: what is handed out is the cycle's by then, and what was settled in between has come to the
//! queue before the marker did. [`compare`] needs no allowance for messages under way, and nobody stops for it.
//!
//! What two audits in a row have found is a bug. It is counted and logged, and the cache states the truth about the pod
//! again, at one number of its stream: each then does what it would have done had it not lost the pod.

mod accounts;
mod comparison;
mod report;
mod restatement;
mod suspicions;

use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::Clock;
use plimsoll_model::Moment;
use plimsoll_telemetry::Metrics;
use ractor::{Actor, ActorProcessingErr, ActorRef};

pub use self::accounts::{
    Account, Accounts, AuditMarker, CacheAccount, ClaimAccount, CycleAccount, QueueAccount, ReturnAccount, Unassigned,
};
pub use self::comparison::{Discrepancy, Finding, compare};
pub use self::report::AuditReport;
pub use self::restatement::{Restatement, Restatements};

use self::accounts::Collected;
use self::suspicions::Suspicions;
use crate::alarm::Alarm;
use crate::informer_cache::CacheMessage;
use crate::mailbox::{Mailbox, Reply, Summary};

/// Between two audits. One costs a look at each pod without a node in three actors, some 0.2 s for a million of them, so a
/// minute keeps it below half a percent; and what is lost is back after two.
const INTERVAL: Duration = Duration::from_mins(1);

/// What the auditor hears.
#[derive(Debug)]
pub enum AuditorMessage {
    /// From outside, through supervisor and term: answer with an audit made now, or with the one under way.
    Ask(Reply<AuditReport>),
    /// From those that the marker comes by.
    Told {
        /// In which audit.
        number: u64,
        /// What.
        account: Account,
    },
    /// From the alarm: a minute has passed.
    Tick,
}

impl Summary for AuditorMessage {
    fn summary(&self) -> String {
        match self {
            Self::Ask(_) => "Ask".to_owned(),
            Self::Told { number, account } => match account {
                Account::Cache(cache) => format!("Told {number} cache unassigned={}", cache.unassigned.len()),
                Account::Queue(queue) => format!("Told {number} queue pods={}", queue.pods.len()),
                Account::Cycle(cycle) => format!("Told {number} cycle claims={}", cycle.claims.len()),
                Account::Return(back) => format!("Told {number} return settled={}", back.settled.len()),
            },
            Self::Tick => "Tick".to_owned(),
        }
    }
}

/// The actor; its state is [`AuditorState`].
#[derive(Debug)]
pub struct Auditor;

/// What the auditor needs to start.
pub struct AuditorArguments {
    /// Its own mailbox.
    pub mailbox: Mailbox<AuditorMessage>,
    /// Who starts the marker, and states the truth again.
    pub cache: Mailbox<CacheMessage>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Counters.
    pub metrics: Arc<Metrics>,
}

/// What the auditor owns.
pub struct AuditorState {
    mailbox: Mailbox<AuditorMessage>,
    cache: Mailbox<CacheMessage>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    alarm: Alarm,
    next: Moment,
    number: u64,
    /// When the audit under way was begun, and what has been told.
    under_way: Option<(Moment, Collected)>,
    suspicions: Suspicions,
    asked: Vec<Reply<AuditReport>>,
}

impl AuditorState {
    fn begin(&mut self, now: Moment) {
        self.number += 1;
        self.under_way = Some((now, Collected::default()));
        self.cache.tell(CacheMessage::Audit {
            number: self.number,
            auditor: self.mailbox.clone(),
        });
    }

    fn tick(&mut self, now: Moment) {
        self.alarm.rang();
        if now < self.next {
            return;
        }
        self.next = now + INTERVAL;
        match &self.under_way {
            Some((begun, _)) if now.since(*begun) < INTERVAL => {}
            Some(_) => {
                // The elector notices actors that do not answer; this one can only say so.
                tracing::warn!(audit = self.number, "The audit did not come round; another one begins");
                self.begin(now);
            }
            None => self.begin(now),
        }
    }

    fn ask(&mut self, reply: Reply<AuditReport>, now: Moment) {
        self.asked.push(reply);
        if self.under_way.is_none() {
            self.begin(now);
        }
    }

    fn take(&mut self, number: u64, account: Account, now: Moment) {
        let Some((begun, collected)) = self.under_way.as_mut().filter(|_| number == self.number) else {
            return;
        };
        collected.add(account);
        let Some(accounts) = collected.take() else { return };
        let took = now.since(*begun);
        self.under_way = None;
        self.finish(&accounts, took, now);
    }

    fn finish(&mut self, accounts: &Accounts, took: Duration, now: Moment) {
        let found = compare(accounts);
        let certain = self.suspicions.confirm(&found, now);
        let report = AuditReport::new(self.number, took, accounts, found, certain);
        self.metrics.audit().audited();
        for Discrepancy { uid, finding } in &report.certain {
            self.metrics.audit().discrepancies(finding.kind(), 1);
            tracing::error!(
                pod = report.name(uid), %uid, kind = finding.kind(), ?finding, audit = report.number,
                "Two audits found a discrepancy, which is a bug; it is repaired"
            );
        }
        if !report.certain.is_empty() {
            self.cache.tell(CacheMessage::Restate(report.certain.clone()));
        }
        tracing::debug!(
            audit = report.number,
            pending = report.pending,
            found = report.found.len(),
            "Audited"
        );
        for reply in self.asked.drain(..) {
            reply.send(report.clone());
        }
    }
}

impl Actor for Auditor {
    type Msg = AuditorMessage;
    type State = AuditorState;
    type Arguments = AuditorArguments;

    async fn pre_start(
        &self,
        _: ActorRef<AuditorMessage>,
        arguments: AuditorArguments,
    ) -> Result<AuditorState, ActorProcessingErr> {
        for kind in Finding::KINDS {
            arguments.metrics.audit().discrepancies(kind, 0);
        }
        let now = arguments.clock.now();
        let mut state = AuditorState {
            mailbox: arguments.mailbox,
            cache: arguments.cache,
            clock: arguments.clock,
            metrics: arguments.metrics,
            alarm: Alarm::default(),
            next: now + INTERVAL,
            number: 0,
            under_way: None,
            suspicions: Suspicions::default(),
            asked: Vec::new(),
        };
        state
            .alarm
            .arm(&state.mailbox, Some(state.next), now, || AuditorMessage::Tick);
        Ok(state)
    }

    async fn handle(
        &self,
        _: ActorRef<AuditorMessage>,
        message: AuditorMessage,
        state: &mut AuditorState,
    ) -> Result<(), ActorProcessingErr> {
        state.mailbox.depth().taken();
        let now = state.clock.now();
        match message {
            AuditorMessage::Ask(reply) => state.ask(reply, now),
            AuditorMessage::Told { number, account } => state.take(number, account, now),
            AuditorMessage::Tick => state.tick(now),
        }
        state
            .alarm
            .arm(&state.mailbox, Some(state.next), now, || AuditorMessage::Tick);
        Ok(())
    }
}
