use proptest::prelude::*;

use super::*;
use crate::testing::node;
use crate::{NodeSelectorTerm, Operator, Protocol, Requirement};
use naive::Cluster;

mod changes;
mod naive;
mod pods;
mod priorities;
mod volumes;

const NAMES: [&str; 6] = ["n0", "n1", "n2", "n3", "n4", "n5"];
const SCALARS: [&str; 3] = ["example.com/a", "example.com/b", "hugepages-2Mi"];
const KEYS: [&str; 3] = ["zone", "size", "kubernetes.io/hostname"];
const IMAGES: [&str; 4] = ["a:1", "b:1", "c:1", "d:1"];

#[derive(Debug, Clone)]
enum Step {
    SetNode(Node),
    RemoveNode(&'static str),
    AddPod(&'static str, Footprint),
    /// Takes off one of the pods there are, on some node.
    RemovePod(&'static str, usize),
}

fn name() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(&NAMES[..])
}

fn amount() -> impl Strategy<Value = i64> {
    prop_oneof![8 => 0_i64..5, 1 => Just(i64::MAX)]
}

fn scalars() -> impl Strategy<Value = crate::ScalarAmounts> {
    let given = proptest::collection::btree_map(proptest::sample::select(&SCALARS[..]), amount(), 0..3);
    given.prop_map(|given| given.into_iter().map(|(name, amount)| (name.into(), amount)).collect())
}

fn amounts() -> impl Strategy<Value = crate::Amounts> {
    let numbers = (amount(), amount(), amount());
    (numbers, scalars()).prop_map(|((milli_cpu, memory, ephemeral_storage), scalars)| crate::Amounts {
        milli_cpu,
        memory,
        ephemeral_storage,
        scalars,
    })
}

fn port() -> impl Strategy<Value = HostPort> {
    proptest::sample::select(ports())
}

fn ports() -> Vec<HostPort> {
    vec![
        HostPort::tcp(80),
        HostPort::tcp(81),
        HostPort::new(Protocol::Udp, "", 80),
        HostPort::new(Protocol::Tcp, "127.0.0.1", 80),
        HostPort::new(Protocol::Tcp, "127.0.0.2", 80),
    ]
}

fn footprint() -> impl Strategy<Value = Footprint> {
    let numbers = (amounts(), amount(), amount());
    let wanted = proptest::collection::vec(port(), 0..3);
    (numbers, wanted, 0..3_i32).prop_map(
        |((requests, non_zero_cpu, non_zero_memory), wanted, priority)| Footprint {
            requests,
            non_zero_cpu,
            non_zero_memory,
            host_ports: wanted.into_iter().collect(),
            priority,
            ..Footprint::default()
        },
    )
}

fn a_node() -> impl Strategy<Value = Node> {
    let labels = (
        proptest::option::of(proptest::sample::select(vec!["a", "b", ""])),
        proptest::option::of(proptest::sample::select(vec!["1", "10", "x"])),
        any::<bool>(),
    );
    let taints = proptest::sample::subsequence(vec!["soft", "hard"], 0..=2);
    let images = proptest::collection::vec((proptest::sample::select(&IMAGES[..]), 1_i64..3), 0..4);
    let features = proptest::sample::subsequence(vec!["one", "two"], 0..=2);
    let status = (amounts(), 0_i64..3, images, features);
    (name(), labels, taints, any::<bool>(), status).prop_map(|(name, labels, taints, cordoned, status)| {
        let (zone, size, hostname) = labels;
        let labels = [
            ("zone", zone),
            ("size", size),
            ("kubernetes.io/hostname", hostname.then_some(name)),
        ];
        let (amounts, pods, images, features) = status;
        let mut built = node(name);
        for (key, value) in labels.into_iter().filter_map(|(key, value)| Some((key, value?))) {
            built = built.label(key, value);
        }
        for taint in taints {
            built = built.taint(taint, "", crate::Effect::NoSchedule);
        }
        for (image, size) in images {
            built = built.image(image, size);
        }
        built
            .with(|node| {
                node.spec.unschedulable = cordoned;
                node.status.allocatable = Allocatable { amounts, pods };
                node.status.declared_features = features.into_iter().map(Into::into).collect();
            })
            .build()
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => a_node().prop_map(Step::SetNode),
        1 => name().prop_map(Step::RemoveNode),
        3 => (name(), footprint()).prop_map(|(name, footprint)| Step::AddPod(name, footprint)),
        2 => (name(), any::<usize>()).prop_map(|(name, which)| Step::RemovePod(name, which)),
    ]
}

fn apply(columns: &mut Columns, cluster: &mut Cluster, step: Step) {
    match step {
        Step::SetNode(node) => {
            columns.set_node(&node);
            let version = columns.version();
            columns.set_node(&node);
            assert_eq!(columns.version(), version, "the same node again is no change");
            cluster.set_node(node);
        }
        Step::RemoveNode(name) => {
            columns.remove_node(name);
            cluster.remove_node(name);
        }
        Step::AddPod(name, footprint) => {
            columns.add_pod(name, &footprint);
            cluster.add_pod(name, footprint);
        }
        Step::RemovePod(name, which) => {
            if let Some(footprint) = cluster.remove_pod(name, which) {
                columns.remove_pod(name, &footprint);
            }
        }
    }
}

proptest! {
    #[test]
    fn columns_equal_objects_after_any_sequence_of_changes(steps in proptest::collection::vec(step(), 1..60)) {
        let mut columns = Columns::new();
        let mut cluster = Cluster::default();
        let mut most_at_once = 0;
        for step in steps {
            let rows_before = NAMES.map(|name| columns.index_of(name));
            apply(&mut columns, &mut cluster, step);
            cluster.check(&columns);
            for (name, before) in NAMES.iter().zip(rows_before) {
                let after = columns.index_of(name);
                prop_assert!(before.is_none() || after.is_none() || before == after, "{name} moved");
            }
            most_at_once = most_at_once.max(cluster.places().count());
            prop_assert_eq!(columns.capacity(), most_at_once, "a row is not used again");
        }
    }

    #[test]
    fn when_everything_is_gone_nothing_is_left(steps in proptest::collection::vec(step(), 1..60)) {
        let mut columns = Columns::new();
        let mut cluster = Cluster::default();
        for step in steps {
            apply(&mut columns, &mut cluster, step);
        }
        for name in NAMES {
            while let Some(footprint) = cluster.remove_pod(name, 0) {
                columns.remove_pod(name, &footprint);
            }
            columns.remove_node(name);
            cluster.remove_node(name);
        }
        cluster.check(&columns);
        prop_assert_eq!(columns.node_count(), 0);
        prop_assert!(SCALARS.iter().all(|name| columns.scalar(name).is_none()));
        prop_assert!(KEYS.iter().all(|key| columns.label_key(key).is_none()));
        prop_assert!(IMAGES.iter().all(|image| columns.image(image).is_none()));
        prop_assert_eq!(columns.taint_classes().count(), 0);
    }
}

#[test]
fn changes_of_what_is_not_there_are_ignored() {
    let mut columns = Columns::new();
    columns.remove_node("n0");
    columns.remove_pod("n0", &Footprint::default());
    columns.set_node(&node("n0").build());
    let version = columns.version();
    columns.remove_pod(
        "n0",
        &Footprint {
            non_zero_cpu: 5,
            ..Footprint::default()
        },
    );
    assert_eq!((columns.version(), columns.non_zero_cpu()), (version, &[0][..]));
}

#[test]
fn a_row_says_when_it_changed() {
    let mut columns = Columns::new();
    columns.set_node(&node("n0").build());
    columns.set_node(&node("n1").build());
    let before = columns.version();
    columns.add_pod("n1", &Footprint::default());
    let changed = |name: &str| columns.changed_at()[columns.index_of(name).unwrap().as_usize()];
    assert!(changed("n0") <= before);
    assert!(changed("n1") > before);
}

#[test]
fn an_image_has_the_size_its_first_holder_said() {
    let mut columns = Columns::new();
    columns.set_node(&node("n0").image("a:1", 5).image("a:1", 9).build());
    columns.set_node(&node("n1").image("a:1", 7).build());
    assert_eq!(
        columns.image("a:1").map(|image| (image.size, image.nodes.len())),
        Some((5, 2))
    );
    columns.remove_node("n0");
    assert_eq!(columns.image("a:1").map(|image| image.size), Some(5));
    columns.set_node(&node("n1").image("a:1", 8).build());
    assert_eq!(columns.image("a:1").map(|image| image.size), Some(8));
    columns.set_node(&node("n1").build());
    assert!(columns.image("a:1").is_none());
}

fn terms() -> Vec<NodeSelectorTerm> {
    let label = |key: &str, operator: Operator, values: &[&str]| NodeSelectorTerm {
        match_expressions: vec![Requirement::new(key, operator, values.iter().copied())],
        ..NodeSelectorTerm::default()
    };
    let field = |key: &str, operator: Operator, values: &[&str]| NodeSelectorTerm {
        match_fields: vec![Requirement::new(key, operator, values.iter().copied())],
        ..NodeSelectorTerm::default()
    };
    let mut both = label("zone", Operator::In, &["a"]);
    both.match_expressions
        .push(Requirement::new("size", Operator::Exists, [] as [&str; 0]));
    both.match_fields
        .push(Requirement::new("metadata.name", Operator::NotIn, ["n1"]));
    vec![
        NodeSelectorTerm::default(),
        label("zone", Operator::In, &["a"]),
        label("zone", Operator::In, &["a", ""]),
        label("zone", Operator::In, &["unseen"]),
        label("zone", Operator::NotIn, &["a", "b"]),
        label("zone", Operator::Exists, &[]),
        label("zone", Operator::DoesNotExist, &[]),
        label("size", Operator::Gt, &["5"]),
        label("size", Operator::Lt, &["5"]),
        label("size", Operator::Gt, &["-5"]),
        label("unseen", Operator::NotIn, &["a"]),
        label("unseen", Operator::DoesNotExist, &[]),
        label("unseen", Operator::In, &["a"]),
        label("unseen", Operator::Lt, &["5"]),
        label("zone", Operator::In, &[]),
        field("metadata.name", Operator::In, &["n1"]),
        field("metadata.name", Operator::NotIn, &["n1"]),
        field("metadata.name", Operator::In, &["n1", "n2"]),
        field("metadata.uid", Operator::In, &["n1"]),
        field("metadata.uid", Operator::NotIn, &["n1"]),
        both,
    ]
}
