use super::*;

const CASE: &str = r"
- name: Spreading
  defaultPodTemplatePath: templates/pod.yaml
  featureGates: { SchedulerQueueingHints: true }
  labels: [everywhere]
  workloadTemplate:
  - opcode: createNodes
    countParam: $nodes
    labelNodePrepareStrategy: { labelKey: zone, labelValues: [a, b] }
  - opcode: createPodSets
    countParam: $sets
    namespacePrefix: set
    createPodsOp: { opcode: createPods, countParam: $first }
  - opcode: createPods
    countParam: $pods
    namespace: measured
    collectMetrics: true
  workloads:
  - name: small
    labels: [short]
    threshold: { spreading: 12.5 }
    params: { nodes: 3, sets: 2, first: 1, pods: 4 }
  - name: large
    featureGates: { SchedulerQueueingHints: false }
    threshold: 7
    params: { nodes: 5, sets: 0, first: 1, pods: 9 }
";

fn read(text: &str) -> anyhow::Result<Vec<Workload>> {
    read_file(
        "spreading",
        text,
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/workload/tests"),
    )
}

#[test]
fn each_workload_has_its_parameters_labels_gates_and_threshold() {
    let all = read(CASE).unwrap();
    assert_eq!(
        all.iter().map(Workload::id).collect::<Vec<_>>(),
        ["spreading/Spreading/small", "spreading/Spreading/large"]
    );
    let [small, large] = &all[..] else {
        panic!("two workloads")
    };
    assert_eq!(small.labels, ["everywhere".to_owned(), "short".to_owned()].into());
    assert_eq!((small.threshold, large.threshold), (Some(12.5), Some(7.0)));
    assert_eq!(small.lacking, None);
    assert!(large.lacking.as_deref().unwrap().starts_with("SchedulerQueueingHints"));
    let Operation::CreateNodes(nodes) = &small.operations[0] else {
        panic!("nodes first")
    };
    assert_eq!(nodes.count, 3);
    assert!(matches!(&nodes.preparation, Preparation::Label { key, values } if key == "zone" && values.len() == 2));
    let pods: Vec<(usize, Option<&str>, bool)> = small.operations[1..]
        .iter()
        .map(|operation| match operation {
            Operation::CreatePods(pods) => (pods.count, pods.namespace.as_deref(), pods.template.is_some()),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        (1, Some("set-0"), true),
        (1, Some("set-1"), true),
        (4, Some("measured"), true),
    ];
    assert_eq!(pods, expected);
    assert_eq!(large.operations.len(), 2);
    assert_eq!(small.measured_alone(), Some(3));
    assert!(small.only_grows());
}

#[test]
fn what_nobody_knows_is_an_error_that_says_where() {
    let table = [
        (
            "opcode: createNodes",
            "opcode: growNodes",
            "unknown opcode \"growNodes\"",
        ),
        (
            "namespace: measured",
            "nameSpaces: measured",
            "unknown field nameSpaces",
        ),
        (
            "countParam: $pods",
            "countParam: $pots",
            "the parameter pots has no value",
        ),
        (
            "first: 1, pods: 4 }",
            "first: 1, pods: 4, more: 1 }",
            "parameters that nothing uses: more",
        ),
        (
            "collectMetrics: true",
            "collectMetrics: false",
            "no operation collects metrics",
        ),
        ("name: large", "name: small", "two workloads are called small"),
        ("templates/pod.yaml", "templates/none.yaml", "cannot read"),
        ("threshold: 7", "threshold: -7", "threshold must be a number"),
        ("labels: [short]", "label: [short]", "unknown field label"),
        ("labelKey: zone, ", "", "labelKey must be set"),
        (
            "collectMetrics: true",
            "collectMetrics: true\n    skipWaitToCompletion: true",
            "must wait for completion",
        ),
        (
            "collectMetrics: true",
            "collectMetrics: true\n    steadyState: true",
            "a steady state must last",
        ),
    ];
    for (right, wrong, expected) in table {
        assert!(CASE.contains(right), "{right}");
        let error = read(&CASE.replacen(right, wrong, 1)).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains(expected), "{wrong}: {error}");
    }
}

