//! `NodeUnschedulable`: a cordoned node takes only pods that tolerate the taint which stands for that.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_framework::{CycleContext, CycleState, Extensions, Filter, FilterPass, Plugin, ReasonCode, Resolvability};
use plimsoll_model::{Effect, Taint};
use smallvec::{SmallVec, smallvec};

/// Name in profiles, metrics and messages.
pub const NAME: &str = "NodeUnschedulable";

/// What users read.
pub const REASON: &str = "node(s) were unschedulable";

const TAINT_KEY: &str = "node.kubernetes.io/unschedulable";

/// Rejects cordoned nodes.
#[derive(Debug, Clone, Copy)]
pub struct NodeUnschedulable;

/// Where it takes part.
pub fn extensions() -> Extensions {
    Extensions::new().filter(Arc::new(NodeUnschedulable))
}

impl Plugin for NodeUnschedulable {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Filter for NodeUnschedulable {
    fn filter(&self, cycle: CycleContext<'_>, _: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        let taint = Taint::new(TAINT_KEY, "", Effect::NoSchedule);
        if !cycle
            .pod
            .spec
            .tolerations
            .iter()
            .any(|toleration| toleration.tolerates(&taint))
        {
            pass.reject_set(
                cycle.columns.unschedulable(),
                ReasonCode(0),
                Resolvability::Unresolvable,
            );
        }
        Ok(())
    }

    fn judges_nodes_alone(&self) -> bool {
        true
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        smallvec![Cow::Borrowed(REASON)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Cluster, pod, unresolvable};

    #[test]
    fn a_cordoned_node_takes_only_pods_that_tolerate_it() {
        let cluster = Cluster::of_nodes([("open", "{}"), ("cordoned", r#"{"spec":{"unschedulable":true}}"#)]);
        let rejected = Some(unresolvable(["node(s) were unschedulable"]));
        let key = "node.kubernetes.io/unschedulable";
        let cases = [
            ("[]".to_owned(), rejected.clone()),
            (r#"[{"operator":"Exists"}]"#.to_owned(), None),
            (format!(r#"[{{"key":"{key}","operator":"Exists"}}]"#), None),
            (
                format!(r#"[{{"key":"{key}","operator":"Equal","value":"","effect":"NoSchedule"}}]"#),
                None,
            ),
            (
                format!(r#"[{{"key":"{key}","operator":"Equal","value":"true"}}]"#),
                rejected.clone(),
            ),
            (
                format!(r#"[{{"key":"{key}","operator":"Exists","effect":"NoExecute"}}]"#),
                rejected,
            ),
        ];
        for (tolerations, expected) in cases {
            let verdicts = cluster.filter(&extensions(), &pod(&format!(r#"{{"tolerations":{tolerations}}}"#)));
            assert_eq!(verdicts.of("open"), None);
            assert_eq!(verdicts.of("cordoned"), expected, "{tolerations}");
        }
    }
}
