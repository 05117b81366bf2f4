//! Strategic merge patch: a merge patch that knows which lists are sets or maps, and the `$patch`, `$retainKeys`,
//! `$setElementOrder` and `$deleteFromPrimitiveList` directives.

use serde_json::{Map, Value};

use super::schema::{self, ListStrategy};
use super::{PatchError, decode_object};
use crate::resource::Resource;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder/";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";

type Object = Map<String, Value>;

/// Applies the patch body to the current object.
pub(super) fn apply(kind: &Resource, current: &Value, body: &[u8]) -> Result<Value, PatchError> {
    let patch = decode_object(body)?;
    let original = current.as_object().cloned().unwrap_or_default();
    merge_map(kind, "", original, patch).map(Value::Object)
}

fn merge_map(kind: &Resource, name: &str, mut original: Object, mut patch: Object) -> Result<Object, PatchError> {
    if let Some(directive) = patch.remove(PATCH) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Object::new()),
            _ => Err(unknown_patch_type(&directive)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    merge_ordered_lists(kind, name, &mut original, &mut patch)?;
    for (key, value) in patch {
        if let Some(list) = key.strip_prefix(DELETE_FROM) {
            delete_scalars(&mut original, list, &value)?;
        } else {
            merge_field(kind, name, &mut original, key, value)?;
        }
    }
    Ok(original)
}

fn merge_field(
    kind: &Resource,
    name: &str,
    original: &mut Object,
    key: String,
    value: Value,
) -> Result<(), PatchError> {
    if value.is_null() {
        original.remove(&key);
        return Ok(());
    }
    let merged = match (original.remove(&key), value) {
        (Some(Value::Object(old)), Value::Object(new)) => {
            if schema::map_is_replaced(kind, name, &key) {
                Some(Value::Object(new))
            } else {
                Some(Value::Object(merge_map(kind, &key, old, new)?))
            }
        }
        (Some(Value::Array(old)), Value::Array(new)) => Some(Value::Array(merge_list(kind, name, &key, old, new)?)),
        (_, value) => without_directives(value),
    };
    if let Some(merged) = merged {
        original.insert(key, merged);
    }
    Ok(())
}

/// `$retainKeys`: whatever the original holds beyond the named keys goes; the patch may not set other keys.
fn retain_keys(original: &mut Object, patch: &mut Object) -> Result<(), PatchError> {
    let Some(directive) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let bad = || PatchError::BadRequest("invalid patch format of retainKeys".to_owned());
    let keys: Vec<&str> = directive
        .as_array()
        .ok_or_else(bad)?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let foreign = patch
        .iter()
        .any(|(key, value)| !value.is_null() && !key.starts_with('$') && !keys.contains(&key.as_str()));
    if foreign {
        return Err(bad());
    }
    original.retain(|key, _| keys.contains(&key.as_str()));
    Ok(())
}

/// Merges the lists that come with a `$setElementOrder`, and takes them out of the patch.
fn merge_ordered_lists(
    kind: &Resource,
    name: &str,
    original: &mut Object,
    patch: &mut Object,
) -> Result<(), PatchError> {
    let directives: Vec<String> = patch.keys().filter(|k| k.starts_with(SET_ORDER)).cloned().collect();
    for directive in directives {
        let list = directive.trim_start_matches(SET_ORDER).to_owned();
        let order = into_list(patch.remove(&directive).unwrap_or_default())?;
        let strategy = schema::list_strategy(kind, name, &list);
        let old = original.get(&list).cloned().map(into_list).transpose()?;
        let new = patch.remove(&list).map(into_list).transpose()?;
        check_against_order(strategy, new.as_deref().unwrap_or_default(), &order)?;
        let merged = match (old.clone(), new) {
            (None, None) => continue,
            (Some(old), None) => old,
            (None, Some(new)) => new.into_iter().filter_map(without_directives).collect(),
            (Some(old), Some(new)) => merge_list(kind, name, &list, old, new)?,
        };
        let ordered = in_order(strategy, merged, &order, &old.unwrap_or_default());
        original.insert(list, Value::Array(ordered));
    }
    Ok(())
}

/// Every entry that the patch sets must be named by the order list, and in the same relative order.
fn check_against_order(strategy: ListStrategy, new: &[Value], order: &[Value]) -> Result<(), PatchError> {
    let mut wanted = order.iter().filter_map(|entry| identity(strategy, entry));
    let set = new
        .iter()
        .filter(|entry| entry.get(PATCH).is_none())
        .filter_map(|entry| identity(strategy, entry));
    for entry in set {
        if !wanted.any(|named| named == entry) {
            return Err(PatchError::Internal(format!(
                "The order in patch list:\n{}\n doesn't match {SET_ORDER} list:\n{}\n",
                Value::Array(new.to_vec()),
                Value::Array(order.to_vec())
            )));
        }
    }
    Ok(())
}

