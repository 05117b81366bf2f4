//! What is told of attempts: how long extension points and plugins took, and what plugins looked at.

use std::sync::Weak;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use plimsoll_engine::{ClaimTimeline, Evaluations, PluginRun, PointRun, Timeline};
use plimsoll_framework::{Code, ExtensionPoint, Profile};
use plimsoll_telemetry::{AttemptResult, Attempts, Evaluated, Metrics, PluginDuration, PointDuration, TraceId};

/// Handles on metrics that each attempt changes: looking them up would take longer than changing them.
pub(super) struct CycleMetrics {
    /// Handles from before a reset count nothing that is shown.
    resets: u64,
    profiles: Vec<ProfileMetrics>,
    plugins: HashMap<(&'static str, ExtensionPoint, Code), PluginDuration, FixedState>,
}

struct ProfileMetrics {
    name: String,
    points: HashMap<(ExtensionPoint, Code), PointDuration, FixedState>,
    attempts: HashMap<AttemptResult, Attempts, FixedState>,
    evaluated: Vec<(Weak<Profile>, Vec<Evaluated>)>,
}

impl Default for CycleMetrics {
    fn default() -> Self {
        Self {
            resets: 0,
            profiles: Vec::new(),
            plugins: HashMap::with_hasher(FixedState::with_seed(0)),
        }
    }
}

impl CycleMetrics {
    /// An attempt at a pod of this profile has come as far as its cycle goes.
    pub(super) fn cycle_ended(
        &mut self,
        metrics: &Metrics,
        profile: &str,
        (timeline, evaluations): (&Timeline, &Evaluations),
        trace: Option<TraceId>,
    ) {
        let handles = self.of_profile(metrics, profile);
        handles.points_ran(metrics, &timeline.points, trace);
        handles.evaluated(metrics, evaluations);
        if timeline.sampled {
            self.plugins_ran(metrics, &timeline.plugins);
        }
    }

    /// The claim of such an attempt has come to its end, or the pod is bound.
    pub(super) fn claim_ended(
        &mut self,
        metrics: &Metrics,
        profile: &str,
        timeline: &ClaimTimeline,
        trace: Option<TraceId>,
    ) {
        let handles = self.of_profile(metrics, profile);
        handles.points_ran(metrics, &timeline.points, trace);
        if timeline.sampled {
            self.plugins_ran(metrics, &timeline.plugins);
        }
    }

    /// An attempt at a pod of this profile ended like this.
    pub(super) fn attempts(&mut self, metrics: &Metrics, profile: &str, result: AttemptResult) -> &Attempts {
        let handles = self.of_profile(metrics, profile);
        let made = || metrics.attempts().of(&handles.name, result);
        handles.attempts.entry(result).or_insert_with(made)
    }

    fn of_profile(&mut self, metrics: &Metrics, profile: &str) -> &mut ProfileMetrics {
        let resets = metrics.resets();
        if resets != self.resets {
            *self = Self {
                resets,
                ..Self::default()
            };
        }
        let known = self.profiles.iter().position(|handles| handles.name == profile);
        let at = known.unwrap_or_else(|| {
            self.profiles.push(ProfileMetrics {
                name: profile.to_owned(),
                points: HashMap::with_hasher(FixedState::with_seed(0)),
                attempts: HashMap::with_hasher(FixedState::with_seed(0)),
                evaluated: Vec::new(),
            });
            self.profiles.len() - 1
        });
        &mut self.profiles[at]
    }

    fn plugins_ran(&mut self, metrics: &Metrics, runs: &[PluginRun]) {
        for run in runs {
            let key = (run.plugin, run.point, run.code);
            let made = || {
                metrics
                    .framework()
                    .plugin(run.plugin, run.point.as_str(), run.code.as_str())
            };
            let handle = self.plugins.entry(key).or_insert_with(made);
            handle.took(run.ended.since(run.begun));
        }
    }
}

impl ProfileMetrics {
    fn points_ran(&mut self, metrics: &Metrics, runs: &[PointRun], trace: Option<TraceId>) {
        for run in runs {
            let (point, status) = (run.point.as_str(), run.code.as_str());
            let made = || metrics.framework().point(&self.name, point, status);
            let handle = self.points.entry((run.point, run.code)).or_insert_with(made);
            handle.took(run.ended.since(run.begun), trace);
        }
    }

    fn evaluated(&mut self, metrics: &Metrics, evaluations: &Evaluations) {
        let profile = evaluations.profile();
        let known = self.evaluated.iter().position(|(of, _)| of.ptr_eq(profile));
        let at = known.or_else(|| {
            // Those of profiles that are no more are of no use; after a reload these would otherwise add up.
            self.evaluated.retain(|(of, _)| of.strong_count() > 0);
            let handles = handles(metrics, &*profile.upgrade()?, &self.name);
            self.evaluated.push((profile.clone(), handles));
            Some(self.evaluated.len() - 1)
        });
        let Some((_, handles)) = at.and_then(|at| self.evaluated.get(at)) else {
            return;
        };
        let counts = Evaluations::POINTS.into_iter().flat_map(|point| evaluations.at(point));
        for (handle, count) in handles.iter().zip(counts).filter(|(_, count)| *count > 0) {
            handle.add(u64::from(count));
        }
    }
}

/// One for each plugin of each point, in the order of [`Evaluations`].
fn handles(metrics: &Metrics, profile: &Profile, name: &str) -> Vec<Evaluated> {
    let of_point = |point| -> Vec<&'static str> {
        match point {
            ExtensionPoint::PreFilter => profile.pre_filter.iter().map(|plugin| plugin.name()).collect(),
            ExtensionPoint::Filter => {
                let filters = profile.filter.iter().map(|plugin| plugin.name());
                let effects = profile.effect_filter.iter().map(|plugin| plugin.name());
                filters.chain(effects).collect()
            }
            ExtensionPoint::PreScore => profile.pre_score.iter().map(|plugin| plugin.name()).collect(),
            ExtensionPoint::Score => profile.score.iter().map(|score| score.plugin.name()).collect(),
            _ => Vec::new(),
        }
    };
    let each = Evaluations::POINTS
        .into_iter()
        .flat_map(|point| of_point(point).into_iter().map(move |plugin| (plugin, point)));
    each.map(|(plugin, point)| metrics.framework().evaluations(plugin, point.as_str(), name))
        .collect()
}
