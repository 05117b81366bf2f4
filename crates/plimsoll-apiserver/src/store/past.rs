//! Reading a kind as it was at an earlier version, by taking the changes since back.

use std::collections::BTreeMap;

use super::{Expired, Store};
use crate::{object::Object, resource::Resource};

impl Store {
    /// All objects of a kind as they were at `rv`, in the order of their keys; later versions read as now.
    pub(crate) fn table_at(&self, resource: &Resource, rv: u64) -> Result<BTreeMap<String, Object>, Expired> {
        let mut table = self.table(resource).clone();
        for change in self.log().after(resource, rv)?.rev() {
            match &change.previous {
                Some(previous) => {
                    table.insert(change.key.clone(), previous.clone());
                }
                None => {
                    table.remove(&change.key);
                }
            }
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use crate::{
        resource::find,
        store::{Store, Writer},
    };

    #[test]
    fn every_past_version_still_in_the_log_can_be_read() {
        let config_maps = find("", "v1", "configmaps").expect("configmaps");
        let writer = Writer {
            verb: "test",
            user_agent: Arc::from(""),
            now: jiff::Timestamp::UNIX_EPOCH,
            dry_run: false,
        };
        let mut store = Store::new(0, 100, false);
        store.put(&writer, config_maps, "n/a", json!({ "data": 1 }));
        store.put(&writer, config_maps, "n/b", json!({ "data": 2 }));
        store.put(&writer, config_maps, "n/a", json!({ "data": 3 }));
        store.remove(&writer, config_maps, "n/b");

        let at = |rv| {
            let table = store.table_at(config_maps, rv).expect("not compacted");
            table
                .iter()
                .map(|(key, object)| format!("{key}={}", object.value()["data"]))
                .collect::<Vec<_>>()
        };
        assert_eq!(at(1), Vec::<String>::new());
        assert_eq!(at(2), ["n/a=1"]);
        assert_eq!(at(3), ["n/a=1", "n/b=2"]);
        assert_eq!(at(4), ["n/a=3", "n/b=2"]);
        assert_eq!(at(5), ["n/a=3"]);
        store.compact(3);
        assert!(store.table_at(config_maps, 2).is_err());
    }
}
