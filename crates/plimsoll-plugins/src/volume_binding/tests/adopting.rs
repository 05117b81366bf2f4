use plimsoll_model::ObjectName;
use plimsoll_model::Uid;
use plimsoll_model::storage::{ClaimReference, StorageObject};
use plimsoll_model::testing::{VolumeBuilder, claim, volume};

use super::super::construct;
use super::{World, local, user, waiting};
use crate::fixture::made;

fn made_over(volume: VolumeBuilder, uid: Option<&str>) -> StorageObject {
    let reference = ClaimReference {
        name: ObjectName::new("default", "data"),
        uid: uid.map(Uid::from),
    };
    volume.with(|volume| volume.claim = Some(reference)).object()
}

#[test]
fn a_pod_is_taken_up_where_an_earlier_leader_has_written_for_it() {
    let cases: Vec<(&str, Vec<StorageObject>, Option<&str>)> = vec![
        (
            "nothing is written",
            vec![waiting("data").object(), local("v", "a1").object()],
            None,
        ),
        (
            "a node is chosen",
            vec![waiting("data").selected_node("a2").object()],
            Some("a2"),
        ),
        (
            "a node that is gone",
            vec![waiting("data").selected_node("gone").object()],
            None,
        ),
        (
            "the claim has its volume by now",
            vec![
                claim("data").selected_node("a2").bound("v").object(),
                volume("v").object(),
            ],
            None,
        ),
        (
            "a volume of one node",
            vec![waiting("data").object(), made_over(local("v", "b1"), Some("uid-data"))],
            Some("b1"),
        ),
        (
            "a volume of two nodes",
            vec![
                waiting("data").object(),
                made_over(volume("v").reachable("zone", &["a"]), Some("uid-data")),
            ],
            None,
        ),
        (
            "a volume of an earlier claim",
            vec![
                waiting("data").object(),
                made_over(local("v", "b1"), Some("uid-of-old")),
            ],
            None,
        ),
        (
            "a volume that somebody keeps for it by name",
            vec![waiting("data").object(), made_over(local("v", "b1"), None)],
            None,
        ),
    ];
    let adopt = made(construct).adopt.unwrap();
    for (what, objects, expected) in cases {
        let world = World::new(objects);
        let node = adopt.adopt(&user(&["data"]), &world.columns);
        assert_eq!(node.as_deref(), expected, "{what}");
    }
}