fn merge_list(
    kind: &Resource,
    parent: &str,
    name: &str,
    old: Vec<Value>,
    new: Vec<Value>,
) -> Result<Vec<Value>, PatchError> {
    let strategy = schema::list_strategy(kind, parent, name);
    if old.is_empty() && new.is_empty() {
        return Ok(old);
    }
    match strategy {
        ListStrategy::Replace => Ok(new),
        ListStrategy::MergeScalars => {
            let mut merged: Vec<Value> = Vec::with_capacity(old.len() + new.len());
            for value in old.iter().chain(&new) {
                if !merged.contains(value) {
                    merged.push(value.clone());
                }
            }
            Ok(in_order(strategy, merged, &new, &old))
        }
        ListStrategy::MergeByKey([key]) => {
            let (kept, set) = apply_entry_directives(key, old, new)?;
            let mut merged = kept.clone();
            for entry in &set {
                merge_entry(kind, name, key, &mut merged, entry)?;
            }
            Ok(in_order(strategy, merged, &set, &kept))
        }
    }
}

/// Carries out `$patch: delete` and `$patch: replace` entries; returns what is left of the old list and the entries
/// still to be merged.
fn apply_entry_directives(
    key: &str,
    mut old: Vec<Value>,
    new: Vec<Value>,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut set = Vec::with_capacity(new.len());
    let mut replace = false;
    for entry in new {
        match entry.get(PATCH).map(|d| d.as_str().unwrap_or("")) {
            None => set.push(entry),
            Some("delete") => {
                let value = entry.get(key).ok_or_else(|| no_merge_key(&entry, key))?;
                old.retain(|item| item.get(key) != Some(value));
            }
            Some("replace") => replace = true,
            Some("merge") => {
                return Err(PatchError::Internal(
                    "merging lists cannot yet be specified in the patch".to_owned(),
                ));
            }
            Some(_) => return Err(unknown_patch_type(&entry)),
        }
    }
    if replace {
        return Ok((set, Vec::new()));
    }
    Ok((old, set))
}

fn merge_entry(
    kind: &Resource,
    list: &str,
    key: &str,
    merged: &mut Vec<Value>,
    entry: &Value,
) -> Result<(), PatchError> {
    let value = entry.get(key).ok_or_else(|| no_merge_key(entry, key))?;
    let found = merged.iter_mut().find(|item| item.get(key) == Some(value));
    match (found, entry) {
        (Some(Value::Object(old)), Value::Object(new)) => {
            let taken = std::mem::take(old);
            *old = merge_map(kind, list, taken, new.clone())?;
        }
        _ => merged.extend(without_directives(entry.clone())),
    }
    Ok(())
}

fn delete_scalars(original: &mut Object, list: &str, unwanted: &Value) -> Result<(), PatchError> {
    let unwanted = unwanted
        .as_array()
        .ok_or_else(|| PatchError::BadRequest("invalid patch format of primitive list".to_owned()))?;
    if let Some(items) = original.get_mut(list).and_then(Value::as_array_mut) {
        items.retain(|item| !unwanted.contains(item));
    }
    Ok(())
}

/// Orders a merged list: entries that the patch names follow the patch's order, the others the old list's, and the two
/// are merged by the old positions, the patch's first when one of them has no old position.
fn in_order(strategy: ListStrategy, merged: Vec<Value>, named: &[Value], old: &[Value]) -> Vec<Value> {
    let rank = |list: &[Value], entry: &Value| {
        let wanted = identity(strategy, entry);
        list.iter().position(|e| identity(strategy, e) == wanted)
    };
    let (mut from_patch, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|entry| rank(named, entry).is_some());
    from_patch.sort_by_key(|entry| rank(named, entry));
    others.sort_by_key(|entry| rank(old, entry).unwrap_or(usize::MAX));
    let mut left = others.into_iter().peekable();
    let mut right = from_patch.into_iter().peekable();
    let mut ordered = Vec::new();
    while let (Some(l), Some(r)) = (left.peek(), right.peek()) {
        let left_first = matches!((rank(old, l), rank(old, r)), (Some(a), Some(b)) if a < b);
        ordered.extend(if left_first { left.next() } else { right.next() });
    }
    ordered.extend(left);
    ordered.extend(right);
    ordered
}

/// What makes two entries of a list the same: their merge key, or they themselves.
fn identity(strategy: ListStrategy, entry: &Value) -> Option<&Value> {
    match strategy {
        ListStrategy::MergeByKey([key]) => entry.get(key),
        ListStrategy::MergeScalars | ListStrategy::Replace => Some(entry),
    }
}

/// A value that is new to the object, freed of directives and nulls; nothing when it is itself a directive.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            if fields.contains_key(PATCH) {
                return None;
            }
            let kept = fields
                .into_iter()
                .filter(|(key, value)| !value.is_null() && !is_directive(key))
                .filter_map(|(key, value)| Some((key, without_directives(value)?)))
                .collect();
            Some(Value::Object(kept))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        scalar => Some(scalar),
    }
}

fn is_directive(key: &str) -> bool {
    key == RETAIN_KEYS || key.starts_with(SET_ORDER) || key.starts_with(DELETE_FROM)
}

fn into_list(value: Value) -> Result<Vec<Value>, PatchError> {
    match value {
        Value::Array(items) => Ok(items),
        _ => Err(PatchError::BadRequest(
            "invalid patch format of setElementOrder list".to_owned(),
        )),
    }
}

fn no_merge_key(entry: &Value, key: &str) -> PatchError {
    PatchError::Internal(format!("map: {entry} does not contain declared merge key: {key}"))
}

fn unknown_patch_type(directive: &Value) -> PatchError {
    PatchError::Internal(format!("unknown patch type: {directive}"))
}
