use super::ConfigKind;
use super::cursor::{Cursor, Object};
use super::extender::extender;
use super::profile::profile;
use crate::draft::{Draft, DraftClient, DraftElection};
use crate::{DEFAULT_SCHEDULER_NAME, FeatureGates, GoDuration, ProfileConfig, TracingConfig};

/// A word of a profile stands for many defaults, so that a short text could fill the memory with them.
const MAX_PROFILES: usize = 1000;

/// The whole file, defaulted.
pub(super) fn configuration(top: Cursor<'_>, kind: ConfigKind, gates: &FeatureGates) -> Draft {
    let Some(mut top) = top.object() else {
        return Draft::default();
    };
    // Judged before.
    let _ = (top.get("apiVersion"), top.get("kind"));
    let parallelism = top.int32("parallelism").unwrap_or(16);
    let election = election(top.object("leaderElection"));
    let client = client(top.object("clientConnection"));
    let enable_profiling = top.boolean("enableProfiling").unwrap_or(true);
    // Unset, it follows profiling.
    let enable_contention_profiling = top.boolean("enableContentionProfiling").unwrap_or(enable_profiling);
    let percentage_of_nodes_to_score = top.int32("percentageOfNodesToScore");
    let pod_initial_backoff_seconds = top.int64("podInitialBackoffSeconds").unwrap_or(1);
    let pod_max_backoff_seconds = top.int64("podMaxBackoffSeconds").unwrap_or(10);
    let profiles = profile_list(&mut top).into_iter().enumerate();
    let profiles = profiles
        .map(|(index, cursor)| profile(cursor, index, kind, gates))
        .collect();
    let extenders = top.items("extenders").into_iter().map(extender).collect();
    let delay_cache_until_active = top.boolean("delayCacheUntilActive").unwrap_or(false);
    let tracing = if kind == ConfigKind::Plimsoll {
        tracing(top.object("tracing"))
    } else {
        TracingConfig::default()
    };
    top.finish();
    Draft {
        parallelism,
        election,
        client,
        enable_profiling,
        enable_contention_profiling,
        percentage_of_nodes_to_score,
        pod_initial_backoff_seconds,
        pod_max_backoff_seconds,
        profiles: named(profiles, gates),
        extenders,
        delay_cache_until_active,
        tracing,
    }
}

fn tracing(object: Option<Object<'_>>) -> TracingConfig {
    let Some(mut object) = object else {
        return TracingConfig::default();
    };
    let tracing = TracingConfig {
        endpoint: object.text("endpoint").filter(|endpoint| !endpoint.is_empty()),
        sampling_rate_per_million: object.int32("samplingRatePerMillion"),
    };
    object.finish();
    tracing
}

fn profile_list<'t>(top: &mut Object<'t>) -> Vec<Cursor<'t>> {
    let Some(list) = top.get("profiles") else {
        return Vec::new();
    };
    let mut items = list.items();
    if items.len() > MAX_PROFILES {
        let hint = "leave some of them out".to_owned();
        list.wrong(&format!("more than {MAX_PROFILES} profiles"), Some(hint));
        items.clear();
    }
    items
}

/// A file without profiles has one, and a single profile needs no name.
fn named(mut profiles: Vec<(Option<String>, ProfileConfig)>, gates: &FeatureGates) -> Vec<ProfileConfig> {
    if profiles.is_empty() {
        profiles.push((None, ProfileConfig::with_gates(gates)));
    }
    let alone = profiles.len() == 1;
    let name = |(name, profile): (Option<String>, ProfileConfig)| ProfileConfig {
        scheduler_name: match name {
            None if alone => DEFAULT_SCHEDULER_NAME.to_owned(),
            name => name.unwrap_or_default(),
        },
        ..profile
    };
    profiles.into_iter().map(name).collect()
}

fn election(object: Option<Object<'_>>) -> DraftElection {
    let default = DraftElection::default();
    let Some(mut object) = object else { return default };
    let set = |given: Option<GoDuration>, default| given.filter(|given| *given != GoDuration::ZERO).unwrap_or(default);
    let named = |given: Option<String>, default| given.filter(|given| !given.is_empty()).unwrap_or(default);
    let election = DraftElection {
        leader_elect: object.boolean("leaderElect").unwrap_or(default.leader_elect),
        lease_duration: set(object.duration("leaseDuration"), default.lease_duration),
        renew_deadline: set(object.duration("renewDeadline"), default.renew_deadline),
        retry_period: set(object.duration("retryPeriod"), default.retry_period),
        resource_lock: named(object.text("resourceLock"), default.resource_lock),
        resource_name: named(object.text("resourceName"), default.resource_name),
        resource_namespace: named(object.text("resourceNamespace"), default.resource_namespace),
    };
    object.finish();
    election
}

fn client(object: Option<Object<'_>>) -> DraftClient {
    let default = DraftClient::default();
    let Some(mut object) = object else { return default };
    let content_type = object.text("contentType").filter(|text| !text.is_empty());
    let client = DraftClient {
        kubeconfig: object.text("kubeconfig").unwrap_or_default(),
        accept_content_types: object.text("acceptContentTypes").unwrap_or_default(),
        content_type: content_type.unwrap_or(default.content_type),
        qps: object.float32("qps").filter(|qps| *qps != 0.0).unwrap_or(default.qps),
        burst: object
            .int32("burst")
            .filter(|burst| *burst != 0)
            .unwrap_or(default.burst),
    };
    object.finish();
    client
}
