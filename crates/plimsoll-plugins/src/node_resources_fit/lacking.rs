//! How much a node lacks, in words and as a distance.

use super::{CPU, Demand, Demands, EPHEMERAL_STORAGE, MEMORY, at};

/// A distance beyond any that shares of a request make: what is missing is not a matter of more or less.
const FAR: u32 = 1_000_000;

impl Demands<'_> {
    /// One phrase for each resource that the node is short of.
    pub(super) fn in_words(&self, node: usize) -> Vec<String> {
        let mut words = Vec::new();
        let (count, allowed) = (at(self.pod_count, node), at(self.allowed_pods, node));
        if count.saturating_add(1) > allowed {
            words.push(format!("pods: {count} of {allowed} are there"));
        }
        words.extend(self.resources.iter().filter_map(|demand| demand.in_words(node)));
        words
    }

    /// The largest share of a request that is missing, in thousandths; more where not even an empty node would do.
    pub(super) fn distance(&self, node: usize) -> u32 {
        let full = at(self.pod_count, node).saturating_add(1) > at(self.allowed_pods, node);
        let shares = self.resources.iter().map(|demand| demand.missing_share(node));
        shares.max().unwrap_or(0).max(u32::from(full))
    }
}

impl Demand<'_> {
    fn free(&self, node: usize) -> i64 {
        let (allocatable, requested) = (self.allocatable.at(node), self.requested.at(node));
        allocatable.saturating_sub(requested).max(0)
    }

    fn in_words(&self, node: usize) -> Option<String> {
        let (free, allocatable) = (self.free(node), self.allocatable.at(node));
        if self.amount <= free {
            return None;
        }
        let name = self.name;
        Some(if self.amount > allocatable {
            let [needs, has] = self.amounts([self.amount, allocatable]);
            format!("{name}: needs {needs}, the whole node has {has}")
        } else {
            let [needs, free] = self.amounts([self.amount, free]);
            format!("{name}: needs {needs}, free {free}")
        })
    }

    fn missing_share(&self, node: usize) -> u32 {
        let missing = i128::from(self.amount) - i128::from(self.free(node));
        if missing <= 0 {
            return 0;
        }
        let share = u32::try_from(missing * 1000 / i128::from(self.amount.max(1))).unwrap_or(FAR);
        if self.amount > self.allocatable.at(node) {
            share.saturating_add(FAR)
        } else {
            share
        }
    }

    /// Amounts that differ look different.
    fn amounts(&self, amounts: [i64; 2]) -> [String; 2] {
        let exact = |amount: i64| amount.to_string();
        let told = amounts.map(|amount| match self.bit {
            CPU => cores(amount),
            MEMORY | EPHEMERAL_STORAGE => bytes(amount),
            _ => exact(amount),
        });
        if told[0] == told[1] { amounts.map(exact) } else { told }
    }
}

/// Thousandths of a core as users write them: `1500m` is `1.5`.
fn cores(milli: i64) -> String {
    let (whole, part) = (milli / 1000, milli % 1000);
    if part == 0 {
        return whole.to_string();
    }
    format!("{whole}.{part:03}").trim_end_matches('0').to_owned()
}

/// Bytes in the largest binary unit that leaves a number of at least one, to a tenth.
fn bytes(amount: i64) -> String {
    const UNITS: [(&str, u32); 5] = [("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
    let Some((unit, shift)) = UNITS.into_iter().find(|(_, shift)| amount >= 1 << shift) else {
        return amount.to_string();
    };
    let tenths = (i128::from(amount) * 10) >> shift;
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole}{unit}"),
        (whole, tenth) => format!("{whole}.{tenth}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_as_users_write_them() {
        assert_eq!([2000, 1500, 50, 1].map(cores), ["2", "1.5", "0.05", "0.001"]);
        let amounts = [0, 1023, 1 << 10, 3 << 29, 5 << 40];
        assert_eq!(amounts.map(bytes), ["0", "1023", "1Ki", "1.5Gi", "5Ti"]);
    }

    #[test]
    fn amounts_that_round_to_the_same_are_told_exactly() {
        let (allocatable, more, less) = ([2 << 30], [(1 << 30) + 1], [1 << 30]);
        let demand = Demand {
            name: "memory",
            bit: MEMORY,
            amount: 1 << 30,
            allocatable: allocatable[..].into(),
            requested: more[..].into(),
        };
        let phrase = demand.in_words(0).unwrap();
        assert_eq!(phrase, "memory: needs 1Gi, free 1023.9Mi");
        let almost = Demand {
            amount: (1 << 30) + 1,
            requested: less[..].into(),
            ..demand
        };
        let phrase = almost.in_words(0).unwrap();
        assert_eq!(phrase, "memory: needs 1073741825, free 1073741824");
    }
}
