//! What each extension point makes of each status code.

use plimsoll_framework::{
    Code, CycleContext, CycleState, PerNodeFilter, PerNodeRejection, PermitOutcome, Plugin, PostFilter,
    PostFilterOutcome, PreFilterOutcome, Rejections, Resolvability, Status,
};
use plimsoll_model::columns::NodeIndex;

use super::*;

const CODES: [Code; 7] = [
    Code::Success,
    Code::Error,
    Code::Unschedulable,
    Code::UnschedulableAndUnresolvable,
    Code::Wait,
    Code::Skip,
    Code::Pending,
];

fn stopped(code: Code) -> Status {
    Status::new(code, "", "no")
}

/// What comes of a pod when a plugin at one point stops it with each of the codes: the message, and for rejections the
/// plugins that reject and those that wait.
fn outcomes(build: impl Fn(ProfileBuilder, Code) -> ProfileBuilder) -> Vec<String> {
    let outcome = |code| {
        let mut cluster = Cluster::new(build(ProfileBuilder::new(), code).build());
        cluster.add_node("n1", 1000);
        match cluster.try_new(&pod("a", 1)) {
            Outcome::Failed { message, .. } => format!("failed: {message}"),
            Outcome::Unschedulable(Diagnosis {
                message,
                plugins,
                pending_plugins,
                ..
            }) => format!("rejected by {plugins:?} {pending_plugins:?}: {message}"),
            other => panic!("{code}: {other:?}"),
        }
    };
    CODES.map(outcome).to_vec()
}

#[test]
fn pre_filters_reject_with_two_codes_and_fail_with_all_others() {
    let outcomes = outcomes(|profile, code| profile.pre_filter("P", move |_| PreFilterOutcome::Stop(stopped(code))));
    let rejected = r#"rejected by ["P"] []: 0/1 nodes are available: no."#;
    let failed = r#"failed: running PreFilter plugin "P": no"#;
    assert_eq!(outcomes, [failed, failed, rejected, rejected, failed, failed, failed]);
}

#[test]
fn reserve_and_permit_reject_with_three_codes_and_fail_with_all_others() {
    let expected = |point: &str| {
        let rejected = r#"rejected by ["P"] []: 0/1 nodes are available: 1 no."#;
        let pending = r#"rejected by ["P"] ["P"]: 0/1 nodes are available: 1 no."#;
        let failed = format!(r#"failed: running {point} plugin "P": no"#);
        [&failed, &failed, rejected, rejected, &failed, &failed, pending].map(str::to_owned)
    };
    let reserved = outcomes(|profile, code| {
        profile.reserve("P", move |call| {
            if call.starts_with("reserve") {
                Err(stopped(code))
            } else {
                Ok(())
            }
        })
    });
    assert_eq!(reserved, expected("Reserve"));
    let permitted = outcomes(|profile, code| profile.permit("P", move |_| PermitOutcome::Stop(stopped(code))));
    assert_eq!(permitted, expected("Permit"));
}

/// Turns every node away.
struct Never(Resolvability);

impl Plugin for Never {
    fn name(&self) -> &'static str {
        "P"
    }
}

impl PerNodeFilter for Never {
    fn possible_reasons(&self) -> &'static [&'static str] {
        &["no"]
    }

    fn filter_node(&self, _: CycleContext<'_>, _: &CycleState, _: NodeIndex) -> Option<PerNodeRejection> {
        Some(PerNodeRejection {
            reason: "no",
            resolvability: self.0,
        })
    }
}

/// Says on how many nodes it could help.
struct Counting;

impl Plugin for Counting {
    fn name(&self) -> &'static str {
        "Counting"
    }
}

impl PostFilter for Counting {
    fn post_filter(
        &self,
        cycle: CycleContext<'_>,
        _: &mut CycleState,
        rejections: Rejections<'_>,
    ) -> PostFilterOutcome {
        let candidates = rejections.resolvable(cycle.columns).len();
        PostFilterOutcome::rejected(Status::new(
            Code::Unschedulable,
            "",
            format!("candidates: {candidates}"),
        ))
    }
}

#[test]
fn filters_reject_with_three_codes_of_which_one_waits_and_one_leaves_candidates_to_post_filters() {
    let rejection = |resolvability| {
        let mut cluster = Cluster::new(
            ProfileBuilder::new()
                .with(|profile| {
                    profile.filter = vec![Arc::new(Never(resolvability))];
                    profile.post_filter = vec![Arc::new(Counting)];
                })
                .build(),
        );
        cluster.add_node("n1", 1000);
        let diagnosis = cluster.refuse(&pod("a", 1));
        assert_eq!(diagnosis.plugins, ["P"]);
        (diagnosis.pending_plugins, diagnosis.message)
    };
    let message = |candidates: usize| format!("0/1 nodes are available: 1 no. candidates: {candidates}");
    assert_eq!(rejection(Resolvability::Resolvable), (vec![], message(1)));
    assert_eq!(rejection(Resolvability::Unresolvable), (vec![], message(0)));
    assert_eq!(rejection(Resolvability::Pending), (vec!["P"], message(0)));
}
