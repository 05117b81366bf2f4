//! Doing what a plan says, and mending it.

use std::time::Duration;

use anyhow::ensure;
use k8s_openapi::jiff::Timestamp;
use plimsoll_controlplane::{Balance, Cut};
use tokio::time::Instant;

use crate::churn::Burst;
use crate::fault::{Fault, Kind, Plan};
use crate::hand_over::Blow;
use crate::scene::{SEATS, Scene, Seat};

/// For a replica to end after SIGTERM: writes under way must be decided before.
const END: Duration = Duration::from_mins(1);

/// For a new replica of a rolling upgrade to answer; then the next one's turn comes all the same.
const READY: Duration = Duration::from_secs(5);

/// Something to be mended.
enum Mend {
    Start(usize),
    Resume(usize),
    Connect(usize),
    Server(usize),
    Etcd,
}

/// Does everything in the plan one after the other, waits as long as the longest fault lasts, and mends all. Returns when
/// each blow fell.
pub(crate) async fn carry_out(scene: &mut Scene, plan: &Plan) -> anyhow::Result<Vec<Blow>> {
    for (seat, avoids) in scene.seats.iter().zip(plan.avoids) {
        seat.proxy
            .balance(if avoids { Balance::Working } else { Balance::RoundRobin });
    }
    let (mut blows, mut mends) = (Vec::new(), Vec::new());
    let burst = Burst::start(&scene.client, plan.burst);
    tokio::time::sleep(Duration::from_millis(plan.burst_lead)).await;
    for fault in &plan.faults {
        let begun = Instant::now();
        Box::pin(begin(scene, fault, &mut blows, &mut mends)).await?;
        mends_due(&mut mends, begun + fault.lasts());
    }
    // An API server cannot start without etcd.
    mends.sort_by_key(|(due, mend)| (matches!(mend, Mend::Server(_)), *due));
    for (due, mend) in mends {
        if let Some(due) = due {
            tokio::time::sleep_until(due).await;
        }
        Box::pin(end(scene, &mend)).await?;
    }
    burst.made().await;
    for seat in &mut scene.seats {
        seat.busy = false;
        seat.paused = false;
    }
    Ok(blows)
}

type Mends = Vec<(Option<Instant>, Mend)>;

/// Those that were just added have no time yet.
fn mends_due(mends: &mut Mends, due: Instant) {
    for (when, _) in mends {
        when.get_or_insert(due);
    }
}

async fn begin(scene: &mut Scene, fault: &Fault, blows: &mut Vec<Blow>, mends: &mut Mends) -> anyhow::Result<()> {
    let seat = target(scene, fault.kind);
    let mut strike = |hit: Option<&Seat>| {
        let replica = hit.and_then(|seat| seat.replica.as_ref());
        blows.push(Blow {
            kind: fault.kind,
            hit: replica.map(|replica| replica.user.group.clone()),
            at: Timestamp::now().as_microsecond(),
        });
    };
    let mend = match fault.kind {
        Kind::ServerKilled => {
            strike(None);
            scene.control_plane.stop_server_at(fault.server)?;
            Mend::Server(fault.server)
        }
        Kind::EtcdRestarted => {
            strike(None);
            scene.control_plane.stop_etcd()?;
            Mend::Etcd
        }
        Kind::RollingUpgrade => {
            for seat in 0..SEATS {
                let at = &scene.seats[seat];
                if !at.paused && at.replica.is_some() {
                    strike(Some(at));
                    Box::pin(replace(scene, seat)).await?;
                }
            }
            return Ok(());
        }
        kind => {
            // Whatever else was done may have left nobody to do this to.
            let Some(seat) = seat else { return Ok(()) };
            scene.seats[seat].busy = true;
            strike(Some(&scene.seats[seat]));
            Box::pin(begin_at(scene, kind, fault, seat)).await?
        }
    };
    mends.push((None, mend));
    Ok(())
}

async fn begin_at(scene: &mut Scene, kind: Kind, fault: &Fault, seat: usize) -> anyhow::Result<Mend> {
    let cut = if fault.silent { Cut::Silent } else { Cut::Reset };
    let at = &mut scene.seats[seat];
    Ok(match kind {
        Kind::LeaderPausedShortly | Kind::LeaderPausedLong => {
            if let Some(replica) = &at.replica {
                replica.process.suspend()?;
                at.paused = true;
            }
            Mend::Resume(seat)
        }
        Kind::LeaderCutFromOne | Kind::StandbyCutFromOne => {
            at.proxy.cut(fault.server, cut)?;
            Mend::Connect(seat)
        }
        Kind::LeaderCutOff | Kind::LeaderCutOffShortly | Kind::StandbyCutOff => {
            at.proxy.cut(0, cut)?;
            at.proxy.cut(1, cut)?;
            Mend::Connect(seat)
        }
        Kind::LeaderAskedToGo => {
            stop(scene, seat).await?;
            Mend::Start(seat)
        }
        _ => {
            if let Some(mut replica) = at.replica.take() {
                replica.process.kill()?;
            }
            Mend::Start(seat)
        }
    })
}

/// The leader, or any other; none that something was done to already.
fn target(scene: &Scene, kind: Kind) -> Option<usize> {
    let leader = scene.leader();
    let free = |seat: &usize| !scene.seats[*seat].busy && scene.seats[*seat].replica.is_some();
    if kind.is_about_leader() {
        leader.filter(free).or_else(|| (0..SEATS).find(free))
    } else {
        (0..SEATS).filter(free).find(|seat| Some(*seat) != leader)
    }
}

/// SIGTERM, and the end.
async fn stop(scene: &mut Scene, seat: usize) -> anyhow::Result<()> {
    let Some(mut replica) = scene.seats[seat].replica.take() else {
        return Ok(());
    };
    let status = replica.process.terminate(END).await?;
    let group = &replica.user.group;
    ensure!(
        status.is_some(),
        "{group} does not end after SIGTERM:\n{}",
        replica.process.log_tail(20)
    );
    Ok(())
}

async fn replace(scene: &mut Scene, seat: usize) -> anyhow::Result<()> {
    stop(scene, seat).await?;
    scene.start_replica(seat)?;
    let deadline = Instant::now() + READY;
    while Instant::now() < deadline {
        if let Some(replica) = &scene.seats[seat].replica
            && matches!(tokio::time::timeout(READY, replica.metrics()).await, Ok(Ok(_)))
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

async fn end(scene: &mut Scene, mend: &Mend) -> anyhow::Result<()> {
    match *mend {
        Mend::Start(seat) => scene.start_replica(seat),
        Mend::Connect(seat) => {
            scene.seats[seat].proxy.mend();
            Ok(())
        }
        Mend::Resume(seat) => match &scene.seats[seat].replica {
            Some(replica) => replica.process.resume(),
            None => Ok(()),
        },
        Mend::Server(server) => Box::pin(scene.control_plane.start_server_at(server)).await,
        Mend::Etcd => Box::pin(scene.control_plane.start_etcd()).await,
    }
}
