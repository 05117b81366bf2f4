//! Objects and lists in the form the client asked for.

use bytes::{BufMut, Bytes, BytesMut};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    list::Page,
    negotiate::Form,
    object::{Object, to_json, type_prefix_len},
    resource::Resource,
    table::{IncludeObject, to_table},
    watch::partial_metadata,
};

pub(crate) struct Renderer {
    pub(crate) form: Form,
    pub(crate) include: IncludeObject,
    pub(crate) now: Timestamp,
}

impl Renderer {
    pub(crate) fn object(&self, resource: &Resource, object: &Object) -> Bytes {
        if self.plain() {
            return object.json(resource);
        }
        let view = object.view(resource);
        to_json(&match self.form {
            Form::Table => to_table(resource, &view, self.include, self.now),
            _ => partial_metadata(&view),
        })
    }

    pub(crate) fn page(&self, resource: &Resource, page: &Page) -> Bytes {
        if self.plain() {
            return plain_page(resource, page);
        }
        let items: Vec<Value> = page.items.iter().map(|o| (*o.view(resource)).clone()).collect();
        let metadata = list_metadata(page);
        to_json(&match self.form {
            Form::Table => {
                let list = json!({
                    "kind": resource.list_kind(),
                    "apiVersion": resource.api_version(),
                    "metadata": metadata,
                    "items": items,
                });
                to_table(resource, &list, self.include, self.now)
            }
            _ => json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata,
                "items": items.iter().map(partial_metadata).collect::<Vec<_>>(),
            }),
        })
    }
}

fn list_metadata(page: &Page) -> Value {
    let mut metadata = json!({ "resourceVersion": page.rv.to_string() });
    if let Some(token) = &page.continue_token {
        metadata["continue"] = token.as_str().into();
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = remaining.into();
    }
    metadata
}

/// Joins the objects' shared bytes; items of a list do not name their kind.
fn plain_page(resource: &Resource, page: &Page) -> Bytes {
    let prefix = type_prefix_len(resource);
    let bytes: Vec<Bytes> = page.items.iter().map(|o| o.json(resource)).collect();
    let head = format!(
        r#"{{"kind":"{}","apiVersion":"{}","metadata":{},"items":["#,
        resource.list_kind(),
        resource.api_version(),
        list_metadata(page),
    );
    let size: usize = bytes.iter().map(Bytes::len).sum();
    let mut out = BytesMut::with_capacity(head.len() + size + bytes.len() + 2);
    out.put_slice(head.as_bytes());
    for (at, object) in bytes.iter().enumerate() {
        if at > 0 {
            out.put_u8(b',');
        }
        out.put_u8(b'{');
        out.put_slice(&object[prefix..]);
    }
    out.put_slice(b"]}");
    out.freeze()
}
