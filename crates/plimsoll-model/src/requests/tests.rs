use super::*;
use crate::testing::{PodBuilder, pod};
use crate::{ContainerStatus, PodLevelStatus};

const MEBI: i64 = 1024 * 1024;
const PLAIN: RequestOptions = RequestOptions {
    status_aware: false,
    pod_level: true,
    non_zero: false,
};
const NON_ZERO: RequestOptions = RequestOptions {
    non_zero: true,
    ..PLAIN
};

fn second(pod: PodBuilder) -> PodBuilder {
    pod.container(Container {
        name: "second".into(),
        ..Container::default()
    })
}

fn list(pairs: &[(&str, &str)]) -> ResourceList {
    pairs
        .iter()
        .map(|(name, amount)| (*name, Quantity::parse(amount).unwrap()))
        .collect()
}

fn status(name: &str, in_effect: &[(&str, &str)], allocated: &[(&str, &str)]) -> ContainerStatus {
    ContainerStatus {
        name: name.into(),
        requests: list(in_effect),
        allocated: list(allocated),
    }
}

/// Pod, requested cpu and memory (MiB), non-zero cpu and memory (MiB).
#[test]
fn containers_inits_sidecars_pod_level_and_overhead_add_up() {
    let cases = [
        ("nothing named", pod("p"), (0, 0), (100, 200)),
        ("zero is not missing", second(pod("p").cpu("0")), (0, 0), (100, 400)),
        (
            "larger init",
            pod("p").cpu("1").init(&[("cpu", "2")]),
            (2000, 0),
            (2000, 200),
        ),
        (
            "smaller init",
            pod("p").cpu("3").init(&[("cpu", "2")]),
            (3000, 0),
            (3000, 200),
        ),
        (
            "sidecar before init",
            pod("p").cpu("1").sidecar(&[("cpu", "1")]).init(&[("cpu", "2")]),
            (3000, 0),
            (3000, 400),
        ),
        (
            "init before sidecar",
            pod("p").cpu("1").init(&[("cpu", "2")]).sidecar(&[("cpu", "1")]),
            (2000, 0),
            (2000, 400),
        ),
        (
            "largest of each resource",
            pod("p").cpu("1").memory("1Gi").init(&[("cpu", "2"), ("memory", "1Mi")]),
            (2000, 1024),
            (2000, 1024),
        ),
        (
            "pod level replaces, overhead comes on top",
            pod("p").cpu("1").pod_level("cpu", "3").overhead("cpu", "100m"),
            (3100, 0),
            (3100, 200),
        ),
        (
            "pod level below the containers",
            pod("p").cpu("4").memory("1Gi").pod_level("cpu", "2"),
            (2000, 1024),
            (2000, 1024),
        ),
        (
            "rounded once, at the end",
            second(pod("p").cpu("500u")).cpu("500u"),
            (1, 0),
            (1, 400),
        ),
        ("rounded up", pod("p").cpu("1.1m").memory("1"), (2, 0), (2, 0)),
    ];
    for (name, pod, (cpu, memory), (non_zero_cpu, non_zero_memory)) in cases {
        let pod = pod.build();
        let plain = pod_requests(&pod, PLAIN);
        let non_zero = pod_requests(&pod, NON_ZERO);
        assert_eq!((plain.milli_cpu, plain.memory / MEBI), (cpu, memory), "{name}");
        assert_eq!(
            (non_zero.milli_cpu, non_zero.memory / MEBI),
            (non_zero_cpu, non_zero_memory),
            "{name}, non-zero"
        );
        let (amounts, cpu_in_one_go, memory_in_one_go) = requests_and_non_zero(&pod, PLAIN);
        assert_eq!(amounts, plain, "{name}");
        assert_eq!(
            (cpu_in_one_go, memory_in_one_go),
            (non_zero.milli_cpu, non_zero.memory),
            "{name}, in one go"
        );
    }
}

#[test]
fn without_pod_level_requests_the_containers_count() {
    let pod = pod("p")
        .cpu("1")
        .pod_level("cpu", "3")
        .pod_level("hugepages-2Mi", "4Mi")
        .build();
    let without = pod_requests(
        &pod,
        RequestOptions {
            pod_level: false,
            ..PLAIN
        },
    );
    assert_eq!((without.milli_cpu, without.scalar("hugepages-2Mi")), (1000, 0));
    let with = pod_requests(&pod, PLAIN);
    assert_eq!((with.milli_cpu, with.scalar("hugepages-2Mi")), (3000, 4 * MEBI));
}

#[test]
fn pod_level_requests_of_other_resources_do_not_count() {
    let pod = pod("p").pod_level("ephemeral-storage", "1Gi").build();
    assert_eq!(pod_requests(&pod, PLAIN), Amounts::default());
    assert_eq!(pod_requests(&pod, NON_ZERO).milli_cpu, DEFAULT_MILLI_CPU_REQUEST);
}

