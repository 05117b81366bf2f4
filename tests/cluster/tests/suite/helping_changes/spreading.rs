//! Pods that must be spread over nodes, one of which they may not use: it stays empty, so the other is too full.

use super::*;

#[test]
fn a_difference_between_nodes_that_shrinks_lets_a_pod_in() -> anyhow::Result<()> {
    play(|| {
        let spread = |help_is, unrelated, help| Case {
            help_is,
            plugin: "PodTopologySpread",
            nodes: vec![node("n1"), node("kept").taint("dedicated", "batch", "NoSchedule")],
            placed: vec![web("web"), pod("other").label("app", "db")],
            waiting: web(WAITING).spread("app", "web"),
            unrelated,
            help,
            beyond_the_original: false,
        };
        let renamed = |pod, app: &str| Change::Pod(pod, label("app", app));
        vec![
            spread(
                "a pod of its kind goes",
                Change::RemovePod("other"),
                Change::RemovePod("web"),
            ),
            Case {
                beyond_the_original: true,
                ..spread(
                    "a pod of its kind is told to go",
                    Change::TellPodToGo("other"),
                    Change::TellPodToGo("web"),
                )
            },
            spread(
                "a pod of its kind becomes another",
                renamed("other", "cache"),
                renamed("web", "cache"),
            ),
            spread(
                "it becomes of no kind that is spread",
                renamed("other", "cache"),
                renamed(WAITING, "cache"),
            ),
            spread(
                "the empty node goes",
                Change::Node("n1", label("disk", "ssd")),
                Change::RemoveNode("kept"),
            ),
            spread(
                "the empty node leaves the topology",
                Change::add_pod(pod("db").label("app", "db")),
                Change::Node("kept", label("kubernetes.io/hostname", None)),
            ),
        ]
    })
}
