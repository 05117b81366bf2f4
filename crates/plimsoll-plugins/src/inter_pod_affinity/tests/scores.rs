//! What the plugin prefers.

use super::*;

/// Raw and normalised scores, or none when the plugin skips.
fn scores(cluster: &Cluster, plugin: &Extensions, pod: &Pod) -> Option<([i64; 4], [i64; 4])> {
    let scored = cluster.score(plugin, pod)?;
    Some((
        NAMES.map(|name| scored.raw(name)),
        NAMES.map(|name| scored.normalised(name)),
    ))
}

#[test]
fn wishes_of_the_newcomer_add_their_weight_for_each_pod_near() {
    let mut cluster = zones();
    cluster.add_pod("a1", &app("db"));
    cluster.add_pod("a1", &app("db"));
    cluster.add_pod("b1", &app("cache"));
    let wants = |affinity: &[(i32, Value)], anti: &[(i32, Value)]| {
        let affinity = json!({"podAffinity": preferred(affinity), "podAntiAffinity": preferred(anti)});
        pod("default", &json!({}), &affinity)
    };
    let default = made(construct);
    let by_zone = wants(&[(5, near("db", "zone"))], &[]);
    assert_eq!(
        scores(&cluster, &default, &by_zone),
        Some(([10, 10, 0, 0], [100, 100, 0, 0]))
    );
    let by_both = wants(
        &[(5, near("db", "zone")), (1, near("db", "host"))],
        &[(4, near("cache", "zone"))],
    );
    assert_eq!(
        scores(&cluster, &default, &by_both),
        Some(([12, 10, -4, 0], [100, 87, 0, 25]))
    );
    let away = wants(&[], &[(3, near("cache", "host"))]);
    assert_eq!(
        scores(&cluster, &default, &away),
        Some(([0, 0, -3, 0], [100, 100, 0, 100]))
    );
}

#[test]
fn terms_of_pods_on_nodes_add_theirs() {
    let web = app("web");
    let with = |affinity: &Value| {
        let mut cluster = zones();
        cluster.add_pod("a1", &pod("default", &json!({}), affinity));
        cluster
    };
    let liked = with(&json!({"podAffinity": preferred(&[(7, near("web", "zone"))])}));
    let disliked = with(&json!({"podAntiAffinity": preferred(&[(7, near("web", "host"))])}));
    let needed = with(&json!({"podAffinity": required(&[near("web", "zone"), near("web", "host")])}));
    let forbidden = with(&json!({"podAntiAffinity": required(&[near("web", "zone")])}));
    let default = made(construct);
    assert_eq!(scores(&liked, &default, &web), Some(([7, 7, 0, 0], [100, 100, 0, 0])));
    assert_eq!(
        scores(&disliked, &default, &web),
        Some(([-7, 0, 0, 0], [0, 100, 100, 100]))
    );
    assert_eq!(scores(&needed, &default, &web), Some(([2, 1, 0, 0], [100, 50, 0, 0])));
    assert_eq!(
        scores(&needed, &with_args(10, false), &web),
        Some(([20, 10, 0, 0], [100, 50, 0, 0]))
    );
    assert_eq!(scores(&needed, &with_args(0, false), &web), None);
    assert_eq!(scores(&forbidden, &default, &web), None);
    assert_eq!(scores(&liked, &default, &app("other")), None);
}

#[test]
fn ignoring_the_wishes_of_others_ends_with_the_first_wish_of_ones_own() {
    let mut cluster = zones();
    let likes_web = json!({"podAffinity": preferred(&[(7, near("web", "zone"))])});
    cluster.add_pod("a1", &pod("default", &json!({}), &likes_web));
    let ignoring = with_args(1, true);
    assert_eq!(scores(&cluster, &ignoring, &app("web")), None);
    let wish = json!({"podAffinity": preferred(&[(1, near("nobody", "zone"))])});
    let wishing = pod("default", &json!({"app": "web"}), &wish);
    assert_eq!(
        scores(&cluster, &ignoring, &wishing),
        Some(([7, 7, 0, 0], [100, 100, 0, 0]))
    );
}

#[test]
fn equal_scores_are_all_zero_and_nothing_to_say_is_a_skip() {
    let mut cluster = Cluster::of_nodes([
        ("a1", r#"{"labels":{"zone":"a"}}"#),
        ("a2", r#"{"labels":{"zone":"a"}}"#),
    ]);
    let wish = json!({"podAffinity": preferred(&[(9, near("db", "zone"))])});
    let wishing = pod("default", &json!({}), &wish);
    let plugin = made(construct);
    assert!(cluster.score(&plugin, &wishing).is_none());
    cluster.add_pod("a1", &app("db"));
    let scored = cluster.score(&plugin, &wishing).unwrap();
    assert_eq!([scored.raw("a1"), scored.raw("a2")], [9, 9]);
    assert_eq!([scored.normalised("a1"), scored.normalised("a2")], [0, 0]);
}

#[test]
fn normalising_cuts_off_what_floating_point_leaves() {
    let mut cluster = zones();
    for (node, pods) in [("a1", 3), ("a2", 2), ("b1", 1)] {
        for _ in 0..pods {
            cluster.add_pod(node, &app("db"));
        }
    }
    let wish = json!({"podAffinity": preferred(&[(1, near("db", "host"))])});
    let wishing = pod("default", &json!({}), &wish);
    let (raw, normalised) = scores(&cluster, &made(construct), &wishing).unwrap();
    assert_eq!((raw, normalised), ([3, 2, 1, 0], [100, 66, 33, 0]));
}
