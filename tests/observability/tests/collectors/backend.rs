//! What Jaeger shows of pods.

use anyhow::Context;
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Election, Scheduler, suite};
use plimsoll_observability::{Jaeger, Trace};

use super::{create, create_annotated, documented, jaeger};

/// Exports at once, everything.
const AT_ONCE: (&str, &str) = ("OTEL_BSP_SCHEDULE_DELAY", "100");

/// The names of spans that are parts of this one, in the order in which they began.
fn parts<'t>(trace: &'t Trace, of: &str) -> Vec<&'t str> {
    let parts = trace.spans.iter().filter(|span| trace.parent_name(span) == Some(of));
    parts.map(|span| span.name.as_str()).collect()
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "one cluster, three pods and what there is beside them"
)]
fn a_placed_a_preempting_and_a_pending_pod_each_have_a_tree_in_jaeger() -> anyhow::Result<()> {
    let Some(program) = jaeger()? else { return Ok(()) };
    suite::run(async |cluster| {
        let jaeger = Jaeger::start(&program).await?;
        let endpoint = jaeger.grpc();
        cluster.create_priorities([1, 100]).await?;
        cluster.create_nodes([node("n1").cpu("2")]).await?;
        cluster.start_kubelets();
        let env = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_SERVICE_NAME", "scheduler-under-test"),
            ("OTEL_RESOURCE_ATTRIBUTES", "k8s.cluster.name=kept"),
            AT_ONCE,
        ];
        cluster.start(Scheduler::Plimsoll, Election::Quick, &env)?;

        // Placed: one life, from the queue to the binding.
        let placed = create(cluster, pod("placed").priority(1).cpu("1500m")).await?;
        cluster.bound("placed").await?;
        let whole = |trace: &Trace| trace.span("schedule pod").map(|_| trace.clone());
        let trace = jaeger.until("a life", &placed, whole).await?;
        suite::say(&format!("a placed pod:\n{}", trace.tree().join("\n")));
        assert_eq!(parts(&trace, "schedule pod"), ["queue active", "attempt"]);
        assert_eq!(parts(&trace, "attempt"), ["scheduling cycle", "binding cycle"]);
        let cycle = parts(&trace, "scheduling cycle");
        assert!(cycle.starts_with(&["PreFilter", "Filter"]), "{cycle:?}");
        assert!(
            parts(&trace, "Filter").contains(&"Filter/NodeResourcesFit"),
            "its plugins were timed"
        );
        assert!(parts(&trace, "binding cycle").contains(&"Bind"));
        let bind = trace.span("POST pods/binding").expect("a request");
        assert_eq!(
            (bind.tag("span.kind"), bind.tag("http.request.method")),
            ("client", "POST")
        );
        let root = trace.span("schedule pod").expect("a root");
        assert_eq!((root.tag("k8s.pod.name"), root.tag("k8s.node.name")), ("placed", "n1"));
        assert_eq!(root.tag("k8s.namespace.name"), cluster.namespace());
        assert_eq!(root.tag("plimsoll.outcome"), "scheduled");
        let process = |key: &str| trace.process.get(key).map(String::as_str);
        assert_eq!(process("service.name"), Some("scheduler-under-test"));
        assert_eq!(process("k8s.cluster.name"), Some("kept"));

        // Preempting: two attempts of one life, and between them the end of another's.
        let preempting = create(cluster, pod("preempting").priority(100).cpu("1")).await?;
        cluster.bound("preempting").await?;
        let ended = |trace: &Trace| {
            (trace.span("schedule pod").is_some() && trace.span("preemption").is_some()).then(|| trace.clone())
        };
        let trace = jaeger.until("a life with a preemption", &preempting, ended).await?;
        suite::say(&format!("a preempting pod:\n{}", trace.tree().join("\n")));
        documented::is_drawn(&trace)?;
        let attempts = trace.spans_called("attempt");
        assert!(attempts.len() >= 2, "{attempts:?}");
        let first = attempts[0];
        assert_eq!(
            (first.tag("plimsoll.outcome"), first.tag("error")),
            ("unschedulable", "true")
        );
        assert_eq!(
            (
                first.tag("plimsoll.preemption.node"),
                first.tag("plimsoll.preemption.victims")
            ),
            ("n1", "1")
        );
        assert_eq!(
            attempts.last().map(|last| last.tag("plimsoll.outcome")),
            Some("scheduled")
        );
        let preemption = trace.span("preemption").expect("a preemption");
        assert_eq!(preemption.parent.as_ref(), Some(&first.id));
        assert_eq!(preemption.tag("plimsoll.preemption.ending"), "done");
        assert!(parts(&trace, "scheduling cycle").contains(&"PostFilter"));
        let linked: Vec<&str> = preemption.links.iter().map(|(trace, _)| trace.as_str()).collect();
        assert_eq!(linked, [placed.as_str()]);
        let victim = |trace: &Trace| trace.span("preempted").cloned();
        let preempted = jaeger.until("the victim's end", &placed, victim).await?;
        assert!(
            preempted.links.contains(&(preempting.clone(), preemption.id.clone())),
            "{preempted:?}"
        );
        assert_eq!(preemption.links[0].1, preempted.id);

        // Pending: attempts that say why, and no end yet.
        let pending = create(cluster, pod("pending").priority(1).cpu("8")).await?;
        cluster.why_pending("pending").await?;
        let told = |trace: &Trace| trace.span("PATCH pods/status").map(|_| trace.clone());
        let trace = jaeger.until("an attempt that was told", &pending, told).await?;
        suite::say(&format!("a pending pod:\n{}", trace.tree().join("\n")));
        assert!(trace.span("schedule pod").is_none(), "its life goes on");
        let attempt = trace.span("attempt").expect("an attempt");
        assert_eq!(attempt.tag("plimsoll.recorded_because"), "failed");
        assert!(
            attempt.tag("otel.status_description").contains("Insufficient cpu"),
            "{attempt:?}"
        );
        let rejected: Vec<_> = attempt.events.iter().filter(|event| event.name == "rejected").collect();
        let told = |key: &str| {
            rejected
                .first()
                .and_then(|event| event.tags.get(key))
                .map(String::as_str)
        };
        assert_eq!(
            (rejected.len(), told("plimsoll.plugin"), told("plimsoll.nodes")),
            (1, Some("NodeResourcesFit"), Some("1"))
        );
        assert_eq!(told("plimsoll.reason"), Some("Insufficient cpu"));
        assert_eq!(told("plimsoll.nodes.examples"), Some("[\"n1\"]"));
        assert!(trace.span("binding cycle").is_none());

        // Who asks why is told, and so is the trace.
        let question = format!("/debug/explain?pod={}/pending", cluster.namespace());
        let leader = cluster.replicas().first().context("a replica")?;
        leader.reads(&question).await?;
        let asked = |trace: &Trace| trace.span("explain").cloned();
        let explained = jaeger.until("what was explained", &pending, asked).await?;
        let near = explained.events.iter().find(|event| event.name == "near node");
        let near = near.with_context(|| format!("no node is near: {explained:?}"))?;
        assert_eq!(near.tags.get("k8s.node.name").map(String::as_str), Some("n1"));
        assert_eq!(
            near.tags.get("plimsoll.node.lacks").map(String::as_str),
            Some("[\"NodeResourcesFit: cpu: needs 8, the whole node has 2\"]")
        );
        cluster.delete_pod("pending").await?;
        let gone = |trace: &Trace| trace.span("schedule pod").cloned();
        let root = jaeger.until("the end of an untried life", &pending, gone).await?;
        assert_eq!(root.tag("plimsoll.outcome"), "gone");
        assert_eq!(attempt.parent.as_ref(), Some(&root.id));

        // What concerns no pod has traces of its own.
        for (operation, part) in [
            ("election", "lease%20written"),
            ("hand-over", "queue_built"),
            ("list", ""),
        ] {
            let found = jaeger.until_operation("scheduler-under-test", operation).await?;
            let part = part.replace("%20", " ");
            assert!(
                part.is_empty() || found.iter().any(|trace| trace.span(&part).is_some()),
                "{operation}"
            );
        }
        Ok(())
    })
}

