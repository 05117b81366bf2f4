//! `kubectl` works against the embedded API server over TLS.

use plimsoll_apiserver_parity::{Kubectl, Target};

const NODE: &str = r#"
apiVersion: v1
kind: Node
metadata:
  name: node-1
  labels: {zone: z1}
status:
  capacity: {cpu: "4", memory: 8Gi, pods: "110"}
  conditions:
  - {type: Ready, status: "True", reason: KubeletReady, message: fine}
"#;

const POD: &str = r"
apiVersion: v1
kind: Pod
metadata:
  name: pod-1
  labels: {app: a}
spec:
  containers:
  - name: c
    image: image:1
    resources: {requests: {cpu: 100m}}
";

const DEPLOYMENT: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "image:1"}]}
"#;

/// A server with a node and a pod, and `kubectl` for it.
async fn furnished() -> anyhow::Result<Option<(Target, Kubectl)>> {
    let target = Target::embedded().await?;
    let Some(kubectl) = Kubectl::find(&target)? else {
        return Ok(None);
    };
    kubectl.feed("create -f -", NODE).await?;
    kubectl.feed("create -f -", POD).await?;
    Ok(Some((target, kubectl)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_shows_tables_names_and_whole_objects() -> anyhow::Result<()> {
    let Some((_target, kubectl)) = furnished().await? else {
        return Ok(());
    };
    let pods = kubectl.run("get pods -o wide").await?;
    assert!(pods.starts_with("NAME    READY   STATUS    RESTARTS   AGE"), "{pods}");
    assert!(pods.contains("pod-1   0/1     Pending   0"), "{pods}");
    assert!(pods.contains("NOMINATED NODE"), "{pods}");
    let nodes = kubectl.run("get nodes").await?;
    assert!(nodes.contains("node-1   Ready    <none>"), "{nodes}");
    assert_eq!(kubectl.run("get po,no -o name").await?, "pod/pod-1\nnode/node-1\n");
    assert_eq!(
        kubectl.run("get pod pod-1 -o jsonpath={.spec.schedulerName}").await?,
        "default-scheduler"
    );
    assert_eq!(kubectl.run("get pods -l app=b -o name").await?, "");
    assert_eq!(
        kubectl.run("get pods --field-selector spec.nodeName= -o name").await?,
        "pod/pod-1\n"
    );
    let namespaces = kubectl.run("get ns").await?;
    assert!(namespaces.contains("kube-system       Active"), "{namespaces}");
    kubectl.run("get leases,events,deploy,rs,svc,pdb,sc,pc -A").await?;
    let missing = kubectl.refused("get pod nobody", "").await?;
    assert_eq!(missing, "Error from server (NotFound): pods \"nobody\" not found\n");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn describe_reads_everything_about_pods_and_nodes() -> anyhow::Result<()> {
    let Some((_target, kubectl)) = furnished().await? else {
        return Ok(());
    };
    let pod = kubectl.run("describe pod pod-1").await?;
    assert!(pod.contains("Pending"), "{pod}");
    assert!(pod.contains("QoS Class:"), "{pod}");
    let node = kubectl.run("describe node node-1").await?;
    assert!(node.contains("Unschedulable:      false"), "{node}");
    assert!(node.contains("KubeletReady"), "{node}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn create_and_apply_make_objects_and_change_them() -> anyhow::Result<()> {
    let Some((_target, kubectl)) = furnished().await? else {
        return Ok(());
    };
    assert_eq!(
        kubectl.feed("apply -f -", DEPLOYMENT).await?,
        "deployment.apps/web created\n"
    );
    assert_eq!(
        kubectl.feed("apply -f -", DEPLOYMENT).await?,
        "deployment.apps/web unchanged\n"
    );
    let more = DEPLOYMENT.replace("replicas: 2", "replicas: 5");
    assert_eq!(
        kubectl.feed("apply -f -", &more).await?,
        "deployment.apps/web configured\n"
    );
    assert_eq!(kubectl.run("get deploy web -o jsonpath={.spec.replicas}").await?, "5");
    let dry = kubectl.feed("apply --dry-run=server -f -", DEPLOYMENT).await?;
    assert_eq!(dry, "deployment.apps/web configured (server dry run)\n");
    assert_eq!(kubectl.run("get deploy web -o jsonpath={.spec.replicas}").await?, "5");
    let applied = kubectl
        .feed("apply --server-side -f -", &POD.replace("pod-1", "pod-2"))
        .await?;
    assert_eq!(applied, "pod/pod-2 serverside-applied\n");
    assert_eq!(
        kubectl.run("create namespace extra").await?,
        "namespace/extra created\n"
    );
    assert_eq!(
        kubectl.run("create configmap m --from-literal=a=b -n extra").await?,
        "configmap/m created\n"
    );
    assert_eq!(
        kubectl.run("create priorityclass high --value=1000").await?,
        "priorityclass.scheduling.k8s.io/high created\n"
    );
    let again = kubectl.refused("create -f -", POD).await?;
    assert!(again.contains("pods \"pod-1\" already exists"), "{again}");
    let wrong = POD.replace("pod-1", "pod-3").replace("100m", "-1");
    let wrong = kubectl.refused("create -f -", &wrong).await?;
    assert!(wrong.contains("must be greater than or equal to 0"), "{wrong}");
    kubectl.run("run one-off --image=image:1 --restart=Never").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn label_annotate_taint_and_cordon_change_objects() -> anyhow::Result<()> {
    let Some((_target, kubectl)) = furnished().await? else {
        return Ok(());
    };
    assert_eq!(kubectl.run("label pod pod-1 tier=1").await?, "pod/pod-1 labeled\n");
    assert_eq!(kubectl.run("label pod pod-1 tier-").await?, "pod/pod-1 unlabeled\n");
    assert_eq!(
        kubectl.run("annotate node node-1 note=x").await?,
        "node/node-1 annotated\n"
    );
    assert_eq!(
        kubectl.run("taint nodes node-1 key=value:NoSchedule").await?,
        "node/node-1 tainted\n"
    );
    let taints = kubectl.run("get node node-1 -o jsonpath={.spec.taints[*].key}").await?;
    assert_eq!(taints, "key");
    assert_eq!(
        kubectl.run("taint nodes node-1 key:NoSchedule-").await?,
        "node/node-1 untainted\n"
    );
    assert_eq!(kubectl.run("cordon node-1").await?, "node/node-1 cordoned\n");
    let nodes = kubectl.run("get nodes").await?;
    assert!(nodes.contains("Ready,SchedulingDisabled"), "{nodes}");
    assert_eq!(kubectl.run("uncordon node-1").await?, "node/node-1 uncordoned\n");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patch_delete_and_wait_end_as_they_should() -> anyhow::Result<()> {
    let Some((target, kubectl)) = furnished().await? else {
        return Ok(());
    };
    let patch = r#"patch pod pod-1 -p {"metadata":{"labels":{"x":"1"}}}"#;
    assert_eq!(kubectl.run(patch).await?, "pod/pod-1 patched\n");
    let merge = r#"patch node node-1 --type=merge -p {"spec":{"unschedulable":true}}"#;
    assert_eq!(kubectl.run(merge).await?, "node/node-1 patched\n");
    let json = r#"patch pod pod-1 --type=json -p [{"op":"remove","path":"/metadata/labels/x"}]"#;
    assert_eq!(kubectl.run(json).await?, "pod/pod-1 patched\n");
    let Target::Embedded(server, _) = &target else {
        return Ok(());
    };
    let (waited, ()) = tokio::join!(
        kubectl.run("wait --for=condition=PodScheduled pod/pod-1 --timeout=20s"),
        async {
            server.bind("default", "pod-1", "node-1").expect("bound");
        }
    );
    assert_eq!(waited?, "pod/pod-1 condition met\n");
    assert_eq!(
        kubectl
            .run("wait --for=condition=Ready node/node-1 --timeout=20s")
            .await?,
        "node/node-1 condition met\n"
    );
    let deleted = kubectl
        .run("delete pod pod-1 --grace-period=0 --force --timeout=20s")
        .await?;
    assert!(deleted.contains("pod \"pod-1\" force deleted"), "{deleted}");
    assert_eq!(kubectl.run("get pods -o name").await?, "");
    kubectl.run("create namespace extra").await?;
    let gone = kubectl.run("delete namespace extra --timeout=20s").await?;
    assert!(gone.contains("namespace \"extra\" deleted"), "{gone}");
    assert_eq!(kubectl.run("delete node node-1").await?, "node \"node-1\" deleted\n");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_finds_its_way_around() -> anyhow::Result<()> {
    let Some((_target, kubectl)) = furnished().await? else {
        return Ok(());
    };
    let resources = kubectl.run("api-resources -o name").await?;
    assert!(resources.lines().any(|name| name == "pods"), "{resources}");
    let version = kubectl.run("version").await?;
    assert!(version.contains("Server Version: v1.36"), "{version}");
    assert_eq!(kubectl.run("auth can-i create pods").await?, "yes\n");
    kubectl.run("api-versions").await?;
    kubectl.run("explain pods").await?;
    assert_eq!(kubectl.run("get --raw /readyz").await?, "ok");
    Ok(())
}
