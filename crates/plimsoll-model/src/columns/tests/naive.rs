//! The same cluster as plain objects, and every question asked of them one node at a time.

use std::collections::{BTreeMap, BTreeSet};

use super::{IMAGES, KEYS, NAMES, SCALARS, ports, terms};
use crate::columns::{Columns, Figures, NodeIndex, NodeSet};
use crate::{Footprint, HostPort, Node};

#[derive(Default)]
pub(super) struct Cluster {
    places: BTreeMap<&'static str, Place>,
    /// Size and holders by image name.
    images: BTreeMap<String, (i64, BTreeSet<String>)>,
}

/// A node, or a ghost.
#[derive(Default)]
pub(super) struct Place {
    node: Option<Node>,
    pods: Vec<Footprint>,
}

impl Cluster {
    pub(super) fn places(&self) -> impl Iterator<Item = &Place> {
        self.places.values()
    }

    pub(super) fn set_node(&mut self, node: Node) {
        self.forget_images(&node.name);
        for image in &node.status.images {
            for name in &image.names {
                let entry = self
                    .images
                    .entry(name.to_string())
                    .or_insert((image.size_bytes, BTreeSet::new()));
                entry.1.insert(node.name.to_string());
            }
        }
        let name = NAMES.iter().find(|name| **name == node.name).unwrap();
        self.places.entry(name).or_default().node = Some(node);
    }

    pub(super) fn remove_node(&mut self, name: &'static str) {
        self.forget_images(name);
        self.places.entry(name).or_default().node = None;
        self.sweep();
    }

    pub(super) fn add_pod(&mut self, name: &'static str, footprint: Footprint) {
        self.places.entry(name).or_default().pods.push(footprint);
    }

    pub(super) fn remove_pod(&mut self, name: &str, which: usize) -> Option<Footprint> {
        let pods = &mut self.places.get_mut(name)?.pods;
        let footprint = (!pods.is_empty()).then(|| pods.swap_remove(which % pods.len()));
        self.sweep();
        footprint
    }

    /// Every pod below a priority on a node or ghost, with where it is.
    pub(super) fn pods_below(&self, priority: i32) -> impl Iterator<Item = (&'static str, &Footprint)> {
        let places = self.places.iter();
        let pods = places.flat_map(|(name, place)| place.pods.iter().map(|pod| (*name, pod)));
        pods.filter(move |(_, pod)| pod.priority < priority)
    }

    fn sweep(&mut self) {
        self.places
            .retain(|_, place| place.node.is_some() || !place.pods.is_empty());
    }

    fn forget_images(&mut self, name: &str) {
        self.images.retain(|_, (_, holders)| {
            holders.remove(name);
            !holders.is_empty()
        });
    }

    /// The rows of the nodes (no ghosts) for which something holds.
    fn nodes_where(&self, columns: &Columns, holds: impl Fn(&Place, &Node) -> bool) -> NodeSet {
        let holding = self
            .places
            .iter()
            .filter(|(_, place)| place.node.as_ref().is_some_and(|node| holds(place, node)));
        holding.map(|(name, _)| columns.index_of(name).unwrap()).collect()
    }

    pub(super) fn check(&self, columns: &Columns) {
        self.check_rows(columns);
        self.check_resources(columns);
        self.check_taints(columns);
        self.check_features(columns);
        self.check_labels(columns);
        self.check_selection(columns);
        self.check_ports(columns);
        self.check_images(columns);
    }

    fn check_rows(&self, columns: &Columns) {
        let mut rows = BTreeSet::new();
        for name in NAMES {
            let row = columns.index_of(name);
            assert_eq!(row.is_some(), self.places.contains_key(name), "{name}");
            if let Some(row) = row {
                assert_eq!(columns.name(row), name);
                assert!(rows.insert(row), "{name} shares a row");
            }
        }
        assert_eq!(columns.nodes(), &self.nodes_where(columns, |_, _| true));
        assert_eq!(columns.node_count(), columns.nodes().len());
        assert_eq!(
            columns.unschedulable(),
            &self.nodes_where(columns, |_, node| node.spec.unschedulable)
        );
        assert_eq!(columns.changed_at().len(), columns.capacity());
    }

