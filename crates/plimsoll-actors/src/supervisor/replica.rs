//! A replica from outside: what it is made from, and what may be asked of it while it runs.

use std::sync::Arc;

use plimsoll_client::Connections;
use plimsoll_config::SchedulerConfig;
use plimsoll_framework::Profile;
use plimsoll_model::Moment;
use plimsoll_telemetry::traces::SpanSink;
use plimsoll_telemetry::{Document, Metrics};
use ractor::{Actor, ActorCell};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Exit, Lifeline, Supervisor, SupervisorArguments, SupervisorMessage};
use crate::assembled_config::AssembledConfig;
use crate::auditor::AuditReport;
use crate::effects::Effects;
use crate::http_server::Listen;
use crate::mailbox::{Mailbox, Tap};
use crate::permits::Permits;
use crate::term::Question;

/// What a replica is made from.
pub struct Replica {
    /// `<hostname>_<uuid>`, the identity in the lease.
    pub identity: String,
    /// This machine's name.
    pub host: String,
    /// The configuration.
    pub config: SchedulerConfig,
    /// The profiles, assembled.
    pub profiles: Vec<Arc<Profile>>,
    /// Who performs plugins' effects.
    pub effects: Effects,
    /// How plugins reach the pods that wait at Permit, while this replica leads.
    pub permits: Permits,
    /// The clients.
    pub connections: Connections,
    /// Where to serve health and metrics, if at all.
    pub listen: Option<Listen>,
    /// Where others reach what is served, an `https` URL: written into the lease while this replica leads.
    pub advertised: Option<String>,
    /// Seed of everything random.
    pub seed: u64,
    /// Time.
    pub clock: Arc<dyn plimsoll_client::Clock>,
    /// Gauges and counters.
    pub metrics: Arc<Metrics>,
    /// Where spans go, if anywhere, and the share of pods that are traced though nothing goes wrong with them, unless their
    /// profile says another.
    pub traces: Option<(SpanSink, f64)>,
    /// Sees messages, in simulations.
    pub tap: Option<Arc<dyn Tap>>,
}

/// Gives a running replica other configurations.
#[derive(Clone)]
pub struct Reconfigurer {
    supervisor: Mailbox<SupervisorMessage>,
    found: Option<Moment>,
}

impl Reconfigurer {
    /// Lets the replica go on with another configuration, without a restart: between two cycles, as a whole. Election,
    /// connections and listeners stay as they were. `note` is told to users.
    pub fn reconfigure(&self, assembled: AssembledConfig, note: String) {
        let (assembled, found) = (Arc::new(assembled), self.found);
        self.supervisor
            .tell(SupervisorMessage::Reconfigure { assembled, note, found });
    }

    /// Tells users that another configuration was found and cannot be used.
    pub fn reject(&self, reason: String) {
        let found = self.found;
        self.supervisor
            .tell(SupervisorMessage::ConfigRejected { reason, found });
    }

    /// The same for a configuration that was found then.
    #[must_use]
    pub fn found(&self, at: Moment) -> Self {
        Self {
            supervisor: self.supervisor.clone(),
            found: Some(at),
        }
    }
}

/// A running replica.
pub struct RunningReplica {
    supervisor: Mailbox<SupervisorMessage>,
    cell: ActorCell,
    cancelled: CancellationToken,
    exit: oneshot::Receiver<Exit>,
}

impl RunningReplica {
    /// Asks for an orderly end.
    pub fn shutdown(&self) {
        self.supervisor.tell(SupervisorMessage::Shutdown);
    }

    /// Has everything that is known of nodes and pods compared and written to the log.
    pub fn dump(&self) {
        self.supervisor.tell(SupervisorMessage::Dump);
    }

    /// A way to give it other configurations.
    pub fn reconfigurer(&self) -> Reconfigurer {
        Reconfigurer {
            supervisor: self.supervisor.clone(),
            found: None,
        }
    }

    /// A way to see whether it still lives.
    pub fn lifeline(&self) -> Lifeline {
        Lifeline::of(self.supervisor.clone())
    }

    /// An audit of the pending pods, made now; nothing while this replica does not lead.
    pub async fn audit(&self) -> Option<AuditReport> {
        let audit = |reply| SupervisorMessage::Ask(Question::Audit(reply));
        self.supervisor.ask("Outside", audit).await.ok()
    }

    /// What `/debug/explain` answers of this pod, `namespace/name`; nothing when the replica has ended.
    pub async fn explain(&self, pod: &str) -> Option<Document> {
        let explainer = self
            .supervisor
            .ask("Outside", SupervisorMessage::Explainer)
            .await
            .ok()?;
        Some(explainer.answer(Some(pod)).await)
    }

    /// Ends everything at once, as if the process had died; for simulations.
    pub fn kill(&self) {
        self.cancelled.cancel();
        kill_tree(&self.cell);
    }

    /// Waits for the end.
    pub async fn ended(&mut self) -> Exit {
        (&mut self.exit)
            .await
            .unwrap_or_else(|_| Exit::Failed("the supervisor died".to_owned()))
    }
}

fn kill_tree(cell: &ActorCell) {
    for child in cell.get_children() {
        kill_tree(&child);
    }
    cell.kill();
}

impl Replica {
    /// Starts the replica on the current runtime.
    pub async fn start(self) -> Result<RunningReplica, ractor::SpawnErr> {
        let (sender, exit) = oneshot::channel();
        let cancelled = CancellationToken::new();
        let supervisor = Mailbox::new("Supervisor", self.tap.clone());
        let arguments = SupervisorArguments {
            replica: self,
            mailbox: supervisor.clone(),
            exit: sender,
            cancelled: cancelled.clone(),
        };
        let (actor, _) = Actor::spawn(None, Supervisor, arguments).await?;
        Ok(RunningReplica {
            supervisor,
            cell: actor.get_cell(),
            cancelled,
            exit,
        })
    }
}
