//! Deleting objects: grace, finalizers, preconditions, collections, and namespaces with all that is in them.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    admission,
    cause::Cause,
    clock::rfc3339_seconds,
    object::{Object, has_finalizers, is_terminating, key, meta_str, metadata_mut, object_at, str_at},
    protobuf,
    request::Query,
    resource::{RESOURCES, Resource},
    selector::Selector,
    status::ApiError,
    store::{Store, Writer},
    strategy::bump_generation,
};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// How to delete.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    grace: Option<i64>,
    uid: Option<String>,
    resource_version: Option<String>,
    propagation: Option<String>,
    pub(crate) dry_run: bool,
}

impl DeleteOptions {
    /// Reads `DeleteOptions` from the body or, without one, from the query.
    pub(crate) fn parse(body: &[u8], query: &Query) -> Result<Self, ApiError> {
        if body.iter().all(u8::is_ascii_whitespace) {
            let propagation = Some(query.get("propagationPolicy"))
                .filter(|p| !p.is_empty())
                .map(str::to_owned);
            check_propagation(
                propagation.as_deref(),
                query.optional_flag("orphanDependents").is_some(),
            )?;
            return Ok(Self {
                grace: query.number("gracePeriodSeconds")?,
                propagation,
                dry_run: query.dry_run("DeleteOptions")?,
                ..Self::default()
            });
        }
        let options: Value = match protobuf::decode(body) {
            Ok(options) => options,
            Err(_) => serde_json::from_slice(body).map_err(|e| ApiError::bad_request(e.to_string()))?,
        };
        let mut parsed = Self::from_value(&options);
        check_propagation(parsed.propagation.as_deref(), options["orphanDependents"].is_boolean())?;
        parsed.dry_run |= query.dry_run("DeleteOptions")?;
        Ok(parsed)
    }

    /// Without grace.
    pub(crate) fn now() -> Self {
        Self {
            grace: Some(0),
            ..Self::default()
        }
    }

    /// Reads a `DeleteOptions` object.
    pub(crate) fn from_value(options: &Value) -> Self {
        let text = |path: &[&str]| Some(str_at(options, path)).filter(|t| !t.is_empty()).map(str::to_owned);
        Self {
            grace: options["gracePeriodSeconds"].as_i64(),
            uid: text(&["preconditions", "uid"]),
            resource_version: text(&["preconditions", "resourceVersion"]),
            propagation: text(&["propagationPolicy"]),
            dry_run: options["dryRun"]
                .as_array()
                .is_some_and(|d| d.iter().any(|v| v == "All")),
        }
    }

    /// Checks the preconditions now and drops them.
    pub(crate) fn checked(mut self, resource: &Resource, object: &Value) -> Result<Self, ApiError> {
        self.check_preconditions(resource, object)?;
        (self.uid, self.resource_version) = (None, None);
        Ok(self)
    }

    fn check_preconditions(&self, resource: &Resource, object: &Value) -> Result<(), ApiError> {
        let name = meta_str(object, "name");
        let conflict = |why: String| Err(ApiError::conflict(resource.group, resource.kind, name, &why));
        let (uid, version) = (meta_str(object, "uid"), meta_str(object, "resourceVersion"));
        if let Some(asked) = self.uid.as_deref().filter(|asked| *asked != uid) {
            return conflict(format!(
                "the UID in the precondition ({asked}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
            ));
        }
        if let Some(asked) = self.resource_version.as_deref().filter(|asked| *asked != version) {
            return conflict(format!(
                "the ResourceVersion in the precondition ({asked}) does not match the ResourceVersion in record ({version}). The object might have been modified"
            ));
        }
        Ok(())
    }
}

/// Refuses an unknown propagation policy, and one beside its deprecated predecessor.
fn check_propagation(policy: Option<&str>, has_orphan_dependents: bool) -> Result<(), ApiError> {
    let field = "propagationPolicy";
    let cause = match policy {
        Some(policy) if has_orphan_dependents => {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            Cause::invalid(field, &policy.into(), detail)
        }
        None | Some("Foreground" | "Background" | "Orphan") => return Ok(()),
        Some(policy) => Cause::not_supported(field, &policy.into(), &["Foreground", "Background", "Orphan", "nil"]),
    };
    Err(ApiError::invalid("meta.k8s.io", "DeleteOptions", "", &[cause]))
}

