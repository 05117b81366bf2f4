use std::collections::{BTreeMap, BTreeSet};

use compact_str::CompactString;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use plimsoll_model::columns::{Columns, NodeIndex};
use plimsoll_model::{Labels, Node};

/// kube-scheduler's order of nodes: one of each zone in turn, zones and the nodes in them in order of appearance.
///
/// As in kube-scheduler the list is made anew only when nodes have come or gone, not when one has moved to another zone.
#[derive(Debug, Default)]
pub(crate) struct NodeOrder {
    zones: Vec<Zone>,
    places: HashMap<CompactString, Place, FixedState>,
    arrivals: u64,
    /// What has come and gone since the list was made.
    come: BTreeSet<CompactString>,
    gone: BTreeSet<CompactString>,
    list: Vec<CompactString>,
    rows: Vec<NodeIndex>,
    rows_are_stale: bool,
}

#[derive(Debug)]
struct Zone {
    key: ZoneKey,
    /// By arrival.
    nodes: BTreeMap<u64, CompactString>,
}

#[derive(Debug)]
struct Place {
    zone: ZoneKey,
    arrival: u64,
}

/// Region and zone; both empty for nodes without.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct ZoneKey {
    region: CompactString,
    zone: CompactString,
}

impl ZoneKey {
    /// The deprecated label counts if it is there, even when it is empty.
    fn of(labels: &Labels) -> Self {
        let either = |deprecated: &str, key: &str| {
            let value = labels.get(deprecated).or_else(|| labels.get(key));
            CompactString::from(value.unwrap_or_default())
        };
        Self {
            region: either(
                "failure-domain.beta.kubernetes.io/region",
                "topology.kubernetes.io/region",
            ),
            zone: either("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
        }
    }
}

impl NodeOrder {
    /// A node is there, or has changed.
    pub(crate) fn set(&mut self, node: &Node) {
        let zone = ZoneKey::of(&node.labels);
        match self.places.get(&node.name) {
            Some(place) if place.zone == zone => return,
            Some(_) => self.take_out(&node.name),
            None => {
                if !self.gone.remove(&node.name) {
                    self.come.insert(node.name.clone());
                }
                self.rows_are_stale = true;
            }
        }
        self.put_in(&node.name, zone);
    }

    /// A node is gone.
    pub(crate) fn remove(&mut self, name: &str) {
        if !self.places.contains_key(name) {
            return;
        }
        self.take_out(name);
        if !self.come.remove(name) {
            self.gone.insert(name.into());
        }
        self.rows_are_stale = true;
    }

    /// Rows have changed hands.
    pub(crate) fn forget_rows(&mut self) {
        self.rows_are_stale = true;
    }

    /// The rows of all nodes in order.
    pub(crate) fn rows(&mut self, columns: &Columns) -> &[NodeIndex] {
        if !(self.come.is_empty() && self.gone.is_empty()) {
            self.come.clear();
            self.gone.clear();
            self.make_list();
        }
        if std::mem::take(&mut self.rows_are_stale) {
            self.rows.clear();
            self.rows
                .extend(self.list.iter().filter_map(|name| columns.index_of(name)));
        }
        &self.rows
    }

    fn put_in(&mut self, name: &CompactString, zone: ZoneKey) {
        self.arrivals += 1;
        let arrival = self.arrivals;
        let position = self.zones.iter().position(|other| other.key == zone);
        let position = position.unwrap_or_else(|| {
            self.zones.push(Zone {
                key: zone.clone(),
                nodes: BTreeMap::new(),
            });
            self.zones.len() - 1
        });
        self.zones[position].nodes.insert(arrival, name.clone());
        self.places.insert(name.clone(), Place { zone, arrival });
    }

    fn take_out(&mut self, name: &str) {
        let Some(place) = self.places.remove(name) else { return };
        let Some(position) = self.zones.iter().position(|zone| zone.key == place.zone) else {
            return;
        };
        let nodes = &mut self.zones[position].nodes;
        nodes.remove(&place.arrival);
        if nodes.is_empty() {
            self.zones.remove(position);
        }
    }

