//! What must hold of traces: they tell the truth, nothing twice, and of what is missing something was counted as dropped.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_actors::trace_context::TraceContext;
use plimsoll_apiserver::{ApiServer, Mutation};
use plimsoll_model::decode_pod;
use plimsoll_telemetry::traces::SpanData;

use super::cluster::text;

/// What one replica has told, and what it says of that itself.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// Spans that the collector took.
    pub spans: Vec<SpanData>,
    /// Attempts of which it was told, by the messages to its Tracer.
    pub attempts: usize,
    /// Spans that it counts as exported.
    pub exported: u64,
    /// Spans and records that it counts as dropped.
    pub dropped: u64,
    /// Its process has ended, so that what it had not sent by then is gone.
    pub ended: bool,
}

impl Account {
    /// Whether everything that it had to tell has come.
    fn is_whole(&self) -> bool {
        self.dropped == 0 && !self.ended
    }
}

/// A trace, and a span in it.
type Id = ([u8; 16], [u8; 8]);

fn id(span: &SpanData) -> Id {
    (trace(span), span.span_context.span_id().to_bytes())
}

fn trace(span: &SpanData) -> [u8; 16] {
    span.span_context.trace_id().to_bytes()
}

/// Spans that may outlast what they are a part of.
const LATER: [&str; 4] = ["PATCH pods/status", "preemption", "DELETE pods", "first_bind"];

/// One of a span's attributes; empty when it has none of that name.
pub fn attribute(span: &SpanData, key: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == key);
    found.map(|attribute| attribute.value.to_string()).unwrap_or_default()
}

/// All spans of a run, by what they are.
pub struct Told<'a> {
    accounts: &'a BTreeMap<String, Account>,
    by_id: BTreeMap<Id, (&'a str, &'a SpanData)>,
    twice: Vec<String>,
}

/// What the API server knows of pods, whether they are there yet or not.
#[derive(Debug, Default)]
pub struct Pods {
    traces: BTreeMap<String, TraceContext>,
    roots: BTreeSet<[u8; 8]>,
    nodes: BTreeMap<String, String>,
    failed: BTreeSet<String>,
}

impl Pods {
    /// By its history of writes.
    pub fn of(server: &ApiServer) -> Self {
        let mut pods = Self::default();
        for write in server.history() {
            if write.resource.plural == "pods" {
                pods.take(&write);
            }
        }
        pods
    }

    fn take(&mut self, write: &Mutation) {
        let uid = text(&write.object, "/metadata/uid");
        if write.verb == "bind" {
            self.nodes.insert(uid.clone(), text(&write.object, "/spec/nodeName"));
        }
        let Ok(pod) = decode_pod(write.object.to_string().as_bytes()) else {
            return;
        };
        let condition = pod.status.pod_scheduled.as_deref();
        if condition.is_some_and(|condition| condition.status == "False" && condition.reason != "SchedulingGated") {
            self.failed.insert(uid.clone());
        }
        let context = TraceContext::of(&pod);
        self.roots.insert(context.root().to_be_bytes());
        self.traces.insert(uid, context);
    }

    /// Whether the pod with this UID is told of once it is placed: it is one of this share, or it was told why it waits.
    pub fn is_told_of(&self, uid: &str, ratio: f64) -> bool {
        let trace = self.traces.get(uid);
        self.failed.contains(uid) || trace.is_some_and(|trace| trace.is_sampled(ratio))
    }
}

impl<'a> Told<'a> {
    /// By replica.
    pub fn of(accounts: &'a BTreeMap<String, Account>) -> Self {
        let mut told = Self {
            accounts,
            by_id: BTreeMap::new(),
            twice: Vec::new(),
        };
        for (replica, account) in accounts {
            for span in &account.spans {
                if let Some((other, _)) = told.by_id.insert(id(span), (replica, span)) {
                    let pod = attribute(span, "k8s.pod.name");
                    told.twice.push(format!(
                        "{other} and {replica} tell span {} of pod {pod} twice",
                        span.name
                    ));
                }
            }
        }
        told
    }

