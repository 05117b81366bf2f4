//! Cases that once differed, or stand for what could, with upstream's answers: rows as the oracle prints a mismatch and
//! `--replay` prints any case. They need no Go; where there is Go, upstream is asked whether it still says the same.

use std::path::Path;

use plimsoll_oracle::{Availability, Case, HintCase, PreemptionCase, Question, SearchCase, campaign, find};
use serde_json::{Map, Value};

/// What plugins say of nodes.
const VERDICTS: &[(&str, &str)] = &[
    // A pod that names a node which is not there.
    (
        r#"{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler"}]},"nodes":[{"metadata":{"name":"n0","resourceVersion":"1","uid":"n0"},"spec":{}}],"pod":{"metadata":{"name":"pod","namespace":"default","resourceVersion":"1","uid":"pod"},"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n2"]}]}]}}},"containers":[{"name":"c0"}],"schedulerName":"default-scheduler"}}}"#,
        r#"{"restricted":[],"verdicts":{"n0":{"code":"UnschedulableAndUnresolvable","reasons":["node(s) didn't satisfy plugin(s) [NodeAffinity]"],"plugin":""}},"fitError":"0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity].","rejectors":["NodeAffinity"]}"#,
    ),
];

/// What changes mean to a pod that waits.
const HINTS: &[(&str, &str)] = &[
    // A pod that frees a port on one address wakes one that wants it on all.
    (
        r#"{"cluster":{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler"}]},"nodes":[],"pod":{"metadata":{"name":"pod","namespace":"default","resourceVersion":"1","uid":"pod"},"spec":{"containers":[{"name":"c0","ports":[{"containerPort":80,"hostPort":8080,"protocol":"TCP"}]}],"schedulerName":"default-scheduler"}}},"oldPod":{"metadata":{"name":"other","namespace":"default","resourceVersion":"1","uid":"other"},"spec":{"containers":[{"name":"c0","ports":[{"containerPort":80,"hostIP":"10.1.2.3","hostPort":8080,"protocol":"TCP"}]}],"nodeName":"n0","schedulerName":"default-scheduler"}}}"#,
        r#"{"events":["AssignedPodDelete"],"hints":{"AssignedPodDelete":{"InterPodAffinity":"Skip","NodePorts":"Queue","NodeResourcesFit":"Queue","PodTopologySpread":"Skip"}}}"#,
    ),
    // One of several anti-affinity terms of a pod that goes means the waiting one: here that is enough.
    (
        r#"{"cluster":{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler"}]},"nodes":[],"pod":{"metadata":{"name":"pod","namespace":"default","resourceVersion":"1","uid":"pod"},"spec":{"containers":[{"name":"c0"}],"schedulerName":"default-scheduler"}}},"oldPod":{"metadata":{"name":"other","namespace":"default","resourceVersion":"1","uid":"other"},"spec":{"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{},"topologyKey":"topology.kubernetes.io/zone"},{"topologyKey":"kubernetes.io/hostname"}]}},"containers":[{"name":"c0"}],"nodeName":"n0","schedulerName":"default-scheduler"}}}"#,
        r#"{"events":["AssignedPodDelete"],"hints":{"AssignedPodDelete":{"InterPodAffinity":"Skip","NodePorts":"Skip","NodeResourcesFit":"Queue","PodTopologySpread":"Skip"}}}"#,
    ),
    // A term that cannot be parsed means no node here, and is an error there.
    (
        r#"{"cluster":{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler"}]},"nodes":[],"pod":{"metadata":{"name":"pod","namespace":"default","resourceVersion":"1","uid":"pod"},"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"size","operator":"Lt","values":["abc"]}]}]}}},"containers":[{"name":"c0"}],"schedulerName":"default-scheduler"}}},"oldNode":{"metadata":{"labels":{"topology.kubernetes.io/zone":"z1"},"name":"n0","resourceVersion":"1","uid":"n0"},"spec":{}},"newNode":{"metadata":{"name":"n0","resourceVersion":"2","uid":"n0"},"spec":{}}}"#,
        r#"{"events":["NodeUpdateNodeLabel"],"hints":{"NodeUpdateNodeLabel":{"InterPodAffinity":"Skip","NodeAffinity":"Error","PodTopologySpread":"Skip"}}}"#,
    ),
    // Room for no pod is written in two ways.
    (
        r#"{"cluster":{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler"}]},"nodes":[],"pod":{"metadata":{"name":"pod","namespace":"team-b","resourceVersion":"1","uid":"pod"},"spec":{"containers":[{"name":"c0"}],"schedulerName":"default-scheduler"}}},"oldNode":{"metadata":{"name":"n0","resourceVersion":"1","uid":"n0"},"spec":{},"status":{"allocatable":{"cpu":"4","memory":"104857600","pods":"0"}}},"newNode":{"metadata":{"name":"n0","resourceVersion":"2","uid":"n0"},"spec":{},"status":{"allocatable":{"cpu":"4","memory":"104857600"}}}}"#,
        r#"{"events":["NodeUpdateNodeAllocatable"],"hints":{"NodeUpdateNodeAllocatable":{"NodeResourcesFit":"Skip"}}}"#,
    ),
];

