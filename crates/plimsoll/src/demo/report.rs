//! What the audience takes home: tables made from the API server's own data.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::amounts::Amounts;
use super::api::{explanation, text};
use super::check::{Findings, Promise};
use super::leadership::{Reign, replica_of};
use super::nodes::ZONES;
use super::workload::{KIND_LABEL, KINDS};
use crate::table::Table;

/// The killing on stage.
#[derive(Debug, Clone)]
pub(super) struct Killing {
    /// Identity of the victim.
    pub(super) identity: String,
    pub(super) at: Timestamp,
}

/// Seconds of the show, as `12.3s`.
pub(super) fn since(start: Timestamp, moment: Timestamp) -> String {
    let tenths = moment.duration_since(start).as_millis().max(0) / 100;
    format!("{}.{}s", tenths / 10, tenths % 10)
}

/// Who led when.
pub(super) fn leaders(start: Timestamp, reigns: &[Reign], killing: Option<&Killing>) -> Table<5> {
    let mut table = Table::new("Who led", ["LEADER", "FROM", "LEASE UNTIL", "PODS PLACED", "END"]);
    for reign in reigns {
        let killed = killing.filter(|killing| killing.identity == reign.holder);
        let end = match (killed, reign.until) {
            (Some(killing), _) => format!("SIGKILL at +{}", since(start, killing.at)),
            (None, Some(_)) => "stepped down".to_owned(),
            (None, None) => "leads".to_owned(),
        };
        table.row([
            reign.leader().to_owned(),
            format!("+{}", since(start, reign.from)),
            reign
                .until
                .map_or_else(|| "now".to_owned(), |until| format!("+{}", since(start, until))),
            reign.placed.to_string(),
            end,
        ]);
    }
    table
}

/// How long nobody led, in a sentence. None when nobody took over.
pub(super) fn hand_over(reigns: &[Reign], killing: &Killing) -> Option<String> {
    let next = reigns.iter().find(|reign| reign.from > killing.at)?;
    let first = next.first_placed?;
    Some(format!(
        "  Hand-over: {} held the lease {} after {} was killed, and placed its first pod {} after that.",
        next.leader(),
        since(killing.at, next.from),
        replica_of(&killing.identity),
        since(next.from, first),
    ))
}

/// Pods by kind.
pub(super) fn kinds(pods: &[Arc<Value>]) -> Table<5> {
    let mut table = Table::new("Pods", ["KIND", "CREATED", "PLACED", "PENDING", "WHAT THEY WANT"]);
    let mut sums = [0, 0];
    for kind in &KINDS {
        let own = pods
            .iter()
            .filter(|pod| pod["metadata"]["labels"][KIND_LABEL] == kind.name);
        let (placed, pending): (Vec<_>, Vec<_>) = own.partition(|pod| !text(pod, "/spec/nodeName").is_empty());
        sums[0] += placed.len();
        sums[1] += pending.len();
        table.row(kind_row(kind.name, placed.len(), pending.len(), kind.what));
    }
    table.row(kind_row("all", sums[0], sums[1], ""));
    table
}

fn kind_row(name: &str, placed: usize, pending: usize, what: &str) -> [String; 5] {
    [
        name.to_owned(),
        (placed + pending).to_string(),
        placed.to_string(),
        pending.to_string(),
        what.to_owned(),
    ]
}

/// Pending pods, those with the same message (numbers aside) together.
pub(super) fn reasons(pods: &[Arc<Value>]) -> Table<3> {
    let mut groups: BTreeMap<(&str, String), (usize, &str)> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| text(pod, "/spec/nodeName").is_empty()) {
        let (reason, message) = explanation(pod).unwrap_or(("?", "not told"));
        let group = groups.entry((reason, without_numbers(message))).or_insert((0, message));
        group.0 += 1;
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let mut table = Table::new("Pending, and why", ["PODS", "REASON", "MESSAGE"]);
    for ((reason, _), (count, message)) in groups {
        table.row([count.to_string(), reason.to_owned(), message.to_owned()]);
    }
    table
}

fn without_numbers(message: &str) -> String {
    message.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// How full the zones are.
pub(super) fn zones(nodes: &[Arc<Value>], pods: &[Arc<Value>]) -> Table<6> {
    let zone_of: BTreeMap<&str, &str> = nodes
        .iter()
        .map(|node| (text(node, "/metadata/name"), zone(node)))
        .collect();
    let mut table = Table::new("Zones", ["ZONE", "NODES", "PODS", "CPU", "MEMORY", "CPU REQUESTED"]);
    for (zone_name, count) in ZONES {
        let (mut room, mut load) = (Amounts::default(), Amounts::default());
        for node in nodes.iter().filter(|node| zone(node) == zone_name) {
            room.add(&Amounts::allocatable(node));
        }
        for pod in pods {
            if zone_of.get(text(pod, "/spec/nodeName")) == Some(&zone_name) {
                load.add(&Amounts::requests(pod));
            }
        }
        let cpu = load.percent(&room, "cpu");
        table.row([
            zone_name.to_owned(),
            count.to_string(),
            load.of("pods").to_string(),
            format!("{cpu}%"),
            format!("{}%", load.percent(&room, "memory")),
            bar(cpu),
        ]);
    }
    table
}

fn zone(node: &Value) -> &str {
    node["metadata"]["labels"]["topology.kubernetes.io/zone"]
        .as_str()
        .unwrap_or_default()
}

/// One sign for two and a half percent.
fn bar(percent: i64) -> String {
    let filled = usize::try_from(percent * 2 / 5).unwrap_or(0).min(40);
    format!("{}{}", "#".repeat(filled), ".".repeat(40 - filled))
}

/// What the check says, promise by promise.
pub(super) fn promises(findings: &Findings) -> [String; 4] {
    let Findings {
        bindings,
        pending,
        fullest,
        ..
    } = findings;
    [
        (
            Promise::NeverPastTheLine,
            format!("no node was past its allocatable at any time; the fullest came to {fullest}%"),
        ),
        (
            Promise::BoundOnce,
            format!("each of {bindings} bindings was its pod's only one, and the pod stayed there"),
        ),
        (
            Promise::PortsApart,
            "no host port was given out twice on a node".to_owned(),
        ),
        (Promise::Told, format!("each of {pending} pending pods was told why")),
    ]
    .map(|(promise, what)| claim(findings.kept(promise), &what))
}

/// One line that says whether something holds.
pub(super) fn claim(holds: bool, what: &str) -> String {
    format!("  {}  {what}", if holds { "yes" } else { "NO " })
}