    /// Everything that is wrong. `ratio` is the share of pods that are told of though nothing goes wrong with them.
    pub fn problems(&self, pods: &Pods, ratio: f64) -> Vec<String> {
        let mut found = self.twice.clone();
        for (replica, account) in self.accounts {
            found.extend(Self::miscounted(replica, account));
            for span in &account.spans {
                found.extend(untrue(replica, span, pods, ratio));
                found.extend(self.misplaced(replica, account, span, pods));
            }
        }
        found.extend(self.placed_twice());
        found
    }

    fn miscounted(replica: &str, account: &Account) -> Vec<String> {
        let mut found = Vec::new();
        let (taken, exported) = (account.spans.len() as u64, account.exported);
        if taken != exported {
            found.push(format!(
                "{replica} counts {exported} spans as exported, and {taken} came"
            ));
        }
        let came = account.spans.iter().filter(|span| span.name == "attempt").count();
        let told = account.attempts;
        if came > told || (came < told && account.is_whole()) {
            found.push(format!(
                "of {told} attempts that {replica} told of {came} came, and nothing was dropped"
            ));
        }
        found
    }

    /// A part lies within what it is a part of, and that is there: the life at its end.
    fn misplaced(&self, replica: &str, account: &Account, span: &SpanData, pods: &Pods) -> Option<String> {
        let parent = span.parent_span_id.to_bytes();
        if parent == [0; 8] {
            return None;
        }
        let Some((of, whole)) = self.by_id.get(&(trace(span), parent)) else {
            return (account.is_whole() && !pods.roots.contains(&parent))
                .then(|| format!("{replica} tells {} of something that it does not tell", span.name));
        };
        // Clocks of two replicas differ, and these come, or end, after what they belong to.
        let later = LATER.contains(&span.name.as_ref()) || whole.name == "schedule pod";
        let within = whole.start_time <= span.start_time && span.end_time <= whole.end_time;
        (*of == replica && !later && !within)
            .then(|| format!("{replica} tells {} that is not within {}", span.name, whole.name))
    }

    /// A pod is placed once. A replica that never heard what became of its binding, and then saw the pod on that node, cannot know
    /// that the next leader's was the one that took effect.
    fn placed_twice(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for account in self.accounts.values() {
            let placed =
                |span: &&SpanData| span.name == "attempt" && attribute(span, "plimsoll.outcome") == "scheduled";
            for span in account.spans.iter().filter(placed) {
                if self.is_sure(account, span) && !seen.insert(attribute(span, "k8s.pod.uid")) {
                    let pod = attribute(span, "k8s.pod.name");
                    found.push(format!("pod {pod} is told to be placed twice"));
                }
            }
        }
        found
    }

    /// Whether a replica must know that an attempt of its own bound the pod: it says that it was told so, or nothing that it says of
    /// its bindings leaves room for another's.
    fn is_sure(&self, account: &Account, attempt: &SpanData) -> bool {
        let binds = account.spans.iter().filter(|span| {
            ["POST pods/binding", "extender bind"].contains(&span.name.as_ref()) && self.is_part_of(span, attempt)
        });
        let outcomes: Vec<String> = binds.map(|span| attribute(span, "plimsoll.call.outcome")).collect();
        let is_open = |outcome: &String| ["unknown", "conflict", "not_found"].contains(&outcome.as_str());
        outcomes.iter().any(|outcome| outcome == "created") || (account.is_whole() && !outcomes.iter().any(is_open))
    }

    fn is_part_of(&self, part: &SpanData, whole: &SpanData) -> bool {
        let parent = (trace(part), part.parent_span_id.to_bytes());
        parent == id(whole)
            || self
                .by_id
                .get(&parent)
                .is_some_and(|(_, parent)| self.is_part_of(parent, whole))
    }