/// Which nodes are found.
const SEARCHES: &[(&str, &str)] = &[
    // Without scores one node will do, and each search goes on where the last one ended.
    (
        r#"{"cluster":{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","percentageOfNodesToScore":50,"profiles":[{"plugins":{"score":{"disabled":[{"name":"*"}]}},"schedulerName":"default-scheduler"}]},"nodes":[{"metadata":{"labels":{"topology.kubernetes.io/zone":"z1"},"name":"n0","resourceVersion":"1","uid":"n0"},"spec":{},"status":{"allocatable":{"pods":"10"}}},{"metadata":{"labels":{"topology.kubernetes.io/zone":"z1"},"name":"n1","resourceVersion":"1","uid":"n1"},"spec":{"unschedulable":true},"status":{"allocatable":{"pods":"10"}}},{"metadata":{"labels":{"topology.kubernetes.io/zone":"z2"},"name":"n2","resourceVersion":"1","uid":"n2"},"spec":{},"status":{"allocatable":{"pods":"10"}}}],"pod":null},"pods":[{"metadata":{"name":"a","namespace":"default","resourceVersion":"1","uid":"a"},"spec":{"containers":[{"name":"c"}],"schedulerName":"default-scheduler"}},{"metadata":{"name":"b","namespace":"default","resourceVersion":"1","uid":"b"},"spec":{"containers":[{"name":"c"}],"schedulerName":"default-scheduler"}},{"metadata":{"name":"c","namespace":"default","resourceVersion":"1","uid":"c"},"spec":{"containers":[{"name":"c"}],"schedulerName":"default-scheduler"}}]}"#,
        r#"{"searches":[{"evaluated":1,"feasible":["n0"],"best":["n0"]},{"evaluated":2,"feasible":["n2"],"best":["n2"]},{"evaluated":1,"feasible":["n0"],"best":["n0"]}]}"#,
    ),
];

