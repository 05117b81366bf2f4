//! The `Policy` of Kubernetes 1.0 to 1.22.

use super::cursor::{Cursor, Faults, Object, Scope};
use super::{note_repeated, second_document};
use crate::document::{self, Node, Value};
use crate::policy::{
    LabelPreference, LabelsPresence, Policy, PredicateArgument, PredicatePolicy, PriorityArgument, PriorityPolicy,
    RequestedToCapacityRatio,
};
use crate::{
    ConfigError, ExtenderConfig, ExtenderTls, GoDuration, ManagedResource, ResourceWeight, UtilizationShapePoint,
};

const VERSION: &str = "v1";
const KIND: &str = "Policy";

/// Of a request to an extender, when the file names none.
const DEFAULT_TIMEOUT: GoDuration = GoDuration::from_secs(5);

/// Decodes a legacy Policy, JSON or YAML; with it come warnings.
///
/// Field names are those of Kubernetes 1.22. Extenders may also have the `apiVersion` of the first releases, `enableHTTPS`
/// as configurations write it, and capital first letters, which earlier releases wanted or allowed.
///
/// # Errors
/// When it is no Policy, and with every unknown field, repeated key and value of a wrong type at once.
pub fn decode_policy(text: &str) -> Result<(Policy, Vec<String>), ConfigError> {
    let (root, second) = document::parse(text).map_err(|error| ConfigError::Syntax {
        text: error.text,
        at: error.at,
    })?;
    check_kind(&root)?;
    let faults = Faults::default();
    note_repeated(&root, &faults);
    let scope = Scope::default();
    let policy = policy(Cursor::new(&root, String::new(), &faults, &scope));
    let faults = faults.into_list();
    if faults.is_empty() {
        Ok((policy, second.into_iter().map(second_document).collect()))
    } else {
        Err(ConfigError::Decoding(faults))
    }
}

fn check_kind(root: &Node) -> Result<(), ConfigError> {
    let text_of = |field: &str| match root.get(field).map(|node| &node.value) {
        Some(Value::Text(text)) => text.clone(),
        _ => String::new(),
    };
    let (version, kind) = (text_of("apiVersion"), text_of("kind"));
    if (version.as_str(), kind.as_str()) == (VERSION, KIND) {
        return Ok(());
    }
    let text = match (kind.as_str(), version.as_str()) {
        ("", _) => "Object 'Kind' is missing".to_owned(),
        (_, "") => "Object 'apiVersion' is missing".to_owned(),
        _ => format!("couldn't decode as {KIND}, got {version}, Kind={kind}: "),
    };
    let wrong = if kind == KIND { "apiVersion" } else { "kind" };
    Err(ConfigError::Kind {
        text,
        at: root.get(wrong).unwrap_or(root).at,
        hint: Some(format!(
            "a Policy begins with `apiVersion: {VERSION}` and `kind: {KIND}`"
        )),
    })
}

fn policy(cursor: Cursor<'_>) -> Policy {
    let Some(mut object) = cursor.object() else {
        return Policy::default();
    };
    object.text("apiVersion");
    object.text("kind");
    let policy = Policy {
        predicates: object.get("predicates").map(|list| all(list.items(), predicate)),
        priorities: object.get("priorities").map(|list| all(list.items(), priority)),
        extenders: all(object.items("extenders"), extender),
        hard_pod_affinity_symmetric_weight: object.int32("hardPodAffinitySymmetricWeight").unwrap_or_default(),
        always_check_all_predicates: object.boolean("alwaysCheckAllPredicates").unwrap_or_default(),
    };
    object.finish();
    policy
}

/// Items that are no objects have been noted as faults and are left out.
fn all<'t, T>(items: Vec<Cursor<'t>>, read: impl Fn(&mut Object<'t>) -> T) -> Vec<T> {
    items
        .into_iter()
        .filter_map(|item| whole(item.object()?, &read))
        .collect()
}

/// Reads an object, and notes the fields that were not read.
#[expect(clippy::unnecessary_wraps, reason = "read where a field may be absent")]
fn whole<'t, T>(mut object: Object<'t>, read: impl Fn(&mut Object<'t>) -> T) -> Option<T> {
    let value = read(&mut object);
    object.finish();
    Some(value)
}

fn predicate(object: &mut Object<'_>) -> PredicatePolicy {
    PredicatePolicy {
        name: object.text("name").unwrap_or_default(),
        argument: object
            .object("argument")
            .and_then(|argument| whole(argument, predicate_argument)),
    }
}

fn predicate_argument(object: &mut Object<'_>) -> PredicateArgument {
    let affinity = object.object("serviceAffinity");
    let presence = object.object("labelsPresence");
    PredicateArgument {
        service_affinity: affinity.and_then(|affinity| whole(affinity, |object| object.texts("labels"))),
        labels_presence: presence.and_then(|presence| {
            whole(presence, |object| LabelsPresence {
                labels: object.texts("labels"),
                presence: object.boolean("presence").unwrap_or_default(),
            })
        }),
    }
}

