//! Updating objects: PUT and PATCH, on the object or one of its subresources.

use serde_json::Value;

use crate::{
    admission,
    cause::Cause,
    create::{check_decodable, check_type, create, is_finished, settle_namespace},
    defaulting, event,
    object::{Object, Stored, key, meta_str, metadata_mut},
    resource::{Resource, Storage},
    status::ApiError,
    store::{Store, Writer},
    strategy::{Part, keep_metadata, prepare_for_update},
    validation,
};

/// Which object is updated, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    pub(crate) resource: &'static Resource,
    pub(crate) part: Part,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// Create the object when it is not there.
    pub(crate) may_create: bool,
    /// A UID in the new object is a precondition (PUT), not just an immutable field (PATCH).
    pub(crate) uid_is_precondition: bool,
}

/// The object after an update, and whether it was created by it.
#[derive(Debug)]
pub(crate) struct Updated {
    pub(crate) object: Object,
    pub(crate) created: bool,
}

/// Replaces an object by what `make` turns the current one (as a client of the kind sees it) into.
pub(crate) fn update(
    store: &mut Store,
    writer: &Writer,
    change: Change<'_>,
    make: impl FnOnce(&mut Store, Option<&Value>) -> Result<Value, ApiError>,
) -> Result<Updated, ApiError> {
    let Change {
        resource,
        namespace,
        name,
        ..
    } = change;
    let key = key(namespace, name);
    let Some(current) = store.get(resource, &key).cloned() else {
        if !change.may_create || change.part != Part::Main {
            return Err(ApiError::not_found(resource, name));
        }
        let value = make(store, None)?;
        check_name(&value, name)?;
        return create(store, writer, resource, namespace, value).map(|object| Updated { object, created: true });
    };
    let old = current.view(resource);
    let mut new = make(store, Some(&old))?;
    check_type(resource, &mut new)?;
    check_decodable(resource, &new)?;
    settle_namespace(resource, namespace, &mut new)?;
    check_name(&new, name)?;
    check_uid(change, &new, &old)?;
    check_version(resource, name, &new, &current)?;
    settle(store, writer, change, &mut new, &old)?;

    if is_finished(&new, &old) {
        let stored = stored_form(resource, new);
        store.remove(writer, resource, &key);
        return Ok(Updated {
            object: Stored::new(current.rv, stored),
            created: false,
        });
    }
    let stored = stored_form(resource, new);
    if stored == **current.value() {
        return Ok(Updated {
            object: current,
            created: false,
        });
    }
    Ok(Updated {
        object: store.put(writer, resource, &key, stored),
        created: false,
    })
}

fn stored_form(resource: &Resource, value: Value) -> Value {
    if resource.storage == Storage::CoreEvents {
        event::to_core(&value)
    } else {
        value
    }
}

fn check_name(value: &Value, name: &str) -> Result<(), ApiError> {
    let own = meta_str(value, "name");
    if own.is_empty() {
        return Err(ApiError::bad_request(
            "the name of the object (based on metadata.name) was undeterminable: name must be provided",
        ));
    }
    if own != name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({own}) does not match the name on the URL ({name})"
        )));
    }
    Ok(())
}

fn check_uid(change: Change<'_>, new: &Value, old: &Value) -> Result<(), ApiError> {
    let (asked, is) = (meta_str(new, "uid"), meta_str(old, "uid"));
    if asked.is_empty() || asked == is {
        return Ok(());
    }
    let Change {
        resource,
        namespace,
        name,
        ..
    } = change;
    if change.uid_is_precondition {
        return Err(uid_conflict(resource, namespace, name, asked, is));
    }
    let cause = Cause::invalid("metadata.uid", &asked.into(), "field is immutable");
    Err(ApiError::invalid(
        resource.storage_resource().group,
        resource.kind,
        name,
        &[cause],
    ))
}

/// 409 for a write meant for another object of the same name.
pub(crate) fn uid_conflict(resource: &Resource, namespace: &str, name: &str, asked: &str, is: &str) -> ApiError {
    precondition_conflict(
        resource,
        namespace,
        name,
        &format!("Precondition failed: UID in precondition: {asked}, UID in object meta: {is}"),
    )
}

/// 409 for a failed precondition on a write, worded as the storage layer does.
pub(crate) fn precondition_conflict(resource: &Resource, namespace: &str, name: &str, failed: &str) -> ApiError {
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: {failed}",
        registry_prefix(resource),
        key(namespace, name),
    );
    ApiError::conflict(resource.group, resource.plural, name, &why)
}

/// Where kube-apiserver keeps a kind in etcd; shows up in messages.
fn registry_prefix(resource: &Resource) -> &'static str {
    match (resource.group, resource.plural) {
        ("", "nodes") => "minions",
        ("", "replicationcontrollers") => "controllers",
        ("", "services") => "services/specs",
        ("", "endpoints") => "services/endpoints",
        _ => resource.plural,
    }
}

fn check_version(resource: &Resource, name: &str, new: &Value, current: &Stored) -> Result<(), ApiError> {
    let asked = meta_str(new, "resourceVersion");
    if matches!(asked, "" | "0") {
        if resource.unconditional_update {
            return Ok(());
        }
        let cause = Cause::invalid("metadata.resourceVersion", &0.into(), "must be specified for an update");
        return Err(ApiError::invalid(resource.group, resource.plural, name, &[cause]));
    }
    let asked: u64 = asked
        .parse()
        .map_err(|_| ApiError::unexplained(format!("strconv.ParseUint: parsing \"{asked}\": invalid syntax")))?;
    if asked == current.rv {
        Ok(())
    } else {
        Err(ApiError::modified(resource, name))
    }
}

/// Puts back what no update may change, runs admission and validation.
fn settle(store: &Store, writer: &Writer, change: Change<'_>, new: &mut Value, old: &Value) -> Result<(), ApiError> {
    let Change {
        resource, part, name, ..
    } = change;
    for field in ["uid", "creationTimestamp", "resourceVersion", "selfLink"] {
        keep_metadata(new, old, field);
    }
    // An update can neither start nor undo a deletion.
    keep_metadata(new, old, "deletionTimestamp");
    if old["metadata"].get("deletionGracePeriodSeconds").is_some()
        || metadata_mut(new).contains_key("deletionGracePeriodSeconds")
    {
        keep_metadata(new, old, "deletionGracePeriodSeconds");
    }
    if part == Part::Main {
        admission::on_update(resource, new, old);
    }
    prepare_for_update(resource, part, new, old, writer.now);
    defaulting::apply(resource, new);
    if part == Part::Main {
        let node = new["spec"]["nodeName"].as_str().unwrap_or_default().to_owned();
        if resource == admission::pods() && !node.is_empty() {
            admission::add_topology_labels(store, &node, new);
        }
    }
    let checked = match part {
        Part::Main => validation::validate(resource, new, Some(old)),
        Part::Status => validation::validate_status(resource, new, old),
        _ => Ok(()),
    };
    checked.map_err(|causes| ApiError::invalid(resource.storage_resource().group, resource.kind, name, &causes))?;
    if part == Part::Main {
        admission::check_update(store, resource, new, old)?;
    }
    Ok(())
}
