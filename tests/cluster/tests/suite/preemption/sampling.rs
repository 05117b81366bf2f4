//! How many of the nodes where room could be made are looked at: a tenth, but a hundred at least. kube-scheduler looks at
//! them in the order of a Go map, so only what holds in every order shows.

use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, suite};

use super::{names, removed};

/// So many nodes of one CPU, each full; the victim on number `i` has the priority that `priority` says.
async fn stage(cluster: &mut Cluster<'_>, nodes: usize, priority: impl Fn(usize) -> i32) -> anyhow::Result<()> {
    cluster.create_priorities([1, 2, 100]).await?;
    cluster
        .create_nodes((0..nodes).map(|i| node(&format!("n{i}")).cpu("1").pods(3)))
        .await?;
    let victim = |i| {
        let low = pod(&format!("v{i}")).priority(priority(i)).cpu("1");
        low.without_grace().on(&format!("n{i}"))
    };
    cluster.create_pods((0..nodes).map(victim)).await?;
    cluster.start_scheduler()
}

/// Lets one preemptor of one CPU after the other find its place, and returns the numbers of the nodes.
async fn preempt(cluster: &Cluster<'_>, times: usize) -> anyhow::Result<Vec<usize>> {
    let mut places = Vec::new();
    for number in 0..times {
        let name = format!("preemptor-{number}");
        cluster.create_pods([pod(&name).priority(100).cpu("1")]).await?;
        places.push(cluster.bound(&name).await?.trim_start_matches('n').parse()?);
    }
    Ok(places)
}

#[test]
fn of_fifty_nodes_all_are_looked_at() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        stage(cluster, 50, |i| if i % 10 == 7 { 1 } else { 2 }).await?;
        // Wherever the search begins, each time a lowest victim that is left is found.
        preempt(cluster, 5).await?;
        assert_eq!(removed(cluster), names(["v7", "v17", "v27", "v37", "v47"]));
        Ok(())
    })
}

#[test]
fn of_two_thousand_nodes_so_many_are_looked_at_that_one_in_twenty_is_found() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        stage(cluster, 2000, |i| if i % 20 == 7 { 1 } else { 2 }).await?;
        // Two hundred nodes drawn at random hold none of the hundred once in 40,000 times.
        let places = preempt(cluster, 4).await?;
        assert!(places.iter().all(|place| place % 20 == 7), "{places:?}");
        Ok(())
    })
}