    /// Expected column: one figure per place, 0 in free rows.
    fn column(&self, columns: &Columns, figure: impl Fn(&Place) -> i64) -> Vec<i64> {
        let mut expected = vec![0; columns.capacity()];
        for (name, place) in &self.places {
            expected[columns.index_of(name).unwrap().as_usize()] = figure(place);
        }
        expected
    }

    fn check_resources(&self, columns: &Columns) {
        let has = |figure: fn(&Node) -> i64| self.column(columns, |place| place.node.as_ref().map_or(0, figure));
        assert_eq!(
            columns.allocatable_cpu(),
            has(|node| node.status.allocatable.amounts.milli_cpu)
        );
        assert_eq!(
            columns.allocatable_memory(),
            has(|node| node.status.allocatable.amounts.memory)
        );
        let storage = has(|node| node.status.allocatable.amounts.ephemeral_storage);
        assert_eq!(columns.allocatable_ephemeral_storage(), storage);
        assert_eq!(columns.allowed_pods(), has(|node| node.status.allocatable.pods));
        let sum = |figure: fn(&Footprint) -> i64| self.column(columns, |place| place.sum(figure));
        assert_eq!(columns.requested_cpu(), sum(|pod| pod.requests.milli_cpu));
        assert_eq!(columns.requested_memory(), sum(|pod| pod.requests.memory));
        assert_eq!(
            columns.requested_ephemeral_storage(),
            sum(|pod| pod.requests.ephemeral_storage)
        );
        assert_eq!(columns.non_zero_cpu(), sum(|pod| pod.non_zero_cpu));
        assert_eq!(columns.non_zero_memory(), sum(|pod| pod.non_zero_memory));
        assert_eq!(columns.pod_count(), sum(|_| 1));
        for name in SCALARS {
            self.check_scalar(columns, name);
        }
    }

    fn check_scalar(&self, columns: &Columns, name: &str) {
        let named = |amounts: &crate::Amounts| amounts.scalars.iter().any(|(own, _)| own == name);
        let node_names = |node: &Node| named(&node.status.allocatable.amounts);
        let used = self.places().any(|place| {
            place.node.as_ref().is_some_and(node_names) || place.pods.iter().any(|pod| named(&pod.requests))
        });
        let Some(column) = columns.scalar(name) else {
            assert!(!used, "{name} has no column");
            return;
        };
        assert!(used, "{name} has a column");
        let allocatable = self.column(columns, |place| {
            place
                .node
                .as_ref()
                .map_or(0, |node| node.status.allocatable.amounts.scalar(name))
        });
        let all = |figures: Figures<'_>| (0..columns.capacity()).map(|row| figures.at(row)).collect::<Vec<i64>>();
        assert_eq!(all(column.allocatable), allocatable);
        assert_eq!(
            all(column.requested),
            self.column(columns, |place| place.sum(|pod| pod.requests.scalar(name)))
        );
    }

    fn check_taints(&self, columns: &Columns) {
        let mut lists = BTreeSet::new();
        let mut seen = NodeSet::new();
        for (class, taints) in columns.taint_classes() {
            assert!(lists.insert(taints.to_vec()), "two classes for {taints:?}");
            let nodes = columns.nodes_of_taint_class(class);
            assert_eq!(nodes, &self.nodes_where(columns, |_, node| node.spec.taints == taints));
            for row in nodes {
                assert_eq!(columns.taint_class()[row.as_usize()], class);
                assert_eq!(columns.taints(row), taints);
            }
            seen.union_with(nodes);
        }
        assert_eq!(&seen, columns.nodes());
        assert_eq!(columns.taint_class().len(), columns.capacity());
    }

    fn check_features(&self, columns: &Columns) {
        let mut lists = BTreeSet::new();
        let mut seen = NodeSet::new();
        for (features, nodes) in columns.declared_features() {
            assert!(lists.insert(features.to_vec()), "two classes for {features:?}");
            assert_eq!(
                nodes,
                &self.nodes_where(columns, |_, node| node.status.declared_features == features)
            );
            seen.union_with(nodes);
        }
        assert_eq!(&seen, columns.nodes());
    }

