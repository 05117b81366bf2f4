use super::*;

/// Sums and counts of pods of the nodes, by name.
fn sums(columns: &Columns) -> Vec<(String, [i64; 4], Vec<i64>)> {
    let of_node = |node: NodeIndex| {
        let at = node.as_usize();
        let fixed = [
            columns.requested_cpu()[at],
            columns.requested_memory()[at],
            columns.requested_ephemeral_storage()[at],
            columns.pod_count()[at],
        ];
        let scalars = SCALARS.iter().map(|name| columns.scalar(name));
        let scalars = scalars.map(|column| column.map_or(0, |column| column.requested.at(at)));
        (columns.name(node).to_owned(), fixed, scalars.collect())
    };
    columns.nodes().iter().map(of_node).collect()
}

proptest! {
    #[test]
    fn what_is_set_aside_is_what_pods_below_the_priority_request(
        steps in proptest::collection::vec(step(), 1..60),
        priority in 0..4_i32,
    ) {
        let mut columns = Columns::new();
        let mut cluster = Cluster::default();
        for step in steps {
            apply(&mut columns, &mut cluster, step);
        }
        let mut without = columns.clone();
        for (name, footprint) in cluster.pods_below(priority) {
            without.remove_pod(name, footprint);
        }
        let before = sums(&columns);
        let nodes = columns.nodes().clone();
        for node in &nodes {
            let there = cluster.pods_below(priority).filter(|(name, _)| *name == columns.name(node));
            let there = i64::try_from(there.count()).unwrap();
            prop_assert_eq!(columns.pod_count_below(node, priority), there);
        }
        columns.set_requests_aside(&nodes, priority);
        prop_assert_eq!(sums(&columns), sums(&without));
        columns.bring_requests_back(&nodes, priority);
        prop_assert_eq!(&sums(&columns), &before);
        for (name, footprint) in cluster.pods_below(priority) {
            if let Some(node) = columns.index_of(name) {
                columns.remove_requests(node, footprint);
            }
        }
        prop_assert_eq!(sums(&columns), sums(&without));
        for (name, footprint) in cluster.pods_below(priority) {
            if let Some(node) = columns.index_of(name) {
                columns.add_requests(node, footprint);
            }
        }
        prop_assert_eq!(&sums(&columns), &before);
        cluster.check(&columns);
    }
}
