use plimsoll_model::columns::{LabelColumn, NodeSet, PodCounts};

/// How many pods each domain has: the nodes with one value of a label.
#[derive(Debug, Default)]
pub(super) struct Domains {
    /// By the slot of the value; nothing for values without a node that counts.
    counts: Vec<Option<i64>>,
    known: usize,
    least: Option<(usize, i64)>,
    /// Least but for one domain that has the least.
    next_least: Option<i64>,
}

impl Domains {
    /// Counts by the values of a label, over nodes that all have it.
    pub(super) fn count(column: LabelColumn<'_>, key: &str, nodes: &NodeSet, pods: Option<PodCounts<'_>>) -> Self {
        let mut domains = Self {
            counts: vec![None; column.slots()],
            ..Self::default()
        };
        // Where every node with the label counts, the columns know already how many pods there are.
        let known = pods.map(|pods| pods.by_domain(key));
        if let None | Some(Some(_)) = known
            && nodes == column.nodes()
        {
            for (value, _) in column.values() {
                let pods = known.flatten().map_or(0, |pods| pods.of(value));
                domains.counts[column.slot(value)] = Some(i64::try_from(pods).unwrap_or(i64::MAX));
            }
            domains.rank();
            return domains;
        }
        for value in nodes.iter().filter_map(|node| column.value(node)) {
            domains.counts[column.slot(value)].get_or_insert(0);
        }
        let here = pods.into_iter().flat_map(PodCounts::iter);
        for (node, count) in here.filter(|(node, _)| nodes.contains(*node)) {
            if let Some(value) = column.value(node)
                && let Some(sum) = &mut domains.counts[column.slot(value)]
            {
                *sum += i64::from(count);
            }
        }
        domains.rank();
        domains
    }

    fn rank(&mut self) {
        for (slot, count) in self.counts.iter().enumerate() {
            let Some(count) = *count else { continue };
            self.known += 1;
            match self.least {
                Some((_, least)) if count >= least => {
                    self.next_least = Some(self.next_least.map_or(count, |next| next.min(count)));
                }
                _ => {
                    self.next_least = self.least.map(|(_, least)| least);
                    self.least = Some((slot, count));
                }
            }
        }
    }

    /// How many domains have a node that counts.
    pub(super) fn known(&self) -> usize {
        self.known
    }

    /// How many pods a domain has; none if no node of it counts.
    pub(super) fn of(&self, slot: usize) -> i64 {
        self.counts.get(slot).copied().flatten().unwrap_or(0)
    }

    /// The fewest pods that a domain has; none if there is no domain.
    pub(super) fn least(&self) -> Option<i64> {
        self.least.map(|(_, count)| count)
    }

    /// As [`Domains::least`] when one domain, whose nodes count, has `change` more pods.
    pub(super) fn least_with(&self, changed: usize, change: i64) -> Option<i64> {
        let (slot, least) = self.least?;
        let others = if slot == changed { self.next_least } else { Some(least) };
        let changed = self.of(changed) + change;
        Some(others.map_or(changed, |others| others.min(changed)))
    }
}
