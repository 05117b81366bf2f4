use std::borrow::Cow;
use std::cmp::Ordering;

use plimsoll_config::{PluginRef, PluginSet, Plugins};
use plimsoll_model::Pod;
use plimsoll_model::columns::NodeIndex;
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
fn a_profile_that_cannot_work_is_refused_in_the_words_of_kube_scheduler() {
    let cases: [(&[(&str, i32)], &str); 7] = [
        (
            &[("Sort", 0), ("Gone", 0), ("Bind", 0)],
            r#"PreFilterPlugin "Gone" does not exist"#,
        ),
        (
            &[("Sort", 0), ("F1", 0), ("Bind", 0), ("F1", 2)],
            r#"plugin "F1" already registered as "MultiPointPlugin""#,
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
    let names: Vec<&'static str> = (0..128).map(|number| &*format!("Filter{number}").leak()).collect();
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
    assert!(assemble(127).is_ok());
    let error = assemble(128).unwrap_err();
    assert_eq!(
        error,
        ProfileError::TooManyFilters {
            scheduler_name: "mine".to_owned(),
            count: 128
        }
    );
}
