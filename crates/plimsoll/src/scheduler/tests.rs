use super::*;
use crate::flags;

fn options(flags: &[&str]) -> Options {
    match flags::parse("plimsoll", flags.iter().map(Into::into)) {
        Ok(flags::Request::Run(options)) => *options,
        other => panic!("{other:?}"),
    }
}

async fn refusal(flags: &[&str]) -> String {
    let starting = Scheduler::builder().build().start(options(flags));
    Box::pin(starting).await.err().expect("it cannot start").to_string()
}

#[tokio::test]
async fn durations_that_do_not_fit_are_told_in_the_words_of_client_go() {
    let cases: [(&[&str], &str); 4] = [
        (
            &["--leader-elect-lease-duration=10s"],
            "leaseDuration must be greater than renewDeadline",
        ),
        (
            &["--leader-elect-renew-deadline=2s"],
            "renewDeadline must be greater than retryPeriod*JitterFactor",
        ),
        (
            &["--leader-elect-renew-deadline=0s", "--leader-elect-retry-period=0s"],
            "renewDeadline must be greater than retryPeriod*JitterFactor",
        ),
        (
            &["--leader-elect-retry-period=0s"],
            "retryPeriod must be greater than zero",
        ),
    ];
    for (flags, expected) in cases {
        assert_eq!(
            refusal(flags).await,
            format!("couldn't create leader elector: {expected}")
        );
    }
}

#[test]
fn an_error_names_its_cause_and_not_the_actors_in_between() {
    let inner = SpawnErr::StartupFailed("the port is taken".into());
    assert_eq!(reason(SpawnErr::StartupFailed(Box::new(inner))), "the port is taken");
}

#[tokio::test]
async fn durations_do_not_matter_without_an_election() {
    let flags = [
        "--leader-elect=false",
        "--leader-elect-lease-duration=10s",
        "--kubeconfig=/nowhere",
    ];
    assert_eq!(refusal(&flags).await, "cannot connect to the API server");
}
