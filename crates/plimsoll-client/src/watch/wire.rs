use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_model::{ObjectName, RawPolicy, ResourceVersion, decode_metadata};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{UndecodableObject, WatchEvent, WatchedKind};
use crate::api_status::ApiStatus;

/// One line of a watch.
#[derive(Debug)]
pub(super) enum Line<T> {
    /// Something happened to an object, at this version.
    Event(WatchEvent<T>, ResourceVersion),
    /// Nothing more up to this version; marks the end of a streaming list when it says so.
    Bookmark {
        version: ResourceVersion,
        initial_events_end: bool,
    },
    /// The server gives up.
    Error(ApiStatus),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineType {
    Upsert,
    Deleted,
    Bookmark,
    Error,
}

impl LineType {
    fn parse(name: &[u8]) -> Option<Self> {
        match name {
            b"ADDED" | b"MODIFIED" => Some(Self::Upsert),
            b"DELETED" => Some(Self::Deleted),
            b"BOOKMARK" => Some(Self::Bookmark),
            b"ERROR" => Some(Self::Error),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct WireLine<'a> {
    #[serde(rename = "type")]
    name: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct WireBookmark {
    metadata: WireBookmarkMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireBookmarkMeta {
    resource_version: String,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

/// Reads one line. An error means that the line as such is broken, not that an object is. `position` is the version
/// before it.
pub(super) fn decode_line<K: WatchedKind>(
    line: &[u8],
    position: ResourceVersion,
    raw: RawPolicy,
    sharing: &mut K::Sharing,
) -> Result<Line<K::Object>, String> {
    let (line_type, object) = match split(line) {
        Some(parts) => parts,
        None => split_thoroughly(line)?,
    };
    match line_type {
        LineType::Upsert => match K::decode(object, raw) {
            Ok(mut object) => {
                K::share(&mut object, sharing);
                let version = K::version(&object);
                Ok(Line::Event(WatchEvent::Upsert(Arc::new(object)), version))
            }
            Err(error) => undecodable(line, object, position, &error.to_string()),
        },
        LineType::Deleted => match decode_metadata(object) {
            Ok(head) => {
                let name = ObjectName {
                    namespace: head.namespace,
                    name: head.name,
                };
                let version = head.resource_version;
                Ok(Line::Event(
                    WatchEvent::Delete {
                        name,
                        uid: head.uid,
                        version,
                    },
                    version,
                ))
            }
            Err(error) => undecodable(line, object, position, &error.to_string()),
        },
        LineType::Bookmark => bookmark(object),
        LineType::Error => serde_json::from_slice(object)
            .map(Line::Error)
            .map_err(|error| format!("cannot read an error: {error}")),
    }
}

/// The form in which kube-apiserver writes every line; saves parsing the object twice.
fn split(line: &[u8]) -> Option<(LineType, &[u8])> {
    let rest = line.strip_prefix(br#"{"type":""#)?;
    let quote = rest.iter().take(16).position(|byte| *byte == b'"')?;
    let (name, rest) = rest.split_at(quote);
    let object = rest
        .strip_prefix(br#"","object":"#)?
        .trim_ascii_end()
        .strip_suffix(b"}")?;
    Some((LineType::parse(name)?, object))
}

fn split_thoroughly(line: &[u8]) -> Result<(LineType, &[u8]), String> {
    let WireLine { name, object } =
        serde_json::from_slice(line).map_err(|error| format!("cannot read a line of the watch: {error}"))?;
    let line_type = LineType::parse(name.as_bytes()).ok_or_else(|| format!("unknown kind of line {name:?}"))?;
    Ok((line_type, object.get().as_bytes()))
}

fn undecodable<T>(line: &[u8], object: &[u8], position: ResourceVersion, error: &str) -> Result<Line<T>, String> {
    // Only an object in sound JSON is to blame itself.
    split_thoroughly(line)?;
    let object = undecodable_object(object, position, error);
    let version = object.version;
    Ok(Line::Event(WatchEvent::Undecodable(object), version))
}

/// As much as can be told about an object that can't be decoded.
pub(super) fn undecodable_object(object: &[u8], position: ResourceVersion, error: &str) -> UndecodableObject {
    let head = decode_metadata(object).ok();
    let version = head.as_ref().map_or(position, |head| head.resource_version);
    let name = head.map_or_else(
        || ObjectName::new("", ""),
        |head| ObjectName::new(head.namespace, head.name),
    );
    UndecodableObject {
        name,
        version,
        error: error.to_owned(),
    }
}

fn bookmark<T>(object: &[u8]) -> Result<Line<T>, String> {
    let WireBookmark { metadata } =
        serde_json::from_slice(object).map_err(|error| format!("cannot read a bookmark: {error}"))?;
    let version = metadata
        .resource_version
        .parse()
        .map_err(|error| format!("cannot read a bookmark: {error}"))?;
    let annotations = metadata.annotations.unwrap_or_default();
    let initial_events_end = annotations
        .get("k8s.io/initial-events-end")
        .is_some_and(|value| value == "true");
    Ok(Line::Bookmark {
        version,
        initial_events_end,
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::PodSharing;

    use super::*;
    use crate::watch::Pods;

    fn decode(line: &str) -> Result<Line<plimsoll_model::Pod>, String> {
        decode_line::<Pods>(
            line.as_bytes(),
            ResourceVersion::new(3),
            RawPolicy::NOTHING,
            &mut PodSharing::default(),
        )
    }

    const POD: &str =
        r#"{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"9"},"spec":{"containers":[]}}"#;

    #[test]
    fn the_order_of_keys_does_not_matter() {
        for line in [
            format!(r#"{{"type":"ADDED","object":{POD}}}"#),
            format!(r#"{{"object":{POD},"type":"MODIFIED"}}"#),
            format!(r#"{{ "type": "ADDED", "object": {POD} }}"#),
        ] {
            let Ok(Line::Event(WatchEvent::Upsert(pod), version)) = decode(&line) else {
                panic!("{line}")
            };
            assert_eq!(
                (pod.name.to_string().as_str(), version),
                ("ns/a", ResourceVersion::new(9))
            );
        }
    }

    #[test]
    fn a_broken_line_is_told_from_a_broken_object() {
        assert!(decode(r#"{"type":"ADDED","object":{"metadata":}}"#).is_err());
        assert!(decode(r#"{"type":"STRANGE","object":{}}"#).is_err());
        let sound = r#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"9"},"spec":7}}"#;
        let Ok(Line::Event(WatchEvent::Undecodable(object), version)) = decode(sound) else {
            panic!("not isolated")
        };
        assert_eq!(
            (object.name.to_string().as_str(), version),
            ("ns/a", ResourceVersion::new(9))
        );
        let Ok(Line::Event(WatchEvent::Undecodable(object), version)) = decode(r#"{"type":"ADDED","object":7}"#) else {
            panic!("not isolated")
        };
        assert_eq!((object.name.name.as_str(), version), ("", ResourceVersion::new(3)));
    }
}
