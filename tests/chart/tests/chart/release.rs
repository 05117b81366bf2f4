//! A release on a real API server, without replicas: nothing here needs a kubelet.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::discovery::{Discovery, verbs};
use kube::{Api, Client};
use plimsoll_chart::{Helm, Installed, chart};
use plimsoll_cluster::{Cluster, suite};
use plimsoll_controlplane::User;
use serde_json::json;

use crate::helm;

/// Helm with an administrator's rights.
pub(crate) fn of_cluster(helm: Helm, cluster: &mut Cluster<'_>) -> anyhow::Result<Helm> {
    let kubeconfig = cluster.control_plane().server().kubeconfig(&User::admin())?;
    Ok(helm.with_kubeconfig(&kubeconfig))
}

/// `helm VERB RELEASE CHART`.
pub(crate) fn with_chart(
    helm: &Helm,
    verb: &str,
    release: &str,
    namespace: &str,
    more: &[&str],
) -> anyhow::Result<String> {
    let chart: PathBuf = chart();
    let chart = chart.display().to_string();
    let mut arguments = vec![verb, release, &chart, "--namespace", namespace];
    arguments.extend(more);
    helm.run(&arguments)
}

/// A namespace that admits only what keeps the `restricted` standard.
pub(crate) async fn restricted(client: &Client, name: &str) -> anyhow::Result<()> {
    let labels = json!({ "pod-security.kubernetes.io/enforce": "restricted" });
    let namespace = json!({ "metadata": { "name": name, "labels": labels } });
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces
        .create(&PostParams::default(), &serde_json::from_value(namespace)?)
        .await?;
    Ok(())
}

/// Every object of the cluster, of whatever kind, with a label.
async fn labelled(client: &Client, label: &str) -> anyhow::Result<Vec<String>> {
    let discovery = Discovery::new(client.clone()).run().await?;
    let listed = ListParams::default().labels(label);
    let mut found = Vec::new();
    for (resource, capabilities) in discovery
        .groups()
        .flat_map(kube::discovery::ApiGroup::recommended_resources)
    {
        if !capabilities.supports_operation(verbs::LIST) {
            continue;
        }
        let objects: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let list = match objects.list_metadata(&listed).await {
            // A kind that another test defined, and that went away since it was discovered.
            Err(kube::Error::Api(status)) if status.is_not_found() => continue,
            list => list?,
        };
        for object in list {
            found.push(format!(
                "{} {}",
                resource.kind,
                object.metadata.name.unwrap_or_default()
            ));
        }
    }
    Ok(found)
}

const OURS: &str = "app.kubernetes.io/instance=plimsoll";

#[test]
fn a_release_is_installed_upgraded_rolled_back_and_leaves_nothing() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    suite::run_with_service_accounts(async |cluster| {
        let helm = of_cluster(helm, cluster)?;
        let client = cluster.client().clone();
        let namespace = "chart-release";
        restricted(&client, namespace).await?;
        with_chart(&helm, "install", "plimsoll", namespace, &["--dry-run=server"])?;
        assert_eq!(labelled(&client, OURS).await?, Vec::<String>::new());

        with_chart(&helm, "install", "plimsoll", namespace, &[])?;
        let objects = labelled(&client, OURS).await?;
        ensure!(objects.len() >= 9, "only {objects:?} were made");
        let installed = Installed::new(client.clone(), namespace, "plimsoll");
        let (pods, map) = (installed.pod_spec().await?, installed.config_map().await?);
        let template = async || anyhow::Ok(installed.deployment().await?.spec.context("no spec")?.template);
        let first = template().await?;

        // What is followed live restarts nothing.
        let more = ["--reuse-values", "--set=podMaxBackoffSeconds=20"];
        with_chart(&helm, "upgrade", "plimsoll", namespace, &more)?;
        assert_eq!(template().await?, first);
        let changed = installed.config_map().await?;
        assert_eq!(changed.metadata.name, map.metadata.name);
        assert_ne!(changed.data, map.data);
        // What only a start can change does.
        let more = ["--reuse-values", "--set=clientConnection.qps=60"];
        with_chart(&helm, "upgrade", "plimsoll", namespace, &more)?;
        assert_ne!(template().await?, first);

        helm.run(&["rollback", "plimsoll", "1", "--namespace", namespace])?;
        assert_eq!(template().await?, first);
        assert_eq!(installed.pod_spec().await?, pods);
        assert_eq!(installed.config_map().await?.data, map.data);

        helm.run(&["uninstall", "plimsoll", "--namespace", namespace])?;
        assert_eq!(labelled(&client, OURS).await?, Vec::<String>::new());
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        assert_eq!(secrets.list(&ListParams::default()).await?.items, []);
        Ok(())
    })
}