#[test]
fn the_next_leader_and_whoever_created_the_pod_tell_of_it_in_one_trace() -> anyhow::Result<()> {
    let Some(program) = jaeger()? else { return Ok(()) };
    suite::run(async |cluster| {
        let jaeger = Jaeger::start(&program).await?;
        let endpoint = jaeger.http();
        // Only what fails or is a part of somebody's trace.
        let env = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_TRACES_SAMPLER", "parentbased_always_off"),
            AT_ONCE,
        ];
        cluster.create_nodes([node("n1").cpu("1")]).await?;
        let first = cluster.start(Scheduler::Plimsoll, Election::Quick, &env)?;
        let waiting = create(cluster, pod("waiting").cpu("2")).await?;
        cluster.why_pending("waiting").await?;
        let attempt = |trace: &Trace| trace.span("attempt").cloned();
        let before = jaeger.until("an attempt", &waiting, attempt).await?;
        cluster.replicas()[first].process.kill()?;
        cluster.start(Scheduler::Plimsoll, Election::Quick, &env)?;
        let creator = "4bf92f3577b34da6a3ce929d0e0e4736";
        let parent = format!("00-{creator}-00f067aa0ba902b7-01");
        create_annotated(cluster, pod("traced").cpu("500m"), Some(&parent)).await?;
        let untold = create(cluster, pod("untold").cpu("100m")).await?;
        cluster.bound("traced").await?;
        cluster.bound("untold").await?;
        cluster.create_nodes([node("n2").cpu("4")]).await?;
        cluster.bound("waiting").await?;

        let ended = |trace: &Trace| trace.span("schedule pod").map(|_| trace.clone());
        let trace = jaeger.until("a life over two leaders", &waiting, ended).await?;
        let root = trace.span("schedule pod").expect("a root");
        let attempts = trace.spans_called("attempt");
        assert!(attempts.iter().any(|attempt| attempt.id == before.id));
        assert!(attempts.iter().all(|attempt| attempt.parent.as_ref() == Some(&root.id)));
        assert!(attempts.len() >= 2, "both leaders have tried it: {attempts:?}");

        let trace = jaeger.until("the creator's trace", creator, ended).await?;
        let root = trace.span("schedule pod").expect("a root");
        assert_eq!(
            (root.tag("k8s.pod.name"), root.parent.as_deref()),
            ("traced", Some("00f067aa0ba902b7"))
        );

        // Told after the others, so that it would be there by now.
        let nothing = jaeger
            .until("nothing", &untold, |trace| Some(trace.spans.is_empty()))
            .await?;
        assert!(nothing, "nothing went wrong with it and nobody asked for it");
        Ok(())
    })
}
