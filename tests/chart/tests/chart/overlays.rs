//! What `deploy/` has for clusters without Helm: overlays of kustomize, and the manifests that they make.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use plimsoll_chart::{KUBEADM_MANIFEST, Replica, top, writes};
use plimsoll_cluster::deployment::find;
use plimsoll_cluster::fixtures::{node, pod};
use plimsoll_cluster::{Cluster, Election, Scheduler, suite};
use plimsoll_controlplane::User;
use serde_json::{Value, json};

use crate::stage::{LIMIT, Stage};

/// Overlays, and the manifest that each makes.
const OVERLAYS: [(&str, &str); 2] = [("replacement", "plimsoll.yaml"), ("second", "second.yaml")];

fn manifest(name: &str) -> anyhow::Result<String> {
    Ok(fs::read_to_string(top().join("deploy").join(name))?)
}

fn objects(name: &str) -> anyhow::Result<Vec<Value>> {
    Ok(serde_saphyr::from_multiple(&manifest(name)?)?)
}

#[test]
fn each_overlay_makes_the_manifest_that_stands_beside_it() -> anyhow::Result<()> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("kustomize/build.sh");
    let Some(program) = plimsoll_go_programs::build(&script)? else {
        let reason = plimsoll_go_programs::skip("kustomize", "no Go toolchain".to_owned())?;
        suite::say(&format!("\n*** THE OVERLAYS ARE NOT TESTED: {reason}\n"));
        return Ok(());
    };
    for (overlay, name) in OVERLAYS {
        let output = Command::new(&program)
            .arg("build")
            .arg(top().join("deploy/kustomize/overlays").join(overlay))
            .stdin(Stdio::null())
            .output()?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success() && told.is_empty(), "{overlay}: {told}");
        let made = String::from_utf8(output.stdout)?;
        let text = manifest(name)?;
        let (head, _) = text.split_once("---\n").context("no head")?;
        let expected = format!("{head}---\n{made}");
        if writes() {
            fs::write(top().join("deploy").join(name), &expected)?;
        }
        ensure!(
            manifest(name)? == expected,
            "{overlay} makes another {name}; WRITE_CHART=1 make chart writes it anew"
        );
    }
    Ok(())
}

async fn apply(cluster: &Cluster<'_>, objects: &[Value]) -> anyhow::Result<()> {
    let params = PatchParams::apply("plimsoll-test").force().validation_strict();
    for object in objects {
        let (api, name) = find(cluster.client(), object).await?;
        api.patch(&name, &params, &Patch::Apply(object))
            .await
            .with_context(|| format!("{} {name} is not accepted", object["kind"]))?;
    }
    Ok(())
}

async fn delete(cluster: &Cluster<'_>, objects: &[Value]) -> anyhow::Result<()> {
    // Nobody is there to empty namespaces.
    for object in objects.iter().filter(|object| object["kind"] != "Namespace") {
        let (api, name) = find(cluster.client(), object).await?;
        api.delete(&name, &DeleteParams::foreground()).await?;
    }
    Ok(())
}

#[test]
fn the_manifest_for_a_second_scheduler_runs_as_it_is_and_follows_its_config_map() -> anyhow::Result<()> {
    suite::run_with_service_accounts(async |cluster| {
        let Some(stage) = Stage::set(cluster).await? else {
            return Ok(());
        };
        let objects = objects("second.yaml")?;
        cluster.create_nodes(["n1", "n2"].map(node)).await?;
        cluster.start(Scheduler::KubeScheduler, Election::Off, &[])?;
        apply(cluster, &objects).await?;
        let replicas = stage.ready(3).await?;
        cluster.create_pods([pod("a").scheduler("plimsoll")]).await?;
        cluster.bound("a").await?;

        let config = "apiVersion: plimsoll.dev/v1alpha1\nkind: SchedulerConfiguration\n\
                      profiles: [{schedulerName: plimsoll}, {schedulerName: late}]\n";
        let maps: Api<ConfigMap> = Api::namespaced(cluster.client().clone(), "plimsoll-system");
        let changed = Patch::Merge(json!({ "data": { "config.yaml": config } }));
        maps.patch("plimsoll", &PatchParams::default(), &changed).await?;
        cluster.create_pods([pod("b").scheduler("late")]).await?;
        cluster.bound("b").await?;
        let uids = |replicas: &[Replica]| -> Vec<(String, u32)> {
            let uid = |replica: &Replica| (replica.uid.clone(), replica.process);
            replicas.iter().map(uid).collect()
        };
        assert_eq!(uids(&replicas), uids(&stage.kubelet.replicas()));
        stage.nothing_forbidden()?;
        delete(cluster, &objects).await?;
        stage.all_gone().await?;
        stage.all_ended_well()
    })
}

/// Waits until a replica called so holds kube-scheduler's Lease; nobody's name for nobody.
async fn led_by(cluster: &Cluster<'_>, name: &str) -> anyhow::Result<()> {
    let leads = |state: &plimsoll_cluster::State| state.holder().filter(|holder| holder.starts_with(name)).map(drop);
    cluster.history().until(&format!("{name} leads"), LIMIT, leads).await
}

/// Waits until the replicas are ready, and gives each another name than the other nodes' have.
fn on_node(manifest: &Value, node: &str) -> anyhow::Result<Pod> {
    let mut pod = manifest.clone();
    // As kubelets name them.
    pod["metadata"]["name"] = json!(format!("plimsoll-{node}"));
    pod["metadata"]["uid"] = json!(format!("uid-of-{node}"));
    pod["spec"]["nodeName"] = json!(node);
    Ok(serde_json::from_value(pod)?)
}

