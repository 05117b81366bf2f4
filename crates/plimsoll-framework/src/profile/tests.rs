use std::borrow::Cow;
use std::cmp::Ordering;

use plimsoll_config::{PluginArgs, PluginConfig, PluginRef, PluginSet, Plugins};
use plimsoll_model::Pod;
use plimsoll_model::columns::{Columns, NodeIndex};
use smallvec::SmallVec;

use super::*;
use crate::{BindAction, CycleContext, CycleState, FilterPass, Plugin, QueueOrder, ReasonCode};

struct Named(&'static str);

impl Plugin for Named {
    fn name(&self) -> &'static str {
        self.0
    }
}

impl QueueSort for Named {
    fn compare(&self, _: QueueOrder<'_>, _: QueueOrder<'_>) -> Ordering {
        Ordering::Equal
    }
}

impl Filter for Named {
    fn filter(&self, _: CycleContext<'_>, _: &CycleState, _: &mut FilterPass<'_>) -> Result<(), String> {
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        SmallVec::new()
    }
}

impl Score for Named {
    fn score(&self, _: CycleContext<'_>, _: &CycleState, _: &[NodeIndex], _: &mut [i64]) -> Result<(), String> {
        Ok(())
    }
}

impl Bind for Named {
    fn bind(&self, _: &Pod, _: &str) -> BindAction {
        BindAction::PostBinding
    }
}

/// `Sort` and `Bind` are what every profile needs; `F1` and `F2` filter and score; `Idle` does nothing.
fn registry() -> Registry {
    let mut registry = Registry::new();
    for name in ["Sort", "OtherSort"] {
        registry.add(name, move |_| Ok(Extensions::new().queue_sort(Arc::new(Named(name)))));
    }
    registry.add("Bind", |_| Ok(Extensions::new().bind(Arc::new(Named("Bind")))));
    for name in ["F1", "F2"] {
        registry.add(name, move |_| {
            Ok(Extensions::new()
                .filter(Arc::new(Named(name)))
                .score(Arc::new(Named(name))))
        });
    }
    registry.add("Idle", |_| Ok(Extensions::new()));
    registry.add("Broken", |_| Err("bad weight".to_owned()));
    registry
}

fn config(scheduler_name: &str, multi_point: Vec<PluginRef>) -> ProfileConfig {
    ProfileConfig {
        scheduler_name: scheduler_name.to_owned(),
        plugins: Plugins {
            multi_point: PluginSet {
                enabled: multi_point,
                disabled: Vec::new(),
            },
            ..Plugins::default()
        },
        plugin_config: Vec::new(),
        ..ProfileConfig::default()
    }
}

fn assemble<'a>(plugins: impl IntoIterator<Item = (&'a str, i32)>) -> Result<Profile, ProfileError> {
    let plugins = plugins
        .into_iter()
        .map(|(name, weight)| PluginRef::new(name, weight))
        .collect();
    Profile::assemble(&config("mine", plugins), &registry(), &FeatureGates::default())
}

#[test]
fn each_extension_point_keeps_the_order_of_the_profile() {
    let profile = assemble([("F2", 0), ("Sort", 0), ("Idle", 0), ("F1", 0), ("Bind", 0)]).unwrap();
    assert_eq!(profile.scheduler_name, "mine");
    assert_eq!(profile.queue_sort.name(), "Sort");
    let filters: Vec<_> = profile.filter.iter().map(|filter| filter.name()).collect();
    assert_eq!(filters, ["F2", "F1"]);
    assert_eq!(profile.bind.len(), 1);
    assert!(profile.pre_filter.is_empty() && profile.permit.is_empty());
}

#[test]
fn a_weight_of_zero_counts_as_one() {
    let profile = assemble([("Sort", 0), ("Bind", 0), ("F1", 0), ("F2", 7)]).unwrap();
    let weights: Vec<_> = profile
        .score
        .iter()
        .map(|score| (score.plugin.name(), score.weight))
        .collect();
    assert_eq!(weights, [("F1", 1), ("F2", 7)]);
}

#[test]
fn a_negative_weight_is_refused_unless_it_is_the_last_or_made_up_for_before() {
    let weighing = |first, second| assemble([("Sort", 0), ("Bind", 0), ("F1", first), ("F2", second)]).map(|_| ());
    assert_eq!(weighing(-5, 1), Err(ProfileError::ScoreOverflow));
    assert_eq!(weighing(1, -5), Ok(()));
    assert_eq!(weighing(9, -5), Ok(()));
    assert_eq!(
        ProfileError::ScoreOverflow.to_string(),
        "score plugins: total score of Score plugins could overflow"
    );
}