fn priority(object: &mut Object<'_>) -> PriorityPolicy {
    PriorityPolicy {
        name: object.text("name").unwrap_or_default(),
        weight: object.int64("weight").unwrap_or_default(),
        argument: object
            .object("argument")
            .and_then(|argument| whole(argument, priority_argument)),
    }
}

fn priority_argument(object: &mut Object<'_>) -> PriorityArgument {
    let apart = object.object("serviceAntiAffinity");
    let preference = object.object("labelPreference");
    let ratio = object.object("requestedToCapacityRatioArguments");
    let ratio = ratio.or_else(|| object.object("requestedToCapacityRatio"));
    PriorityArgument {
        service_anti_affinity: apart.and_then(|apart| whole(apart, |object| object.text("label").unwrap_or_default())),
        label_preference: preference.and_then(|preference| {
            whole(preference, |object| LabelPreference {
                label: object.text("label").unwrap_or_default(),
                presence: object.boolean("presence").unwrap_or_default(),
            })
        }),
        requested_to_capacity_ratio: ratio.and_then(|ratio| {
            whole(ratio, |object| RequestedToCapacityRatio {
                shape: all(object.items("shape"), shape_point),
                resources: all(object.items("resources"), resource_weight),
            })
        }),
    }
}

fn shape_point(object: &mut Object<'_>) -> UtilizationShapePoint {
    UtilizationShapePoint {
        utilization: object.int32("utilization").unwrap_or_default(),
        score: object.int32("score").unwrap_or_default(),
    }
}

fn resource_weight(object: &mut Object<'_>) -> ResourceWeight {
    let name = object.text("name").unwrap_or_default();
    let weight = object.int64("weight").filter(|weight| *weight != 0);
    ResourceWeight::new(name, weight.unwrap_or(1))
}

fn extender(object: &mut Object<'_>) -> ExtenderConfig {
    // The first releases had extenders say which version of the protocol they speak.
    object.text("apiVersion");
    let timeout = any(object, ["httpTimeout", "HTTPTimeout"]).and_then(|timeout| timeout.integer::<i64>("int64"));
    ExtenderConfig {
        url_prefix: text(object, ["urlPrefix", "URLPrefix"]),
        filter_verb: text(object, ["filterVerb", "FilterVerb"]),
        preempt_verb: text(object, ["preemptVerb", "PreemptVerb"]),
        prioritize_verb: text(object, ["prioritizeVerb", "PrioritizeVerb"]),
        weight: any(object, ["weight", "Weight"])
            .and_then(|weight| weight.integer("int64"))
            .unwrap_or_default(),
        bind_verb: text(object, ["bindVerb", "BindVerb"]),
        enable_https: flag(object, ["enableHttps", "enableHTTPS", "EnableHTTPS"]),
        tls_config: any(object, ["tlsConfig", "TLSConfig"])
            .and_then(Cursor::object)
            .and_then(|object| whole(object, tls)),
        // In nanoseconds, as Go writes durations that are no texts.
        http_timeout: timeout
            .filter(|nanos| *nanos != 0)
            .map_or(DEFAULT_TIMEOUT, GoDuration::from_nanos),
        node_cache_capable: flag(object, ["nodeCacheCapable", "NodeCacheCapable"]),
        managed_resources: any(object, ["managedResources", "ManagedResources"])
            .map(|list| all(list.items(), managed_resource))
            .unwrap_or_default(),
        ignorable: flag(object, ["ignorable", "Ignorable"]),
    }
}

fn tls(object: &mut Object<'_>) -> ExtenderTls {
    let mut bytes = |names| any(object, names).and_then(|data| data.bytes()).unwrap_or_default();
    let (cert_data, key_data) = (bytes(["certData", "CertData"]), bytes(["keyData", "KeyData"]));
    let ca_data = bytes(["caData", "CAData"]);
    ExtenderTls {
        insecure: flag(object, ["insecure", "Insecure"]),
        server_name: text(object, ["serverName", "ServerName"]),
        cert_file: text(object, ["certFile", "CertFile"]),
        key_file: text(object, ["keyFile", "KeyFile"]),
        ca_file: text(object, ["caFile", "CAFile"]),
        cert_data,
        key_data,
        ca_data,
    }
}

fn managed_resource(object: &mut Object<'_>) -> ManagedResource {
    ManagedResource {
        name: object.text("name").unwrap_or_default(),
        ignored_by_scheduler: object.boolean("ignoredByScheduler").unwrap_or_default(),
    }
}

/// A field by whichever of its names it is there.
fn any<'t, const N: usize>(object: &mut Object<'t>, names: [&'static str; N]) -> Option<Cursor<'t>> {
    let found: Vec<_> = names.into_iter().filter_map(|name| object.get(name)).collect();
    found.into_iter().next()
}

fn text<const N: usize>(object: &mut Object<'_>, names: [&'static str; N]) -> String {
    any(object, names).and_then(|text| text.text()).unwrap_or_default()
}

fn flag<const N: usize>(object: &mut Object<'_>, names: [&'static str; N]) -> bool {
    any(object, names).and_then(|flag| flag.boolean()).unwrap_or_default()
}
