//! Odd values are shown and refused as kube-scheduler does it.

#[path = "odd_values/cases.rs"]
mod cases;

use cases::{CASES, Case};
use plimsoll_config::{ConfigKind, FeatureGates, load};

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

/// The text without the places that only Plimsoll tells.
fn without_places(text: &str) -> String {
    let mut parts = text.split(" (line ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| {
        kept + part.split_once(')').map_or(part, |(_, rest)| rest)
    })
}

#[test]
fn odd_values_are_shown_and_refused_as_by_kube_scheduler() {
    for Case { file, gates, outcome } in CASES {
        let gates = FeatureGates::parse([*gates]).unwrap().gates;
        let file = if file.starts_with("apiVersion") {
            (*file).to_owned()
        } else {
            format!("{HEAD}{file}")
        };
        match (load(&file, &gates), outcome) {
            (Ok(config), Ok(lines)) => {
                let written = config.to_yaml(ConfigKind::KubeScheduler);
                assert!(written.contains(lines), "{file}\n{written}");
                let again = load(&written, &gates).unwrap();
                assert_eq!(again.to_yaml(ConfigKind::KubeScheduler), written, "{file}");
            }
            (Err(error), Err(text)) => {
                assert_eq!(without_places(&error.to_string()), *text, "{file}");
                for problem in error.problems() {
                    assert!(problem.hint.is_some(), "{file}\n{problem:?}");
                }
            }
            (ours, _) => panic!("{file}\n{ours:?}\n{outcome:?}"),
        }
    }
}

/// What `docs/differences.md` lists beside these.
#[test]
fn a_few_odd_values_are_told_otherwise() {
    let kind = "apiVersion: kubescheduler.config.k8s.io/__internal\nkind: KubeSchedulerConfiguration\n";
    let args =
        |args: &str| format!("{HEAD}profiles: [{{pluginConfig: [{{name: DefaultPreemption, args: {args}}}]}}]\n");
    let internal = "is registered for the internal version of group \"kubescheduler.config.k8s.io\"";
    let cases = [
        (kind.to_owned(), internal),
        (args("{apiVersion: kubescheduler.config.k8s.io/__internal}"), internal),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: NodeAffinityArgs\nfoo: 1\n".to_owned(),
            "couldn't decode as KubeSchedulerConfiguration, got kubescheduler.config.k8s.io/v1, Kind=NodeAffinityArgs: ",
        ),
        (
            format!("{HEAD}leaderElection: {{<<: {{leaseDuration: 20s}}, leaseDuration: 30s}}\n"),
            "duplicate field \"leaderElection.leaseDuration\"",
        ),
    ];
    for (file, expected) in cases {
        let error = load(&file, &FeatureGates::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{file}\n{error}");
    }
}