/// As `kubectl scale` does it.
async fn scale(client: &Client, namespace: &str, replicas: i32) -> anyhow::Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    let params = PatchParams {
        field_manager: Some("kubectl".to_owned()),
        ..PatchParams::default()
    };
    let scaled = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
    deployments.patch_scale("plimsoll", &params, &scaled).await?;
    Ok(())
}

#[test]
fn replicas_that_were_scaled_by_hand_are_as_many_again_after_an_upgrade() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    suite::run_with_service_accounts(async |cluster| {
        let helm = of_cluster(helm, cluster)?;
        let client = cluster.client().clone();
        let namespace = "default";
        with_chart(&helm, "install", "plimsoll", namespace, &[])?;
        let installed = Installed::new(client.clone(), namespace, "plimsoll");
        let replicas = async || anyhow::Ok(installed.deployment().await?.spec.and_then(|spec| spec.replicas));
        let upgrade = |more: &[&str]| {
            let all = [&["--reuse-values"], more].concat();
            with_chart(&helm, "upgrade", "plimsoll", namespace, &all)
        };
        // As in a roll-back that was not the last word.
        scale(&client, namespace, 0).await?;
        upgrade(&[])?;
        assert_eq!(replicas().await?, Some(3));

        scale(&client, namespace, 2).await?;
        if helm.is_four() {
            // The API server knows who wrote the number last, and Helm 4 does not take it over unasked.
            let told = upgrade(&[]).err().context("it was taken over")?.to_string();
            ensure!(told.contains(r#"conflict with "kubectl""#), "{told}");
            upgrade(&["--force-conflicts"])?;
        } else {
            upgrade(&[])?;
        }
        assert_eq!(replicas().await?, Some(3));
        helm.run(&["uninstall", "plimsoll", "--namespace", namespace])?;
        Ok(())
    })
}

/// Asks the cluster whether a release may be installed, and changes nothing.
fn may_install(helm: &Helm, release: &str, more: &[&str]) -> Result<String, String> {
    let mut all = vec!["--dry-run=server"];
    all.extend(more);
    with_chart(helm, "install", release, "default", &all).map_err(|error| error.to_string())
}

fn refused(helm: &Helm, release: &str, more: &[&str], expected: &str) -> anyhow::Result<()> {
    let told = may_install(helm, release, more).err();
    let told = told.with_context(|| format!("{more:?} is not refused"))?;
    ensure!(
        told.contains(expected),
        "{more:?} should be refused for {expected:?}, but: {told}"
    );
    Ok(())
}

fn allowed(helm: &Helm, release: &str, more: &[&str]) -> anyhow::Result<String> {
    may_install(helm, release, more).map_err(|told| anyhow::anyhow!("{more:?}: {told}"))
}

#[test]
fn a_replacement_is_refused_where_kube_scheduler_holds_no_lease() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    suite::run_with_service_accounts(async |cluster| {
        let helm = of_cluster(helm, cluster)?;
        let replacement = "--set=mode=replacement";
        let refusal = "nobody ever held the Lease kube-system/kube-scheduler here";
        refused(&helm, "plimsoll", &[replacement], refusal)?;
        allowed(
            &helm,
            "plimsoll",
            &[replacement, "--set=replacement.kubeSchedulerAbsent=true"],
        )?;
        let leases: Api<Lease> = Api::namespaced(cluster.client().clone(), "kube-system");
        let lease = serde_json::from_value(json!({ "metadata": { "name": "kube-scheduler" } }))?;
        leases.create(&PostParams::default(), &lease).await?;
        let told = allowed(&helm, "plimsoll", &[replacement])?;
        // What to do next ends the text.
        ensure!(
            told.contains("kubectl --namespace kube-system get lease kube-scheduler"),
            "{told}"
        );
        ensure!(
            told.contains("move /etc/kubernetes/manifests/kube-scheduler.yaml away"),
            "{told}"
        );
        Ok(())
    })
}