    /// What is missing of the trace of a pod that was placed and of which everything should have come.
    pub fn missing_of(&self, uid: &str) -> Vec<String> {
        let spans = self.accounts.values().flat_map(|account| &account.spans);
        let of_pod: Vec<&SpanData> = spans.filter(|span| attribute(span, "k8s.pod.uid") == uid).collect();
        let below = |parent: &SpanData, names: &[&str]| {
            let parts = self.by_id.values().filter(|(_, span)| {
                trace(span) == trace(parent) && span.parent_span_id == parent.span_context.span_id()
            });
            parts
                .map(|(_, span)| *span)
                .find(|span| names.contains(&span.name.as_ref()))
        };
        let ended = |span: &&&SpanData| attribute(span, "plimsoll.outcome") == "scheduled";
        let root = of_pod.iter().filter(|span| span.name == "schedule pod").find(ended);
        let attempt = of_pod.iter().filter(|span| span.name == "attempt").find(ended);
        let wait = of_pod.iter().find(|span| span.name.starts_with("queue "));
        let cycle = attempt.and_then(|attempt| below(attempt, &["scheduling cycle"]));
        let filter = cycle.and_then(|cycle| below(cycle, &["Filter"]));
        let binding = attempt.and_then(|attempt| below(attempt, &["binding cycle"]));
        let bind = binding.and_then(|binding| below(binding, &["Bind"]));
        let sent = [bind, binding]
            .into_iter()
            .flatten()
            .find_map(|point| below(point, &["POST pods/binding", "GET pods", "extender bind"]));
        let parts = [
            ("its life", root.is_some()),
            ("the attempt that placed it", attempt.is_some()),
            ("a wait in the queue", wait.is_some()),
            ("the cycle", cycle.is_some()),
            ("the filters", filter.is_some()),
            ("the binding cycle", binding.is_some()),
            ("the point Bind", bind.is_some()),
            ("the request that bound it", sent.is_some()),
        ];
        let missing = parts.into_iter().filter(|(_, there)| !there);
        missing.map(|(what, _)| what.to_owned()).collect()
    }
}