#[test]
fn a_profile_that_cannot_work_is_refused_in_the_words_of_kube_scheduler() {
    let cases: [(&[(&str, i32)], &str); 7] = [
        (
            &[("Sort", 0), ("Gone", 0), ("Bind", 0)],
            r#"PreFilterPlugin "Gone" does not exist"#,
        ),
        (
            &[("Sort", 0), ("F1", 0), ("Bind", 0), ("F1", 2)],
            r#"plugin "F1" already registered as "FilterPlugin""#,
        ),
        (
            &[("Sort", 0), ("Broken", 0), ("Bind", 0)],
            r#"initializing plugin "Broken": bad weight"#,
        ),
        (
            &[("Bind", 0)],
            r#"only one queue sort plugin required for profile with scheduler name "mine", but got 0"#,
        ),
        (
            &[("Sort", 0), ("OtherSort", 0), ("Bind", 0)],
            r#"only one queue sort plugin required for profile with scheduler name "mine", but got 2"#,
        ),
        (
            &[("Sort", 0), ("F1", 0)],
            r#"at least one bind plugin is needed for profile with scheduler name "mine""#,
        ),
        (
            &[],
            r#"only one queue sort plugin required for profile with scheduler name "mine", but got 0"#,
        ),
    ];
    for (plugins, expected) in cases {
        assert_eq!(
            assemble(plugins.iter().copied()).unwrap_err().to_string(),
            expected,
            "{plugins:?}"
        );
    }
}

#[test]
fn there_are_no_more_filters_than_a_verdict_can_number() {
    let mut registry = registry();
    let names: Vec<&'static str> = (0..127).map(|number| &*format!("Filter{number}").leak()).collect();
    for name in &names {
        registry.add(name, |_| Ok(Extensions::new().filter(Arc::new(Named("Filter")))));
    }
    let assemble = |count: usize| {
        let plugins = ["Sort", "Bind"]
            .iter()
            .chain(&names[..count])
            .map(|name| PluginRef::new(*name, 0))
            .collect();
        Profile::assemble(&config("mine", plugins), &registry, &FeatureGates::default())
    };
    assert!(assemble(126).is_ok());
    let error = assemble(127).unwrap_err();
    assert_eq!(
        error,
        ProfileError::TooManyFilters {
            scheduler_name: "mine".to_owned(),
            count: 127
        }
    );
}

fn refs(plugins: &[(&str, i32)]) -> Vec<PluginRef> {
    plugins
        .iter()
        .map(|(name, weight)| PluginRef::new(*name, *weight))
        .collect()
}

fn set(enabled: &[(&str, i32)], disabled: &[&str]) -> PluginSet {
    PluginSet {
        enabled: refs(enabled),
        disabled: disabled.iter().map(|name| (*name).to_owned()).collect(),
    }
}

/// A profile that can work whose `filter` and `score` sets are these.
fn with_sets(multi_point: &[(&str, i32)], filter: PluginSet, score: PluginSet) -> ProfileConfig {
    let mut config = config("mine", refs(multi_point));
    config.plugins.filter = filter;
    config.plugins.score = score;
    config.plugins.queue_sort = set(&[("Sort", 0)], &[]);
    config.plugins.bind = set(&[("Bind", 0)], &[]);
    config
}

/// Names of the filters, then the scores with their weights.
type FiltersAndScores = (Vec<&'static str>, Vec<(&'static str, i64)>);

fn filters_and_scores(config: &ProfileConfig) -> Result<FiltersAndScores, String> {
    let mut registry = registry();
    registry.add("F3", |_| {
        Ok(Extensions::new()
            .filter(Arc::new(Named("F3")))
            .score(Arc::new(Named("F3"))))
    });
    let profile = Profile::assemble(config, &registry, &FeatureGates::default()).map_err(|error| error.to_string())?;
    let filters = profile.filter.iter().map(|filter| filter.name()).collect();
    let scores = profile.score.iter();
    Ok((
        filters,
        scores.map(|score| (score.plugin.name(), score.weight)).collect(),
    ))
}