#[test]
fn only_known_resources_are_accounted_for() {
    let pod = pod("p")
        .request("ephemeral-storage", "1Gi")
        .request("example.com/gpu", "2")
        .request("hugepages-2Mi", "0")
        .request("unheard-of", "5")
        .build();
    let amounts = pod_requests(&pod, PLAIN);
    assert_eq!(amounts.ephemeral_storage, 1024 * MEBI);
    assert_eq!(
        amounts.scalars.as_slice(),
        [("example.com/gpu".into(), 2), ("hugepages-2Mi".into(), 0)]
    );
}

#[test]
fn during_a_resize_the_largest_of_wanted_in_effect_and_allocated_counts() {
    let resizing = |statuses: Vec<ContainerStatus>, reason: Option<&str>| {
        pod("p")
            .cpu("1")
            .memory("100Mi")
            .sidecar(&[("cpu", "1")])
            .init(&[("cpu", "1")])
            .with(|pod| {
                pod.status.container_statuses = statuses;
                pod.status.resize_pending_reason = reason.map(Into::into);
            })
            .build()
    };
    let in_effect = || status("c", &[("cpu", "500m"), ("memory", "300Mi")], &[("cpu", "2")]);
    let cases = [
        ("no status", vec![], None, (2000, 100)),
        ("one container", vec![in_effect()], None, (3000, 300)),
        ("deferred", vec![in_effect()], Some("Deferred"), (3000, 300)),
        (
            "infeasible",
            vec![status("c", &[("cpu", "500m")], &[("cpu", "600m")])],
            Some("Infeasible"),
            (2000, 0),
        ),
        ("sidecar", vec![status("i0", &[("cpu", "4")], &[])], None, (5000, 100)),
        (
            "plain init container",
            vec![status("i1", &[("cpu", "9")], &[])],
            None,
            (2000, 100),
        ),
        (
            "another container",
            vec![status("other", &[("cpu", "9")], &[])],
            None,
            (2000, 100),
        ),
    ];
    for (name, statuses, reason, (cpu, memory)) in cases {
        let pod = resizing(statuses, reason);
        let amounts = pod_requests(&pod, RequestOptions::ON_NODE);
        assert_eq!((amounts.milli_cpu, amounts.memory / MEBI), (cpu, memory), "{name}");
        assert_eq!(
            pod_requests(&pod, RequestOptions::INCOMING).milli_cpu,
            2000,
            "{name}: not status-aware"
        );
        let non_zero = pod_requests(
            &pod,
            RequestOptions {
                non_zero: true,
                ..RequestOptions::ON_NODE
            },
        );
        let (_, cpu, memory) = requests_and_non_zero(&pod, RequestOptions::ON_NODE);
        assert_eq!(
            (cpu, memory),
            (non_zero.milli_cpu, non_zero.memory),
            "{name}, in one go"
        );
    }
}

#[test]
fn a_resize_of_the_whole_pod_follows_the_same_rule() {
    let resizing = |reason: Option<&str>| {
        pod("p")
            .pod_level("cpu", "2")
            .pod_level("memory", "1Gi")
            .with(|pod| {
                let given = PodLevelStatus {
                    requests: list(&[("cpu", "3")]),
                    allocated: list(&[("cpu", "1")]),
                };
                pod.status.pod_level = Some(Box::new(given));
                pod.status.resize_pending_reason = reason.map(Into::into);
            })
            .build()
    };
    let granted = pod_requests(&resizing(None), RequestOptions::ON_NODE);
    assert_eq!((granted.milli_cpu, granted.memory / MEBI), (3000, 1024));
    let infeasible = pod_requests(&resizing(Some("Infeasible")), RequestOptions::ON_NODE);
    assert_eq!((infeasible.milli_cpu, infeasible.memory), (3000, 0));
    assert_eq!(pod_requests(&resizing(None), RequestOptions::INCOMING).milli_cpu, 2000);
}

#[test]
fn amounts_stay_at_the_end_instead_of_wrapping_around() {
    let mut sum = Amounts {
        milli_cpu: i64::MAX,
        scalars: [("b".into(), i64::MAX)].into_iter().collect(),
        ..Amounts::default()
    };
    let more = Amounts {
        milli_cpu: 1,
        scalars: [("a".into(), 1), ("b".into(), 1)].into_iter().collect(),
        ..Amounts::default()
    };
    sum.add(&more);
    assert_eq!(sum.milli_cpu, i64::MAX);
    assert_eq!(sum.scalars.as_slice(), [("a".into(), 1), ("b".into(), i64::MAX)]);
}
