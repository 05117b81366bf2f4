//! An explanation for people.

use jiff::{SignedDuration, Timestamp};
use plimsoll_actors::explanation::{Explanation, PastAttempt, QueuePlace, WaitFor, WouldHelp};

use crate::table::Table;

/// The lines of an explanation.
pub(super) fn lines(explanation: &Explanation) -> Vec<String> {
    let at = explanation.at.as_deref().and_then(|at| at.parse().ok());
    let mut lines = head(explanation, at);
    lines.extend(waits(&explanation.waits_for, at));
    if let Some(help) = &explanation.would_help {
        lines.extend(would_help(help));
    }
    for attempt in &explanation.attempts {
        lines.extend(past(attempt, at));
    }
    lines
}

fn head(explanation: &Explanation, at: Option<Timestamp>) -> Vec<String> {
    let uid = explanation.uid.as_deref().map(|uid| format!(" ({uid})"));
    let mut lines = vec![
        field("Pod", &format!("{}{}", explanation.pod, uid.unwrap_or_default())),
        field("State", &format!("{:?}: {}", explanation.state, explanation.summary)),
    ];
    let named = [
        ("Scheduler", &explanation.scheduler_name),
        ("Node", &explanation.node),
        ("Nominated to", &explanation.nominated_node),
    ];
    for (name, value) in named {
        lines.extend(value.as_deref().map(|value| field(name, value)));
    }
    if let Some(queue) = &explanation.queue {
        lines.extend(queue_lines(queue, at));
    }
    lines
}

fn field(name: &str, value: &str) -> String {
    format!("{:<14}{value}", format!("{name}:"))
}

fn queue_lines(queue: &QueuePlace, at: Option<Timestamp>) -> Vec<String> {
    let event = queue
        .event
        .as_deref()
        .map(|event| format!(", brought there by {event}"));
    let place = format!(
        "{} since {}{}",
        queue.place,
        when(&queue.since, at),
        event.unwrap_or_default()
    );
    let company = match (queue.ahead, queue.pods) {
        (Some(ahead), pods) => format!("; {ahead} of {pods} pods come before it"),
        (None, 1) => String::new(),
        (None, pods) => format!("; {pods} pods are there"),
    };
    let rejected_by = match queue.rejected_by.join(", ") {
        names if names.is_empty() => String::new(),
        names => format!(", rejected by {names} last"),
    };
    let tries = format!("{} since {}{rejected_by}", queue.attempts, when(&queue.added, at));
    let mut lines = vec![field("Queue", &(place + &company)), field("Attempts", &tries)];
    let next = queue.next_look.as_deref().map(|next| when(next, at));
    lines.extend(next.map(|next| field("Next look", &format!("{next} at the latest"))));
    let retry = queue.retry_at.as_deref().map(|retry| when(retry, at));
    lines.extend(retry.map(|retry| field("Retry at", &format!("{retry}, what spoke against it may be over then"))));
    lines
}

/// A time, and how far it is from the time of the answer.
fn when(time: &str, at: Option<Timestamp>) -> String {
    let Some((time_of, at)) = time.parse::<Timestamp>().ok().zip(at) else {
        return time.to_owned();
    };
    let away = time_of.duration_since(at);
    let told = short(away.abs());
    if away.is_negative() || away.is_zero() {
        format!("{time} ({told} ago)")
    } else {
        format!("{time} (in {told})")
    }
}

/// `3d4h`, `2h5m`, `4m10s`, `12s`.
fn short(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m{}s", seconds % 60),
        (0, _, _) => format!("{hours}h{minutes}m"),
        _ => format!("{days}d{hours}h"),
    }
}

fn waits(waits: &[WaitFor], at: Option<Timestamp>) -> Vec<String> {
    if waits.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), "Waits for".to_owned()];
    for wait in waits {
        let since = wait
            .since
            .as_deref()
            .map(|since| format!(", since {}", when(since, at)));
        let until = wait
            .until
            .as_deref()
            .map(|until| format!(", until {}", when(until, at)));
        let (since, until) = (since.unwrap_or_default(), until.unwrap_or_default());
        lines.push(format!("  {}{since}{until}", wait.what));
        lines.extend(wait.pods.iter().map(|pod| format!("    {pod}")));
    }
    lines
}

fn would_help(help: &WouldHelp) -> Vec<String> {
    if help.nearest.is_empty() {
        let note = help.note.iter().map(|note| format!("  {note}"));
        return [String::new(), "What would help".to_owned()]
            .into_iter()
            .chain(note)
            .collect();
    }
    let note = help.note.as_deref().map(|note| format!("; {note}")).unwrap_or_default();
    let title = format!("What would help: the nearest of {} nodes{note}", help.nodes);
    let mut table = Table::new(title, ["NODE", "PLUGIN", "LACKS"]);
    for near in &help.nearest {
        if near.fits {
            let fits = "nothing that plugins know of: the pod would fit now".to_owned();
            table.row([near.node.clone(), "-".to_owned(), fits]);
        }
        for (row, lack) in near.lacks.iter().enumerate() {
            let named = if row == 0 { near.node.clone() } else { String::new() };
            table.row([named, lack.plugin.clone(), lack.what.clone()]);
        }
    }
    table.lines()
}

fn past(attempt: &PastAttempt, at: Option<Timestamp>) -> Vec<String> {
    let PastAttempt {
        attempt: number,
        seconds,
        reason,
        message,
        ..
    } = attempt;
    let title = format!(
        "Attempt {number}, {}, took {:.1} ms: {reason}",
        when(&attempt.ended, at),
        seconds * 1000.0
    );
    let room = attempt.nominated_node.as_deref().map(|node| {
        let victims = attempt.victims.join(", ");
        format!("  room is to be made on node {node} by the end of {victims}")
    });
    if attempt.rejections.is_empty() {
        let said = [String::new(), title, format!("  {message}")];
        return said.into_iter().chain(room).collect();
    }
    let mut table = Table::new(title, ["PLUGIN", "NODES", "FOR EXAMPLE", "REASON"]);
    for rejection in &attempt.rejections {
        table.row([
            rejection.plugin.clone(),
            rejection.nodes.to_string(),
            rejection.examples.join(", "),
            rejection.reason.clone(),
        ]);
    }
    table.lines().into_iter().chain(room).collect()
}
