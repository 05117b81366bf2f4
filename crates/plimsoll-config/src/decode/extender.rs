use super::cursor::{Cursor, Object};
use crate::{ExtenderConfig, ExtenderTls, GoDuration, ManagedResource};

/// Of a request, when the file names none.
const DEFAULT_TIMEOUT: GoDuration = GoDuration::from_secs(5);

pub(super) fn extender(cursor: Cursor<'_>) -> ExtenderConfig {
    let Some(mut object) = cursor.object() else {
        return ExtenderConfig {
            http_timeout: DEFAULT_TIMEOUT,
            ..ExtenderConfig::default()
        };
    };
    let extender = ExtenderConfig {
        url_prefix: object.text("urlPrefix").unwrap_or_default(),
        filter_verb: object.text("filterVerb").unwrap_or_default(),
        preempt_verb: object.text("preemptVerb").unwrap_or_default(),
        prioritize_verb: object.text("prioritizeVerb").unwrap_or_default(),
        weight: object.int64("weight").unwrap_or_default(),
        bind_verb: object.text("bindVerb").unwrap_or_default(),
        enable_https: object.boolean("enableHTTPS").unwrap_or_default(),
        tls_config: object.object("tlsConfig").map(tls),
        http_timeout: object
            .duration("httpTimeout")
            .filter(|timeout| *timeout != GoDuration::ZERO)
            .unwrap_or(DEFAULT_TIMEOUT),
        node_cache_capable: object.boolean("nodeCacheCapable").unwrap_or_default(),
        managed_resources: object
            .items("managedResources")
            .into_iter()
            .map(managed_resource)
            .collect(),
        ignorable: object.boolean("ignorable").unwrap_or_default(),
    };
    object.finish();
    extender
}

fn tls(mut object: Object<'_>) -> ExtenderTls {
    let tls = ExtenderTls {
        insecure: object.boolean("insecure").unwrap_or_default(),
        server_name: object.text("serverName").unwrap_or_default(),
        cert_file: object.text("certFile").unwrap_or_default(),
        key_file: object.text("keyFile").unwrap_or_default(),
        ca_file: object.text("caFile").unwrap_or_default(),
        cert_data: object.bytes("certData").unwrap_or_default(),
        key_data: object.bytes("keyData").unwrap_or_default(),
        ca_data: object.bytes("caData").unwrap_or_default(),
    };
    object.finish();
    tls
}

fn managed_resource(cursor: Cursor<'_>) -> ManagedResource {
    let Some(mut object) = cursor.object() else {
        return ManagedResource::default();
    };
    let resource = ManagedResource {
        name: object.text("name").unwrap_or_default(),
        ignored_by_scheduler: object.boolean("ignoredByScheduler").unwrap_or_default(),
    };
    object.finish();
    resource
}
