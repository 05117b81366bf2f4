//! The store: every object under one global resource version, and the log of changes that watches replay.

mod log;
mod past;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use serde_json::Value;

pub(crate) use log::{Change, ChangeKind, Expired, Log, watch_line};

use crate::{
    history::Mutation,
    object::{Object, Stored, is_terminating, set_resource_version, str_at},
    resource::{RESOURCES, Resource},
};

/// What a generated name ends in: no vowels and nothing that reads like another sign.
const NAME_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const NAME_SUFFIX_LEN: usize = 5;

/// Who writes and how: recorded in the history.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    /// What was asked for: `create`, `update`, `patch`, `delete`, `bind`, `evict`, `status`.
    pub(crate) verb: &'static str,
    pub(crate) user_agent: Arc<str>,
    pub(crate) now: Timestamp,
    /// Go through every check and change nothing.
    pub(crate) dry_run: bool,
}

pub(crate) struct Store {
    rv: u64,
    tables: Vec<BTreeMap<String, Object>>,
    /// Objects with a deletion timestamp: the number of their table, and the key.
    terminating: BTreeSet<(usize, String)>,
    log: Log,
    history: Option<Vec<Mutation>>,
    rng: ChaCha8Rng,
    /// Tables changed since the last [`Store::take_touched`].
    touched: BTreeSet<usize>,
    restores: u64,
}

/// Whether it is a pod that has come to rest on its node. Large clusters are made of these, and nobody looks into them.
fn runs(resource: &Resource, value: &Value) -> bool {
    resource.group.is_empty() && resource.plural == "pods" && str_at(value, &["status", "phase"]) == "Running"
}

impl Store {
    pub(crate) fn new(seed: u64, log_capacity: usize, keep_history: bool) -> Self {
        Self {
            // etcd's first revision; the first object gets 2.
            rv: 1,
            tables: vec![BTreeMap::new(); RESOURCES.len()],
            terminating: BTreeSet::new(),
            log: Log::new(log_capacity),
            history: keep_history.then(Vec::new),
            rng: ChaCha8Rng::seed_from_u64(seed),
            touched: BTreeSet::new(),
            restores: 0,
        }
    }

