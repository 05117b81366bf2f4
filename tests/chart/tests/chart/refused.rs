//! What the chart does not install, and how it says so.

use anyhow::{Context, bail, ensure};

use crate::helm;

/// `--set` and what is said of it.
type Refused = (&'static str, &'static str);

fn refuses(cases: &[Refused]) -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    for (values, expected) in cases {
        match helm.render(&["--set", values]) {
            Ok(_) => bail!("{values} is not refused"),
            Err(error) => {
                let text = error.to_string();
                ensure!(
                    text.contains(expected),
                    "{values} should be refused for {expected:?}, but: {text}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn values_of_a_wrong_type_or_name_are_refused_with_their_path() -> anyhow::Result<()> {
    refuses(&[
        ("replicaCount=many", "at '/replicaCount': got string, want integer"),
        ("replicas=3", "additional properties 'replicas' not allowed"),
        (
            "extenders[0].urlPrefix=http://x,extenders[0].filter=f",
            "at '/extenders/0': additional properties 'filter' not allowed",
        ),
        (
            "tracing.samplingRatePerMillion=2000000",
            "at '/tracing/samplingRatePerMillion': maximum: got",
        ),
        (
            "temporaryFolder.sizeLimit=much",
            "at '/temporaryFolder/sizeLimit': 'much' does not match pattern",
        ),
        (
            "mode=third",
            "at '/mode': value must be one of 'second', 'replacement', 'shadow'",
        ),
        (
            "percentageOfNodesToScore=200",
            "at '/percentageOfNodesToScore': maximum: got 200, want 100",
        ),
        (
            "metrics.podMonitor.enable=true",
            "at '/metrics/podMonitor': additional properties 'enable' not allowed",
        ),
        (
            "leaderElection.leaseDuration=15",
            "at '/leaderElection/leaseDuration': got number, want string",
        ),
        (
            "leaderElection.resourceName=No_Name",
            "at '/leaderElection/resourceName': 'No_Name' does not match pattern",
        ),
        (
            "image.digest=sha256:abc",
            "at '/image/digest': 'sha256:abc' does not match pattern",
        ),
        (
            "featureGates.GangScheduling=yes",
            "at '/featureGates/GangScheduling': got string, want boolean",
        ),
        ("extraArgs[0]=v4", "at '/extraArgs/0': 'v4' does not match pattern"),
        ("securePort=0", "at '/securePort': minimum: got 0, want 1"),
    ])
}

#[test]
fn a_profile_that_the_scheduler_would_refuse_is_refused_before_it_reaches_the_cluster() -> anyhow::Result<()> {
    refuses(&[
        (
            "profiles[0].schedulerName=a,profiles[0].plugin.score=1",
            "at '/profiles/0': additional properties 'plugin' not allowed",
        ),
        (
            "profiles[0].schedulerName=a,profiles[0].backoff.initial=1",
            "at '/profiles/0/backoff/initial': got number, want string",
        ),
        (
            "profiles[0].pluginConfig[0].name=NodeResourcesFit,profiles[0].pluginConfig[0].args.scoringStrategy.type=Most",
            "at '/profiles/0/pluginConfig/0/args/scoringStrategy/type': value must be one of 'LeastAllocated'",
        ),
    ])
}

#[test]
fn what_would_make_two_schedulers_fight_is_refused() -> anyhow::Result<()> {
    refuses(&[
        (
            "profiles[0].schedulerName=default-scheduler",
            "mode=second with a profile for default-scheduler",
        ),
        // A profile without a name is the default's.
        (
            "profiles[0].percentageOfNodesToScore=10",
            "mode=second with a profile for default-scheduler",
        ),
        (
            "leaderElection.resourceName=kube-scheduler",
            "mode=second with the Lease kube-system/kube-scheduler",
        ),
        (
            "profiles[0].schedulerName=kube-controller-manager",
            "mode=second with the Lease kube-system/kube-controller-manager",
        ),
        (
            "mode=replacement,leaderElection.enabled=false",
            "leaderElection.enabled=false with mode=replacement",
        ),
        (
            "mode=replacement,leaderElection.resourceName=own",
            "mode=replacement with the Lease kube-system/own",
        ),
        (
            "mode=replacement,leaderElection.resourceNamespace=other",
            "mode=replacement with the Lease other/kube-scheduler",
        ),
        (
            "mode=replacement,profiles[0].schedulerName=batch",
            "mode=replacement without a profile for default-scheduler",
        ),
        (
            "leaderElection.enabled=false",
            "leaderElection.enabled=false with replicaCount=3",
        ),
        (
            "extraArgs[0]=--leader-elect=false",
            "extraArgs has --leader-elect: use leaderElection",
        ),
        (
            "extraArgs[0]=--leader_elect_resource_name=own",
            "extraArgs has --leader-elect-resource-name: use leaderElection",
        ),
        (
            "extraArgs[0]=--config=/other",
            "extraArgs has --config: use profiles or existingConfigMap",
        ),
        (
            "extraArgs[0]=--policy-configmap=x",
            "extraArgs has --policy-configmap: use profiles",
        ),
    ])
}

#[test]
fn what_is_not_there_yet_and_what_is_said_twice_is_refused() -> anyhow::Result<()> {
    refuses(&[
        ("mode=shadow", "mode=shadow is not there yet"),
        (
            "existingConfigMap.name=own,profiles[0].schedulerName=a",
            "existingConfigMap.name and profiles are both set",
        ),
        (
            "metrics.serviceMonitor.enabled=true,metrics.podMonitor.enabled=true",
            "metrics.serviceMonitor.enabled and metrics.podMonitor.enabled are both set",
        ),
        (
            "tls.existingSecret=own,tls.certManager.enabled=true",
            "tls.existingSecret and tls.certManager.enabled are both set",
        ),
        (
            "tls.certManager.enabled=true",
            "tls.certManager.issuerRef.name is missing",
        ),
        (
            "serviceAccount.create=false",
            "serviceAccount.create=false without serviceAccount.name",
        ),
    ])
}

#[test]
fn a_lease_belongs_to_a_file_so_that_old_replicas_never_read_what_is_meant_for_new_ones() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    let name = |values: &str| -> anyhow::Result<String> {
        let map = helm.render(&["--set", values])?.object("ConfigMap")?;
        Ok(map["metadata"]["name"].as_str().context("no name")?.to_owned())
    };
    let second = name("mode=second")?;
    assert_eq!(second, name("podMaxBackoffSeconds=20")?, "a change of the file alone");
    assert_ne!(second, name("mode=replacement")?);
    assert_ne!(second, name("leaderElection.resourceName=own")?);
    // The Lease is named after the first profile.
    assert_ne!(second, name("profiles[0].schedulerName=batch")?);
    Ok(())
}
