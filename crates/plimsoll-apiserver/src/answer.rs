//! What a request is answered, once its body is there and no fault stands in the way: no waiting here.

mod render;

use std::borrow::Cow;

use bytes::Bytes;
use http::{Method, StatusCode, header};
use serde_json::Value;

use crate::{
    binding,
    create::create,
    delete::{DeleteOptions, delete, delete_collection, returns_object},
    eviction,
    list::{ListRequest, selector_of},
    negotiate::{Form, form},
    object::{at, key, meta_str},
    patch, protobuf,
    request::{Request, Target},
    resource::Resource,
    review::{self, AccessPolicy, User},
    server::Shared,
    status::{ApiError, success},
    store::{Store, Writer},
    strategy::Part,
    table::IncludeObject,
    update::{Change, update},
};
use render::Renderer;

/// A finished answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) content_type: Cow<'static, str>,
    pub(crate) body: Bytes,
    pub(crate) retry_after: Option<u64>,
}

impl Answer {
    pub(crate) fn json(code: StatusCode, body: Bytes) -> Self {
        Self {
            code,
            content_type: Cow::Borrowed("application/json"),
            body,
            retry_after: None,
        }
    }

    pub(crate) fn value(code: StatusCode, value: &Value) -> Self {
        Self::json(code, crate::object::to_json(value))
    }

    pub(crate) fn text(code: StatusCode, text: &'static str) -> Self {
        let body = Bytes::from_static(text.as_bytes());
        Self {
            code,
            content_type: Cow::Borrowed("text/plain; charset=utf-8"),
            body,
            retry_after: None,
        }
    }

    pub(crate) fn error(error: &ApiError) -> Self {
        Self {
            retry_after: error.retry_after_seconds(),
            ..Self::value(error.code, &error.to_status())
        }
    }
}

/// Answers a request to a kind in the table.
pub(crate) fn answer(shared: &Shared, request: &Request, target: &Target, body: &[u8], stale_by: u64) -> Answer {
    match try_answer(shared, request, target, body, stale_by) {
        Ok(answer) => answer,
        Err(error) => Answer::error(&error),
    }
}

fn try_answer(
    shared: &Shared,
    request: &Request,
    target: &Target,
    body: &[u8],
    stale_by: u64,
) -> Result<Answer, ApiError> {
    let include = IncludeObject::parse(request.query.get("includeObject"))
        .ok_or_else(|| ApiError::bad_request("unrecognized includeObject value"))?;
    let call = Call {
        shared,
        request,
        target,
        body,
        stale_by,
        renderer: Renderer {
            form: form(request.header(&header::ACCEPT))?,
            include,
            now: shared.now(),
        },
    };
    call.check_allowed()?;
    match (&request.method, target.name.is_empty()) {
        (&Method::GET | &Method::HEAD, false) => call.get(),
        (&Method::GET | &Method::HEAD, true) => call.list(),
        (&Method::POST, _) => call.post(),
        (&Method::PUT, false) => call.put(),
        (&Method::PATCH, false) => call.patch(),
        (&Method::DELETE, false) => call.delete(),
        (&Method::DELETE, true) => call.delete_collection(),
        _ => Err(ApiError::method_not_allowed()),
    }
}

struct Call<'a> {
    shared: &'a Shared,
    request: &'a Request,
    target: &'a Target,
    body: &'a [u8],
    stale_by: u64,
    renderer: Renderer,
}

