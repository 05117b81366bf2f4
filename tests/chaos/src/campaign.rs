//! Rounds in a row, over as many control planes as it takes, until there are enough.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use k8s_openapi::jiff::Timestamp;
use plimsoll_cluster::suite::say;
use plimsoll_controlplane::{Availability, Programs};

use crate::fault::Plan;
use crate::lease::LeaseTimes;
use crate::record::{Campaign, RoundRecord, Session};
use crate::round;
use crate::scene::Scene;

/// A control plane is used for so many rounds: its logs and its store grow.
const ROUNDS_PER_SCENE: u64 = 50;

/// One round in so many is played with the default times: ten in a thousand.
const DEFAULTS_EVERY: u64 = 100;

/// Which of them: not the first, so that short campaigns stay short.
const DEFAULTS_AT: u64 = 60;

/// So many rounds in a row that cannot be played end the campaign: something is wrong with the machine.
const BROKEN_OFF: usize = 3;

/// Logs are kept of so many rounds with violations.
const KEPT: usize = 10;

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the state and the reports are; made when missing.
    pub dir: PathBuf,
    /// How many rounds there shall be in the end, those done before included.
    pub rounds: u64,
    /// What everything is drawn from.
    pub seed: u64,
    /// The times of the election; `None` for the quick ones, and one round in a hundred with the defaults.
    pub lease: Option<LeaseTimes>,
}

/// Runs until there are enough rounds, writing down state and reports after each. `None` when this machine has no control
/// plane.
pub async fn run(options: &Options) -> anyhow::Result<Option<Campaign>> {
    let programs = match Availability::find()? {
        Availability::Ready(programs) => programs,
        Availability::Skip(reason) => {
            let line = "*".repeat(100);
            say(&format!("\n{line}\n*  REAL FAULTS ARE SKIPPED: {reason}\n{line}\n"));
            return Ok(None);
        }
    };
    std::fs::create_dir_all(&options.dir).with_context(|| format!("cannot make {}", options.dir.display()))?;
    let mut campaign = Campaign::open(&options.dir, options.seed)?;
    if campaign.next_round() < options.rounds {
        campaign.sessions.push(Session {
            began: Timestamp::now().strftime("%Y-%m-%d %H:%M:%S").to_string(),
            commit: commit(),
            from: campaign.next_round(),
            rounds: 0,
        });
        Box::pin(go_on(options, &programs, &mut campaign)).await?;
    }
    crate::report::write(&campaign, &options.dir)?;
    Ok(Some(campaign))
}

async fn go_on(options: &Options, programs: &Programs, campaign: &mut Campaign) -> anyhow::Result<()> {
    let mut broken_off = 0;
    while campaign.next_round() < options.rounds {
        // Boxed where it is made: it is large.
        let played = Box::pin(play_scene(options, programs, campaign)).await;
        match played {
            Ok(()) => broken_off = 0,
            Err(error) => {
                broken_off += 1;
                let text = format!("round {}: {error:#}", campaign.next_round());
                say(&format!("broken off: {text}"));
                campaign.broken_off.push(text);
                campaign.save(&options.dir)?;
                if broken_off == BROKEN_OFF {
                    bail!("{BROKEN_OFF} rounds in a row could not be played: {error:#}");
                }
            }
        }
    }
    Ok(())
}

/// Plays rounds on one control plane until it is used up, or something is broken that would show again.
async fn play_scene(options: &Options, programs: &Programs, campaign: &mut Campaign) -> anyhow::Result<()> {
    let first = campaign.next_round();
    let lease = lease_of(options, first);
    let mut scene = Box::pin(Scene::start(programs.clone(), lease, options.seed, first)).await?;
    let end = options.rounds.min((first / ROUNDS_PER_SCENE + 1) * ROUNDS_PER_SCENE);
    for number in first..end {
        if !scene.has_room() {
            break;
        }
        let lease = lease_of(options, number);
        scene.use_lease(lease).await?;
        let plan = Plan::draw(options.seed, number, lease);
        let played = Box::pin(round::play(&mut scene, number, plan)).await;
        let mut record = match played {
            Ok(record) => record,
            Err(error) => {
                let kept = keep(&scene, campaign);
                return Err(error.context(kept.unwrap_or_default()));
            }
        };
        if !record.violations.is_empty() {
            record.kept = keep(&scene, campaign);
        }
        let broken = !record.violations.is_empty();
        note(record, campaign, options)?;
        if broken {
            break;
        }
    }
    Ok(())
}

fn note(record: RoundRecord, campaign: &mut Campaign, options: &Options) -> anyhow::Result<()> {
    say(&format!("{record}"));
    campaign.rounds.push(record);
    if let Some(session) = campaign.sessions.last_mut() {
        session.rounds += 1;
    }
    campaign.save(&options.dir)?;
    let done = campaign.next_round();
    if done.is_multiple_of(10) {
        say(&format!(
            "--- {done} of {} rounds, {} faults, {} violations (seed {})",
            options.rounds,
            campaign.faults(),
            campaign.violations(),
            campaign.seed
        ));
        crate::report::write(campaign, &options.dir)?;
    }
    Ok(())
}

/// Keeps logs and data of the first few times that something was wrong.
fn keep(scene: &Scene, campaign: &Campaign) -> Option<String> {
    let kept = campaign.rounds.iter().filter(|round| round.kept.is_some()).count() + campaign.broken_off.len();
    (kept < KEPT).then(|| scene.keep().display().to_string())
}

fn lease_of(options: &Options, round: u64) -> LeaseTimes {
    options.lease.unwrap_or(if round % DEFAULTS_EVERY == DEFAULTS_AT {
        LeaseTimes::Default
    } else {
        LeaseTimes::Quick
    })
}

/// The commit checked out here, with a mark when the tree differs from it; empty without git.
fn commit() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let described = Command::new("git")
        .args(["describe", "--always", "--dirty", "--abbrev=10"])
        .current_dir(here)
        .output();
    described
        .ok()
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default()
}