/// Who has to go.
const PREEMPTIONS: &[(&str, &str)] = &[
    // Without nodes nobody is asked, and a trial of it has nothing to do.
    (
        r#"{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler"}]},"nodes":[],"pod":{"metadata":{"name":"pod","namespace":"default","resourceVersion":"1","uid":"pod"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}],"priority":100,"schedulerName":"default-scheduler"}}}"#,
        r#"{"fitError":"no nodes available to schedule pods","nomination":""}"#,
    ),
    // A used-up budget outweighs priority, and a less important pod that is nominated to the node loses that.
    (
        r#"{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler"}]},"nodes":[{"metadata":{"name":"n0","resourceVersion":"1","uid":"n0"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}},{"metadata":{"name":"n1","resourceVersion":"1","uid":"n1"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}}],"pods":[{"metadata":{"labels":{"app":"web"},"name":"a","namespace":"default","resourceVersion":"1","uid":"a"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}],"nodeName":"n0","priority":1,"schedulerName":"default-scheduler"}},{"metadata":{"name":"b","namespace":"default","resourceVersion":"1","uid":"b"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}],"nodeName":"n1","priority":50,"schedulerName":"default-scheduler"}},{"metadata":{"name":"c","namespace":"default","resourceVersion":"1","uid":"c"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"100m"}}}],"priority":10,"schedulerName":"default-scheduler"},"status":{"nominatedNodeName":"n1"}}],"disruptionBudgets":[{"metadata":{"name":"budget","namespace":"default","resourceVersion":"1","uid":"budget"},"spec":{"selector":{"matchLabels":{"app":"web"}}},"status":{"disruptionsAllowed":0}}],"pod":{"metadata":{"name":"pod","namespace":"default","resourceVersion":"1","uid":"pod"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}],"priority":100,"schedulerName":"default-scheduler"}}}"#,
        r#"{"best":["n1"],"cleared":["default/c"],"code":"Success","decided":1,"evicted":["b"],"fitError":"0/2 nodes are available: 2 Insufficient cpu.","nomination":"n1","tried":{"n0":{"before":"Insufficient cpu","code":"Success","lower":1,"victims":["a"],"violations":1},"n1":{"before":"Insufficient cpu","code":"Success","lower":1,"victims":["b"]}}}"#,
    ),
    // As many victims here as there, and as important the first: the sum of priorities decides, not the start times.
    (
        r#"{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler"}]},"nodes":[{"metadata":{"name":"n0","resourceVersion":"1","uid":"n0"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}},{"metadata":{"name":"n1","resourceVersion":"1","uid":"n1"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}}],"pods":[{"metadata":{"name":"a","namespace":"default","resourceVersion":"1","uid":"a"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"400m"}}}],"nodeName":"n0","priority":50,"schedulerName":"default-scheduler"},"status":{"startTime":"2026-01-01T00:00:05Z"}},{"metadata":{"name":"b","namespace":"default","resourceVersion":"1","uid":"b"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"400m"}}}],"nodeName":"n0","priority":50,"schedulerName":"default-scheduler"},"status":{"startTime":"2026-01-01T00:00:06Z"}},{"metadata":{"name":"c","namespace":"default","resourceVersion":"1","uid":"c"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"200m"}}}],"nodeName":"n0","priority":99,"schedulerName":"default-scheduler"}},{"metadata":{"name":"d","namespace":"default","resourceVersion":"1","uid":"d"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"400m"}}}],"nodeName":"n1","priority":50,"schedulerName":"default-scheduler"},"status":{"startTime":"2026-01-01T00:00:01Z"}},{"metadata":{"name":"e","namespace":"default","resourceVersion":"1","uid":"e"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"400m"}}}],"nodeName":"n1","priority":10,"schedulerName":"default-scheduler"},"status":{"startTime":"2026-01-01T00:00:02Z"}},{"metadata":{"name":"f","namespace":"default","resourceVersion":"1","uid":"f"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"200m"}}}],"nodeName":"n1","priority":99,"schedulerName":"default-scheduler"}}],"pod":{"metadata":{"name":"pod","namespace":"default","resourceVersion":"1","uid":"pod"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"800m"}}}],"priority":100,"schedulerName":"default-scheduler"}}}"#,
        r#"{"best":["n1"],"code":"Success","decided":3,"evicted":["d","e"],"fitError":"0/2 nodes are available: 2 Insufficient cpu.","nomination":"n1","tried":{"n0":{"before":"Insufficient cpu","code":"Success","lower":3,"victims":["a","b"]},"n1":{"before":"Insufficient cpu","code":"Success","lower":3,"victims":["d","e"]}}}"#,
    ),
    // A victim of the lowest priority adds nothing to the sum: the number of victims decides.
    (
        r#"{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler"}]},"nodes":[{"metadata":{"name":"n0","resourceVersion":"1","uid":"n0"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}},{"metadata":{"name":"n1","resourceVersion":"1","uid":"n1"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}}],"pods":[{"metadata":{"name":"a","namespace":"default","resourceVersion":"1","uid":"a"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}],"nodeName":"n0","priority":50,"schedulerName":"default-scheduler"}},{"metadata":{"name":"b","namespace":"default","resourceVersion":"1","uid":"b"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"500m"}}}],"nodeName":"n1","priority":50,"schedulerName":"default-scheduler"}},{"metadata":{"name":"c","namespace":"default","resourceVersion":"1","uid":"c"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"500m"}}}],"nodeName":"n1","priority":-2147483648,"schedulerName":"default-scheduler"}}],"pod":{"metadata":{"name":"pod","namespace":"default","resourceVersion":"1","uid":"pod"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}],"priority":100,"schedulerName":"default-scheduler"}}}"#,
        r#"{"best":["n0"],"code":"Success","decided":4,"evicted":["a"],"fitError":"0/2 nodes are available: 2 Insufficient cpu.","nomination":"n0","tried":{"n0":{"before":"Insufficient cpu","code":"Success","lower":1,"victims":["a"]},"n1":{"before":"Insufficient cpu","code":"Success","lower":2,"victims":["b","c"]}}}"#,
    ),
    // While a victim is going, nobody else is told to go.
    (
        r#"{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler"}]},"nodes":[{"metadata":{"name":"n0","resourceVersion":"1","uid":"n0"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}},{"metadata":{"name":"n1","resourceVersion":"1","uid":"n1"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}}],"pods":[{"metadata":{"deletionTimestamp":"2026-01-02T00:00:00Z","name":"a","namespace":"default","resourceVersion":"1","uid":"a"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}],"nodeName":"n0","priority":1,"schedulerName":"default-scheduler"},"status":{"conditions":[{"reason":"PreemptionByScheduler","status":"True","type":"DisruptionTarget"}]}},{"metadata":{"name":"b","namespace":"default","resourceVersion":"1","uid":"b"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}],"nodeName":"n1","priority":1,"schedulerName":"default-scheduler"}}],"pod":{"metadata":{"name":"pod","namespace":"default","resourceVersion":"1","uid":"pod"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}],"priority":100,"schedulerName":"default-scheduler"},"status":{"nominatedNodeName":"n0"}}}"#,
        r#"{"code":"Unschedulable","fitError":"0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to a terminating pod on the nominated node.","text":"no new claims to deallocate, preemption: not eligible due to a terminating pod on the nominated node."}"#,
    ),
];

