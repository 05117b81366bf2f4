use jiff::Timestamp;
use plimsoll_client::VirtualClock;

use super::*;

const STAGES: [HandOverStage; 4] = [
    HandOverStage::VersionRead,
    HandOverStage::CaughtUp,
    HandOverStage::QueueBuilt,
    HandOverStage::FirstBind,
];

fn begin(term: u64, metrics: &Arc<Metrics>) -> (Arc<VirtualClock>, HandOver) {
    let clock = Arc::new(VirtualClock::new(Timestamp::UNIX_EPOCH));
    let won = clock.now();
    let hand_over = HandOver::begin(term, won, Arc::<VirtualClock>::clone(&clock), Arc::clone(metrics), None);
    (clock, hand_over)
}

fn told(metrics: &Metrics) -> Vec<Option<u64>> {
    let millis = |seconds: f64| Duration::from_secs_f64(seconds).as_millis().try_into().unwrap();
    STAGES
        .map(|stage| metrics.hand_over().seconds(stage).map(millis))
        .into()
}

#[tokio::test(start_paused = true)]
async fn each_stage_is_told_once_with_the_time_since_the_lease_was_won() {
    let metrics = Arc::new(Metrics::new());
    let (clock, hand_over) = begin(1, &metrics);
    for stage in STAGES {
        clock.suspend(Duration::from_millis(20));
        hand_over.reached(stage);
        clock.suspend(Duration::from_millis(1));
        hand_over.reached(stage);
    }
    assert_eq!(told(&metrics), [Some(20), Some(41), Some(62), Some(83)]);
}

#[tokio::test(start_paused = true)]
async fn a_stage_out_of_turn_is_not_told() {
    let metrics = Arc::new(Metrics::new());
    let (_, hand_over) = begin(1, &metrics);
    hand_over.reached(HandOverStage::CaughtUp);
    hand_over.reached(HandOverStage::FirstBind);
    assert_eq!(told(&metrics), [None; 4]);
    hand_over.reached(HandOverStage::VersionRead);
    assert_eq!(told(&metrics), [Some(0), None, None, None]);
}

#[tokio::test(start_paused = true)]
async fn the_next_term_tells_of_itself_alone() {
    let metrics = Arc::new(Metrics::new());
    let (_, first) = begin(1, &metrics);
    for stage in STAGES {
        first.reached(stage);
    }
    let (_, _second) = begin(2, &metrics);
    assert_eq!(told(&metrics), [None; 4]);
}