#[test]
fn every_operation_is_read() {
    let operations = [
        "{ opcode: createNamespaces, prefix: a, count: 2 }",
        "{ opcode: createAny, templatePath: templates/pod.yaml, namespace: a, count: 3 }",
        "{ opcode: updateAny, templatePath: templates/pod.yaml, updatePerSecond: 5, subresources: [resize] }",
        "{ opcode: deletePods, namespace: a, deletePodsPerSecond: 5, labelSelector: { a: b }, skipWaitToCompletion: true }",
        "{ opcode: churn, mode: recreate, number: 1, templatePaths: [templates/pod.yaml], intervalMilliseconds: 5 }",
        "{ opcode: barrier, stageRequirement: Attempted, namespaces: [a] }",
        "{ opcode: sleep, duration: 1s }",
        "{ opcode: startCollectingMetrics, name: x, namespaces: [a] }",
        "{ opcode: stopCollectingMetrics }",
        "{ opcode: createResourceDriver, driverName: d, nodes: 'a-*', maxClaimsPerNode: 1 }",
        "{ opcode: createResourceClaims, namespace: a, count: 1, templatePath: templates/pod.yaml }",
        "{ opcode: allocResourceClaims, namespace: a }",
    ];
    let text = |operations: &[&str]| {
        let lines = operations
            .iter()
            .fold(String::new(), |text, operation| text + "  - " + operation + "\n");
        format!("- name: all\n  workloadTemplate:\n{lines}  workloads: [{{ name: one }}]\n")
    };
    let read_all = read(&text(&operations)).unwrap();
    let workload = &read_all[0];
    assert_eq!(workload.operations.len(), operations.len());
    assert!(workload.lacking.as_deref().unwrap().contains("DynamicResources"));
    assert_eq!(workload.measured_alone(), None);
    assert!(!workload.only_grows());
    for wrong in [
        "{ opcode: churn, mode: sometimes, templatePaths: [templates/pod.yaml] }",
        "{ opcode: churn, mode: recreate, templatePaths: [templates/pod.yaml] }",
        "{ opcode: churn, mode: create }",
        "{ opcode: barrier, stageRequirement: Bound }",
        "{ opcode: startCollectingMetrics }",
        "{ opcode: sleep, duration: soon }",
        "{ opcode: createAny }",
        "{}",
    ] {
        assert!(
            read(&text(&[wrong, "{ opcode: stopCollectingMetrics }"])).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn labels_choose_workloads() {
    let all = read(CASE).unwrap();
    let chosen = |filter: &str| {
        let filter: LabelFilter = filter.parse().unwrap();
        all.iter().filter(|workload| filter.takes(workload)).count()
    };
    assert_eq!(
        [
            chosen(""),
            chosen("short"),
            chosen("+everywhere,-short"),
            chosen("none")
        ],
        [2, 1, 1, 0]
    );
}

/// The counts are those of the files themselves: what is overlooked would be missing here.
#[test]
fn upstreams_own_files_are_read_unchanged() {
    let Some(folder) = upstream_folder().unwrap() else {
        plimsoll_go_programs::skip("reading upstream's workload files", "no Go".to_owned()).unwrap();
        return;
    };
    let all = read_folder(&folder).unwrap();
    let cases: BTreeSet<(&str, &str)> = all.iter().map(|w| (w.topic.as_str(), w.case.as_str())).collect();
    let topics: BTreeSet<&str> = all.iter().map(|workload| workload.topic.as_str()).collect();
    assert_eq!((topics.len(), cases.len(), all.len()), (13, 50, 242));
    let with_label = |label: &str| all.iter().filter(|workload| workload.labels.contains(label)).count();
    assert_eq!((with_label("performance"), with_label("integration-test")), (104, 88));
    assert_eq!(all.iter().filter(|workload| workload.threshold.is_some()).count(), 61);
    // Nothing but devices, what 1.36 cannot switch off and invented features is left out.
    for workload in all.iter().filter(|workload| !workload.topic.starts_with("dra")) {
        let lacking = workload.lacking.as_deref().unwrap_or_default();
        let known = ["", "SchedulerQueueingHints", "DRA", "declared features"];
        assert!(
            known
                .iter()
                .any(|known| known.is_empty() == lacking.is_empty() && lacking.starts_with(known)),
            "{lacking}"
        );
    }
}

#[test]
fn our_own_files_are_read_and_none_is_left_out() {
    let all = read_folder(&own_folder()).unwrap();
    let lacking: Vec<String> = all.iter().filter(|w| w.lacking.is_some()).map(Workload::id).collect();
    assert!(lacking.is_empty(), "{lacking:?}");
    let short: LabelFilter = "short".parse().unwrap();
    assert!(all.iter().any(|workload| short.takes(workload)));
}
