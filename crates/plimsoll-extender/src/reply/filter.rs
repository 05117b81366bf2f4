use std::collections::BTreeMap;

use compact_str::CompactString;

use super::{Entries, ReplyError, limited, read_text};
use crate::json::{Cursor, Place, same_key};

const NODES: Place = Place::Field("ExtenderFilterResult.Nodes");
const ITEMS: Place = Place::Field("NodeList.Nodes.items");
const METADATA: Place = Place::Field("Node.Nodes.items.metadata");
const NAME: Place = Place::Field("ObjectMeta.Nodes.items.metadata.name");
const NODE_NAMES: Place = Place::Field("ExtenderFilterResult.NodeNames");
const FAILED: Place = Place::Field("ExtenderFilterResult.FailedNodes");
const UNRESOLVABLE: Place = Place::Field("ExtenderFilterResult.FailedAndUnresolvableNodes");
const ERROR: Place = Place::Field("ExtenderFilterResult.Error");

/// `ExtenderFilterResult`. Of the nodes only the names are read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FilterReply {
    pub(crate) nodes: Option<Vec<CompactString>>,
    pub(crate) node_names: Option<Vec<CompactString>>,
    pub(crate) failed: BTreeMap<CompactString, String>,
    pub(crate) unresolvable: BTreeMap<CompactString, String>,
    pub(crate) error: String,
}

impl FilterReply {
    /// The nodes that will do. Names count for an extender that was sent names; one that knows the nodes and yet answers
    /// with objects is understood, too.
    pub(crate) fn passing(&mut self, node_cache_capable: bool) -> Vec<CompactString> {
        let names = self.node_names.take().filter(|_| node_cache_capable);
        names.or_else(|| self.nodes.take()).unwrap_or_default()
    }
}

pub(crate) fn filter_reply(value: &[u8]) -> Result<FilterReply, ReplyError> {
    let mut reply = FilterReply::default();
    let mut entries = Entries::default();
    let mut cursor = Cursor::new(value);
    if !cursor.enter_object(Place::Top, "v1.ExtenderFilterResult")? {
        return Ok(reply);
    }
    while let Some(key) = cursor.next_key() {
        if same_key(&key, "Nodes") {
            read_nodes(&mut cursor, &mut reply.nodes, &mut entries)?;
        } else if same_key(&key, "NodeNames") {
            reply.node_names = read_names(&mut cursor, &mut entries)?;
        } else if same_key(&key, "FailedNodes") {
            read_texts(&mut cursor, FAILED, &mut reply.failed, &mut entries)?;
        } else if same_key(&key, "FailedAndUnresolvableNodes") {
            read_texts(&mut cursor, UNRESOLVABLE, &mut reply.unresolvable, &mut entries)?;
        } else if same_key(&key, "Error") {
            read_text(&mut cursor, ERROR, &mut reply.error)?;
        } else {
            cursor.skip();
        }
    }
    Ok(reply)
}

fn read_names(cursor: &mut Cursor<'_>, entries: &mut Entries) -> Result<Option<Vec<CompactString>>, ReplyError> {
    if !cursor.enter_array(NODE_NAMES, "[]string")? {
        return Ok(None);
    }
    let mut names = Vec::new();
    while cursor.next_element() {
        entries.count()?;
        names.push(cursor.string(NODE_NAMES)?.map(CompactString::from).unwrap_or_default());
    }
    Ok(Some(names))
}

/// `NodeList`: a list that is given again takes the place of the one before, if it has items.
fn read_nodes(
    cursor: &mut Cursor<'_>,
    nodes: &mut Option<Vec<CompactString>>,
    entries: &mut Entries,
) -> Result<(), ReplyError> {
    if !cursor.enter_object(NODES, "v1.NodeList")? {
        *nodes = None;
        return Ok(());
    }
    let names = nodes.get_or_insert_default();
    while let Some(key) = cursor.next_key() {
        if !same_key(&key, "items") {
            cursor.skip();
            continue;
        }
        names.clear();
        if cursor.enter_array(ITEMS, "[]v1.Node")? {
            while cursor.next_element() {
                entries.count()?;
                names.push(read_node_name(cursor)?);
            }
        }
    }
    Ok(())
}

fn read_node_name(cursor: &mut Cursor<'_>) -> Result<CompactString, ReplyError> {
    let mut name = CompactString::default();
    if !cursor.enter_object(ITEMS, "v1.Node")? {
        return Ok(name);
    }
    while let Some(key) = cursor.next_key() {
        if !same_key(&key, "metadata") {
            cursor.skip();
        } else if cursor.enter_object(METADATA, "v1.ObjectMeta")? {
            while let Some(key) = cursor.next_key() {
                if !same_key(&key, "name") {
                    cursor.skip();
                } else if let Some(read) = cursor.string(NAME)? {
                    name = CompactString::from(read);
                }
            }
        }
    }
    Ok(name)
}

/// `FailedNodesMap`: given again, it adds to the one before.
fn read_texts(
    cursor: &mut Cursor<'_>,
    place: Place,
    texts: &mut BTreeMap<CompactString, String>,
    entries: &mut Entries,
) -> Result<(), ReplyError> {
    if !cursor.enter_object(place, "v1.FailedNodesMap")? {
        texts.clear();
        return Ok(());
    }
    while let Some(node) = cursor.next_key() {
        entries.count()?;
        let text = cursor.string(place)?.map(limited).unwrap_or_default();
        texts.insert(CompactString::from(node), text);
    }
    Ok(())
}
