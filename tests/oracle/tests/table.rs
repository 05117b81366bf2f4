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
    // The smallest claim gets the smallest volume that suits it on each node, and `matchFields` say nothing of a volume.
    (
        r#"{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler"}]},"nodes":[{"metadata":{"labels":{"rack":"a"},"name":"n0","resourceVersion":"1","uid":"n0"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}},{"metadata":{"labels":{"rack":"b"},"name":"n1","resourceVersion":"1","uid":"n1"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}}],"storageClasses":[{"metadata":{"name":"wait","resourceVersion":"1","uid":"wait"},"provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer"}],"persistentVolumes":[{"metadata":{"name":"small","resourceVersion":"1","uid":"small"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"2Gi"},"nfs":{"path":"/","server":"s"},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"rack","operator":"In","values":["a"]}]}]}},"storageClassName":"wait"},"status":{"phase":"Available"}},{"metadata":{"name":"middle","resourceVersion":"1","uid":"middle"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"3Gi"},"nfs":{"path":"/","server":"s"},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n9"]}]}]}},"storageClassName":"wait"},"status":{"phase":"Available"}},{"metadata":{"name":"large","resourceVersion":"1","uid":"large"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"4Gi"},"nfs":{"path":"/","server":"s"},"storageClassName":"wait"},"status":{"phase":"Available"}}],"persistentVolumeClaims":[{"metadata":{"name":"a","namespace":"default","resourceVersion":"1","uid":"a"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}},"storageClassName":"wait"},"status":{"phase":"Pending"}},{"metadata":{"name":"b","namespace":"default","resourceVersion":"1","uid":"b"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}},"storageClassName":"wait"},"status":{"phase":"Pending"}}],"pod":{"metadata":{"name":"pod","namespace":"default","resourceVersion":"1","uid":"pod"},"spec":{"containers":[{"name":"c"}],"schedulerName":"default-scheduler","volumes":[{"name":"v-b","persistentVolumeClaim":{"claimName":"b"}},{"name":"v-a","persistentVolumeClaim":{"claimName":"a"}}]}}}"#,
        r#"{"scores":{"DynamicResources":{"n0":{"normalised":0,"raw":0,"weighted":0},"n1":{"normalised":0,"raw":0,"weighted":0}},"ImageLocality":{"n0":{"normalised":0,"raw":0,"weighted":0},"n1":{"normalised":0,"raw":0,"weighted":0}},"NodeResourcesFit":{"n0":{"normalised":90,"raw":90,"weighted":90},"n1":{"normalised":90,"raw":90,"weighted":90}},"TaintToleration":{"n0":{"normalised":100,"raw":0,"weighted":300},"n1":{"normalised":100,"raw":0,"weighted":300}}},"totals":{"n0":390,"n1":390},"volumes":{"n0":{"bound":{"middle":"default/a","small":"default/b"}},"n1":{"bound":{"large":"default/a","middle":"default/b"}}}}"#,
    ),
    // A disk whose kind has moved to a driver is where the driver has its zones.
    (
        r#"{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler"}]},"nodes":[{"metadata":{"labels":{"topology.kubernetes.io/zone":"z1"},"name":"n0","resourceVersion":"1","uid":"n0"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}},{"metadata":{"labels":{"topology.kubernetes.io/zone":"z1"},"name":"n1","resourceVersion":"1","uid":"n1"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}},{"metadata":{"labels":{"topology.gke.io/zone":"z1"},"name":"n2","resourceVersion":"1","uid":"n2"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}}],"csiNodes":[{"metadata":{"annotations":{"storage.alpha.kubernetes.io/migrated-plugins":"kubernetes.io/gce-pd"},"name":"n0","resourceVersion":"1","uid":"n0"},"spec":{"drivers":[]}}],"persistentVolumes":[{"metadata":{"name":"disk","resourceVersion":"1","uid":"disk"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"2Gi"},"claimRef":{"name":"a","namespace":"default","uid":"a"},"gcePersistentDisk":{"pdName":"d"},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"topology.kubernetes.io/zone","operator":"In","values":["z1"]}]}]}}},"status":{"phase":"Bound"}}],"persistentVolumeClaims":[{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"},"name":"a","namespace":"default","resourceVersion":"1","uid":"a"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}},"volumeName":"disk"},"status":{"phase":"Bound"}}],"pod":{"metadata":{"name":"pod","namespace":"default","resourceVersion":"1","uid":"pod"},"spec":{"containers":[{"name":"c"}],"schedulerName":"default-scheduler","volumes":[{"name":"v-a","persistentVolumeClaim":{"claimName":"a"}}]}}}"#,
        r#"{"scores":{"DynamicResources":{"n1":{"normalised":0,"raw":0,"weighted":0}},"ImageLocality":{"n1":{"normalised":0,"raw":0,"weighted":0}},"NodeResourcesFit":{"n1":{"normalised":90,"raw":90,"weighted":90}},"TaintToleration":{"n1":{"normalised":100,"raw":0,"weighted":300}}},"totals":{"n1":390},"verdicts":{"n0":{"code":"UnschedulableAndUnresolvable","plugin":"VolumeBinding","reasons":["node(s) didn't match PersistentVolume's node affinity"]},"n2":{"code":"UnschedulableAndUnresolvable","plugin":"VolumeBinding","reasons":["node(s) didn't match PersistentVolume's node affinity"]}}}"#,
    ),
    // A volume that is on the node already takes no more room, and what is attached counts without a pod, too.
    (
        r#"{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler"}]},"nodes":[{"metadata":{"labels":{},"name":"n0","resourceVersion":"1","uid":"n0"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}},{"metadata":{"labels":{},"name":"n1","resourceVersion":"1","uid":"n1"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}},{"metadata":{"labels":{},"name":"n2","resourceVersion":"1","uid":"n2"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}}],"pods":[{"metadata":{"name":"p","namespace":"default","resourceVersion":"1","uid":"p"},"spec":{"containers":[{"name":"c"}],"nodeName":"n0","schedulerName":"default-scheduler","volumes":[{"name":"v-x","persistentVolumeClaim":{"claimName":"x"}},{"name":"v-y","persistentVolumeClaim":{"claimName":"y"}}]}},{"metadata":{"name":"q","namespace":"default","resourceVersion":"1","uid":"q"},"spec":{"containers":[{"name":"c"}],"nodeName":"n1","schedulerName":"default-scheduler","volumes":[{"name":"v-y","persistentVolumeClaim":{"claimName":"y"}},{"name":"v-z","persistentVolumeClaim":{"claimName":"z"}}]}}],"csiNodes":[{"metadata":{"name":"n0","resourceVersion":"1","uid":"n0"},"spec":{"drivers":[{"allocatable":{"count":2},"name":"d.example.com","nodeID":"i"}]}},{"metadata":{"name":"n1","resourceVersion":"1","uid":"n1"},"spec":{"drivers":[{"allocatable":{"count":2},"name":"d.example.com","nodeID":"i"}]}},{"metadata":{"name":"n2","resourceVersion":"1","uid":"n2"},"spec":{"drivers":[{"allocatable":{"count":2},"name":"d.example.com","nodeID":"i"}]}}],"volumeAttachments":[{"metadata":{"name":"t","resourceVersion":"1","uid":"t"},"spec":{"attacher":"d.example.com","nodeName":"n2","source":{"persistentVolumeName":"y"}}},{"metadata":{"name":"u","resourceVersion":"1","uid":"u"},"spec":{"attacher":"d.example.com","nodeName":"n2","source":{"persistentVolumeName":"z"}}}],"persistentVolumes":[{"metadata":{"name":"x","resourceVersion":"1","uid":"x"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"2Gi"},"csi":{"driver":"d.example.com","volumeHandle":"1"}},"status":{"phase":"Available"}},{"metadata":{"name":"y","resourceVersion":"1","uid":"y"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"2Gi"},"csi":{"driver":"d.example.com","volumeHandle":"2"}},"status":{"phase":"Available"}},{"metadata":{"name":"z","resourceVersion":"1","uid":"z"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"2Gi"},"csi":{"driver":"d.example.com","volumeHandle":"3"}},"status":{"phase":"Available"}}],"persistentVolumeClaims":[{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"},"name":"x","namespace":"default","resourceVersion":"1","uid":"x"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}},"volumeName":"x"},"status":{"phase":"Bound"}},{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"},"name":"y","namespace":"default","resourceVersion":"1","uid":"y"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}},"volumeName":"y"},"status":{"phase":"Bound"}},{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"},"name":"z","namespace":"default","resourceVersion":"1","uid":"z"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}},"volumeName":"z"},"status":{"phase":"Bound"}}],"pod":{"metadata":{"name":"pod","namespace":"default","resourceVersion":"1","uid":"pod"},"spec":{"containers":[{"name":"c"}],"schedulerName":"default-scheduler","volumes":[{"name":"v-x","persistentVolumeClaim":{"claimName":"x"}}]}}}"#,
        r#"{"scores":{"DynamicResources":{"n0":{"normalised":0,"raw":0,"weighted":0}},"ImageLocality":{"n0":{"normalised":0,"raw":0,"weighted":0}},"NodeResourcesFit":{"n0":{"normalised":80,"raw":80,"weighted":80}},"TaintToleration":{"n0":{"normalised":100,"raw":0,"weighted":300}}},"totals":{"n0":380},"verdicts":{"n1":{"code":"Unschedulable","plugin":"NodeVolumeLimits","reasons":["node(s) exceed max volume count"]},"n2":{"code":"Unschedulable","plugin":"NodeVolumeLimits","reasons":["node(s) exceed max volume count"]}}}"#,
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
    // Zones in another order are the same zones.
    (
        r#"{"cluster":{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler"}]},"nodes":[],"pod":{"metadata":{"name":"pod","namespace":"default","resourceVersion":"1","uid":"pod"},"spec":{"containers":[{"name":"c"}],"schedulerName":"default-scheduler","volumes":[{"name":"v-a","persistentVolumeClaim":{"claimName":"a"}}]}}},"oldStorage":{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"labels":{"topology.kubernetes.io/zone":"z1__z2"},"name":"x","resourceVersion":"1","uid":"x"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"2Gi"},"csi":{"driver":"d.example.com","volumeHandle":"1"}},"status":{"phase":"Bound"}},"newStorage":{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"labels":{"topology.kubernetes.io/zone":"z2__z1"},"name":"x","resourceVersion":"1","uid":"x"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"2Gi"},"csi":{"driver":"d.example.com","volumeHandle":"1"}},"status":{"phase":"Bound"}}}"#,
        r#"{"events":["PersistentVolumeUpdate"],"hints":{"PersistentVolumeUpdate":{"VolumeBinding":"Queue","VolumeZone":"Skip"}}}"#,
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
    // A claim for one pod alone is free when that pod goes, and no other node is a help.
    (
        r#"{"config":{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler"}]},"nodes":[{"metadata":{"labels":{},"name":"n0","resourceVersion":"1","uid":"n0"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}},{"metadata":{"labels":{},"name":"n1","resourceVersion":"1","uid":"n1"},"spec":{},"status":{"allocatable":{"cpu":"1","pods":"10"}}}],"pods":[{"metadata":{"name":"p","namespace":"default","resourceVersion":"1","uid":"p"},"spec":{"containers":[{"name":"c"}],"nodeName":"n1","priority":1,"schedulerName":"default-scheduler","volumes":[{"name":"v-only","persistentVolumeClaim":{"claimName":"only"}}]}}],"persistentVolumes":[{"metadata":{"name":"x","resourceVersion":"1","uid":"x"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"2Gi"},"csi":{"driver":"d.example.com","volumeHandle":"1"}},"status":{"phase":"Available"}}],"persistentVolumeClaims":[{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"},"name":"only","namespace":"default","resourceVersion":"1","uid":"only"},"spec":{"accessModes":["ReadWriteOncePod"],"resources":{"requests":{"storage":"2Gi"}},"volumeName":"x"},"status":{"phase":"Bound"}}],"pod":{"metadata":{"name":"pod","namespace":"default","resourceVersion":"1","uid":"pod"},"spec":{"containers":[{"name":"c"}],"priority":5,"schedulerName":"default-scheduler","volumes":[{"name":"v-only","persistentVolumeClaim":{"claimName":"only"}}]}}}"#,
        r#"{"best":["n1"],"code":"Success","evicted":["p"],"fitError":"0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod.","nomination":"n1","tried":{"n0":{"before":"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod","code":"UnschedulableAndUnresolvable","text":"No preemption victims found for incoming pod"},"n1":{"before":"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod","code":"Success","lower":1,"victims":["p"]}}}"#,
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
