/// Below this many nodes all are looked for, and never fewer than this many.
const MIN_NODES: usize = 100;
/// The adaptive share is never less, in percent.
const MIN_ADAPTIVE_SHARE: usize = 5;

/// kube-scheduler's number of feasible nodes after which it looks no further: `percentage` of `nodes`, or the adaptive share
/// for a percentage of 0.
pub(crate) fn nodes_to_find(percentage: i32, nodes: usize) -> usize {
    if nodes < MIN_NODES {
        return nodes;
    }
    let share = match usize::try_from(percentage).unwrap_or(0) {
        0 => 50_usize.saturating_sub(nodes / 125).max(MIN_ADAPTIVE_SHARE),
        share => share,
    };
    (nodes * share / 100).max(MIN_NODES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_nodes_to_find_is_that_of_kube_scheduler() {
        let cases = [
            (0, 0, 0),
            (0, 50, 50),
            (0, 99, 99),
            (0, 100, 100),
            (0, 1000, 420),
            (0, 5000, 500),
            (0, 6000, 300),
            (0, 100_000, 5000),
            (1, 99, 99),
            (40, 100, 100),
            (40, 1000, 400),
            (1, 5000, 100),
            (100, 5000, 5000),
            (33, 1001, 330),
        ];
        for (percentage, nodes, expected) in cases {
            assert_eq!(nodes_to_find(percentage, nodes), expected, "{percentage} % of {nodes}");
        }
    }
}
