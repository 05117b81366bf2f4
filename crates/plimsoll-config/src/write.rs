//! Configurations as files, every default spelled out.

mod args;
pub(crate) mod yaml;

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_model::{LabelSelector, Requirement};
use serde_json::{Map, Value, json};

use crate::draft::Draft;
use crate::{
    ConfigKind, ExtenderConfig, ExtenderTls, GoDuration, MatchRule, PluginArgs, PluginSet, PodDisruptionBudgetPolicy,
    ProfileConfig, ProfileExtras, SchedulerConfig, TracingConfig,
};

pub(crate) use self::args::args as raw_args;

impl SchedulerConfig {
    /// The configuration as a file of either kind. As kube-scheduler's, it is byte for byte what `--write-config-to` of
    /// kube-scheduler writes, and what only Plimsoll's own kind can say is left out.
    ///
    /// One line differs: kube-scheduler writes 0 for a `percentageOfNodesToScore` that is unset. Here 0 is the adaptive
    /// share and unset looks at all nodes, so that the field stays away.
    pub fn to_yaml(&self, kind: ConfigKind) -> String {
        yaml::write(&self.to_value(kind))
    }

    /// The configuration as JSON: of kube-scheduler's kind, unless it says what only Plimsoll's own kind can.
    pub fn to_json(&self) -> Value {
        let own = |profile: &ProfileConfig| profile.extras != ProfileExtras::default();
        self.to_value(if self.profiles.iter().any(own) {
            ConfigKind::Plimsoll
        } else {
            ConfigKind::KubeScheduler
        })
    }

    /// The tree of a file of either kind.
    pub(crate) fn to_value(&self, kind: ConfigKind) -> Value {
        let draft = Draft::of(self);
        let (version, name) = kind.names();
        let election = &draft.election;
        let client = &draft.client;
        let mut file = json!({
            "apiVersion": version,
            "kind": name,
            "parallelism": draft.parallelism,
            "leaderElection": {
                "leaderElect": election.leader_elect,
                "leaseDuration": election.lease_duration.to_string(),
                "renewDeadline": election.renew_deadline.to_string(),
                "retryPeriod": election.retry_period.to_string(),
                "resourceLock": election.resource_lock,
                "resourceName": election.resource_name,
                "resourceNamespace": election.resource_namespace,
            },
            "clientConnection": {
                "kubeconfig": client.kubeconfig,
                "acceptContentTypes": client.accept_content_types,
                "contentType": client.content_type,
                "qps": single(client.qps),
                "burst": client.burst,
            },
            "enableProfiling": draft.enable_profiling,
            "enableContentionProfiling": draft.enable_contention_profiling,
            "podInitialBackoffSeconds": draft.pod_initial_backoff_seconds,
            "podMaxBackoffSeconds": draft.pod_max_backoff_seconds,
            "profiles": draft.profiles.iter().map(|own| profile(own, kind)).collect::<Value>(),
        });
        set(
            &mut file,
            "percentageOfNodesToScore",
            draft.percentage_of_nodes_to_score.map(Value::from),
        );
        set(&mut file, "extenders", list(&draft.extenders, extender));
        set(&mut file, "delayCacheUntilActive", flag(draft.delay_cache_until_active));
        if kind == ConfigKind::Plimsoll {
            set(&mut file, "tracing", tracing(&draft.tracing));
        }
        file
    }
}

/// A number of single precision, in as few digits as tell it from its neighbours; whole ones without a point.
fn single(number: f32) -> Value {
    let text = number.to_string();
    let whole = text.parse::<i64>().map(Value::from);
    whole.unwrap_or_else(|_| text.parse::<f64>().map_or(Value::Null, Value::from))
}

/// Sets a field that is left out when it has no value.
fn set(object: &mut Value, field: &str, value: Option<Value>) {
    if let (Some(object), Some(value)) = (object.as_object_mut(), value) {
        object.insert(field.to_owned(), value);
    }
}

fn list<T>(items: &[T], one: impl Fn(&T) -> Value) -> Option<Value> {
    (!items.is_empty()).then(|| items.iter().map(one).collect())
}

fn text(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| text.into())
}

fn flag(on: bool) -> Option<Value> {
    on.then_some(Value::Bool(true))
}

fn profile(profile: &ProfileConfig, kind: ConfigKind) -> Value {
    let mut value = json!({
        "schedulerName": profile.scheduler_name,
        "plugins": profile.plugins.sets().map(|(point, set)| (point.to_owned(), plugin_set(set))).collect::<Map<_, _>>(),
    });
    set(
        &mut value,
        "percentageOfNodesToScore",
        profile.percentage_of_nodes_to_score.map(Value::from),
    );
    set(&mut value, "pluginConfig", plugin_config(profile));
    if kind == ConfigKind::Plimsoll {
        extras(&mut value, &profile.extras);
    }
    value
}

fn plugin_set(set: &PluginSet) -> Value {
    let mut value = json!({});
    let enabled = |plugin: &crate::PluginRef| json!({"name": plugin.name, "weight": plugin.weight});
    self::set(&mut value, "enabled", list(&set.enabled, enabled));
    // kube-scheduler writes the weight that disabled plugins never use.
    self::set(
        &mut value,
        "disabled",
        list(&set.disabled, |name| json!({"name": name, "weight": 0})),
    );
    value
}