#[test]
fn multi_point_is_expanded_around_what_each_extension_point_says_of_its_own() {
    type Enabled = &'static [(&'static str, i32)];
    type Set = (Enabled, &'static [&'static str]);
    type Case = (Enabled, Set, Set, &'static [&'static str], Enabled);
    let all: Enabled = &[("F1", 2), ("F2", 0), ("F3", 4)];
    let nothing: Set = (&[], &[]);
    let cases: [Case; 8] = [
        (
            all,
            nothing,
            nothing,
            &["F1", "F2", "F3"],
            &[("F1", 2), ("F2", 1), ("F3", 4)],
        ),
        // What both name comes first, in the point's order, with the point's weight.
        (
            all,
            (&[("F3", 0), ("F1", 0)], &[]),
            (&[("F2", 9)], &[]),
            &["F3", "F1", "F2"],
            &[("F2", 9), ("F1", 2), ("F3", 4)],
        ),
        // What only the point names comes last.
        (
            &[("F1", 2), ("F3", 4)],
            (&[("F2", 0), ("F3", 0)], &[]),
            (&[("F2", 0)], &[]),
            &["F3", "F1", "F2"],
            &[("F1", 2), ("F3", 4), ("F2", 1)],
        ),
        (all, (&[], &["F2"]), (&[], &["F1", "F3"]), &["F1", "F3"], &[("F2", 1)]),
        (all, (&[], &["*"]), nothing, &[], &[("F1", 2), ("F2", 1), ("F3", 4)]),
        (
            all,
            (&[("F2", 0)], &["*"]),
            (&[("F1", 7)], &["*"]),
            &["F2"],
            &[("F1", 7)],
        ),
        // A weight of 0 in the point's own set does not fall back to that of multiPoint.
        (&[("F1", 5)], nothing, (&[("F1", 0)], &[]), &["F1"], &[("F1", 1)]),
        // Enabled and disabled at one point: disabled keeps multiPoint out, and the point's own entry stays.
        (
            all,
            (&[("F1", 0)], &["F1"]),
            nothing,
            &["F2", "F3", "F1"],
            &[("F1", 2), ("F2", 1), ("F3", 4)],
        ),
    ];
    for (multi_point, filter, score, filters, scores) in cases {
        let config = with_sets(multi_point, set(filter.0, filter.1), set(score.0, score.1));
        let expected = Ok((
            filters.to_vec(),
            scores
                .iter()
                .map(|(name, weight)| (*name, i64::from(*weight)))
                .collect(),
        ));
        assert_eq!(
            filters_and_scores(&config),
            expected,
            "{multi_point:?} {filter:?} {score:?}"
        );
    }
}

