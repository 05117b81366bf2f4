//! Creating objects.

use serde_json::Value;

use crate::{
    admission,
    clock::rfc3339_seconds,
    defaulting, event,
    object::{Object, has_finalizers, is_terminating, key, meta_str, metadata_mut},
    resource::{Resource, Storage},
    status::ApiError,
    store::{Store, Writer},
    strategy, validation,
};

/// How often a generated name is drawn anew when it is taken, as kube-apiserver does.
const NAME_ATTEMPTS: usize = 8;

/// Creates an object from the form in which a client of `resource` sends it.
pub(crate) fn create(
    store: &mut Store,
    writer: &Writer,
    resource: &'static Resource,
    namespace: &str,
    value: Value,
) -> Result<Object, ApiError> {
    let mut value = value;
    check_type(resource, &mut value)?;
    check_decodable(resource, &value)?;
    wipe_system_fields(&mut value);
    settle_namespace(resource, namespace, &mut value)?;
    if !meta_str(&value, "resourceVersion").is_empty() {
        return Err(ApiError::unexplained(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    if resource.namespaced {
        check_namespace_is_open(store, resource, namespace, meta_str(&value, "name"))?;
    }
    let generated = fill_name(store, &mut value);
    let uid = store.new_uid();
    let metadata = metadata_mut(&mut value);
    metadata.insert("uid".to_owned(), uid.into());
    metadata.insert("creationTimestamp".to_owned(), rfc3339_seconds(writer.now).into());

    defaulting::apply(resource, &mut value);
    admission::on_create(store, resource, &mut value)?;
    strategy::prepare_for_create(resource, &mut value, writer.now);
    let name = meta_str(&value, "name").to_owned();
    validation::validate(resource, &value, None)
        .map_err(|causes| ApiError::invalid(resource.storage_resource().group, resource.kind, &name, &causes))?;

    let name = settle_name(store, resource, namespace, &mut value, generated)?;
    let stored = if resource.storage == Storage::CoreEvents {
        event::to_core(&value)
    } else {
        value
    };
    Ok(store.put(writer, resource, &key(namespace, &name), stored))
}

/// Sets an absent type and refuses another one, with upstream's texts.
pub(crate) fn check_type(resource: &Resource, value: &mut Value) -> Result<(), ApiError> {
    check_type_is(&resource.api_version(), resource.kind, value)
}

pub(crate) fn check_type_is(expected_version: &str, expected_kind: &str, value: &mut Value) -> Result<(), ApiError> {
    let Some(fields) = value.as_object_mut() else {
        return Err(ApiError::bad_request("the body of the request is not an object"));
    };
    let text = |fields: &serde_json::Map<String, Value>, key: &str| {
        fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (version, kind) = (text(fields, "apiVersion"), text(fields, "kind"));
    if !version.is_empty() && version != expected_version {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({expected_version})"
        )));
    }
    if !kind.is_empty() && kind != expected_kind {
        return Err(ApiError::bad_request(format!(
            "{kind} in version \"{expected_version}\" cannot be handled as a {expected_kind}: converting to {expected_kind} failed"
        )));
    }
    fields.insert("apiVersion".to_owned(), expected_version.into());
    fields.insert("kind".to_owned(), expected_kind.into());
    Ok(())
}

/// Refuses what no decoder would read.
pub(crate) fn check_decodable(resource: &Resource, value: &Value) -> Result<(), ApiError> {
    validation::undecodable(resource, value).map_or(Ok(()), |wrong| Err(ApiError::bad_request(wrong)))
}

fn wipe_system_fields(value: &mut Value) {
    let metadata = metadata_mut(value);
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        metadata.remove(field);
    }
}

/// Gives the object the namespace of the request, or refuses one that names another.
pub(crate) fn settle_namespace(resource: &Resource, namespace: &str, value: &mut Value) -> Result<(), ApiError> {
    let own = meta_str(value, "namespace").to_owned();
    if !resource.namespaced {
        metadata_mut(value).remove("namespace");
        return Ok(());
    }
    if own.is_empty() {
        metadata_mut(value).insert("namespace".to_owned(), namespace.into());
        return Ok(());
    }
    if own != namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// The namespace lifecycle admission plugin: nothing is created where no namespace is, or where one is going.
pub(crate) fn check_namespace_is_open(
    store: &Store,
    resource: &Resource,
    namespace: &str,
    name: &str,
) -> Result<(), ApiError> {
    let namespaces = admission::namespaces();
    let found = store
        .get(namespaces, namespace)
        .ok_or_else(|| ApiError::not_found(namespaces, namespace))?;
    if is_terminating(found.value()) {
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        return Err(ApiError::forbidden(resource, name, &why).cause(
            "NamespaceTerminating",
            format!("namespace {namespace} is being terminated"),
            "metadata.namespace",
        ));
    }
    Ok(())
}

/// Draws a name when only a prefix is given, and says whether it did.
fn fill_name(store: &mut Store, value: &mut Value) -> bool {
    let prefix = meta_str(value, "generateName").to_owned();
    if !meta_str(value, "name").is_empty() || prefix.is_empty() {
        return false;
    }
    let name = store.generate_name(&prefix);
    metadata_mut(value).insert("name".to_owned(), name.into());
    true
}

/// The name under which to store the object; a taken generated name is drawn again.
fn settle_name(
    store: &mut Store,
    resource: &'static Resource,
    namespace: &str,
    value: &mut Value,
    generated: bool,
) -> Result<String, ApiError> {
    for _ in 0..NAME_ATTEMPTS {
        let name = meta_str(value, "name").to_owned();
        if store.get(resource, &key(namespace, &name)).is_none() {
            return Ok(name);
        }
        if !generated {
            return Err(ApiError::already_exists(resource, &name));
        }
        let next = store.generate_name(meta_str(value, "generateName"));
        metadata_mut(value).insert("name".to_owned(), next.into());
    }
    Err(ApiError::generate_name_conflict(resource, meta_str(value, "name")))
}

/// Whether an update that leaves this object behind is its end: marked for deletion, no grace left, no finalizers.
pub(crate) fn is_finished(new: &Value, old: &Value) -> bool {
    let grace = old["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    !has_finalizers(new) && is_terminating(old) && grace == 0
}
