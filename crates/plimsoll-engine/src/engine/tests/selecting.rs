use plimsoll_model::{
    Labels, Namespace, ObjectName, WorkloadKind, WorkloadSelector, decode_namespace, decode_workload_selector,
};

use super::*;

fn namespace(team: &str) -> Arc<Namespace> {
    let json =
        format!(r#"{{"metadata":{{"name":"shop","uid":"1","resourceVersion":"1","labels":{{"team":"{team}"}}}}}}"#);
    Arc::new(decode_namespace(json.as_bytes()).unwrap())
}

fn service(app: &str) -> Arc<WorkloadSelector> {
    let json = format!(
        r#"{{"metadata":{{"namespace":"shop","name":"web","uid":"2","resourceVersion":"1"}},
            "spec":{{"selector":{{"app":"{app}"}}}}}}"#
    );
    Arc::new(decode_workload_selector(WorkloadKind::Service, json.as_bytes()).unwrap())
}

/// The team of the namespace and the app that the service selects, as the columns have them.
fn known(cluster: &Cluster) -> [Option<String>; 2] {
    let columns = cluster.engine.columns();
    let team = columns.namespace_labels("shop").and_then(|labels| labels.get("team"));
    let selector = columns.workload_selector(WorkloadKind::Service, &ObjectName::new("shop", "web"));
    let app = selector.and_then(|selector| Labels::get(&selector.match_labels, "app"));
    [team, app].map(|text| text.map(str::to_owned))
}

fn both(team: &str, app: &str) -> [Option<String>; 2] {
    [Some(team.to_owned()), Some(app.to_owned())]
}

#[test]
fn namespaces_and_workloads_reach_the_columns_and_survive_a_rebuild() {
    let mut cluster = Cluster::new(ProfileBuilder::new().build());
    let namespaces = |old: Option<&str>, new: Option<&str>| Delta::NamespaceChanged {
        old: old.map(namespace),
        new: new.map(namespace),
    };
    let workloads = |old: Option<&str>, new: Option<&str>| Delta::WorkloadSelectorChanged {
        old: old.map(service),
        new: new.map(service),
    };
    cluster.apply(namespaces(None, Some("a")));
    cluster.apply(workloads(None, Some("web")));
    assert_eq!(known(&cluster), both("a", "web"));
    cluster.apply(namespaces(Some("a"), Some("b")));
    cluster.apply(workloads(Some("web"), Some("db")));
    assert_eq!(known(&cluster), both("b", "db"));
    cluster.engine.rebuild(cluster.now, &mut cluster.out);
    assert_eq!(known(&cluster), both("b", "db"));
    cluster.apply(namespaces(Some("b"), None));
    cluster.apply(workloads(Some("db"), None));
    assert_eq!(known(&cluster), [None, None]);
    cluster.engine.rebuild(cluster.now, &mut cluster.out);
    assert_eq!(known(&cluster), [None, None]);
}
