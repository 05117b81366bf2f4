//! What once went wrong does so no more.

use std::path::Path;

use plimsoll_simulation::regressions::REGRESSIONS;
use plimsoll_simulation::seed_run::SeedRun;

#[test]
fn runs_that_once_broke_a_promise_hold() {
    for regression in REGRESSIONS {
        let run = SeedRun::whole(regression.seed);
        for run in [run.with_steps(regression.steps), run] {
            let outcome = run.make();
            assert!(
                outcome.problems.is_empty(),
                "{} ({}): {run}: {:#?}",
                regression.name,
                regression.broke,
                outcome.problems
            );
        }
    }
}

#[test]
fn each_is_kept_by_a_directed_test() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for regression in REGRESSIONS {
        let kept = regression.kept_by;
        let source = std::fs::read_to_string(top.join(kept.file)).unwrap_or_default();
        let name = format!("fn {}(", kept.test);
        assert!(
            source.contains(&name),
            "{}: no {name} in {}",
            regression.name,
            kept.file
        );
    }
}
