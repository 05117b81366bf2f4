use std::collections::BTreeMap;
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
        Ok(())
    }
}
