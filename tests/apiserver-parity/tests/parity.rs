//! The embedded API server answers as the real one does.

use plimsoll_apiserver_parity::{ALLOWED, Target, compare, play, script};
use plimsoll_controlplane::Availability;

/// The documentation of what differs.
const DOCS: &str = include_str!("../../../docs/embedded-api-server.md");

#[test]
fn the_script_is_long_enough_to_mean_something() {
    let requests = script::whole().requests();
    assert!(requests >= 150, "{requests} requests");
}

#[test]
fn every_kept_difference_is_documented() {
    for allowed in ALLOWED {
        assert!(
            DOCS.contains(allowed.reason),
            "not in the documentation: {}",
            allowed.reason
        );
    }
}

#[tokio::test]
async fn the_embedded_server_answers_5xx_only_where_the_real_one_does() {
    let script = script::whole();
    let mut embedded = Target::embedded().await.expect("embedded server");
    let outcomes = play(&script, &mut embedded).await.expect("played");
    let errors: Vec<String> = outcomes
        .iter()
        .filter(|o| o.head["code"].as_u64().is_some_and(|code| code >= 500))
        .filter(|o| !o.step.ends_with("(5xx)"))
        .map(|o| format!("{}: {} {}", o.step, o.head, o.body))
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_and_real_server_answer_alike() {
    let programs = match Availability::find().expect("control plane programs") {
        Availability::Ready(programs) => programs,
        Availability::Skip(reason) => {
            eprintln!("\n==== SKIPPED: the embedded API server was not compared with the real one: {reason} ====\n");
            return;
        }
    };
    let script = script::whole();
    let mut embedded = Target::embedded().await.expect("embedded server");
    let mut real = Target::real(programs).await.expect("real server");
    let (ours, theirs) = tokio::join!(play(&script, &mut embedded), play(&script, &mut real));
    let ours = ours.expect("played against the embedded server");
    let theirs = theirs.expect("played against the real server");
    let differences = compare(&ours, &theirs);
    let unexpected: Vec<String> = differences
        .iter()
        .filter(|d| !ALLOWED.iter().any(|a| a.covers(d)))
        .map(ToString::to_string)
        .collect();
    let stale: Vec<String> = ALLOWED
        .iter()
        .filter(|a| !differences.iter().any(|d| a.covers(d)))
        .map(|a| format!("{} at {}", a.step, a.path))
        .collect();
    println!(
        "{} requests, {} answers compared, {} differences, {} of them known",
        script.requests(),
        ours.len(),
        differences.len(),
        differences.len() - unexpected.len()
    );
    assert!(
        unexpected.is_empty(),
        "{} unexpected differences:\n{}",
        unexpected.len(),
        unexpected.join("\n")
    );
    assert!(
        stale.is_empty(),
        "differences that are gone but still listed:\n{}",
        stale.join("\n")
    );
}
