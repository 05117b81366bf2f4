use std::cmp::Ordering;

use plimsoll_config::{PluginConfig, PluginRef, PluginSet, Plugins};
use plimsoll_model::{LabelSelector, decode_pod};

use super::*;
use crate::{
    Action, Bind, BindAction, ClusterEvent, EXTENDER, EventResource, Extensions, Plugin, QueueOrder, QueueSort,
};

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

impl Bind for Named {
    fn bind(&self, _: &Pod, _: &str) -> BindAction {
        BindAction::PostBinding
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    for name in ["Sort", "OtherSort"] {
        registry.add(name, move |_| Ok(Extensions::new().queue_sort(Arc::new(Named(name)))));
    }
    registry.add("Bind", |_| Ok(Extensions::new().bind(Arc::new(Named("Bind")))));
    registry
}

fn profile(scheduler_name: &str, plugins: &[&str]) -> ProfileConfig {
    ProfileConfig {
        scheduler_name: scheduler_name.to_owned(),
        plugins: Plugins {
            multi_point: PluginSet {
                enabled: plugins.iter().map(|name| PluginRef::new(*name, 0)).collect(),
                disabled: Vec::new(),
            },
            ..Plugins::default()
        },
        plugin_config: Vec::new(),
        ..ProfileConfig::default()
    }
}

fn sound(scheduler_name: &str) -> ProfileConfig {
    profile(scheduler_name, &["Sort", "Bind"])
}

/// Takes pods with the label `team` in namespaces with the label `tier`, each if given.
fn ruled(scheduler_name: &str, rules: &[(Option<&str>, Option<&str>)]) -> ProfileConfig {
    let selector = |key: &'static str, value: &&str| LabelSelector::of_labels(labels(&[(key, value)]));
    let mut config = sound(scheduler_name);
    config.extras.match_rules = rules
        .iter()
        .map(|(team, tier)| MatchRule {
            pod_selector: team.as_ref().map(|team| selector("team", team)),
            namespace_selector: tier.as_ref().map(|tier| selector("tier", tier)),
        })
        .collect();
    config
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().copied().collect()
}

fn assemble(configs: &[ProfileConfig]) -> Result<Vec<Arc<Profile>>, ProfilesError> {
    Profiles::assemble(configs, Some(30), &[], &registry(), &FeatureGates::default())
}

#[test]
fn profiles_that_do_not_go_together_are_refused_in_the_words_of_kube_scheduler() {
    let with_args = |number: i32| {
        let mut config = sound("b");
        config.plugin_config.push(PluginConfig {
            name: "Sort".to_owned(),
            args: PluginArgs::Raw(serde_json::json!(number)),
        });
        config
    };
    let cases: [(&[ProfileConfig], &str); 8] = [
        (&[], "at least one profile is required"),
        (&[sound("a"), sound("")], "scheduler name is needed"),
        (
            &[sound("a"), sound("b"), sound("a")],
            r#"duplicate profile with scheduler name "a""#,
        ),
        (
            &[sound("a"), profile("b", &["OtherSort", "Bind"])],
            r#"different queue sort plugins for profile "b": "OtherSort", first: "Sort""#,
        ),
        (
            &[sound("a"), with_args(1)],
            r#"different queue sort plugin args for profile "b""#,
        ),
        (
            &[with_args(1), ruled("b", &[(Some("x"), None)])],
            r#"different queue sort plugin args for profile "b""#,
        ),
        (
            &[sound("a"), profile("b", &["Sort"])],
            r#"creating profile for scheduler name b: at least one bind plugin is needed for profile with scheduler name "b""#,
        ),
        // A profile is made before it is compared with the others.
        (
            &[sound("a"), profile("a", &["Sort", "Gone"])],
            r#"creating profile for scheduler name a: PreFilterPlugin "Gone" does not exist"#,
        ),
    ];
    for (configs, expected) in cases {
        assert_eq!(assemble(configs).unwrap_err().to_string(), expected);
    }
}

#[test]
fn the_share_of_nodes_of_a_profile_comes_before_the_global_one() {
    let mut own = sound("b");
    own.percentage_of_nodes_to_score = Some(0);
    let profiles = assemble(&[sound("a"), own]).unwrap();
    let shares: Vec<_> = profiles
        .iter()
        .map(|profile| profile.percentage_of_nodes_to_score)
        .collect();
    assert_eq!(shares, [Some(30), Some(0)]);
}

#[test]
fn the_first_profile_in_file_order_whose_rules_match_takes_the_pod_else_the_one_without() {
    let configs = [
        sound("a"),
        ruled("a", &[(Some("red"), Some("gold"))]),
        ruled("a", &[(Some("red"), None), (None, Some("gold"))]),
        ruled("b", &[(Some("red"), None)]),
    ];
    let profiles = assemble(&configs).unwrap();
    let index = ProfileIndex::new(profiles.iter().map(Arc::as_ref));
    let membership = |scheduler_name: &str, team: &str, tier: Option<&str>| {
        let json = format!(
            r#"{{"metadata":{{"namespace":"n","name":"p","uid":"p","resourceVersion":"1","labels":{{"team":"{team}"}}}},
                "spec":{{"schedulerName":"{scheduler_name}"}}}}"#
        );
        let namespace = tier.map(|tier| labels(&[("tier", tier)]));
        index.membership(&decode_pod(json.as_bytes()).unwrap(), namespace.as_ref())
    };
    let cases = [
        ("a", "red", Some("gold"), Membership::Of(1)),
        ("a", "red", Some("tin"), Membership::Of(2)),
        ("a", "blue", Some("gold"), Membership::Of(2)),
        ("a", "blue", Some("tin"), Membership::Of(0)),
        // Before the namespace is known nothing is decided that it might decide otherwise.
        ("a", "red", None, Membership::Undecided),
        ("a", "blue", None, Membership::Undecided),
        ("b", "red", None, Membership::Of(3)),
        ("b", "blue", None, Membership::Unmatched),
        ("c", "red", Some("gold"), Membership::Foreign),
    ];
    for (scheduler_name, team, tier, expected) in cases {
        assert_eq!(
            membership(scheduler_name, team, tier),
            expected,
            "{scheduler_name} {team} {tier:?}"
        );
    }
    assert!(index.reads_labels() && index.reads_namespaces());
}

#[test]
fn extenders_of_all_profiles_join_each_and_let_anything_wake_what_they_reject() {
    let named = |url: &str| ExtenderConfig {
        url_prefix: url.to_owned(),
        ..ExtenderConfig::default()
    };
    let (mut first, second) = (sound("a"), sound("b"));
    first.extras.extenders = vec![named("own")];
    let shared = [named("shared")];
    let profiles = Profiles::assemble(&[first, second], None, &shared, &registry(), &FeatureGates::default()).unwrap();
    let urls = |profile: &Profile| -> Vec<String> {
        profile
            .extenders
            .iter()
            .map(|extender| extender.url().to_owned())
            .collect()
    };
    assert_eq!(urls(&profiles[0]), ["shared", "own"]);
    assert_eq!(urls(&profiles[1]), ["shared"]);
    let new_node = ClusterEvent::new(EventResource::Node, Action::ADD);
    let listens = |profile: &Profile| {
        let mut events = profile.events.iter();
        events.any(|events| events.plugin() == EXTENDER && events.listens_to(new_node))
    };
    assert!(listens(&profiles[1]));
    let without = assemble(&[sound("a")]).unwrap();
    assert!(!listens(&without[0]));
}
