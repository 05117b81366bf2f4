use compact_str::CompactString;

use super::{Entries, ReplyError};
use crate::json::{Cursor, Place, same_key};

/// Reads `HostPriorityList`.
pub(crate) fn host_priorities(value: &[u8]) -> Result<Vec<(CompactString, i64)>, ReplyError> {
    let mut priorities = Vec::new();
    let mut entries = Entries::default();
    let mut cursor = Cursor::new(value);
    if cursor.enter_array(Place::Top, "v1.HostPriorityList")? {
        while cursor.next_element() {
            entries.count()?;
            priorities.push(host_priority(&mut cursor)?);
        }
    }
    Ok(priorities)
}

fn host_priority(cursor: &mut Cursor<'_>) -> Result<(CompactString, i64), ReplyError> {
    let (mut host, mut score) = (CompactString::default(), 0);
    if cursor.enter_object(Place::Top, "v1.HostPriority")? {
        while let Some(key) = cursor.next_key() {
            if same_key(&key, "Host") {
                if let Some(read) = cursor.string(Place::Field("HostPriority.Host"))? {
                    host = CompactString::from(read);
                }
            } else if same_key(&key, "Score") {
                if let Some(read) = cursor.int64(Place::Field("HostPriority.Score"))? {
                    score = read;
                }
            } else {
                cursor.skip();
            }
        }
    }
    Ok((host, score))
}
