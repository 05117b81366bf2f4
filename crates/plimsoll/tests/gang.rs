//! The example `gang` runs, ends by itself, and does what it says.

use std::time::Duration;

#[expect(dead_code, reason = "its main is for running it alone")]
#[path = "../examples/gang.rs"]
mod gang;

#[tokio::test]
async fn a_whole_gang_is_placed_and_half_a_gang_gives_its_places_up() {
    let told = gang::play(Duration::from_secs(1)).await.unwrap();
    let bound = |pod: &str| format!("Successfully assigned default/{pod} to amsterdam");
    let late = "0/1 nodes are available: 1 rejected due to timeout after waiting 1s at plugin Gang.";
    let expected = [
        ("alone", bound("alone")),
        ("crew-0", bound("crew-0")),
        ("crew-1", bound("crew-1")),
        ("crew-2", bound("crew-2")),
        ("watch-0", late.to_owned()),
        ("watch-1", late.to_owned()),
    ];
    let expected = expected.map(|(pod, note)| (pod.to_owned(), note));
    assert_eq!(told.into_iter().collect::<Vec<_>>(), expected);
}
