//! The judge of storage must be able to find against.

use super::*;
use crate::fixtures::{DRIVER, claim, csi_node, node, pod, volume};

/// A pod on `n` that uses the claims.
fn placed(name: &str, claims: &[&str]) -> Pod {
    let with = claims
        .iter()
        .fold(pod(name).on("n"), |pod, claim| pod.volume_claim(claim));
    let mut pod = with.build();
    pod.metadata.namespace = Some("t".to_owned());
    pod
}

fn bound_claim(name: &str, volume: &str) -> PersistentVolumeClaim {
    let mut claim = claim(name).volume(volume).bound().build();
    claim.metadata.namespace = Some("t".to_owned());
    claim.metadata.uid = Some(format!("uid-{name}"));
    claim
}

/// A node called `n` in zone `a`, which takes one volume; the volume `here`, the volume `there` of another zone and the
/// volume `twin`, each with a claim of its name.
fn state() -> State {
    let zone = "topology.kubernetes.io/zone";
    let mut state = State::default();
    state.nodes.insert("n".to_owned(), node("n").label(zone, "a").build());
    state
        .csi_nodes
        .insert("n".to_owned(), csi_node("n").attaches(DRIVER, 1).build());
    for (name, of) in [("here", "a"), ("there", "b"), ("twin", "a")] {
        state
            .volumes
            .insert(name.to_owned(), volume(name).reachable(zone, &[of]).build());
        state.claims.insert(format!("t/{name}"), bound_claim(name, name));
    }
    state
}

fn found(pods: &[Pod], state: &mut State) -> Vec<String> {
    let mut verdict = Verdict::default();
    for pod in pods {
        state.pods.insert(pod.key(), pod.clone());
        where_its_volumes_are(1, pod, state, &mut verdict).unwrap();
    }
    verdict.violations
}

#[test]
fn a_pod_beside_its_volume_breaks_nothing_and_one_elsewhere_does() {
    assert_eq!(found(&[placed("p", &["here"])], &mut state()), [""; 0]);
    let elsewhere = found(&[placed("p", &["there"])], &mut state());
    assert!(
        elsewhere[0].starts_with("revision 1: t/p was bound to n, but its volume"),
        "{elsewhere:?}"
    );
    assert!(elsewhere[0].ends_with("is elsewhere"), "{elsewhere:?}");
}

#[test]
fn a_claim_that_is_gone_or_not_bound_is_told() {
    let mut without = state();
    without.claims.remove("t/here");
    let told = found(&[placed("p", &["here"])], &mut without);
    assert_eq!(told, ["revision 1: t/p was bound to n, but its claim t/here is gone"]);
    let mut unbound = state();
    unbound
        .claims
        .insert("t/here".to_owned(), claim("here").volume("here").build());
    let told = found(&[placed("p", &["here"])], &mut unbound);
    assert_eq!(
        told,
        ["revision 1: t/p was bound to n, but its claim t/here is not bound"]
    );
}

#[test]
fn a_second_volume_where_one_goes_is_too_many_but_the_same_volume_again_is_not() {
    assert_eq!(
        found(&[placed("p", &["here"]), placed("q", &["here"])], &mut state()),
        [""; 0]
    );
    let told = found(&[placed("p", &["here"]), placed("q", &["twin"])], &mut state());
    assert_eq!(
        told,
        ["revision 1: t/q was bound to n, but that makes 2 volumes of csi.example.com where 1 go"]
    );
}

#[test]
fn a_volume_with_two_claims_is_told_and_one_with_one_is_not() {
    let mut state = state();
    let mut verdict = Verdict::default();
    one_claim_per_volume(1, &bound_claim("here", "here"), &state, &mut verdict);
    assert_eq!(verdict.violations, [""; 0]);
    let other = bound_claim("other", "here");
    state.claims.insert("t/other".to_owned(), other.clone());
    one_claim_per_volume(2, &other, &state, &mut verdict);
    assert_eq!(verdict.violations, ["revision 2: here has 2 claims"]);
}