#[test]
fn faults_are_told_in_the_words_and_order_of_kube_scheduler() {
    type Enabled = &'static [(&'static str, i32)];
    let cases: [(Enabled, Enabled, Enabled, &str); 8] = [
        (&[], &[("Gone", 0)], &[], r#"FilterPlugin "Gone" does not exist"#),
        (&[], &[], &[("Gone", 0)], r#"ScorePlugin "Gone" does not exist"#),
        (
            &[],
            &[("Idle", 0)],
            &[],
            r#"plugin "Idle" does not extend FilterPlugin plugin"#,
        ),
        (
            &[],
            &[("F1", 0), ("F1", 0)],
            &[],
            r#"plugin "F1" already registered as "FilterPlugin""#,
        ),
        // The points' own sets come before multiPoint, and within a set the first fault counts.
        (
            &[("Gone", 0)],
            &[("F1", 0)],
            &[("Bind", 0), ("Gone", 0)],
            r#"plugin "Bind" does not extend ScorePlugin plugin"#,
        ),
        (
            &[("Gone", 0)],
            &[("F1", 0)],
            &[],
            r#"PreFilterPlugin "Gone" does not exist"#,
        ),
        // A plugin that cannot be made is found before any of that.
        (
            &[("Gone", 0)],
            &[("Idle", 0)],
            &[("Broken", 0)],
            r#"initializing plugin "Broken": bad weight"#,
        ),
        (
            &[("F1", 0), ("F1", 0)],
            &[("F1", 0)],
            &[],
            r#"plugin "F1" already registered as "ScorePlugin""#,
        ),
    ];
    for (multi_point, filter, score, expected) in cases {
        let config = with_sets(multi_point, set(filter, &[]), set(score, &[]));
        assert_eq!(
            filters_and_scores(&config).unwrap_err(),
            expected,
            "{multi_point:?} {filter:?} {score:?}"
        );
    }
}

#[test]
fn a_plugin_has_its_arguments_once_and_is_made_once_and_only_when_enabled() {
    let mut registry = registry();
    registry.add("Picky", |with| match with.args {
        Some(PluginArgs::Raw(args)) => Err(format!("{args} for {}", with.scheduler_name)),
        _ => Err("no args".to_owned()),
    });
    let args = |name: &str| PluginConfig {
        name: name.to_owned(),
        args: PluginArgs::Raw(serde_json::json!(7)),
    };
    let mut config = with_sets(&[], PluginSet::default(), PluginSet::default());
    config.plugin_config = vec![args("Picky"), args("Unused")];
    let assemble = |config: &ProfileConfig| {
        Profile::assemble(config, &registry, &FeatureGates::default()).map_err(|error| error.to_string())
    };
    assert!(assemble(&config).is_ok());
    config.plugins.filter = set(&[("Picky", 0)], &[]);
    assert_eq!(
        assemble(&config).unwrap_err(),
        r#"initializing plugin "Picky": 7 for mine"#
    );
    config.plugin_config[0].args = PluginArgs::Raw(serde_json::Value::from("x".repeat(100_000)));
    assert!(assemble(&config).unwrap_err().len() < 4096);
    config.plugin_config[0] = args("Picky");
    config.plugin_config.push(args("Unused"));
    assert_eq!(assemble(&config).unwrap_err(), "repeated config for plugin Unused");
}

#[test]
fn many_arguments_are_not_compared_each_with_all() {
    let mut config = with_sets(&[], PluginSet::default(), PluginSet::default());
    let names = (0..50_000).map(|number| format!("Unused{number}"));
    config.plugin_config = names
        .chain(["Unused0".to_owned()])
        .map(|name| PluginConfig {
            name,
            args: PluginArgs::Raw(serde_json::Value::Null),
        })
        .collect();
    let error = Profile::assemble(&config, &registry(), &FeatureGates::default()).map_err(|error| error.to_string());
    assert_eq!(error.err().unwrap(), "repeated config for plugin Unused0");
}

#[test]
fn a_plugin_that_is_not_there_yet_may_be_a_default_and_not_a_wish() {
    let mut registry = registry();
    registry.add_placeholder("Later", |_| Ok(Extensions::new()));
    let mut config = config("mine", refs(&[("Sort", 0), ("Later", 0), ("Bind", 0)]));
    let assemble = |config: &ProfileConfig| Profile::assemble(config, &registry, &FeatureGates::default());
    assert_eq!(assemble(&config).unwrap().not_there_yet, ["Later"]);
    config.enabled_by_name = vec!["Bind".to_owned(), "Later".to_owned()];
    assert_eq!(
        assemble(&config).unwrap_err().to_string(),
        r#"plugin "Later" is enabled explicitly, and this version of Plimsoll does not have it yet"#
    );
    // Groups of pods are not placed yet, so nothing can score placements, whatever plugin it is.
    config.enabled_by_name = Vec::new();
    config.plugins.placement_score = set(&[("F1", 0)], &[]);
    assert_eq!(
        assemble(&config).unwrap_err(),
        ProfileError::NotThereYet {
            plugin: "F1".to_owned()
        }
    );
}

#[test]
fn a_score_goes_by_the_name_it_is_registered_under() {
    let mut registry = registry();
    registry.add("Alias", |_| Ok(Extensions::new().score(Arc::new(Named("F1")))));
    let config = config("mine", refs(&[("Sort", 0), ("Alias", 0), ("Bind", 0)]));
    let error = Profile::assemble(&config, &registry, &FeatureGates::default()).unwrap_err();
    assert_eq!(error.to_string(), r#"score plugin "F1" is not configured with weight"#);
}

/// Counts on nothing, but may.
struct Counting;

impl Plugin for Counting {
    fn name(&self) -> &'static str {
        "Counting"
    }
}

impl Prepare for Counting {
    fn prepare(&self, _: &Pod, _: &mut Columns) {}
}

impl Filter for Counting {
    fn filter(&self, _: CycleContext<'_>, _: &CycleState, _: &mut FilterPass<'_>) -> Result<(), String> {
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        SmallVec::new()
    }
}

#[test]
fn a_plugin_asks_for_counts_whenever_it_is_enabled_at_any_point() {
    let mut registry = registry();
    registry.add("Counting", |_| {
        Ok(Extensions::new().filter(Arc::new(Counting)).prepare(Arc::new(Counting)))
    });
    let count = |filter: PluginSet| {
        let config = with_sets(&[("Counting", 0)], filter, PluginSet::default());
        let profile = Profile::assemble(&config, &registry, &FeatureGates::default()).unwrap();
        profile.prepare.len()
    };
    assert_eq!(count(PluginSet::default()), 1);
    assert_eq!(count(set(&[], &["Counting"])), 0);
}

#[test]
fn only_plugins_that_may_reject_a_pod_are_asked_what_could_help_it() {
    let profile = assemble([("F2", 0), ("Sort", 0), ("Idle", 0), ("F1", 0), ("Bind", 0)]).unwrap();
    let listening: Vec<_> = profile.events.iter().map(PluginEvents::plugin).collect();
    assert_eq!(listening, ["F1", "F2"]);
}