fn untrue(replica: &str, span: &SpanData, pods: &Pods, ratio: f64) -> Option<String> {
    let (uid, name) = (attribute(span, "k8s.pod.uid"), attribute(span, "k8s.pod.name"));
    if !uid.is_empty() && !pods.traces.contains_key(&uid) {
        return Some(format!("{replica} tells {} of pod {name}, which never was", span.name));
    }
    let (told, bound) = (attribute(span, "k8s.node.name"), pods.nodes.get(&uid));
    let placed = attribute(span, "plimsoll.outcome") == "scheduled";
    if placed && bound.is_none_or(|node| *node != told) {
        return Some(format!(
            "{replica} tells that pod {name} was placed on {told}, and it was bound to {bound:?}"
        ));
    }
    let sampled = attribute(span, "plimsoll.recorded_because") == "sampled";
    let trace = pods.traces.get(&uid);
    (sampled && !trace.is_some_and(|trace| trace.is_sampled(ratio)))
        .then(|| format!("{replica} tells of pod {name} as sampled, which it is not"))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use plimsoll_telemetry::traces::opentelemetry::trace::{
        SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
    };
    use plimsoll_telemetry::traces::opentelemetry::{InstrumentationScope, KeyValue};
    use plimsoll_telemetry::traces::{SpanEvents, SpanLinks};

    use super::*;

    const UID: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    /// A span of the pod with these seconds, and `key=value`s.
    fn span(
        name: &'static str,
        (id, parent): (u64, u64),
        (from, to): (u64, u64),
        says: &[(&'static str, &str)],
    ) -> SpanData {
        let trace = TraceId::from(7_u128);
        let mut attributes = vec![KeyValue::new("k8s.pod.uid", UID), KeyValue::new("k8s.pod.name", "p")];
        attributes.extend(says.iter().map(|(key, value)| KeyValue::new(*key, (*value).to_owned())));
        SpanData {
            span_context: SpanContext::new(
                trace,
                SpanId::from(id),
                TraceFlags::SAMPLED,
                false,
                TraceState::default(),
            ),
            parent_span_id: SpanId::from(parent),
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: name.into(),
            start_time: at(from),
            end_time: at(to),
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: InstrumentationScope::default(),
        }
    }

    fn pods() -> Pods {
        let mut object = crate::workload::pod("p", 100, 10);
        object["metadata"]["uid"] = UID.into();
        object["metadata"]["resourceVersion"] = "1".into();
        let trace = TraceContext::of(&decode_pod(object.to_string().as_bytes()).unwrap());
        Pods {
            traces: BTreeMap::from([(UID.to_owned(), trace)]),
            roots: BTreeSet::from([trace.root().to_be_bytes()]),
            nodes: BTreeMap::from([(UID.to_owned(), "n1".to_owned())]),
            failed: BTreeSet::new(),
        }
    }

    fn attempt(id: u64, says: &[(&'static str, &str)]) -> SpanData {
        let root = pods().traces[UID].root();
        span("attempt", (id, root), (1, 5), says)
    }

    /// What is found wrong with one replica that was told of so many attempts and dropped so many spans.
    fn found(spans: Vec<SpanData>, attempts: usize, dropped: u64) -> String {
        let account = Account {
            exported: spans.len() as u64,
            spans,
            attempts,
            dropped,
            ended: false,
        };
        let accounts = BTreeMap::from([("r".to_owned(), account)]);
        Told::of(&accounts).problems(&pods(), 0.0).join("; ")
    }

    const PLACED: [(&str, &str); 2] = [("plimsoll.outcome", "scheduled"), ("k8s.node.name", "n1")];

    #[test]
    fn what_is_true_and_whole_is_well() {
        let cycle = span("scheduling cycle", (2, 1), (1, 3), &[]);
        assert_eq!(found(vec![attempt(1, &PLACED), cycle], 1, 0), "");
        assert_eq!(
            found(vec![attempt(1, &PLACED)], 2, 5),
            "",
            "what was dropped is not missed"
        );
    }

    #[test]
    fn what_is_untrue_told_twice_or_missing_is_found() {
        let elsewhere = [("plimsoll.outcome", "scheduled"), ("k8s.node.name", "n2")];
        let sampled = [("plimsoll.recorded_because", "sampled")];
        let late = span("Filter", (2, 1), (4, 6), &[]);
        let orphan = span("Filter", (2, 99), (1, 2), &[]);
        for (spans, attempts, words) in [
            (vec![attempt(1, &elsewhere)], 1, "was placed on n2, and it was bound to"),
            (vec![attempt(1, &sampled)], 1, "as sampled, which it is not"),
            (
                vec![attempt(1, &[]), attempt(1, &[])],
                2,
                "tell span attempt of pod p twice",
            ),
            (
                vec![attempt(1, &PLACED), attempt(2, &PLACED)],
                2,
                "is told to be placed twice",
            ),
            (vec![attempt(1, &[])], 2, "of 2 attempts that r told of 1 came"),
            (vec![attempt(1, &[]), late], 1, "Filter that is not within attempt"),
            (
                vec![attempt(1, &[]), orphan],
                1,
                "Filter of something that it does not tell",
            ),
        ] {
            let found = found(spans, attempts, 0);
            assert!(found.contains(words), "{words}: {found}");
        }
    }

    /// What is found wrong with an attempt that placed a pod, when another replica tells the same and what it heard of its binding.
    fn told_by_two(heard: &str) -> String {
        let first = span(
            "POST pods/binding",
            (2, 1),
            (2, 3),
            &[("plimsoll.call.outcome", "created")],
        );
        let second = span("POST pods/binding", (4, 3), (2, 3), &[("plimsoll.call.outcome", heard)]);
        let account = |spans: Vec<SpanData>| Account {
            exported: spans.len() as u64,
            spans,
            attempts: 1,
            dropped: 0,
            ended: false,
        };
        let accounts = BTreeMap::from([
            ("a".to_owned(), account(vec![attempt(1, &PLACED), first])),
            ("b".to_owned(), account(vec![attempt(3, &PLACED), second])),
        ]);
        Told::of(&accounts).problems(&pods(), 0.0).join("; ")
    }

    #[test]
    fn two_replicas_may_tell_that_they_placed_a_pod_if_one_never_heard_of_its_binding() {
        assert_eq!(told_by_two("unknown"), "");
        for heard in ["created", "not_sent", "seen"] {
            assert_eq!(told_by_two(heard), "pod p is told to be placed twice", "{heard}");
        }
    }

    #[test]
    fn what_is_missing_of_a_trace_is_named() {
        let accounts = BTreeMap::from([(
            "r".to_owned(),
            Account {
                spans: vec![attempt(1, &PLACED), span("scheduling cycle", (2, 1), (1, 3), &[])],
                ..Account::default()
            },
        )]);
        let missing = Told::of(&accounts).missing_of(UID);
        assert!(missing.contains(&"its life".to_owned()) && missing.contains(&"the filters".to_owned()));
        assert!(!missing.contains(&"the cycle".to_owned()), "{missing:?}");
    }
}