fn rows<Q: Question>(table: &[(&str, &str)]) -> anyhow::Result<Vec<(Q, Q::Answer)>> {
    let row = |(case, upstream): &(&str, &str)| Ok((serde_json::from_str(case)?, serde_json::from_str(upstream)?));
    table.iter().map(row).collect()
}

fn ours_are_upstreams<Q: Question>(table: &[(&str, &str)]) -> anyhow::Result<()> {
    for (case, upstream) in rows::<Q>(table)? {
        let compared = case.compare(&case.judge(), &upstream);
        anyhow::ensure!(
            compared.unlisted.is_empty(),
            "{:#?} in {}",
            compared.unlisted,
            serde_json::to_string(&case)?
        );
    }
    Ok(())
}

#[test]
fn cases_that_once_differed_do_so_no_more() -> anyhow::Result<()> {
    ours_are_upstreams::<Case>(VERDICTS)?;
    ours_are_upstreams::<HintCase>(HINTS)?;
    ours_are_upstreams::<SearchCase>(SEARCHES)?;
    ours_are_upstreams::<PreemptionCase>(PREEMPTIONS)
}

fn upstream_says_so<Q: Question>(program: &Path, table: &[(&str, &str)]) -> anyhow::Result<()> {
    for (case, noted) in table {
        let case: Q = serde_json::from_str(case)?;
        let noted: Map<String, Value> = serde_json::from_str(noted)?;
        let (_, upstream) = campaign::answers(program, &case)?;
        let upstream = serde_json::to_value(&upstream)?;
        for (field, noted) in noted {
            let says = &upstream[&field];
            anyhow::ensure!(noted == *says, "{field}: noted {noted}, upstream says {says}");
        }
    }
    Ok(())
}

#[test]
fn the_table_has_upstreams_own_answers() -> anyhow::Result<()> {
    let Availability::Ready(program) = find()? else {
        return Ok(());
    };
    upstream_says_so::<Case>(&program, VERDICTS)?;
    upstream_says_so::<HintCase>(&program, HINTS)?;
    upstream_says_so::<SearchCase>(&program, SEARCHES)?;
    upstream_says_so::<PreemptionCase>(&program, PREEMPTIONS)
}
