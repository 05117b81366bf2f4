//! A control plane with two API servers and three replicas, each with a way of its own to both.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::{Namespace, Node};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::Api;
use kube::api::PostParams;
use plimsoll_cluster::{History, Replica, Scheduler};
use plimsoll_controlplane::{
    AuditTrail, Audited, Balance, ControlPlane, FakeKubelet, Programs, Proxy, Storage, User, client_from,
};
use serde_json::json;
use tokio::time::Instant;

use crate::churn::{self, Churn};
use crate::judge::Judge;
use crate::lease::LeaseTimes;
use crate::ledger::Ledger;

/// How many replicas there are.
pub(crate) const SEATS: usize = 3;

/// Scheduler identities left over that make a round possible: two faults at once may each replace every replica.
const IDENTITIES_PER_ROUND: usize = 3 * SEATS;

/// One replica, and after it the next at the same place.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) proxy: Proxy,
    pub(crate) replica: Option<Replica>,
    /// Something was done to it that is not mended yet.
    pub(crate) busy: bool,
    /// It stands still.
    pub(crate) paused: bool,
}

/// Everything that takes part.
pub(crate) struct Scene {
    // Declared, so dropped, in this order: clients before the servers.
    pub(crate) churn: Churn,
    _kubelet: FakeKubelet,
    pub(crate) seats: Vec<Seat>,
    pub(crate) history: History,
    trail: AuditTrail,
    pub(crate) ledger: Ledger,
    pub(crate) judge: Judge,
    pub(crate) client: kube::Client,
    _admin: Proxy,
    pub(crate) control_plane: ControlPlane,
    pub(crate) lease: LeaseTimes,
    started: usize,
}

impl Scene {
    /// Starts everything: about ten seconds.
    pub(crate) async fn start(programs: Programs, lease: LeaseTimes, seed: u64, number: u64) -> anyhow::Result<Self> {
        let control_plane = ControlPlane::builder(programs)
            .storage(Storage::Json)
            .audited(Audited::Arrivals)
            .servers(2)
            .name("chaos");
        let control_plane = Box::pin(control_plane.start()).await?;
        let ports: Vec<u16> = control_plane
            .servers()
            .map(plimsoll_controlplane::ApiServer::port)
            .collect();
        let admin = Proxy::start(ports.clone(), Balance::Working).await?;
        let kubeconfig = control_plane.kubeconfig_through("admin", admin.port(), &User::admin())?;
        let client = client_from(&kubeconfig).await?;
        let etcd = control_plane.etcd().client();
        let history = History::start_over_restarts(etcd, etcd.revision().await?);
        populate(&client).await?;
        let mut seats = Vec::new();
        for _ in 0..SEATS {
            seats.push(Seat {
                proxy: Proxy::start(ports.clone(), Balance::RoundRobin).await?,
                replica: None,
                busy: false,
                paused: false,
            });
        }
        let mut scene = Self {
            churn: Churn::new(&client, seed, number),
            _kubelet: FakeKubelet::start(client.clone()),
            seats,
            history,
            trail: control_plane.audit_trail(),
            ledger: Ledger::default(),
            judge: Judge::default(),
            client,
            _admin: admin,
            control_plane,
            lease,
            started: 0,
        };
        for seat in 0..SEATS {
            scene.start_replica(seat)?;
        }
        Ok(scene)
    }

    /// Starts a replica at a seat that has none.
    pub(crate) fn start_replica(&mut self, seat: usize) -> anyhow::Result<()> {
        let number = self.started;
        ensure!(number < User::REPLICAS, "no scheduler identity is left");
        self.started += 1;
        let proxy = self.seats[seat].proxy.port();
        let user = User::scheduler(number);
        let kubeconfig = self.control_plane.kubeconfig_through(&user.group, proxy, &user)?;
        let flags = self.lease.flags();
        let replica = Replica::start_through(
            Scheduler::Plimsoll,
            number,
            &kubeconfig,
            flags,
            &[],
            &self.control_plane,
        )?;
        self.seats[seat].replica = Some(replica);
        Ok(())
    }

    /// False when too few identities are left for another round.
    pub(crate) fn has_room(&self) -> bool {
        self.started + IDENTITIES_PER_ROUND < User::REPLICAS
    }

    /// Replaces the replicas by others with these times, if they have other ones.
    pub(crate) async fn use_lease(&mut self, lease: LeaseTimes) -> anyhow::Result<()> {
        if self.lease == lease {
            return Ok(());
        }
        self.lease = lease;
        for seat in 0..SEATS {
            if let Some(mut replica) = self.seats[seat].replica.take() {
                replica.process.terminate(Duration::from_mins(1)).await?;
            }
            self.start_replica(seat)?;
        }
        Ok(())
    }

    /// Reads the audit logs on.
    pub(crate) fn read_logs(&mut self) -> anyhow::Result<()> {
        self.ledger.take(self.trail.news()?);
        Ok(())
    }

    /// The audit group of whoever holds the lease, if that is known.
    pub(crate) fn holder_group(&self) -> Option<String> {
        let holder = self.history.read(|state| state.holder().map(str::to_owned))?;
        self.ledger.group_of(&holder).map(str::to_owned)
    }

    /// The seat of the leader, if it is one of the replicas that run.
    pub(crate) fn leader(&self) -> Option<usize> {
        let group = self.holder_group()?;
        let leads = |seat: &Seat| seat.replica.as_ref().is_some_and(|replica| replica.user.group == group);
        self.seats.iter().position(leads)
    }

    /// Waits until one of the replicas leads.
    pub(crate) async fn led(&mut self, limit: Duration) -> anyhow::Result<String> {
        let deadline = Instant::now() + limit;
        loop {
            self.read_logs()?;
            if let Some(seat) = self.leader() {
                let replica = self.seats[seat].replica.as_ref();
                return Ok(replica.context("the leader's replica")?.user.group.clone());
            }
            let holder = || self.history.read(|state| state.holder().map(str::to_owned));
            ensure!(
                Instant::now() < deadline,
                "nobody leads; the lease names {:?}",
                holder()
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// A replica that ended though nobody made it.
    pub(crate) fn ended_by_itself(&mut self) -> anyhow::Result<Vec<String>> {
        let mut ended = Vec::new();
        for seat in 0..SEATS {
            let Some(replica) = self.seats[seat].replica.as_mut() else {
                continue;
            };
            if let Some(status) = replica.process.exited()? {
                let (group, tail) = (&replica.user.group, replica.process.log_tail(10));
                ended.push(format!("{group} ended by itself ({status}); its last lines:\n{tail}"));
                self.seats[seat].replica = None;
                self.start_replica(seat)?;
            }
        }
        Ok(ended)
    }

    /// Keeps logs and data when everything else is gone, and says where.
    pub(crate) fn keep(&self) -> &Path {
        self.control_plane.dir().keep();
        self.control_plane.dir().path()
    }
}

async fn populate(client: &kube::Client) -> anyhow::Result<()> {
    let params = PostParams::default();
    let namespace: Namespace = serde_json::from_value(json!({ "metadata": { "name": churn::NAMESPACE } }))?;
    Api::all(client.clone()).create(&params, &namespace).await?;
    let name = format!("priority-{}", churn::HIGH);
    let class: PriorityClass = serde_json::from_value(json!({ "metadata": { "name": name }, "value": churn::HIGH }))?;
    Api::all(client.clone()).create(&params, &class).await?;
    let nodes: Api<Node> = Api::all(client.clone());
    for number in 0..churn::NODES {
        nodes.create(&params, &churn::fixture(number).build()).await?;
    }
    Ok(())
}
