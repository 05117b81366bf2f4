//! How pods were taken away, and how many of a budget's pods were left, read from etcd's history.

use std::collections::BTreeMap;

use crate::explain::PodFacts;
use crate::history::{Record, State};

/// One pod's way out, step by step; each step is the revision at which etcd took it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removal {
    /// The pod's name.
    pub name: String,
    /// The node it was bound to; empty when it was not.
    pub node: String,
    /// It was marked as a victim of preemption.
    pub marked: Option<i64>,
    /// It was asked to go.
    pub asked_to_go: Option<i64>,
    /// It was gone.
    pub gone: Option<i64>,
}

impl Removal {
    /// True when somebody deleted or evicted it.
    pub fn begun(&self) -> bool {
        self.asked_to_go.or(self.gone).is_some()
    }
}

/// The pods of which removal has begun or that are marked for it, in the order of their UIDs' first appearance.
pub fn removals(records: &[(i64, Record)]) -> Vec<Removal> {
    let mut present: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all: Vec<Removal> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (revision, record) in records {
        match record {
            Record::Pod(key, pod) => {
                let place = *places.entry(pod.uid().to_owned()).or_insert_with(|| {
                    all.push(Removal {
                        name: pod.metadata.name.clone().unwrap_or_default(),
                        ..Removal::default()
                    });
                    all.len() - 1
                });
                present.insert(key, place);
                let removal = &mut all[place];
                if let Some(node) = pod.node() {
                    node.clone_into(&mut removal.node);
                }
                if pod.marked_as_victim() {
                    removal.marked.get_or_insert(*revision);
                }
                if pod.metadata.deletion_timestamp.is_some() {
                    removal.asked_to_go.get_or_insert(*revision);
                }
            }
            Record::PodGone(key) => {
                if let Some(place) = present.remove(key.as_str()) {
                    all[place].gone = Some(*revision);
                }
            }
            _ => {}
        }
    }
    all.retain(|removal| removal.begun() || removal.marked.is_some());
    all
}

/// The least number of healthy pods with the label that there were at any moment after `revision`.
pub fn lowest_healthy(records: &[(i64, Record)], revision: i64, (key, value): (&str, &str)) -> usize {
    let mut state = State::default();
    let mut lowest = usize::MAX;
    for (at, record) in records {
        state.apply(record);
        let about_a_pod = matches!(record, Record::Pod(..) | Record::PodGone(_));
        if *at > revision && about_a_pod {
            let labelled = state.pods.values().filter(|pod| {
                let labels = pod.metadata.labels.as_ref();
                labels
                    .and_then(|labels| labels.get(key))
                    .is_some_and(|found| found == value)
            });
            lowest = lowest.min(labelled.filter(|pod| pod.healthy()).count());
        }
    }
    lowest
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::{Value, json};

    use super::*;

    fn written(uid: &str, deleted: Option<&str>, conditions: &Value) -> Record {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": { "name": "p", "namespace": "n", "uid": uid, "labels": { "app": "a" }, "deletionTimestamp": deleted },
            "spec": { "nodeName": "n1", "containers": [] },
            "status": { "conditions": conditions },
        }))
        .unwrap();
        Record::Pod("n/p".to_owned(), Box::new(pod))
    }

    #[test]
    fn each_step_has_the_revision_at_which_it_showed_first() {
        let ready = json!([{ "type": "Ready", "status": "True" }]);
        let marked = json!([
            { "type": "Ready", "status": "True" },
            { "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler" },
        ]);
        let now = Some("2026-01-02T03:04:05Z");
        let records = [
            (1, written("u", None, &ready)),
            (2, written("u", None, &marked)),
            (3, written("u", now, &marked)),
            (4, written("u", now, &marked)),
            (5, Record::PodGone("n/p".to_owned())),
            // Another pod of the same name, which stays.
            (6, written("v", None, &ready)),
        ];
        let expected = Removal {
            name: "p".to_owned(),
            node: "n1".to_owned(),
            marked: Some(2),
            asked_to_go: Some(3),
            gone: Some(5),
        };
        assert_eq!(removals(&records), [expected]);
        assert_eq!(lowest_healthy(&records[..2], 0, ("app", "a")), 1);
        assert_eq!(lowest_healthy(&records, 0, ("app", "a")), 0);
        assert_eq!(lowest_healthy(&records, 5, ("app", "a")), 1);
    }
}
