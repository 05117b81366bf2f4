use std::collections::BTreeSet;
use std::sync::Arc;

use plimsoll_client::UndecodableObject;
use plimsoll_model::{ObjectName, ResourceVersion};
use plimsoll_telemetry::Metrics;

use super::Kind;

/// Enough to log every undecodable object of a sane cluster once; past it the memory is started over.
const LIMIT: usize = 10_000;

/// Keeps objects that cannot be decoded from concerning any other: they are counted, and logged once per version.
#[derive(Debug)]
pub(super) struct Isolation {
    metrics: Arc<Metrics>,
    logged: BTreeSet<(Kind, ObjectName, ResourceVersion)>,
    /// Kinds of which an object could not be decoded since they were last listed without one.
    kinds: BTreeSet<Kind>,
}

impl Isolation {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            metrics,
            logged: BTreeSet::new(),
            kinds: BTreeSet::new(),
        }
    }

    /// The whole kind was listed, and each object could be decoded.
    pub(super) fn release(&mut self, kind: Kind) {
        self.kinds.remove(&kind);
    }

    /// Whether nothing is known to be missing of a kind.
    pub(super) fn is_empty(&self, kind: Kind) -> bool {
        !self.kinds.contains(&kind)
    }

    /// Counts and logs; what was known of these objects before is to stay.
    pub(super) fn take(&mut self, kind: Kind, objects: Vec<UndecodableObject>) -> Vec<ObjectName> {
        let mut names = Vec::with_capacity(objects.len());
        for object in objects {
            self.metrics.undecodable_object(kind.as_str());
            self.kinds.insert(kind);
            if self.logged.len() >= LIMIT {
                self.logged.clear();
            }
            if self.logged.insert((kind, object.name.clone(), object.version)) {
                tracing::error!(
                    kind = kind.as_str(), object = %object.name, error = %object.error,
                    "Object cannot be decoded and is left as it was known before; correct or delete it"
                );
            }
            names.push(object.name);
        }
        names
    }
}