#[test]
fn replicas_for_the_same_pods_are_refused_unless_they_share_the_lease() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    suite::run_with_service_accounts(async |cluster| {
        let helm = of_cluster(helm, cluster)?;
        with_chart(&helm, "install", "plimsoll", "default", &[])?;
        let own_lease = "--set=leaderElection.resourceName=own";
        let refusal = "another Plimsoll, in the namespace default, schedules the pods of plimsoll as well";
        refused(&helm, "other", &[own_lease], refusal)?;
        let told = allowed(&helm, "other", &[])?;
        ensure!(
            told.contains("the pods that ask for it by schedulerName: plimsoll."),
            "{told}"
        );
        ensure!(told.contains("helm test other --namespace default"), "{told}");
        ensure!(told.contains("no such image is published"), "{told}");
        allowed(&helm, "other", &[own_lease, "--set=profiles[0].schedulerName=batch"])?;
        // While an upgrade goes on, replicas of before and after it run side by side.
        let upgrade = |more: &[&str]| with_chart(&helm, "upgrade", "plimsoll", "default", more);
        let told = upgrade(&[own_lease]).err().context("the Lease may change")?.to_string();
        let refusal = r#"the Lease would change from "kube-system/plimsoll" to "kube-system/own" while replicas"#;
        ensure!(told.contains(refusal), "{told}");
        upgrade(&["--set=replicaCount=0"])?;
        upgrade(&[own_lease])?;
        helm.run(&["uninstall", "plimsoll", "--namespace", "default"])?;
        Ok(())
    })
}

#[test]
fn guards_look_into_a_config_map_that_exists() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    suite::run_with_service_accounts(async |cluster| {
        let helm = of_cluster(helm, cluster)?;
        let maps: Api<ConfigMap> = Api::namespaced(cluster.client().clone(), "default");
        let create = async |name: &str, file: &str| -> anyhow::Result<()> {
            let map = json!({ "metadata": { "name": name }, "data": { "config.yaml": file } });
            maps.create(&PostParams::default(), &serde_json::from_value(map)?)
                .await?;
            Ok(())
        };
        let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
        create("plain", head).await?;
        create(
            "own",
            &format!("{head}profiles: [{{schedulerName: batch}}, {{schedulerName: packed}}]\n"),
        )
        .await?;
        create("broken", "profiles: [").await?;
        let refusal = "mode=second with a profile for default-scheduler";
        refused(&helm, "plimsoll", &["--set=existingConfigMap.name=plain"], refusal)?;
        let refusal = "ConfigMap broken has no YAML under config.yaml";
        refused(&helm, "plimsoll", &["--set=existingConfigMap.name=broken"], refusal)?;
        let rendered = allowed(&helm, "plimsoll", &["--set=existingConfigMap.name=own"])?;
        ensure!(
            rendered.contains("plimsoll.dev/scheduler-names: \"batch,packed\""),
            "{rendered}"
        );
        ensure!(
            rendered.contains("schedulerName: batch"),
            "no pod for helm test:\n{rendered}"
        );
        let replacement = ["--set=existingConfigMap.name=own,mode=replacement,replacement.kubeSchedulerAbsent=true"];
        refused(
            &helm,
            "plimsoll",
            &replacement,
            "mode=replacement without a profile for default-scheduler",
        )?;
        Ok(())
    })
}
