//! JSON Schemas of both kinds of configuration, for editors and for checks in pipelines.

mod args;
mod core;
mod words;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::{ConfigKind, Plugins, PodDisruptionBudgetPolicy};

/// What Go reads as a duration.
const DURATION: &str = "^[-+]?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|\u{b5}s|\u{3bc}s|ms|s|m|h))+)$";

/// The JSON Schema (draft 2020-12) of a kind, as a text that ends with a line break.
///
/// It says which fields there are and what they hold; rules that join several fields are for `plimsoll config check`.
pub fn schema(kind: ConfigKind) -> String {
    let (version, name) = kind.names();
    let file = match kind {
        ConfigKind::KubeScheduler => "kubescheduler-v1.json",
        ConfigKind::Plimsoll => "plimsoll-v1alpha1.json",
    };
    let mut root = top(kind);
    put(
        &mut root,
        "$schema",
        "https://json-schema.org/draft/2020-12/schema".into(),
    );
    put(&mut root, "$id", format!("https://plimsoll.dev/schema/{file}").into());
    put(&mut root, "title", format!("{name} ({version})").into());
    words::describe(&mut root, "");
    let mut definitions = definitions(kind);
    for (name, definition) in definitions.as_object_mut().into_iter().flatten() {
        words::describe(definition, name);
    }
    put(&mut root, "$defs", definitions);
    format!("{root:#}\n")
}

fn put(object: &mut Value, field: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(field.to_owned(), value);
    }
}

/// An object with these fields and no others.
fn object(fields: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    let mut object = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        put(&mut object, "required", json!(required));
    }
    object
}

/// A value with a word about it.
fn told(mut value: Value, description: &str) -> Value {
    put(&mut value, "description", description.into());
    value
}

fn reference(definition: &str) -> Value {
    json!({"$ref": format!("#/$defs/{definition}")})
}

fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn boolean(default: bool) -> Value {
    json!({"type": "boolean", "default": default})
}