    fn make_list(&mut self) {
        self.list.clear();
        let mut zones: Vec<_> = self.zones.iter().map(|zone| zone.nodes.values()).collect();
        while !zones.is_empty() {
            zones.retain_mut(|nodes| {
                let next = nodes.next();
                self.list.extend(next.cloned());
                next.is_some()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_model::decode_node;

    use super::*;

    fn node(name: &str, labels: &str) -> Arc<Node> {
        let json = format!(
            r#"{{"metadata":{{"name":"{name}","uid":"{name}","resourceVersion":"1","labels":{{{labels}}}}},"spec":{{}},
                "status":{{}}}}"#
        );
        Arc::new(decode_node(json.as_bytes()).unwrap())
    }

    fn zone(zone: &str) -> String {
        format!(r#""topology.kubernetes.io/zone":"{zone}""#)
    }

    /// Columns and order, changed together.
    #[derive(Default)]
    struct Both {
        columns: Columns,
        order: NodeOrder,
    }

    impl Both {
        fn set(&mut self, name: &str, labels: &str) {
            let node = node(name, labels);
            self.columns.set_node(&node);
            self.order.set(&node);
        }

        fn remove(&mut self, name: &str) {
            self.columns.remove_node(name);
            self.order.remove(name);
        }

        fn list(&mut self) -> String {
            let rows = self.order.rows(&self.columns);
            let names: Vec<_> = rows.iter().map(|row| self.columns.name(*row)).collect();
            names.join(" ")
        }
    }

    #[test]
    fn nodes_come_one_of_each_zone_in_turn() {
        let mut both = Both::default();
        for (name, in_zone) in [
            ("a1", "a"),
            ("a2", "a"),
            ("b1", "b"),
            ("a3", "a"),
            ("b2", "b"),
            ("c1", "c"),
        ] {
            both.set(name, &zone(in_zone));
        }
        both.set("none", "");
        assert_eq!(both.list(), "a1 b1 c1 none a2 b2 a3");
        both.remove("a1");
        assert_eq!(both.list(), "a2 b1 c1 none a3 b2");
        // A zone that comes back is the last one.
        both.remove("c1");
        both.set("c2", &zone("c"));
        assert_eq!(both.list(), "a2 b1 none c2 a3 b2");
    }

    #[test]
    fn a_move_to_another_zone_shows_when_the_next_node_comes_or_goes() {
        let mut both = Both::default();
        for name in ["a1", "a2", "a3"] {
            both.set(name, &zone("a"));
        }
        assert_eq!(both.list(), "a1 a2 a3");
        both.set("a2", &zone("b"));
        assert_eq!(both.list(), "a1 a2 a3");
        both.set("a4", &zone("a"));
        assert_eq!(both.list(), "a1 a2 a3 a4");
        both.set("a3", &zone("b"));
        both.remove("a1");
        assert_eq!(both.list(), "a4 a2 a3");
    }

    #[test]
    fn a_node_that_went_and_came_back_before_anybody_looked_keeps_its_place() {
        let mut both = Both::default();
        for name in ["a1", "a2", "a3"] {
            both.set(name, &zone("a"));
        }
        assert_eq!(both.list(), "a1 a2 a3");
        both.remove("a1");
        both.remove("a2");
        // In each other's rows now.
        both.set("a1", &zone("a"));
        both.set("a2", &zone("a"));
        assert_eq!(both.list(), "a1 a2 a3");
        both.set("a4", &zone("a"));
        assert_eq!(both.list(), "a3 a1 a2 a4");
    }

    #[test]
    fn region_and_zone_make_the_zone_and_deprecated_labels_win() {
        let new = |region: &str, zone: &str| {
            format!(r#""topology.kubernetes.io/region":"{region}","topology.kubernetes.io/zone":"{zone}""#)
        };
        let key = |labels: &str| ZoneKey::of(&node("n", labels).labels);
        assert_eq!(key(""), ZoneKey::default());
        assert_ne!(key(&new("r", "z")), key(&new("s", "z")));
        let deprecated = r#""failure-domain.beta.kubernetes.io/zone":"old""#;
        assert_eq!(key(&format!("{},{deprecated}", new("r", "z"))), key(&new("r", "old")));
    }
}