#[test]
fn static_pods_take_over_from_kube_scheduler_and_give_back_as_the_steps_say() -> anyhow::Result<()> {
    suite::run_with_service_accounts(async |cluster| {
        let manifest: Value = serde_saphyr::from_str(&manifest("static-pod/plimsoll.yaml")?)?;
        let Some(stage) = Stage::set(cluster).await? else {
            return Ok(());
        };
        cluster.create_nodes(["n1", "n2", "n3"].map(node)).await?;
        is_taken(cluster, &manifest).await?;
        let before = cluster.start(Scheduler::KubeScheduler, Election::Quick, &[])?;
        cluster.create_pods([pod("before")]).await?;
        cluster.bound("before").await?;

        for node in ["n1", "n2", "n3"] {
            stage.kubelet.put_manifest(on_node(&manifest, node)?);
        }
        stage.ready(3).await?;
        cluster
            .replicas()
            .get_mut(before)
            .context("no kube-scheduler")?
            .terminate()
            .await?;
        led_by(cluster, "plimsoll-n").await?;
        cluster.create_pods([pod("replaced")]).await?;
        cluster.bound("replaced").await?;
        let by = cluster.bind_of("replaced").await?;
        assert_eq!(by.group, User::scheduler(User::REPLICAS).group);

        // kube-scheduler's manifest is put back, and stands by. Every process of ours dies, and each kubelet starts its own
        // again, which nobody has to place.
        let standby = cluster.start(Scheduler::KubeScheduler, Election::Quick, &[])?;
        stage.kubelet.kill_all();
        let again = |replicas: &[Replica]| {
            let anew = |replica: &Replica| replica.ready && replica.restarts == 1;
            (replicas.len() == 3 && replicas.iter().all(anew)).then_some(())
        };
        stage.kubelet.until("all are started anew", LIMIT, again).await?;

        stage.nothing_forbidden()?;
        for node in ["n1", "n2", "n3"] {
            stage.kubelet.take_manifest(&format!("plimsoll-{node}"));
        }
        stage.all_gone().await?;
        cluster.create_pods([pod("after")]).await?;
        cluster.bound("after").await?;
        let standby = cluster.replicas()[standby].user.group.clone();
        assert_eq!(cluster.bind_of("after").await?.group, standby);
        stage.all_ended_well()
    })
}

#[test]
fn the_manifest_of_kubeadm_runs_with_the_image_exchanged_and_roots_own_file_readable() -> anyhow::Result<()> {
    suite::run_with_service_accounts(async |cluster| {
        let mut manifest: Value = serde_saphyr::from_str(KUBEADM_MANIFEST)?;
        let Some(stage) = Stage::set(cluster).await? else {
            return Ok(());
        };
        cluster.create_nodes([node("n1")]).await?;
        let container = &mut manifest["spec"]["containers"][0];
        container["image"] = json!("registry.example/plimsoll:0.1.0");
        // The kubelet of the tests has it listen where its pod is, which is said behind these.
        let command = container["command"].as_array_mut().context("no command")?;
        command.push(json!("--secure-port=10259"));
        manifest["spec"]["securityContext"]["runAsUser"] = json!(0);
        stage.kubelet.put_manifest(on_node(&manifest, "n1")?);
        stage.ready(1).await?;
        led_by(cluster, "plimsoll-n1").await?;
        cluster.create_pods([pod("a")]).await?;
        cluster.bound("a").await?;
        stage.kubelet.take_manifest("plimsoll-n1");
        stage.all_gone().await?;
        stage.all_ended_well()
    })
}

/// The API server takes the pod, as the kubelet's mirror of it.
async fn is_taken(cluster: &Cluster<'_>, manifest: &Value) -> anyhow::Result<()> {
    let mut mirror = manifest.clone();
    mirror["spec"]["nodeName"] = json!("n1");
    mirror["metadata"]["annotations"] = json!({ "kubernetes.io/config.mirror": "test" });
    let (api, name) = find(cluster.client(), &mirror).await?;
    let params = PatchParams::apply("plimsoll-test").dry_run().validation_strict();
    api.patch(&name, &params, &Patch::Apply(&mirror))
        .await
        .context("the static pod is not accepted")?;
    Ok(())
}

#[test]
fn the_api_server_takes_every_other_object_of_deploy_to_the_letter() -> anyhow::Result<()> {
    suite::run_with_service_accounts(async |cluster| {
        let params = PatchParams::apply("plimsoll-test").dry_run().validation_strict();
        let namespaces: Api<Namespace> = Api::all(cluster.client().clone());
        let system = serde_json::from_value(json!({ "metadata": { "name": "plimsoll-system" } }))?;
        if namespaces.get_opt("plimsoll-system").await?.is_none() {
            namespaces.create(&PostParams::default(), &system).await?;
        }
        for file in ["plimsoll.yaml", "second.yaml", "static-pod/evictions.yaml"] {
            for object in objects(file)? {
                let (api, name) = find(cluster.client(), &object).await?;
                let taken = api.patch(&name, &params.clone().force(), &Patch::Apply(&object)).await;
                taken.with_context(|| format!("{file}: {} {name} is not accepted", object["kind"]))?;
            }
        }
        Ok(())
    })
}