impl Call<'_> {
    fn resource(&self) -> &'static Resource {
        self.target.resource
    }

    /// Refuses verbs that the kind or the subresource does not know.
    fn check_allowed(&self) -> Result<(), ApiError> {
        let verb = self.request.verb();
        let verbs = match self.target.subresource.as_str() {
            "" => self.resource().verbs,
            name => match self.resource().subresource(name) {
                Some(subresource) => subresource.verbs,
                None => return Err(ApiError::no_such_path()),
            },
        };
        if verbs.contains(&verb) {
            Ok(())
        } else {
            Err(ApiError::method_not_allowed())
        }
    }

    fn writer(&self, verb: &'static str) -> Result<Writer, ApiError> {
        Ok(Writer {
            verb,
            user_agent: std::sync::Arc::clone(&self.request.user_agent),
            now: self.shared.now(),
            dry_run: self.request.query.dry_run(options_kind(&self.request.method))?,
        })
    }

    fn body_value(&self) -> Result<Value, ApiError> {
        let content_type = self.request.header(&header::CONTENT_TYPE);
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        if media_type == protobuf::CONTENT_TYPE {
            return protobuf::decode(self.body).map_err(|why| {
                tracing::info!(why, path = self.request.path, "cannot read a protobuf body");
                ApiError::unsupported_media_type("application/json, application/yaml")
            });
        }
        let is_yaml = media_type == "application/yaml";
        if !is_yaml && !matches!(media_type, "" | "application/json") {
            return Err(ApiError::unsupported_media_type("application/json, application/yaml"));
        }
        let resource = self.resource();
        let as_kind = |why: String| {
            ApiError::bad_request(format!(
                "{} in version \"{}\" cannot be handled as a {}: {why}",
                resource.kind, resource.version, resource.kind
            ))
        };
        let value: Value = if is_yaml {
            let text = String::from_utf8_lossy(self.body);
            serde_saphyr::from_str(&text).map_err(|e| as_kind(e.to_string()))?
        } else {
            serde_json::from_slice(self.body).map_err(|e| as_kind(e.to_string()))?
        };
        if value.is_object() {
            Ok(value)
        } else {
            Err(as_kind("not an object".to_owned()))
        }
    }

    fn get(&self) -> Result<Answer, ApiError> {
        let Target {
            resource,
            namespace,
            name,
            ..
        } = self.target;
        let asked = crate::list::parse_version(self.request.query.get("resourceVersion"))
            .map_err(|cause| ApiError::bad_request(format!("invalid resource version: {cause}")))?;
        let found = self.shared.read(|store| {
            if asked > store.rv() {
                return Err(ApiError::too_large_resource_version(asked, store.rv()));
            }
            let key = key(namespace, name);
            if self.stale_by > 0 && self.request.query.get("resourceVersion") == "0" {
                let rv = store
                    .rv()
                    .saturating_sub(self.stale_by)
                    .max(store.log().oldest(resource));
                return Ok(store
                    .table_at(resource, rv)
                    .ok()
                    .and_then(|mut table| table.remove(&key)));
            }
            Ok(store.get(resource, &key).cloned())
        })?;
        let object = found.ok_or_else(|| ApiError::not_found(resource, name))?;
        Ok(Answer::json(StatusCode::OK, self.renderer.object(resource, &object)))
    }

    fn list(&self) -> Result<Answer, ApiError> {
        let list = ListRequest::parse(self.target, self.request)?;
        let page = self.shared.read(|store| list.read(store, self.stale_by))?;
        Ok(Answer::json(StatusCode::OK, self.renderer.page(self.resource(), &page)))
    }

    fn post(&self) -> Result<Answer, ApiError> {
        let Target {
            resource,
            namespace,
            name,
            subresource,
        } = self.target;
        let value = self.body_value()?;
        match (resource.plural, subresource.as_str()) {
            ("pods", "binding") | ("bindings", "") => {
                let writer = self.writer("bind")?;
                self.shared.transact(|store| {
                    crate::create::check_namespace_is_open(store, resource, namespace, name)?;
                    binding::bind(store, &writer, namespace, name, value)
                })?;
                Ok(Answer::value(StatusCode::CREATED, &success(Some(StatusCode::CREATED))))
            }
            ("pods", "eviction") => {
                let writer = self.writer("evict")?;
                self.shared
                    .transact(|store| eviction::evict(store, &writer, namespace, name, &value))?;
                Ok(Answer::value(StatusCode::CREATED, &success(Some(StatusCode::CREATED))))
            }
            _ if !resource.is_stored() => Ok(Answer::value(StatusCode::CREATED, &self.review(&value))),
            _ if !name.is_empty() => Err(ApiError::method_not_allowed()),
            _ => {
                if resource.namespaced && namespace.is_empty() {
                    return Err(ApiError::method_not_allowed());
                }
                let writer = self.writer("create")?;
                let object = self
                    .shared
                    .transact(|store| create(store, &writer, resource, namespace, value))?;
                Ok(Answer::json(
                    StatusCode::CREATED,
                    self.renderer.object(resource, &object),
                ))
            }
        }
    }

    /// Answers the kinds that are questions.
    fn review(&self, value: &Value) -> Value {
        let user_of = |token: &str| self.shared.tokens.user(token);
        let caller = || {
            let authorization = self.request.header(&header::AUTHORIZATION);
            let user = authorization.strip_prefix("Bearer ").and_then(user_of);
            user.unwrap_or_else(anonymous)
        };
        match self.resource().plural {
            "tokenreviews" => review::token_review(value, &user_of),
            "selfsubjectaccessreviews" => AccessPolicy::default().self_subject_access_review(value, &caller()),
            "selfsubjectreviews" => review::self_subject_review(value, &caller()),
            _ => review::subject_access_review(value),
        }
    }

    fn part(&self) -> Result<Part, ApiError> {
        Part::of(&self.target.subresource).ok_or_else(ApiError::method_not_allowed)
    }

    fn change(&self, may_create: bool, uid_is_precondition: bool) -> Result<Change<'_>, ApiError> {
        let Target {
            resource,
            namespace,
            name,
            ..
        } = self.target;
        Ok(Change {
            resource,
            part: self.part()?,
            namespace,
            name,
            may_create,
            uid_is_precondition,
        })
    }

    fn update_verb(&self, plain: &'static str) -> &'static str {
        if self.target.subresource == "status" {
            "status"
        } else {
            plain
        }
    }

    fn put(&self) -> Result<Answer, ApiError> {
        let value = self.body_value()?;
        let writer = self.writer(self.update_verb("update"))?;
        let change = self.change(self.resource().create_on_update, true)?;
        let manager = manager_of(self.request);
        let mut value = value;
        self.write(&writer, change, |_, current| {
            track_ownership(change, current, &mut value, &manager, writer.now);
            Ok(value)
        })
    }

    fn patch(&self) -> Result<Answer, ApiError> {
        let Target { resource, name, .. } = self.target;
        let query = &self.request.query;
        let content_type = self.request.header(&header::CONTENT_TYPE);
        let manager = Some(query.get("fieldManager")).filter(|m| !m.is_empty());
        let applies = content_type.split(';').next().unwrap_or_default().trim() == patch::APPLY_PATCH;
        let writer = self.writer(self.update_verb("patch"))?;
        let change = self.change(applies, false)?;
        let now = writer.now;
        self.write(&writer, change, |_, current| {
            let mut patched = patch::apply(resource, content_type, current, self.body, manager, query.flag("force"))
                .map_err(|error| ApiError::from_patch(&error, resource, name))?;
            if applies {
                patch::stamp_managed_fields(&mut patched, now);
            } else {
                track_ownership(change, current, &mut patched, &manager_of(self.request), now);
            }
            Ok(patched)
        })
    }

    fn write(
        &self,
        writer: &Writer,
        change: Change<'_>,
        make: impl FnOnce(&mut Store, Option<&Value>) -> Result<Value, ApiError>,
    ) -> Result<Answer, ApiError> {
        let updated = self.shared.transact(|store| update(store, writer, change, make))?;
        let code = if updated.created {
            StatusCode::CREATED
        } else {
            StatusCode::OK
        };
        Ok(Answer::json(
            code,
            self.renderer.object(self.resource(), &updated.object),
        ))
    }

    fn delete_options(&self) -> Result<(DeleteOptions, Writer), ApiError> {
        let options = DeleteOptions::parse(self.body, &self.request.query)?;
        let mut writer = self.writer("delete")?;
        writer.dry_run |= options.dry_run;
        Ok((options, writer))
    }

    fn delete(&self) -> Result<Answer, ApiError> {
        let Target {
            resource,
            namespace,
            name,
            ..
        } = self.target;
        let (options, writer) = self.delete_options()?;
        let deleted = self
            .shared
            .transact(|store| delete(store, &writer, resource, namespace, name, &options))?;
        if returns_object(resource) || !deleted.gone {
            return Ok(Answer::json(
                StatusCode::OK,
                self.renderer.object(resource, &deleted.object),
            ));
        }
        let mut status = success(None);
        status["details"] = serde_json::json!({
            "name": name,
            "kind": resource.plural,
            "uid": meta_str(deleted.object.value(), "uid"),
        });
        if !resource.group.is_empty() {
            status["details"]["group"] = resource.group.into();
        }
        Ok(Answer::value(StatusCode::OK, &status))
    }

    fn delete_collection(&self) -> Result<Answer, ApiError> {
        let Target {
            resource, namespace, ..
        } = self.target;
        if resource.namespaced && namespace.is_empty() {
            return Err(ApiError::method_not_allowed());
        }
        let selector = selector_of(self.target, self.request)?;
        let (options, writer) = self.delete_options()?;
        let (items, rv) = self.shared.transact(|store| {
            let items = delete_collection(store, &writer, resource, namespace, &selector, &options)?;
            Ok((items, store.rv()))
        })?;
        let page = crate::list::Page {
            items,
            rv,
            continue_token: None,
            remaining: None,
        };
        Ok(Answer::json(StatusCode::OK, self.renderer.page(resource, &page)))
    }
}

