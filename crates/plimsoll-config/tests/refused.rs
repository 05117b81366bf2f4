//! Files that kube-scheduler 1.36.3 refuses, with the text it gives for each (`docs/held-against-kube-scheduler.md` tells how
//! these were made).

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_config::{FeatureGates, PluginArgs, SchedulerConfig, load};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refused")
}

/// What is wrong with the arguments of `NodeResourcesFit`: its constructor finds it, not the reading of the file.
fn fit_fault(config: &SchedulerConfig) -> Option<String> {
    let args: &PluginArgs = config.profiles[0].args_of("NodeResourcesFit")?;
    let error = args.validate(&FeatureGates::default()).err()?;
    let name = &config.profiles[0].scheduler_name;
    Some(format!(
        "initializing profiles: creating profile for scheduler name {name}: initializing plugin \"NodeResourcesFit\": {error}"
    ))
}

#[test]
fn files_are_refused_in_kube_schedulers_words() {
    let gates = FeatureGates::default();
    let mut compared = 0;
    let entries = fs::read_dir(folder()).unwrap().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let expected = fs::read_to_string(path.with_extension("txt")).unwrap();
        let error = match load(&text, &gates) {
            Ok(config) => fit_fault(&config).unwrap_or_default(),
            Err(error) => {
                for problem in error.problems() {
                    assert!(problem.at.is_some() && problem.hint.is_some(), "{path:?}: {problem:?}");
                }
                error.to_string()
            }
        };
        assert_eq!(error, expected.trim_end(), "{path:?}");
        compared += 1;
    }
    assert_eq!(compared, 6);
}