fn int32() -> Value {
    json!({"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX})
}

fn at_least(minimum: i64) -> Value {
    json!({"type": "integer", "minimum": minimum})
}

fn within(minimum: i64, maximum: i64) -> Value {
    json!({"type": "integer", "minimum": minimum, "maximum": maximum})
}

fn one_of(values: &[&str]) -> Value {
    json!({"type": "string", "enum": values})
}

fn duration() -> Value {
    reference("Duration")
}

fn defaulted(mut value: Value, default: Value) -> Value {
    put(&mut value, "default", default);
    value
}

fn top(kind: ConfigKind) -> Value {
    let (version, name) = kind.names();
    let mut fields = vec![
        ("apiVersion", json!({"const": version})),
        ("kind", json!({"const": name})),
        ("parallelism", defaulted(within(1, i32::MAX.into()), 16.into())),
        ("leaderElection", leader_election()),
        ("clientConnection", client_connection()),
        ("enableProfiling", boolean(true)),
        (
            "enableContentionProfiling",
            told(
                json!({"type": "boolean"}),
                "Follows enableProfiling when it is left out.",
            ),
        ),
        (
            "percentageOfNodesToScore",
            told(
                within(0, 100),
                "Share of the nodes that is looked for; 0 lets the size of the cluster decide, none looks at all.",
            ),
        ),
        ("podInitialBackoffSeconds", defaulted(at_least(1), 1.into())),
        ("podMaxBackoffSeconds", defaulted(at_least(1), 10.into())),
        ("profiles", list(&reference("Profile"))),
        ("extenders", list(&reference("Extender"))),
        ("delayCacheUntilActive", boolean(false)),
    ];
    if kind == ConfigKind::Plimsoll {
        fields.push(("tracing", tracing()));
    }
    object(&fields, &["apiVersion", "kind"])
}

fn tracing() -> Value {
    let fields = [
        (
            "endpoint",
            told(
                text(),
                "The collector, host:port (gRPC without TLS) or a URL. Left out: what OTEL_EXPORTER_OTLP_ENDPOINT says, and \
                 nothing is exported if that says nothing.",
            ),
        ),
        (
            "samplingRatePerMillion",
            told(
                within(0, 1_000_000),
                "How many of a million pods are traced though nothing goes wrong with them. Left out: what \
                 OTEL_TRACES_SAMPLER says.",
            ),
        ),
    ];
    told(object(&fields, &[]), "Where OpenTelemetry traces go.")
}

fn leader_election() -> Value {
    let fields = [
        ("leaderElect", boolean(true)),
        ("leaseDuration", defaulted(duration(), "15s".into())),
        ("renewDeadline", defaulted(duration(), "10s".into())),
        ("retryPeriod", defaulted(duration(), "2s".into())),
        ("resourceLock", defaulted(text(), "leases".into())),
        ("resourceName", defaulted(text(), "kube-scheduler".into())),
        ("resourceNamespace", defaulted(text(), "kube-system".into())),
    ];
    object(&fields, &[])
}

fn client_connection() -> Value {
    let fields = [
        (
            "kubeconfig",
            told(text(), "Empty: the credentials of the pod it runs in."),
        ),
        ("acceptContentTypes", text()),
        (
            "contentType",
            defaulted(text(), "application/vnd.kubernetes.protobuf".into()),
        ),
        (
            "qps",
            told(
                json!({"type": "number", "default": 50}),
                "Below zero there is no limit.",
            ),
        ),
        ("burst", defaulted(within(0, i32::MAX.into()), 100.into())),
    ];
    object(&fields, &[])
}

fn definitions(kind: ConfigKind) -> Value {
    let mut definitions = json!({
        "Duration": told(json!({"type": "string", "pattern": DURATION}), "Such as 15s, 1m30s or 500ms."),
        "Profile": profile(kind),
        "Plugins": plugins(),
        "PluginSet": plugin_set(),
        "Plugin": object(&[("name", text()), ("weight", int32())], &["name"]),
        "PluginConfig": args::plugin_config(),
        "Extender": extender(),
    });
    for (name, definition) in args::definitions().into_iter().chain(core::definitions()) {
        put(&mut definitions, name, definition);
    }
    if kind == ConfigKind::Plimsoll {
        put(&mut definitions, "MatchRule", match_rule());
    }
    definitions
}

fn profile(kind: ConfigKind) -> Value {
    let mut fields = vec![
        (
            "schedulerName",
            told(
                text(),
                "Pods name it in spec.schedulerName. Only a profile that stands alone may leave it out.",
            ),
        ),
        (
            "percentageOfNodesToScore",
            told(within(0, 100), "In place of the value for all profiles."),
        ),
        ("plugins", reference("Plugins")),
        ("pluginConfig", list(&reference("PluginConfig"))),
    ];
    if kind == ConfigKind::Plimsoll {
        let backoff = [
            ("initial", defaulted(duration(), "1s".into())),
            ("max", defaulted(duration(), "10s".into())),
        ];
        let ratio = json!({"type": "number", "minimum": 0, "maximum": 1});
        let tracing = [(
            "samplingRatio",
            told(
                ratio,
                "Share of its pods that are traced though nothing goes wrong with them, in place of the rate for all profiles.",
            ),
        )];
        fields.extend([
            (
                "backoff",
                told(object(&backoff, &[]), "How long its pods wait between attempts."),
            ),
            (
                "extenders",
                told(list(&reference("Extender")), "Asked by this profile alone, after those of all."),
            ),
            (
                "matchRules",
                told(
                    list(&reference("MatchRule")),
                    "Of the profiles with one scheduler name the first with a rule that is met takes the pod, and the one \
                     without rules takes the rest.",
                ),
            ),
            (
                "podDisruptionBudgetPolicy",
                told(
                    defaulted(one_of(&PodDisruptionBudgetPolicy::ALL.map(PodDisruptionBudgetPolicy::as_str)), "Soft".into()),
                    "Soft: preemption violates budgets where nothing else helps. Hard: it never does.",
                ),
            ),
            (
                "preemptionLoopWindow",
                told(
                    duration(),
                    "How long a preemption is remembered, so that replacements of its victims are not evicted for the same \
                     pods again; none is not at all.",
                ),
            ),
            ("tracing", object(&tracing, &[])),
        ]);
    }
    object(&fields, &[])
}

fn match_rule() -> Value {
    let fields = [
        ("namespaceSelector", reference("LabelSelector")),
        ("podSelector", reference("LabelSelector")),
    ];
    let mut rule = object(&fields, &[]);
    put(&mut rule, "minProperties", 1.into());
    told(rule, "Met when both selectors match; one that is left out always does.")
}

fn plugins() -> Value {
    let plugins = Plugins::default();
    let fields: Vec<_> = plugins
        .sets()
        .map(|(point, _)| (point, reference("PluginSet")))
        .collect();
    object(&fields, &[])
}

fn plugin_set() -> Value {
    let fields = [
        ("enabled", list(&reference("Plugin"))),
        (
            "disabled",
            told(
                list(&reference("Plugin")),
                "Defaults to leave out; \"*\" means all of them.",
            ),
        ),
    ];
    object(&fields, &[])
}

fn extender() -> Value {
    let tls: Vec<_> = [
        ("insecure", boolean(false)),
        ("serverName", text()),
        ("certFile", text()),
        ("keyFile", text()),
        ("caFile", text()),
    ]
    .into_iter()
    .chain(
        ["certData", "keyData", "caData"].map(|field| (field, json!({"type": "string", "contentEncoding": "base64"}))),
    )
    .collect();
    let managed = [("name", text()), ("ignoredByScheduler", boolean(false))];
    let verb = |what: &str| {
        told(
            text(),
            &format!("Appended to urlPrefix to {what}; empty when it does not."),
        )
    };
    let fields = [
        ("urlPrefix", text()),
        ("filterVerb", verb("filter")),
        ("preemptVerb", verb("preempt")),
        ("prioritizeVerb", verb("score")),
        (
            "weight",
            told(json!({"type": "integer"}), "Must be above 0 with a prioritizeVerb."),
        ),
        ("bindVerb", verb("bind")),
        ("enableHTTPS", boolean(false)),
        ("tlsConfig", object(&tls, &[])),
        ("httpTimeout", defaulted(duration(), "5s".into())),
        ("nodeCacheCapable", boolean(false)),
        ("managedResources", list(&object(&managed, &["name"]))),
        ("ignorable", boolean(false)),
    ];
    object(&fields, &["urlPrefix"])
}
