//! Pages as JSON. Each has `items`, how many there are in all (`total`), and `continue` if there is more: what the next
//! request says to go on.

use plimsoll_engine::{NodeDump, Resources};
use plimsoll_framework::{PermitWait, WaitingPod};
use plimsoll_model::{Node, Pod};
use plimsoll_queue::QueuedPod;
use plimsoll_telemetry::PageOf;
use serde_json::{Value, json};

use super::dumper::phase_text;
use super::{Listed, NodeListing, QueueListing, TermListing, TermRecord};
use crate::permits::WaitingReport;
use crate::wall_times::WallTimes;

#[expect(clippy::needless_pass_by_value, reason = "made for it")]
fn page(total: usize, items: Vec<Value>, next: Option<&str>) -> Value {
    let mut page = json!({ "total": total, "items": items });
    if let Some(next) = next {
        page["continue"] = json!(next);
    }
    page
}

impl Listed<Pod> {
    pub(crate) fn to_json(&self) -> Value {
        let pod = |pod: &Pod| {
            json!({
                "pod": pod.name.to_string(),
                "uid": pod.uid.as_str(),
                "resourceVersion": pod.resource_version.to_string(),
                "schedulerName": pod.spec.scheduler_name,
                "priority": pod.priority(),
                "phase": phase_text(pod.status.phase),
                "node": pod.node_name(),
                "nominatedNode": pod.status.nominated_node_name,
                "terminating": pod.is_terminating(),
            })
        };
        let items = self.items.iter().map(|item| pod(item)).collect();
        page(self.total, items, self.next.as_deref())
    }
}

impl Listed<Node> {
    pub(crate) fn to_json(&self) -> Value {
        let node = |node: &Node| {
            json!({
                "node": node.name,
                "uid": node.uid.as_str(),
                "resourceVersion": node.resource_version.to_string(),
                "unschedulable": node.spec.unschedulable,
            })
        };
        let items = self.items.iter().map(|item| node(item)).collect();
        page(self.total, items, self.next.as_deref())
    }
}

impl QueueListing {
    pub(crate) fn to_json(&self) -> Value {
        let queued = |queued: &QueuedPod| {
            json!({
                "pod": queued.pod.name.to_string(),
                "uid": queued.pod.uid.as_str(),
                "place": queued.place.name(),
                "since": self.times.text(queued.since),
                "nextLook": self.times.text(queued.next_look),
                "retryAt": queued.retry_at.map(|at| self.times.text(at)),
                "attempts": queued.attempts,
            })
        };
        let counts = &self.counts;
        let total = counts.pending() + counts.in_flight + counts.placed;
        let next = self.next.map(|next| next.to_string());
        let mut shown = page(total, self.pods.iter().map(queued).collect(), next.as_deref());
        shown["counts"] = json!({
            "active": counts.active,
            "backoff": counts.backoff,
            "errorBackoff": counts.error_backoff,
            "unschedulable": counts.unschedulable,
            "gated": counts.gated,
            "inFlight": counts.in_flight,
            "placed": counts.placed,
        });
        shown
    }
}

impl NodeListing {
    pub(crate) fn to_json(&self) -> Value {
        fn resources(resources: &Resources) -> Value {
            json!({
                "milliCPU": resources.milli_cpu,
                "memory": resources.memory,
                "ephemeralStorage": resources.ephemeral_storage,
                "pods": resources.pods,
                "scalars": resources.scalars,
            })
        }
        let node = |node: &NodeDump| {
            json!({
                "node": node.name,
                "deleted": node.deleted,
                "requested": resources(&node.requested),
                "allocatable": resources(&node.allocatable),
                "podCount": node.pods.len(),
                "nominatedPods": node.nominated.iter().map(|pod| pod.name.to_string()).collect::<Vec<_>>(),
            })
        };
        let full = self.nodes.len() == self.limit;
        let next = self.nodes.last().filter(|_| full).map(|last| last.name.as_str());
        page(self.total, self.nodes.iter().map(node).collect(), next)
    }
}

impl WaitingReport {
    pub(crate) fn to_json(&self, of: &PageOf) -> Value {
        let waiting = |waiting: &WaitingPod| {
            let wait = |wait: &PermitWait| json!({ "plugin": wait.plugin, "until": self.times.text(wait.until) });
            json!({
                "pod": waiting.pod.name.to_string(),
                "uid": waiting.pod.uid.as_str(),
                "node": waiting.node,
                "since": self.times.text(waiting.since),
                "waits": waiting.waits.iter().map(wait).collect::<Vec<_>>(),
            })
        };
        let start: usize = of.after.as_deref().and_then(|after| after.parse().ok()).unwrap_or(0);
        let end = start.saturating_add(of.limit);
        let items = self.pods.iter().skip(start).take(of.limit).map(waiting).collect();
        let next = (self.pods.len() > end).then(|| end.to_string());
        page(self.pods.len(), items, next.as_deref())
    }
}