/// What became of a deletion.
#[derive(Debug)]
pub(crate) struct Deleted {
    /// The last state of the object.
    pub(crate) object: Object,
    /// Whether it is gone, rather than marked.
    pub(crate) gone: bool,
}

/// Deletes one object, or marks it when grace or finalizers keep it.
pub(crate) fn delete(
    store: &mut Store,
    writer: &Writer,
    resource: &'static Resource,
    namespace: &str,
    name: &str,
    options: &DeleteOptions,
) -> Result<Deleted, ApiError> {
    let key = key(namespace, name);
    let current = store
        .get(resource, &key)
        .cloned()
        .ok_or_else(|| ApiError::not_found(resource, name))?;
    options.check_preconditions(resource, current.value())?;
    if resource == admission::namespaces() {
        if matches!(name, "default" | "kube-system" | "kube-public") {
            return Err(ApiError::forbidden(resource, name, "this namespace may not be deleted"));
        }
        return Ok(delete_namespace(store, writer, name, &current));
    }
    let mut marked = (**current.value()).clone();
    match graceful(resource, &mut marked, options, writer.now) {
        Grace::Pending => {
            return Ok(Deleted {
                object: current,
                gone: false,
            });
        }
        Grace::Wait => {
            set_propagation_finalizer(&mut marked, options);
            return Ok(Deleted {
                object: store.put(writer, resource, &key, marked),
                gone: false,
            });
        }
        Grace::Now => {}
    }
    set_propagation_finalizer(&mut marked, options);
    if has_finalizers(&marked) {
        mark(&mut marked, writer.now, 0);
        if marked == **current.value() {
            return Ok(Deleted {
                object: current,
                gone: false,
            });
        }
        return Ok(Deleted {
            object: store.put(writer, resource, &key, marked),
            gone: false,
        });
    }
    let last = mark_before_removal(store, writer, resource, &key, marked, &current);
    let object = store
        .remove(writer, resource, &key)
        .ok_or_else(|| ApiError::not_found(resource, name))?;
    let object = if writer.dry_run { last } else { object };
    Ok(Deleted { object, gone: true })
}

/// A pod is always marked before it goes, even when nothing keeps it: watches see both steps.
fn mark_before_removal(
    store: &mut Store,
    writer: &Writer,
    resource: &'static Resource,
    key: &str,
    mut marked: Value,
    current: &Object,
) -> Object {
    if resource != admission::pods() {
        return Object::clone(current);
    }
    mark(&mut marked, writer.now, 0);
    if marked == **current.value() {
        return Object::clone(current);
    }
    store.put(writer, resource, key, marked)
}

enum Grace {
    /// Remove it at once.
    Now,
    /// The object was marked: keep it until its kubelet lets go of it.
    Wait,
    /// Already marked, with no more time than is asked for.
    Pending,
}

/// Decides how a pod goes and marks it when it stays for a while; other kinds know no grace.
fn graceful(resource: &Resource, pod: &mut Value, options: &DeleteOptions, now: Timestamp) -> Grace {
    if resource != admission::pods() {
        return Grace::Now;
    }
    if is_terminating(pod) {
        return shorten(pod, options, now);
    }
    let spec_grace = pod["spec"]["terminationGracePeriodSeconds"].as_i64();
    let asked = options.grace.or(spec_grace).unwrap_or(0);
    let unbound = str_at(pod, &["spec", "nodeName"]).is_empty();
    let finished = matches!(str_at(pod, &["status", "phase"]), "Succeeded" | "Failed");
    let period = match asked {
        _ if unbound || finished => 0,
        negative if negative < 0 => 1,
        other => other,
    };
    if period == 0 {
        return Grace::Now;
    }
    mark(pod, now, period);
    Grace::Wait
}

/// A second deletion may only shorten what is left.
fn shorten(pod: &mut Value, options: &DeleteOptions, now: Timestamp) -> Grace {
    let left = pod["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    if left == 0 {
        return Grace::Now;
    }
    let asked = match options.grace {
        None => return Grace::Pending,
        Some(asked) if asked < 0 => 1,
        Some(asked) => asked,
    };
    if asked >= left {
        return Grace::Pending;
    }
    if asked == 0 {
        return Grace::Now;
    }
    let until = meta_str(pod, "deletionTimestamp").parse::<Timestamp>().unwrap_or(now);
    let moved = until
        .checked_sub(SignedDuration::from_secs(left - asked))
        .unwrap_or(now);
    let (until, period) = if moved < now { (now, 1) } else { (moved, asked) };
    let metadata = metadata_mut(pod);
    metadata.insert("deletionTimestamp".to_owned(), rfc3339_seconds(until).into());
    metadata.insert("deletionGracePeriodSeconds".to_owned(), period.into());
    Grace::Wait
}

