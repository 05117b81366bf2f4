//! Where the configuration comes from, and which flags have a say in it.

use super::*;
use crate::config_source::ConfigSource;

fn source(arguments: &[&str]) -> ConfigSource {
    options(arguments).source.source
}

#[test]
fn the_configuration_comes_from_a_file_a_policy_or_the_flags() {
    assert_eq!(source(&[]), ConfigSource::Flags);
    assert_eq!(source(&["--config=/a"]), ConfigSource::File("/a".into()));
    assert_eq!(
        source(&["--policy-config-file=/a"]),
        ConfigSource::PolicyFile("/a".into())
    );
    let of = |namespace: &str| ConfigSource::PolicyConfigMap {
        namespace: namespace.to_owned(),
        name: "p".to_owned(),
    };
    assert_eq!(source(&["--policy-configmap=p"]), of("kube-system"));
    let both = [
        "--policy-configmap=p",
        "--policy-configmap-namespace=n",
        "--policy-config-file=/a",
    ];
    assert_eq!(source(&both), of("n"));
    assert_eq!(options(&["--write-config-to=/w"]).write_config_to, Some("/w".into()));
}

#[test]
fn only_flags_of_leader_election_that_were_set_go_before_a_file() {
    let set = options(&[
        "--leader-elect-lease-duration=20s",
        "--leader-elect=true",
        "--config=/a",
    ]);
    let expected = plimsoll_config::ElectionOverrides {
        leader_elect: Some(true),
        lease_duration: Some(Duration::from_secs(20).into()),
        ..plimsoll_config::ElectionOverrides::default()
    };
    assert_eq!(set.source.election, expected);
    assert_eq!(
        options(&["--config=/a"]).source.election,
        plimsoll_config::ElectionOverrides::default()
    );
}

#[test]
fn flags_that_a_file_replaces_are_told_and_count_without_one() {
    let flags = [
        "--kube-api-qps=7",
        "--profiling=false",
        "--kubeconfig=/k",
        "--kube-api-content-type=application/json",
    ];
    let beside = options(&[&flags[..], &["--config=/a"]].concat());
    assert_eq!(
        beside.source.ignored,
        [
            "--kubeconfig",
            "--kube-api-content-type",
            "--kube-api-qps",
            "--profiling"
        ]
    );
    let alone = options(&flags);
    assert!(alone.source.ignored.is_empty());
    let client = &alone.config.client_connection;
    assert_eq!(
        (client.qps, client.kubeconfig.as_str(), client.content_type.as_str()),
        (7.0, "/k", "application/json")
    );
    assert!(!alone.config.enable_profiling);
}

#[test]
fn gates_have_a_say_in_the_default_profile() {
    let named = |options: &Options| -> Vec<String> {
        let enabled = &options.config.profiles[0].plugins.multi_point.enabled;
        enabled.iter().map(|plugin| plugin.name.clone()).collect()
    };
    assert!(!named(&options(&[])).contains(&"GangScheduling".to_owned()));
    let twice = options(&[
        "--feature-gates=GenericWorkload=true",
        "--feature-gates",
        "GangScheduling=true",
    ]);
    assert!(named(&twice).contains(&"GangScheduling".to_owned()));
    let warned = options(&["--feature-gates=DynamicResourceAllocation=true"])
        .source
        .gate_warnings;
    assert_eq!(warned.len(), 1);
}

#[test]
fn a_file_is_completed_with_what_was_set_on_the_command_line() {
    let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection: {leaseDuration: 30s, resourceName: mine}\nclientConnection: {qps: 3}\n";
    let set = [
        "--config=/a",
        "--leader-elect-lease-duration=20s",
        "--kube-api-qps=9",
        "--pod-max-in-unschedulable-pods-duration=1m",
    ];
    let options = options(&set);
    let config = options
        .source
        .complete(&options.config, text, &|_| false)
        .unwrap()
        .config;
    let election = &config.leader_election;
    assert_eq!(
        (election.lease_duration.as_secs(), election.resource_name.as_str()),
        (20, "mine")
    );
    assert_eq!(config.client_connection.qps.to_string(), "3");
    assert_eq!(config.pod_max_in_unschedulable_pods_duration, Duration::from_mins(1));
}