/// The arguments of the plugins that are made, in order of their names.
fn plugin_config(profile: &ProfileConfig) -> Option<Value> {
    let made = profile.plugins.enabled_names();
    let entries = profile.plugin_config.iter();
    let mut entries: Vec<_> = entries
        .filter(|entry| made.contains(entry.name.as_str()))
        .filter(|entry| entry.args != PluginArgs::Raw(Value::Null))
        .collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    list(
        &entries,
        |entry| json!({"name": entry.name, "args": raw_args(&entry.args)}),
    )
}

fn extender(extender: &ExtenderConfig) -> Value {
    let mut value = json!({
        "urlPrefix": extender.url_prefix,
        "httpTimeout": extender.http_timeout.to_string(),
    });
    let fields = [
        ("filterVerb", text(&extender.filter_verb)),
        ("preemptVerb", text(&extender.preempt_verb)),
        ("prioritizeVerb", text(&extender.prioritize_verb)),
        ("weight", (extender.weight != 0).then(|| extender.weight.into())),
        ("bindVerb", text(&extender.bind_verb)),
        ("enableHTTPS", flag(extender.enable_https)),
        ("tlsConfig", extender.tls_config.as_ref().map(tls)),
        ("nodeCacheCapable", flag(extender.node_cache_capable)),
        ("managedResources", list(&extender.managed_resources, managed_resource)),
        ("ignorable", flag(extender.ignorable)),
    ];
    for (field, given) in fields {
        set(&mut value, field, given);
    }
    value
}

fn managed_resource(resource: &crate::ManagedResource) -> Value {
    let mut value = json!({"name": resource.name});
    set(&mut value, "ignoredByScheduler", flag(resource.ignored_by_scheduler));
    value
}

fn tls(tls: &ExtenderTls) -> Value {
    let mut value = json!({});
    let bytes = |bytes: &[u8]| (!bytes.is_empty()).then(|| STANDARD.encode(bytes).into());
    let fields = [
        ("insecure", flag(tls.insecure)),
        ("serverName", text(&tls.server_name)),
        ("certFile", text(&tls.cert_file)),
        ("keyFile", text(&tls.key_file)),
        ("caFile", text(&tls.ca_file)),
        ("certData", bytes(&tls.cert_data)),
        ("keyData", bytes(&tls.key_data)),
        ("caData", bytes(&tls.ca_data)),
    ];
    for (field, given) in fields {
        set(&mut value, field, given);
    }
    value
}

fn tracing(tracing: &TracingConfig) -> Option<Value> {
    let mut value = json!({});
    set(&mut value, "endpoint", tracing.endpoint.clone().map(Value::from));
    set(
        &mut value,
        "samplingRatePerMillion",
        tracing.sampling_rate_per_million.map(Value::from),
    );
    (*tracing != TracingConfig::default()).then_some(value)
}

fn extras(value: &mut Value, extras: &ProfileExtras) {
    let backoff = extras.backoff.map(|backoff| {
        json!({
            "initial": GoDuration::from(backoff.initial).to_string(),
            "max": GoDuration::from(backoff.max).to_string(),
        })
    });
    set(value, "backoff", backoff);
    set(value, "extenders", list(&extras.extenders, extender));
    set(value, "matchRules", list(&extras.match_rules, match_rule));
    let policy = extras.pod_disruption_budget_policy;
    let policy = (policy != PodDisruptionBudgetPolicy::Soft).then(|| policy.as_str().into());
    set(value, "podDisruptionBudgetPolicy", policy);
    let window = extras.preemption_loop_window;
    let window = window.map(|window| GoDuration::from(window).to_string().into());
    set(value, "preemptionLoopWindow", window);
    let tracing = extras.trace_sampling_ratio.map(|ratio| json!({"samplingRatio": ratio}));
    set(value, "tracing", tracing);
}

fn match_rule(rule: &MatchRule) -> Value {
    let mut value = json!({});
    set(
        &mut value,
        "namespaceSelector",
        rule.namespace_selector.as_ref().map(label_selector),
    );
    set(
        &mut value,
        "podSelector",
        rule.pod_selector.as_ref().map(label_selector),
    );
    value
}

fn label_selector(selector: &LabelSelector) -> Value {
    let mut value = json!({});
    if !selector.match_labels.is_empty() {
        let labels = selector.match_labels.iter();
        let labels: Map<_, _> = labels.map(|(key, value)| (key.to_owned(), value.into())).collect();
        set(&mut value, "matchLabels", Some(labels.into()));
    }
    set(
        &mut value,
        "matchExpressions",
        list(&selector.match_expressions, requirement),
    );
    value
}

fn requirement(requirement: &Requirement) -> Value {
    let mut value = json!({
        "key": requirement.key.as_str(),
        "operator": crate::validate::operator_name(&requirement.operator),
    });
    set(
        &mut value,
        "values",
        list(&requirement.values, |value| value.as_str().into()),
    );
    value
}
