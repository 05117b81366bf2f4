use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::answer::Answer;
use crate::question::Coverage;

/// How many cases made each plugin say something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// Cases.
    pub cases: u64,
    /// Cases in which two nodes or more were scored.
    pub ranked: u64,
    /// Cases in which no node passed.
    pub unschedulable: u64,
    /// Cases that a filter turned nodes away in, by plugin.
    pub filter: BTreeMap<String, u64>,
    /// Cases that a pre-filter turned the pod away in, by plugin.
    pub pre_filter: BTreeMap<String, u64>,
    /// Cases in which a pre-filter named the nodes.
    pub restricted: u64,
    /// Cases in which a plugin told nodes apart by their scores.
    pub score: BTreeMap<String, u64>,
    /// Cases that ended in an internal failure.
    pub failures: u64,
    /// Cases in which one of the plugins of volumes gave a reason, without the names in it, by plugin and reason.
    pub reasons: BTreeMap<(String, String), u64>,
    /// Cases in which something was to be done about volumes, by what.
    pub volumes: BTreeMap<&'static str, u64>,
}

/// The plugins whose reasons are counted one by one.
const OF_VOLUMES: [&str; 4] = ["VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"];

impl Verdicts {
    fn count_reasons(&mut self, upstream: &Answer) {
        let mut reasons = BTreeSet::new();
        for verdict in upstream.verdicts.values().chain(&upstream.pre_filter) {
            if OF_VOLUMES.contains(&verdict.plugin.as_str()) {
                let told = verdict.reasons.iter().map(|reason| without_names(reason));
                reasons.extend(told.map(|reason| (verdict.plugin.clone(), reason)));
            }
        }
        for failure in upstream.failure.iter().chain(&upstream.other_failures) {
            reasons.insert(("failure".to_owned(), without_names(failure)));
        }
        for reason in reasons {
            *self.reasons.entry(reason).or_default() += 1;
        }
    }

    fn count_volumes(&mut self, upstream: &Answer) {
        let nodes = || upstream.volumes.values();
        for (what, seen) in [
            ("cannot be reserved", nodes().any(|volumes| volumes.failure.is_some())),
            ("bound", nodes().any(|volumes| !volumes.bound.is_empty())),
            ("several bound", nodes().any(|volumes| volumes.bound.len() > 1)),
            ("made", nodes().any(|volumes| !volumes.provisioned.is_empty())),
            (
                "some bound and others made",
                nodes().any(|volumes| !volumes.bound.is_empty() && !volumes.provisioned.is_empty()),
            ),
            (
                "others on another node",
                nodes().any(|volumes| Some(volumes) != nodes().next()),
            ),
        ] {
            *self.volumes.entry(what).or_default() += u64::from(seen);
        }
    }
}

/// What stands in quotes, and words with a digit or a slash, are names.
fn without_names(reason: &str) -> String {
    let unquoted = reason.split('"').step_by(2).collect::<Vec<_>>().join("…");
    let is_name = |word: &&str| word.contains(|letter: char| letter.is_ascii_digit() || letter == '/');
    let words = unquoted.split(' ').map(|word| if is_name(&word) { "…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

impl Coverage<Answer> for Verdicts {
    fn count(&mut self, upstream: &Answer) {
        self.cases += 1;
        self.ranked += u64::from(upstream.totals.as_ref().is_some_and(|totals| totals.len() > 1));
        self.unschedulable += u64::from(upstream.fit_error.is_some());
        self.restricted += u64::from(upstream.restricted.is_some());
        self.failures += u64::from(upstream.failure.is_some());
        let mut plugins: Vec<&str> = upstream
            .verdicts
            .values()
            .map(|verdict| verdict.plugin.as_str())
            .collect();
        plugins.sort_unstable();
        plugins.dedup();
        for plugin in plugins.into_iter().filter(|plugin| !plugin.is_empty()) {
            *self.filter.entry(plugin.to_owned()).or_default() += 1;
        }
        self.count_reasons(upstream);
        self.count_volumes(upstream);
        if let Some(verdict) = &upstream.pre_filter {
            *self.pre_filter.entry(verdict.plugin.clone()).or_default() += 1;
        }
        for (plugin, nodes) in upstream.scores.iter().flatten() {
            let mut scores = nodes.values().map(|score| score.normalised);
            let first = scores.next();
            *self.score.entry(plugin.clone()).or_default() += u64::from(scores.any(|score| Some(score) != first));
        }
    }

    fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.ranked += other.ranked;
        self.unschedulable += other.unschedulable;
        self.restricted += other.restricted;
        self.failures += other.failures;
        for (own, other) in [
            (&mut self.filter, &other.filter),
            (&mut self.pre_filter, &other.pre_filter),
            (&mut self.score, &other.score),
        ] {
            for (plugin, count) in other {
                *own.entry(plugin.clone()).or_default() += count;
            }
        }
        for (reason, count) in &other.reasons {
            *self.reasons.entry(reason.clone()).or_default() += count;
        }
        for (what, count) in &other.volumes {
            *self.volumes.entry(what).or_default() += count;
        }
    }
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cases,
            ranked,
            unschedulable,
            restricted,
            failures,
            ..
        } = self;
        writeln!(
            f,
            "{cases} cases: {ranked} ranked several nodes, {unschedulable} had no node, {restricted} named their nodes, \
             {failures} failed"
        )?;
        for (what, counts) in [
            ("a filter turned nodes away", &self.filter),
            ("a pre-filter turned the pod away", &self.pre_filter),
            ("a score told nodes apart", &self.score),
        ] {
            writeln!(f, "cases in which {what}:")?;
            for (plugin, count) in counts {
                let plugin = if plugin.is_empty() {
                    "(several together)"
                } else {
                    plugin
                };
                writeln!(f, "  {count:>8}  {plugin}")?;
            }
        }
        writeln!(f, "cases in which a plugin of volumes gave a reason, and failures:")?;
        for ((plugin, reason), count) in &self.reasons {
            writeln!(f, "  {count:>8}  {plugin}: {reason}")?;
        }
        writeln!(f, "cases in which volumes were:")?;
        for (what, count) in &self.volumes {
            writeln!(f, "  {count:>8}  {what}")?;
        }
        Ok(())
    }
}
