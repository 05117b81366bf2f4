//! Every example file of kube-scheduler's kind, defaulted: equal to what kube-scheduler 1.36.3 itself writes for it with
//! `--write-config-to` (`docs/held-against-kube-scheduler.md` tells how the golden files were made), save that an unset share
//! of nodes is not written.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_config::{ConfigKind, FeatureGates, decode, load};

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Names and texts of the YAML files in a folder.
fn files(path: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder(path)).expect("the folder is there").flatten();
    let yaml = entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "yaml"));
    let mut files: Vec<_> = yaml
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read_to_string(entry.path()).expect("the file can be read"))
        })
        .collect();
    files.sort();
    files
}

/// What kube-scheduler writes for a share of nodes that no file mentions.
const UNSET_SHARE: &str = "\npercentageOfNodesToScore: 0\n";

#[test]
fn defaulted_examples_are_what_kube_scheduler_writes() {
    let gates = FeatureGates::default();
    let examples = files("../../examples/config");
    let mut compared = 0;
    for (name, text) in &examples {
        let loaded = decode(text, &gates).unwrap_or_else(|error| panic!("{name}: {error}"));
        if loaded.kind() != ConfigKind::KubeScheduler {
            continue;
        }
        let config = loaded.validate().unwrap_or_else(|error| panic!("{name}: {error}"));
        let golden = fs::read_to_string(folder("tests/golden").join(name)).unwrap();
        let unset = config.percentage_of_nodes_to_score.is_none();
        let expected = if unset {
            golden.replace(UNSET_SHARE, "\n")
        } else {
            golden
        };
        assert_eq!(config.to_yaml(ConfigKind::KubeScheduler), expected, "{name}");
        compared += 1;
    }
    assert_eq!(compared, files("tests/golden").len());
}

#[test]
fn a_share_that_is_unset_stays_unset_and_a_written_zero_stays_written() {
    let gates = FeatureGates::default();
    for (written, share) in [("", None), ("percentageOfNodesToScore: 0\n", Some(0))] {
        for (version, kind) in [
            ("kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration"),
            ("plimsoll.dev/v1alpha1", "SchedulerConfiguration"),
        ] {
            let config = load(&format!("apiVersion: {version}\nkind: {kind}\n{written}"), &gates).unwrap();
            for kind in [ConfigKind::KubeScheduler, ConfigKind::Plimsoll] {
                let again = load(&config.to_yaml(kind), &gates).unwrap();
                assert_eq!(again.percentage_of_nodes_to_score, share);
                assert_eq!(again, config);
            }
        }
    }
}

#[test]
fn what_was_written_says_the_same_when_read_again() {
    let gates = FeatureGates::default();
    for (name, text) in files("tests/golden") {
        let config = load(&text, &gates).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(config.to_yaml(ConfigKind::KubeScheduler), text, "{name}");
        let own = config.to_yaml(ConfigKind::Plimsoll);
        assert_eq!(load(&own, &gates).unwrap(), config, "{name}");
    }
}