    fn check_labels(&self, columns: &Columns) {
        for key in KEYS {
            let nodes = self.nodes_where(columns, |_, node| node.labels.contains_key(key));
            let Some(column) = columns.label_key(key) else {
                assert!(nodes.is_empty(), "{key} has no column");
                continue;
            };
            assert!(!nodes.is_empty(), "{key} has a column");
            assert_eq!(column.nodes(), &nodes);
            let texts: BTreeSet<&str> = column.values().map(|(_, text)| text).collect();
            assert_eq!(texts.len(), column.values().count(), "two values with one text");
            for (id, text) in column.values() {
                assert_eq!(column.id_of(text), Some(id));
                assert!(column.slot(id) < column.slots());
                let with_value = self.nodes_where(columns, |_, node| node.labels.get(key) == Some(text));
                assert!(!with_value.is_empty(), "{key}={text} is not there any more");
                assert_eq!(column.node_count(id), with_value.len());
                assert_eq!(column.nodes_with(id), with_value);
                assert_eq!(columns.nodes_with_label(key, text), with_value);
            }
            self.check_values(columns, key);
        }
    }

    fn check_values(&self, columns: &Columns, key: &str) {
        for row in 0..u32::try_from(columns.capacity()).unwrap() {
            let row = NodeIndex::new(row);
            let node = self.places.get(columns.name(row)).and_then(|place| place.node.as_ref());
            let expected = node.and_then(|node| node.labels.get(key));
            assert_eq!(columns.label(row, key), expected);
            let value = columns
                .label_key(key)
                .and_then(|column| Some(column.text(column.value(row)?)));
            assert_eq!(value, expected);
        }
    }

    fn check_selection(&self, columns: &Columns) {
        let terms = terms();
        for term in &terms {
            let expected = self.nodes_where(columns, |_, node| term.matches(&node.name, &node.labels));
            assert_eq!(columns.match_term(term), expected, "{term:?}");
        }
        for pair in terms.windows(2) {
            let matches = |node: &Node| pair.iter().any(|term| term.matches(&node.name, &node.labels));
            assert_eq!(
                columns.match_terms(pair),
                self.nodes_where(columns, |_, node| matches(node)),
                "{pair:?}"
            );
        }
        assert!(columns.match_terms(&[]).is_empty());
        let spec = crate::testing::pod("p")
            .node_selector("zone", "a")
            .required_term(terms[5].clone())
            .build()
            .spec;
        let required = |node: &Node| node.labels.get("zone") == Some("a");
        assert_eq!(
            columns.match_required(&spec),
            self.nodes_where(columns, |_, node| required(node))
        );
        assert_eq!(&columns.match_required(&crate::PodSpec::default()), columns.nodes());
    }

    fn check_ports(&self, columns: &Columns) {
        let ports = ports();
        for wanted in ports.windows(2).chain(ports.chunks(1)) {
            let taken = |pod: &Footprint| pod.host_ports.iter().any(|own| conflicts(own, wanted));
            let expected = self.nodes_where(columns, |place, _| place.pods.iter().any(taken));
            assert_eq!(columns.port_conflicts(wanted), expected, "{wanted:?}");
        }
    }

    fn check_images(&self, columns: &Columns) {
        for name in IMAGES {
            let found = columns.image(name).map(|image| (image.size, image.nodes.clone()));
            let expected = self.images.get(name).map(|(size, holders)| {
                (
                    *size,
                    holders.iter().map(|holder| columns.index_of(holder).unwrap()).collect(),
                )
            });
            assert_eq!(found, expected, "{name}");
        }
    }
}

impl Place {
    fn sum(&self, figure: impl Fn(&Footprint) -> i64) -> i64 {
        let exact: i128 = self.pods.iter().map(|pod| i128::from(figure(pod))).sum();
        i64::try_from(exact).unwrap_or(i64::MAX)
    }
}

fn conflicts(own: &HostPort, wanted: &[HostPort]) -> bool {
    wanted.iter().any(|wanted| wanted.conflicts_with(own))
}