/// Keeps the owners of fields up to date over an ordinary write of an object that has been applied before. Objects that
/// nobody ever applied carry no owners, which keeps writes cheap.
fn track_ownership(change: Change<'_>, current: Option<&Value>, new: &mut Value, manager: &str, now: jiff::Timestamp) {
    let Some(current) = current.filter(|c| at(c, &["metadata", "managedFields"]).is_some()) else {
        return;
    };
    let subresource = if change.part == Part::Status {
        Some("status")
    } else {
        None
    };
    patch::record_update(change.resource, Some(current), new, manager, subresource);
    patch::stamp_managed_fields(new, now);
}

/// The options kind that a method's query parameters belong to.
fn options_kind(method: &Method) -> &'static str {
    match *method {
        Method::PUT => "UpdateOptions",
        Method::PATCH => "PatchOptions",
        Method::DELETE => "DeleteOptions",
        _ => "CreateOptions",
    }
}

/// The field manager of an ordinary write: named, or the client's program.
fn manager_of(request: &Request) -> String {
    match request.query.get("fieldManager") {
        "" => request.user_agent.split('/').next().unwrap_or("").to_owned(),
        named => named.to_owned(),
    }
}

fn anonymous() -> User {
    User {
        name: "system:anonymous".to_owned(),
        uid: String::new(),
        groups: vec!["system:unauthenticated".to_owned()],
    }
}

impl Renderer {
    /// Whether objects can be sent as their shared bytes.
    pub(crate) fn plain(&self) -> bool {
        self.form == Form::Objects
    }
}
