//! Nodes without room.

use super::*;

#[test]
fn room_and_ports_that_come_free_are_used() -> anyhow::Result<()> {
    play(|| {
        let crowded = |help_is, unrelated, help| Case {
            help_is,
            plugin: "NodeResourcesFit",
            nodes: vec![node("n1").cpu("2")],
            placed: vec![pod("large").cpu("2"), pod("small").label("a", "b")],
            waiting: pod(WAITING).cpu("1"),
            unrelated,
            help,
            beyond_the_original: false,
        };
        let other_labels = || Change::Pod("small", label("a", "c"));
        vec![
            crowded(
                "a pod goes",
                Change::Node("n1", label("disk", "ssd")),
                Change::RemovePod("large"),
            ),
            crowded("a pod is resized", other_labels(), Change::Resize("large", "1")),
            Case {
                waiting: pod(WAITING).cpu("3"),
                placed: Vec::new(),
                ..crowded(
                    "the pod itself is resized",
                    Change::Pod(WAITING, label("a", "c")),
                    Change::Resize(WAITING, "1"),
                )
            },
            crowded(
                "the node grows",
                Change::NodeStatus("n1", json!({ "allocatable": { "cpu": "1" } })),
                Change::NodeStatus("n1", json!({ "allocatable": { "cpu": "3" } })),
            ),
            crowded(
                "a node with room comes",
                Change::AddNode(node("n2").cpu("500m")),
                Change::AddNode(node("n3").cpu("1")),
            ),
            Case {
                plugin: "NodePorts",
                placed: vec![pod("holder").host_port(8080), pod("other").host_port(9090)],
                waiting: pod(WAITING).host_port(8080),
                ..crowded(
                    "the port comes free",
                    Change::RemovePod("other"),
                    Change::RemovePod("holder"),
                )
            },
        ]
    })
}
