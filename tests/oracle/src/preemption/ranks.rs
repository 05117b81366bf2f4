use std::collections::BTreeMap;

use serde_json::Value;

use super::PreemptionAnswer;
use crate::case::Case;

/// How important the pods of a case are: by priority, and then by how long they have run.
#[derive(Debug)]
pub(super) struct Ranks(BTreeMap<String, (i64, String)>);

impl Ranks {
    pub(super) fn of(case: &Case) -> Self {
        Self(case.pods.iter().filter_map(rank).collect())
    }

    /// The same answer with victims that are equally important in the order of their names: nobody says which is first.
    pub(super) fn settled(&self, answer: &PreemptionAnswer) -> PreemptionAnswer {
        let mut answer = answer.clone();
        for tried in answer.tried.values_mut() {
            self.settle(&mut tried.victims);
        }
        self.settle(&mut answer.evicted);
        answer
    }

    fn settle(&self, pods: &mut [String]) {
        for equals in pods.chunk_by_mut(|one, other| self.0.get(one) == self.0.get(other)) {
            equals.sort_unstable();
        }
    }
}

fn rank(pod: &Value) -> Option<(String, (i64, String))> {
    let uid = pod["metadata"]["uid"].as_str()?;
    let priority = pod["spec"]["priority"].as_i64().unwrap_or(0);
    let started = pod["status"]["startTime"].as_str().unwrap_or_default();
    Some((uid.to_owned(), (priority, started.to_owned())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_pods_that_are_equally_important_may_change_places() {
        let pod = |uid: &str, priority: i64, started: &str| json!({"metadata": {"uid": uid}, "spec": {"priority": priority}, "status": {"startTime": started}});
        let case = Case {
            pods: vec![pod("a", 1, "x"), pod("b", 1, "x"), pod("c", 1, "y"), pod("d", 2, "x")],
            ..Case::default()
        };
        let settled = |evicted: [&str; 4]| {
            let answer = PreemptionAnswer {
                evicted: evicted.map(ToOwned::to_owned).into(),
                ..PreemptionAnswer::default()
            };
            Ranks::of(&case).settled(&answer).evicted.concat()
        };
        assert_eq!(settled(["d", "b", "a", "c"]), "dabc");
        assert_eq!(settled(["b", "d", "a", "c"]), "bdac");
        assert_eq!(settled(["c", "b", "a", "d"]), "cabd");
    }
}