/// Marks an object as being deleted, `period` seconds from now.
fn mark(value: &mut Value, now: Timestamp, period: i64) {
    let first = !is_terminating(value);
    if first && value["metadata"]["generation"].as_i64().is_some_and(|g| g > 0) {
        bump_generation(value);
    }
    let until = now.checked_add(SignedDuration::from_secs(period)).unwrap_or(now);
    let sooner = meta_str(value, "deletionTimestamp")
        .parse::<Timestamp>()
        .is_ok_and(|t| t <= until);
    let metadata = metadata_mut(value);
    if first || !sooner {
        metadata.insert("deletionTimestamp".to_owned(), rfc3339_seconds(until).into());
    }
    metadata.insert("deletionGracePeriodSeconds".to_owned(), period.into());
}

/// The finalizer that a propagation policy stands for: a garbage collector would take it off again.
fn set_propagation_finalizer(value: &mut Value, options: &DeleteOptions) {
    let wanted = match options.propagation.as_deref() {
        Some("Foreground") => Some(FOREGROUND),
        Some("Orphan") => Some(ORPHAN),
        Some(_) => None,
        None => return,
    };
    let finalizers = metadata_mut(value).entry("finalizers").or_insert_with(|| json!([]));
    if let Some(list) = finalizers.as_array_mut() {
        list.retain(|f| f != FOREGROUND && f != ORPHAN);
        list.extend(wanted.map(Value::from));
        if list.is_empty() {
            metadata_mut(value).remove("finalizers");
        }
    }
}

/// There is no namespace controller: the namespace and all it holds go at once, but both steps can be watched.
fn delete_namespace(store: &mut Store, writer: &Writer, name: &str, current: &Object) -> Deleted {
    let namespaces = admission::namespaces();
    let mut marked = (**current.value()).clone();
    mark(&mut marked, writer.now, 0);
    metadata_mut(&mut marked).remove("deletionGracePeriodSeconds");
    object_at(&mut marked, "status").insert("phase".to_owned(), "Terminating".into());
    let object = store.put(writer, namespaces, name, marked);
    let prefix = format!("{name}/");
    for resource in RESOURCES.iter().filter(|r| r.namespaced && r.id == r.storage_id) {
        let keys: Vec<String> = keys_with_prefix(store, resource, &prefix);
        for key in keys {
            store.remove(writer, resource, &key);
        }
    }
    store.remove(writer, namespaces, name);
    Deleted { object, gone: false }
}

fn keys_with_prefix(store: &Store, resource: &Resource, prefix: &str) -> Vec<String> {
    let from = store.table(resource).range(prefix.to_owned()..);
    from.map(|(key, _)| key)
        .take_while(|key| key.starts_with(prefix))
        .cloned()
        .collect()
}

/// Deletes every object of a collection that the selector selects, and returns them.
pub(crate) fn delete_collection(
    store: &mut Store,
    writer: &Writer,
    resource: &'static Resource,
    namespace: &str,
    selector: &Selector,
    options: &DeleteOptions,
) -> Result<Vec<Object>, ApiError> {
    let prefix = if namespace.is_empty() {
        String::new()
    } else {
        format!("{namespace}/")
    };
    let mut deleted = Vec::new();
    for key in keys_with_prefix(store, resource, &prefix) {
        let Some(object) = store.get(resource, &key).cloned() else {
            continue;
        };
        if selector.matches(object.selectable()) {
            let (namespace, name) = key.split_once('/').unwrap_or(("", &key));
            delete(store, writer, resource, namespace, name, options)?;
            deleted.push(object);
        }
    }
    Ok(deleted)
}

/// Whether a deletion answers with the object, rather than with a `Status` that names it.
pub(crate) fn returns_object(resource: &Resource) -> bool {
    match resource.group {
        "" => matches!(
            resource.plural,
            "pods"
                | "namespaces"
                | "persistentvolumes"
                | "persistentvolumeclaims"
                | "resourcequotas"
                | "services"
                | "serviceaccounts"
        ),
        "resource.k8s.io" => true,
        "storage.k8s.io" => resource.plural != "csistoragecapacities",
        _ => false,
    }
}
