//! What a scheduler counts of its own work.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Context;

/// One reading of `/metrics`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    samples: Vec<Sample>,
}

#[derive(Clone, Debug, PartialEq)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

impl Metrics {
    /// Reads what is about scheduling from the Prometheus text format. A comma or a brace in a label's value, which none
    /// of those has, is not understood.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let about = |line: &&str| {
            ["scheduler_", "plimsoll_", "leader_election_"]
                .iter()
                .any(|prefix| line.starts_with(prefix))
        };
        let lines = text.lines().filter(about);
        let samples = lines.map(|line| sample(line).with_context(|| format!("no metric: {line}")));
        Ok(Self {
            samples: samples.collect::<anyhow::Result<_>>()?,
        })
    }

    /// The sum of the series of that name which have all these labels; zero when there is none.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> i64 {
        #[expect(clippy::cast_possible_truncation, reason = "counts of pods and nodes")]
        let whole = self.total(name, labels).round() as i64;
        whole
    }

    /// As [`sum`](Self::sum), for what is no whole number, such as seconds.
    pub fn total(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let has = |sample: &Sample| {
            let label = |(key, value): &(&str, &str)| sample.labels.get(*key).is_some_and(|found| found == value);
            labels.iter().all(label)
        };
        let found = self.samples.iter().filter(|sample| sample.name == name && has(sample));
        found.map(|sample| sample.value).sum()
    }

    /// Whether there is any series of that name.
    pub fn has(&self, name: &str) -> bool {
        self.samples.iter().any(|sample| sample.name == name)
    }

    /// Attempts so far that placed no pod. (Those that did are counted only when the bind has its answer.)
    pub fn attempts_in_vain(&self) -> i64 {
        ["unschedulable", "error"]
            .map(|result| self.sum("scheduler_schedule_attempts_total", &[("result", result)]))
            .iter()
            .sum()
    }

    /// Pods that wait in that part of the queue: `active`, `backoff`, `unschedulable` or `gated`.
    pub fn pending(&self, queue: &str) -> i64 {
        self.sum("scheduler_pending_pods", &[("queue", queue)])
    }

    /// Whether `waiting` pods have been put to rest, gated ones among them, and no other is under way.
    pub(crate) fn show_rest(&self, waiting: usize) -> bool {
        let under_way = self.pending("active") + self.pending("backoff");
        let at_rest = self.pending("unschedulable") + self.pending("gated");
        under_way == 0 && usize::try_from(at_rest) == Ok(waiting)
    }

    /// Waiting pods that the plugin is among the reasons for.
    pub fn rejected_by(&self, plugin: &str) -> i64 {
        self.sum("scheduler_unschedulable_pods", &[("plugin", plugin)])
    }

    /// How often an event has taken a pod out of its rest so far.
    pub fn woken_by(&self, event: &str) -> i64 {
        ["active", "backoff"]
            .map(|queue| {
                self.sum(
                    "scheduler_queue_incoming_pods_total",
                    &[("queue", queue), ("event", event)],
                )
            })
            .iter()
            .sum()
    }

    /// Nodes that the scheduler knows.
    pub fn nodes(&self) -> i64 {
        self.sum("scheduler_cache_size", &[("type", "nodes")])
    }
}

/// The queue and the cache, for messages.
impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} attempts in vain, {} nodes",
            self.attempts_in_vain(),
            self.nodes()
        )?;
        for queue in ["active", "backoff", "unschedulable", "gated"] {
            write!(f, ", {} {queue}", self.pending(queue))?;
        }
        Ok(())
    }
}

fn sample(line: &str) -> anyhow::Result<Sample> {
    let (series, rest) = match line.split_once('}') {
        Some((series, rest)) => (series, rest),
        None => line.split_once(' ').context("no value")?,
    };
    let (name, labels) = series.split_once('{').unwrap_or((series, ""));
    let label = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        Some((key.to_owned(), value.strip_prefix('"')?.strip_suffix('"')?.to_owned()))
    };
    let labels = labels.split(',').filter(|pair| !pair.is_empty());
    Ok(Sample {
        name: name.to_owned(),
        labels: labels.map(label).collect::<Option<_>>().context("a label")?,
        value: rest.split_whitespace().next().context("no value")?.parse()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_added_up_by_name_and_labels() {
        let text = "# HELP scheduler_a_total Some.\n# TYPE scheduler_a_total counter\n\
                    scheduler_a_total{queue=\"active\",event=\"NodeAdd\"} 3\n\
                    scheduler_a_total{queue=\"backoff\",event=\"NodeAdd\"} 1.2e+03 1700000000000\n\
                    scheduler_a_total{queue=\"active\",event=\"PodAdd\"} 5\nplimsoll_b 7\ngo_c{d=\"{,}\"} 1\n";
        let metrics = Metrics::parse(text).unwrap();
        assert_eq!(metrics.sum("scheduler_a_total", &[]), 1208);
        assert_eq!(metrics.sum("scheduler_a_total", &[("event", "NodeAdd")]), 1203);
        let active = [("event", "NodeAdd"), ("queue", "active")];
        assert_eq!(metrics.sum("scheduler_a_total", &active), 3);
        assert_eq!(metrics.sum("plimsoll_b", &[]), 7);
        assert_eq!(metrics.sum("plimsoll_b", &[("queue", "active")]), 0);
        assert!(Metrics::parse("scheduler_nonsense\n").is_err());
    }
}
