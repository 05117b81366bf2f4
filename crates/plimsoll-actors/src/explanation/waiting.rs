//! Whom or what a pod waits for.

use plimsoll_engine::{Awaits, ClaimState, PreBinding, Standing};
use plimsoll_model::{ObjectName, Pod};

use super::WaitFor;
use super::compose::{Facts, Times};

/// The plugin whose claims wait for volumes.
const VOLUME_BINDING: &str = "VolumeBinding";
/// The plugin that holds pods with gates.
const SCHEDULING_GATES: &str = "SchedulingGates";

/// Everything that the pod waits for, the most decisive first.
pub(super) fn waits_for(facts: &Facts, times: &Times) -> Vec<WaitFor> {
    let mut waits = Vec::new();
    waits.extend(gate(facts));
    waits.extend(victims(facts, times));
    waits.extend(facts.cycle.awaits.as_ref().map(effect));
    if let Some(standing) = &facts.cycle.standing {
        waits.extend(claim(standing, times));
    }
    let pending_on = facts.account.iter().flat_map(|account| &account.pending_on);
    waits.extend(pending_on.map(|plugin| wait("Plugin", format!("something outside that plugin {plugin} waits for"))));
    waits.extend(nominations(facts));
    waits
}

fn wait(kind: &str, what: String) -> WaitFor {
    WaitFor {
        kind: kind.to_owned(),
        what,
        ..WaitFor::default()
    }
}

fn gate(facts: &Facts) -> Option<WaitFor> {
    let account = facts.account.as_ref().filter(|account| !account.held_for_victims)?;
    let plugin = account.gate.as_deref()?;
    let what = if plugin == SCHEDULING_GATES {
        format!("its scheduling gates to be removed: {}", gates(&facts.pod))
    } else {
        format!("plugin {plugin} to let it into the queue")
    };
    Some(wait("Gate", what))
}

/// The names of a pod's gates.
fn gates(pod: &Pod) -> String {
    let names: Vec<&str> = pod.spec.scheduling_gates.iter().map(AsRef::as_ref).collect();
    names.join(", ")
}

fn victims(facts: &Facts, times: &Times) -> Option<WaitFor> {
    let awaited = facts.victims.as_ref()?;
    let pods = awaited.victims.iter();
    Some(WaitFor {
        since: Some(times.text(awaited.since)),
        pods: pods.map(|victim| format!("{} {}", victim.name, victim.stage)).collect(),
        ..wait("Victims", format!("its victims on node {} to go", awaited.node))
    })
}

fn effect(awaits: &Awaits) -> WaitFor {
    match awaits {
        Awaits::Plugin(plugin) => wait("Plugin", format!("what plugin {plugin} asks outside")),
        Awaits::Filter(url) => wait("Extender", format!("the verdict of extender {url} on nodes")),
        Awaits::Scores(urls) => wait("Extender", format!("the scores of extender {}", urls.join(", "))),
        Awaits::Victims(url) => wait("Extender", format!("what extender {url} says of victims")),
    }
}

fn claim(standing: &Standing, times: &Times) -> Vec<WaitFor> {
    let since = Some(times.text(standing.since));
    if !standing.permits.is_empty() {
        let permits = standing.permits.iter();
        return permits
            .map(|permit| WaitFor {
                since: since.clone(),
                until: Some(times.text(permit.until)),
                ..wait(
                    "Permit",
                    format!("plugin {} to permit it on node {}", permit.plugin, standing.node),
                )
            })
            .collect();
    }
    if let Some((plugin, at_work)) = standing.pre_bind {
        let what = match at_work {
            PreBinding::Work => format!("what plugin {plugin} does before it is bound"),
            PreBinding::Write => format!("the API server's answer to a write of plugin {plugin}"),
            PreBinding::Outside { .. } if plugin == VOLUME_BINDING => {
                "the volume controller to bind or provision its volumes".to_owned()
            }
            PreBinding::Outside { .. } => format!("something outside that plugin {plugin} waits for"),
        };
        let until = match at_work {
            PreBinding::Outside { until } => Some(times.text(until)),
            PreBinding::Work | PreBinding::Write => None,
        };
        let wait = wait("PreBind", what);
        return vec![WaitFor { since, until, ..wait }];
    }
    let what = match (standing.state, &standing.binder) {
        (ClaimState::Sent, Some(url)) => format!("extender {url} to bind it"),
        (ClaimState::Sent, None) => "the API server's answer to its binding".to_owned(),
        (ClaimState::Unknown { send_at }, _) => {
            format!("its binding, which is sent again at {}", times.text(send_at))
        }
        (ClaimState::Checking { .. } | ClaimState::Doubtful { .. }, _) => {
            "a read of the pod, which tells what became of its binding".to_owned()
        }
        _ => return Vec::new(),
    };
    let wait = wait("Binding", what);
    vec![WaitFor { since, ..wait }]
}

/// Nodes that would do, were room on them not kept for others.
fn nominations(facts: &Facts) -> Vec<WaitFor> {
    let nearest = facts.cycle.prospect.iter().flat_map(|prospect| &prospect.nearest);
    let kept = nearest.filter(|near| near.lacks.is_empty() && !near.kept_for.is_empty());
    kept.map(|near| WaitFor {
        pods: near.kept_for.iter().map(ObjectName::to_string).collect(),
        ..wait(
            "Nomination",
            format!("room on node {}, which is kept for pods nominated to it", near.name),
        )
    })
    .collect()
}
