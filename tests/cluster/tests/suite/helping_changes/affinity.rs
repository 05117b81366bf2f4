//! Pods that want company, and pods that want none.

use super::*;

#[test]
fn company_that_comes_and_enemies_that_go_let_a_pod_in() -> anyhow::Result<()> {
    play(|| {
        let lonely = |help_is, unrelated, help| Case {
            help_is,
            plugin: "InterPodAffinity",
            nodes: vec![node("n1")],
            placed: vec![pod("other").label("app", "db")],
            waiting: pod(WAITING).near("app", "web"),
            unrelated,
            help,
            beyond_the_original: false,
        };
        let shy = |help_is, unrelated, help| Case {
            placed: vec![web("web"), pod("other").label("app", "db")],
            waiting: pod(WAITING).away_from("app", "web"),
            ..lonely(help_is, unrelated, help)
        };
        let shunned = |help_is, unrelated, help| Case {
            placed: vec![pod("shy").away_from("app", "web"), pod("other").label("app", "db")],
            waiting: web(WAITING),
            ..lonely(help_is, unrelated, help)
        };
        let renamed = |pod, app: &str| Change::Pod(pod, label("app", app));
        vec![
            lonely(
                "the pod it wants to be near comes",
                Change::add_pod(pod("db").label("app", "db")),
                Change::add_pod(web("web")),
            ),
            lonely(
                "a pod becomes the one it wants to be near",
                renamed("other", "cache"),
                renamed("other", "web"),
            ),
            Case {
                placed: vec![web("web")],
                waiting: pod(WAITING).near_in(("app", "web"), ("team", "blue")),
                beyond_the_original: true,
                ..lonely(
                    "the namespace of the pod it wants to be near gets its label",
                    Change::add_pod(pod("db").label("app", "db")),
                    Change::Namespace(label("team", "blue")),
                )
            },
            shy(
                "the pod it wants to be away from goes",
                Change::RemovePod("other"),
                Change::RemovePod("web"),
            ),
            shy(
                "the pod it wants to be away from becomes another",
                renamed("other", "cache"),
                renamed("web", "cache"),
            ),
            shy(
                "another node comes",
                renamed("other", "cache"),
                Change::AddNode(node("n2")),
            ),
            shunned(
                "the pod that wants to be away from it goes",
                Change::RemovePod("other"),
                Change::RemovePod("shy"),
            ),
            shunned(
                "it becomes one that nobody wants to be away from",
                renamed("other", "cache"),
                renamed(WAITING, "cache"),
            ),
        ]
    })
}
