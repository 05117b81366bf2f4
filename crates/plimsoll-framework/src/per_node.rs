use std::borrow::Cow;

use plimsoll_model::columns::NodeIndex;
use smallvec::{SmallVec, smallvec};

use crate::{CycleContext, CycleState, Filter, FilterPass, Plugin, ReasonCode, Resolvability, Score};

/// Why a per-node filter turned a node away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerNodeRejection {
    /// Shown to users.
    pub reason: &'static str,
    /// What could help.
    pub resolvability: Resolvability,
}

/// A filter that is called once per node: simpler to write than [`Filter`], slower to run.
pub trait PerNodeFilter: Plugin {
    /// Every reason this filter may give.
    fn possible_reasons(&self) -> &'static [&'static str];

    /// Judges one node.
    fn filter_node(&self, cycle: CycleContext<'_>, state: &CycleState, node: NodeIndex) -> Option<PerNodeRejection>;
}

impl<T: PerNodeFilter> Filter for T {
    fn filter(&self, cycle: CycleContext<'_>, state: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        for node in &pass.feasible().clone() {
            let Some(rejection) = self.filter_node(cycle, state, node) else {
                continue;
            };
            let position = self
                .possible_reasons()
                .iter()
                .position(|reason| *reason == rejection.reason);
            let code = position
                .and_then(|position| u32::try_from(position).ok())
                .ok_or_else(|| {
                    format!(
                        "reason {:?} is not among the possible reasons of {}",
                        rejection.reason,
                        self.name()
                    )
                })?;
            pass.reject(node, ReasonCode(code), rejection.resolvability);
        }
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, code: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        let reason = usize::try_from(code.0)
            .ok()
            .and_then(|position| self.possible_reasons().get(position));
        smallvec![Cow::Borrowed(reason.copied().unwrap_or("unknown reason"))]
    }
}

/// A score that is called once per node: simpler to write than [`Score`], slower to run.
pub trait PerNodeScore: Plugin {
    /// Scores one node, 0..=100.
    fn score_node(&self, cycle: CycleContext<'_>, state: &CycleState, node: NodeIndex) -> Result<i64, String>;
}

impl<T: PerNodeScore> Score for T {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        state: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        for (node, score) in feasible.iter().zip(scores) {
            *score = self.score_node(cycle, state, *node)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::columns::{Columns, NodeSet};
    use plimsoll_model::{Moment, Pod, decode_pod};

    use super::*;
    use crate::Verdicts;

    const FAR: &str = "node(s) were too far";
    const OLD: &str = "node(s) were too old";
    const UNLISTED: &str = "nobody knows";

    /// Judges nodes by their numbers: 1 is far, 2 is old, and the rest passes; scores are the numbers.
    struct ByNumber {
        says_of_old: &'static str,
    }

    impl Plugin for ByNumber {
        fn name(&self) -> &'static str {
            "ByNumber"
        }
    }

    impl PerNodeFilter for ByNumber {
        fn possible_reasons(&self) -> &'static [&'static str] {
            &[FAR, OLD]
        }

        fn filter_node(&self, _: CycleContext<'_>, _: &CycleState, node: NodeIndex) -> Option<PerNodeRejection> {
            match node.as_usize() {
                1 => Some(PerNodeRejection {
                    reason: FAR,
                    resolvability: Resolvability::Unresolvable,
                }),
                2 => Some(PerNodeRejection {
                    reason: self.says_of_old,
                    resolvability: Resolvability::Resolvable,
                }),
                _ => None,
            }
        }
    }

    impl PerNodeScore for ByNumber {
        fn score_node(&self, _: CycleContext<'_>, _: &CycleState, node: NodeIndex) -> Result<i64, String> {
            i64::try_from(node.as_usize())
                .ok()
                .filter(|score| *score < 9)
                .ok_or_else(|| "nine".to_owned())
        }
    }

    fn pod() -> Pod {
        decode_pod(br#"{"metadata":{"namespace":"a","name":"b","uid":"c","resourceVersion":"1"},"spec":{}}"#).unwrap()
    }

    fn nodes() -> NodeSet {
        (0..4).map(NodeIndex::new).collect()
    }

    #[test]
    fn each_node_is_judged_and_its_reason_told() {
        let (pod, columns, state) = (pod(), Columns::new(), CycleState::new());
        let cycle = CycleContext {
            pod: &pod,
            columns: &columns,
            now: Moment::ZERO,
        };
        let plugin = ByNumber { says_of_old: OLD };
        let mut verdicts = Verdicts::default();
        verdicts.begin(&nodes(), 4);
        plugin.filter(cycle, &state, &mut verdicts.pass(0)).unwrap();
        let feasible: Vec<_> = verdicts.feasible().iter().map(NodeIndex::as_usize).collect();
        assert_eq!(feasible, [0, 3]);
        for (node, reason, resolvability) in [
            (1, FAR, Resolvability::Unresolvable),
            (2, OLD, Resolvability::Resolvable),
        ] {
            let verdict = verdicts.of(NodeIndex::new(node));
            assert_eq!(verdict.resolvability(), resolvability);
            assert_eq!(plugin.reasons(cycle, &state, verdict.code()).as_slice(), [reason]);
        }
    }

    #[test]
    fn nodes_rejected_before_are_not_judged() {
        let (pod, columns, state) = (pod(), Columns::new(), CycleState::new());
        let cycle = CycleContext {
            pod: &pod,
            columns: &columns,
            now: Moment::ZERO,
        };
        let mut verdicts = Verdicts::default();
        verdicts.begin(&nodes(), 4);
        verdicts
            .pass(0)
            .reject(NodeIndex::new(2), ReasonCode(0), Resolvability::Resolvable);
        // Would be an error if node 2 were asked about.
        ByNumber { says_of_old: UNLISTED }
            .filter(cycle, &state, &mut verdicts.pass(1))
            .unwrap();
        assert_eq!(verdicts.of(NodeIndex::new(2)).filter(), Some(0));
        assert_eq!(verdicts.of(NodeIndex::new(1)).filter(), Some(1));
    }

    #[test]
    fn a_reason_that_was_not_announced_is_an_error() {
        let (pod, columns, state) = (pod(), Columns::new(), CycleState::new());
        let cycle = CycleContext {
            pod: &pod,
            columns: &columns,
            now: Moment::ZERO,
        };
        let mut verdicts = Verdicts::default();
        verdicts.begin(&nodes(), 4);
        let plugin = ByNumber { says_of_old: UNLISTED };
        let error = plugin.filter(cycle, &state, &mut verdicts.pass(0)).unwrap_err();
        assert_eq!(
            error,
            r#"reason "nobody knows" is not among the possible reasons of ByNumber"#
        );
    }

    #[test]
    fn each_node_gets_its_score_and_an_error_ends_it() {
        let (pod, columns, state) = (pod(), Columns::new(), CycleState::new());
        let cycle = CycleContext {
            pod: &pod,
            columns: &columns,
            now: Moment::ZERO,
        };
        let plugin = ByNumber { says_of_old: OLD };
        let mut scores = [0; 3];
        plugin
            .score(cycle, &state, &[3, 0, 7].map(NodeIndex::new), &mut scores)
            .unwrap();
        assert_eq!(scores, [3, 0, 7]);
        let error = plugin
            .score(cycle, &state, &[1, 9, 2].map(NodeIndex::new), &mut scores)
            .unwrap_err();
        assert_eq!(error, "nine");
    }
}