impl TermListing {
    pub(crate) fn to_json(&self, of: &PageOf) -> Value {
        // The newest first: behind a number are the smaller ones.
        let after = of.after.as_deref().and_then(|number| number.parse::<u64>().ok());
        let older = |term: &&TermRecord| after.is_none_or(|after| term.number < after);
        let mut terms = self.terms.iter().filter(older);
        let shown: Vec<_> = terms.by_ref().take(of.limit).collect();
        let more = terms.next().is_some();
        let next = shown.last().filter(|_| more).map(|last| last.number.to_string());
        let items = shown.iter().map(|term| term.to_json(&self.times)).collect();
        page(self.terms.len(), items, next.as_deref())
    }
}

impl TermRecord {
    fn to_json(&self, times: &WallTimes) -> Value {
        let mut term = json!({ "term": self.number, "began": times.text(self.began) });
        if let Some((over, reason)) = &self.over {
            term["over"] = json!(times.text(*over));
            term["reason"] = json!(reason);
        }
        term
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use jiff::Timestamp;
    use plimsoll_model::Moment;
    use plimsoll_model::testing::pod;
    use plimsoll_queue::{Counts, Place};

    use super::*;

    fn times() -> WallTimes {
        WallTimes::new(Moment::ZERO, Timestamp::UNIX_EPOCH)
    }

    fn second(seconds: u64) -> Moment {
        Moment::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_page_of_the_queue_tells_of_each_pod_where_it_is_and_until_when() {
        let waiting = Arc::new(pod("a").build());
        let listing = QueueListing {
            counts: Counts {
                backoff: 1,
                in_flight: 2,
                ..Counts::default()
            },
            pods: vec![QueuedPod {
                pod: Arc::clone(&waiting),
                place: Place::Backoff,
                since: second(1),
                next_look: second(3),
                retry_at: Some(second(2)),
                attempts: 2,
            }],
            next: Some(100),
            times: times(),
        };
        let shown = listing.to_json();
        assert_eq!((&shown["total"], &shown["continue"]), (&json!(3), &json!("100")));
        assert_eq!(shown["counts"]["backoff"], 1);
        let expected = json!({
            "pod": waiting.name.to_string(),
            "uid": waiting.uid.as_str(),
            "place": "backoff",
            "since": "1970-01-01T00:00:01Z",
            "nextLook": "1970-01-01T00:00:03Z",
            "retryAt": "1970-01-01T00:00:02Z",
            "attempts": 2,
        });
        assert_eq!(shown["items"], json!([expected]));
    }

    #[test]
    fn pods_that_wait_at_permit_come_by_the_page_with_whom_they_wait_for_and_until_when() {
        let wait = |plugin, seconds| PermitWait {
            plugin,
            timeout: Duration::from_secs(seconds),
            until: second(10 + seconds),
        };
        let waiting = |name: &str| WaitingPod {
            pod: Arc::new(pod(name).build()),
            node: "n1".into(),
            since: second(10),
            waits: [wait("Gang", 20), wait("Quota", 65)].into_iter().collect(),
        };
        let report = WaitingReport {
            times: times(),
            pods: ["a", "b", "c"].map(waiting).into(),
        };
        let of = |after: Option<&str>| PageOf {
            limit: 2,
            after: after.map(str::to_owned),
        };
        let first = report.to_json(&of(None));
        assert_eq!((&first["total"], &first["continue"]), (&json!(3), &json!("2")));
        let expected = json!({
            "pod": report.pods[1].pod.name.to_string(),
            "uid": report.pods[1].pod.uid.as_str(),
            "node": "n1",
            "since": "1970-01-01T00:00:10Z",
            "waits": [
                { "plugin": "Gang", "until": "1970-01-01T00:00:30Z" },
                { "plugin": "Quota", "until": "1970-01-01T00:01:15Z" },
            ],
        });
        assert_eq!(first["items"][1], expected);
        let rest = report.to_json(&of(Some("2")));
        assert_eq!(rest["items"][0]["pod"], report.pods[2].pod.name.to_string());
        assert_eq!(rest["continue"], Value::Null);
    }

    #[test]
    fn times_of_leadership_come_newest_first_and_by_the_page() {
        let term = |number, over: Option<&str>| TermRecord {
            number,
            began: second(number),
            over: over.map(|why| (second(number + 1), why.to_owned())),
        };
        let listing = TermListing {
            terms: vec![term(3, None), term(2, Some("lost")), term(1, Some("lost"))],
            times: times(),
        };
        let page = |limit, after: Option<&str>| {
            listing.to_json(&PageOf {
                limit,
                after: after.map(str::to_owned),
            })
        };
        let first = page(1, None);
        assert_eq!(first["items"], json!([{ "term": 3, "began": "1970-01-01T00:00:03Z" }]));
        assert_eq!(first["continue"], "3");
        let second = page(2, Some("3"));
        assert_eq!(second["items"][0]["over"], "1970-01-01T00:00:03Z");
        assert_eq!(
            (second["items"].as_array().unwrap().len(), second.get("continue")),
            (2, None)
        );
    }
}
