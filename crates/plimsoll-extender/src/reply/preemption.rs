use std::collections::BTreeMap;

use compact_str::CompactString;
use plimsoll_framework::ExtenderChoice;
use plimsoll_model::Uid;

use super::{Entries, ReplyError};
use crate::json::{Cursor, Place, same_key};

const VICTIMS: Place = Place::Field("ExtenderPreemptionResult.NodeNameToMetaVictims");
const PODS: Place = Place::Field("MetaVictims.NodeNameToMetaVictims.Pods");
const VIOLATIONS: Place = Place::Field("MetaVictims.NodeNameToMetaVictims.NumPDBViolations");
const UID: Place = Place::Field("MetaPod.NodeNameToMetaVictims.Pods.UID");

/// Reads `ExtenderPreemptionResult`: the choices by name of the node. A `null` in place of a node's victims is no victims,
/// and one in place of a pod is a pod without identity: kube-scheduler dies of either.
pub(crate) fn preemption_reply(value: &[u8]) -> Result<Vec<ExtenderChoice>, ReplyError> {
    let mut choices = BTreeMap::new();
    let mut entries = Entries::default();
    let mut cursor = Cursor::new(value);
    if cursor.enter_object(Place::Top, "v1.ExtenderPreemptionResult")? {
        while let Some(key) = cursor.next_key() {
            if same_key(&key, "NodeNameToMetaVictims") {
                read_choices(&mut cursor, &mut choices, &mut entries)?;
            } else {
                cursor.skip();
            }
        }
    }
    Ok(choices.into_values().collect())
}

fn read_choices(
    cursor: &mut Cursor<'_>,
    choices: &mut BTreeMap<CompactString, ExtenderChoice>,
    entries: &mut Entries,
) -> Result<(), ReplyError> {
    if !cursor.enter_object(VICTIMS, "map[string]*v1.MetaVictims")? {
        choices.clear();
        return Ok(());
    }
    while let Some(node) = cursor.next_key() {
        entries.count()?;
        let node = CompactString::from(node);
        let choice = read_victims(cursor, node.clone(), entries)?;
        choices.insert(node, choice);
    }
    Ok(())
}

fn read_victims(
    cursor: &mut Cursor<'_>,
    node: CompactString,
    entries: &mut Entries,
) -> Result<ExtenderChoice, ReplyError> {
    let mut choice = ExtenderChoice {
        node,
        pods: Vec::new(),
        violations: 0,
    };
    if !cursor.enter_object(VICTIMS, "v1.MetaVictims")? {
        return Ok(choice);
    }
    while let Some(key) = cursor.next_key() {
        if same_key(&key, "Pods") {
            choice.pods.clear();
            if cursor.enter_array(PODS, "[]*v1.MetaPod")? {
                while cursor.next_element() {
                    entries.count()?;
                    choice.pods.push(read_uid(cursor)?);
                }
            }
        } else if same_key(&key, "NumPDBViolations") {
            if let Some(read) = cursor.int64(VIOLATIONS)? {
                choice.violations = read;
            }
        } else {
            cursor.skip();
        }
    }
    Ok(choice)
}

fn read_uid(cursor: &mut Cursor<'_>) -> Result<Uid, ReplyError> {
    let mut uid = CompactString::default();
    if cursor.enter_object(PODS, "v1.MetaPod")? {
        while let Some(key) = cursor.next_key() {
            if !same_key(&key, "UID") {
                cursor.skip();
            } else if let Some(read) = cursor.string(UID)? {
                uid = CompactString::from(read);
            }
        }
    }
    Ok(Uid::new(uid))
}
