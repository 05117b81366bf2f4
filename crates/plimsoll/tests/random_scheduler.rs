//! The example `random_scheduler` runs, ends by itself, and does what it says.

#[expect(dead_code, reason = "its main is for running it alone")]
#[path = "../examples/random_scheduler.rs"]
mod random_scheduler;

#[test]
fn a_scheduler_of_ones_own_takes_less_than_a_hundred_lines() {
    assert!(include_str!("../examples/random_scheduler.rs").lines().count() < 100);
}

#[tokio::test]
async fn every_pod_is_placed_by_the_dice_or_told_that_it_was_unlucky() {
    let told = random_scheduler::play(7).await.unwrap();
    assert_eq!(told.len(), 10);
    let bound = |(pod, note): (&String, &String)| note.starts_with(&format!("Successfully assigned default/{pod} to "));
    let placed = told.iter().filter(|told| bound(*told)).count();
    let unlucky = "0/4 nodes are available: 4 node(s) were unlucky.";
    assert_eq!(
        told.values().filter(|note| note.starts_with(unlucky)).count(),
        10 - placed
    );
    assert!((1..10).contains(&placed), "{told:?}");
    assert_eq!(random_scheduler::play(7).await.unwrap(), told);
    assert_ne!(random_scheduler::play(8).await.unwrap(), told);
}