    /// The version of the last change to any object.
    pub(crate) fn rv(&self) -> u64 {
        self.rv
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Forgets all changes up to and including `rv`, as etcd's compaction does.
    pub(crate) fn compact(&mut self, rv: u64) {
        self.log.compact(rv.min(self.rv));
    }

    /// Goes back to what was at `rv`, as after etcd was restored from a backup: what came later has never happened, and
    /// its versions are given out again. Watches from before do not go on.
    pub(crate) fn restore(&mut self, rv: u64) -> Result<(), Expired> {
        let kept = RESOURCES.iter().filter(|resource| resource.id == resource.storage_id);
        let tables: Vec<_> = kept
            .map(|resource| Ok((resource.storage_id, self.table_at(resource, rv)?)))
            .collect::<Result<_, Expired>>()?;
        self.terminating.clear();
        for (id, table) in tables {
            let going = table.iter().filter(|(_, object)| is_terminating(object.selectable()));
            self.terminating.extend(going.map(|(key, _)| (id, key.clone())));
            self.tables[id] = table;
            self.touched.insert(id);
        }
        self.rv = self.rv.min(rv);
        self.log.restart(self.rv);
        if let Some(history) = &mut self.history {
            history.retain(|mutation| mutation.rv <= rv);
        }
        self.restores += 1;
        Ok(())
    }

    /// How often the store was restored.
    pub(crate) fn restores(&self) -> u64 {
        self.restores
    }

    pub(crate) fn history(&self) -> &[Mutation] {
        self.history.as_deref().unwrap_or_default()
    }

    pub(crate) fn take_touched(&mut self) -> BTreeSet<usize> {
        std::mem::take(&mut self.touched)
    }

    pub(crate) fn get(&self, resource: &Resource, key: &str) -> Option<&Object> {
        self.tables[resource.storage_id].get(key)
    }

    /// All objects of a kind, in the order of their keys.
    pub(crate) fn table(&self, resource: &Resource) -> &BTreeMap<String, Object> {
        &self.tables[resource.storage_id]
    }

    /// The objects of a kind that are marked for deletion, in the order of their keys.
    pub(crate) fn terminating(&self, resource: &Resource) -> impl Iterator<Item = (&str, &Object)> {
        let id = resource.storage_id;
        let keys = self.terminating.range((id, String::new())..(id + 1, String::new()));
        keys.filter_map(move |(id, key)| Some((key.as_str(), self.tables[*id].get(key)?)))
    }

    /// Writes an object (in its stored form) under a new version. A dry run only shows what would be written.
    pub(crate) fn put(&mut self, writer: &Writer, resource: &'static Resource, key: &str, mut value: Value) -> Object {
        let previous = self.get(resource, key).cloned();
        if writer.dry_run {
            return Stored::new(previous.map_or(self.rv, |p| p.rv), value);
        }
        self.rv += 1;
        set_resource_version(&mut value, self.rv);
        // A history keeps the whole of everything anyway.
        let object = if self.history.is_none() && runs(resource, &value) {
            Stored::as_text(self.rv, &value)
        } else {
            Stored::new(self.rv, value)
        };
        let kind = if previous.is_some() {
            ChangeKind::Modified
        } else {
            ChangeKind::Added
        };
        if is_terminating(object.selectable()) {
            self.terminating.insert((resource.storage_id, key.to_owned()));
        }
        self.tables[resource.storage_id].insert(key.to_owned(), Arc::clone(&object));
        self.record(writer, resource, key, kind, Arc::clone(&object), previous);
        object
    }

    /// Removes an object and returns its last state, stamped with the version of the removal.
    pub(crate) fn remove(&mut self, writer: &Writer, resource: &'static Resource, key: &str) -> Option<Object> {
        let previous = self.get(resource, key).cloned()?;
        if writer.dry_run {
            return Some(previous);
        }
        self.tables[resource.storage_id].remove(key);
        if is_terminating(previous.selectable()) {
            self.terminating.remove(&(resource.storage_id, key.to_owned()));
        }
        self.rv += 1;
        let object = previous.restamped(self.rv);
        self.record(
            writer,
            resource,
            key,
            ChangeKind::Deleted,
            Arc::clone(&object),
            Some(previous),
        );
        Some(object)
    }

    fn record(
        &mut self,
        writer: &Writer,
        resource: &'static Resource,
        key: &str,
        kind: ChangeKind,
        object: Object,
        previous: Option<Object>,
    ) {
        if let Some(history) = &mut self.history {
            history.push(Mutation {
                rv: self.rv,
                verb: writer.verb,
                deleted: kind == ChangeKind::Deleted,
                resource: resource.storage_resource(),
                user_agent: Arc::clone(&writer.user_agent),
                at: writer.now,
                object: Arc::clone(object.value()),
            });
        }
        self.touched.insert(resource.storage_id);
        self.log
            .push(Change::new(self.rv, resource.storage_id, kind, key, object, previous));
    }

    /// A fresh UID (version 4), the same for the same seed and the same requests before it.
    pub(crate) fn new_uid(&mut self) -> String {
        let mut bytes = [0; 16];
        self.rng.fill_bytes(&mut bytes);
        uuid::Builder::from_random_bytes(bytes)
            .into_uuid()
            .hyphenated()
            .to_string()
    }

    /// A generated name: `prefix` (shortened as upstream) and five random signs.
    pub(crate) fn generate_name(&mut self, prefix: &str) -> String {
        const MAX_PREFIX: usize = 63 - NAME_SUFFIX_LEN;
        let mut name: String = prefix.chars().take(MAX_PREFIX).collect();
        for _ in 0..NAME_SUFFIX_LEN {
            let at = self.random_below(NAME_ALPHABET.len() as u64);
            let sign = usize::try_from(at).ok().and_then(|at| NAME_ALPHABET.get(at));
            name.extend(sign.map(|s| char::from(*s)));
        }
        name
    }

    /// A number in `0..bound`. The slight bias of the modulus does not matter here.
    pub(crate) fn random_below(&mut self, bound: u64) -> u64 {
        self.rng.next_u64() % bound.max(1)
    }
}
