use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

pub(crate) type Labels = Vec<(&'static str, Cow<'static, str>)>;

/// The values that labels may have, in the order of the labels.
#[derive(Debug)]
pub(crate) struct Allowed {
    pub(crate) values: Vec<Option<BTreeSet<String>>>,
    /// Counts those that were turned into `unexpected`.
    pub(crate) unexpected: Counter,
}

/// Metrics of one name, told apart by labels.
#[derive(Debug)]
pub(crate) struct Vector<M> {
    labels: &'static [&'static str],
    allowed: Option<Arc<Allowed>>,
    pub(crate) family: Family<Labels, M, fn() -> M>,
}

impl<M: Clone> Vector<M> {
    pub(crate) fn new(labels: &'static [&'static str], allowed: Option<Allowed>, make: fn() -> M) -> Self {
        Self {
            labels,
            allowed: allowed.map(Arc::new),
            family: Family::new_with_constructor(make),
        }
    }

    /// The metric with these values, in the order of the labels. Whoever needs it often keeps it: looking it up costs more
    /// than using it.
    pub(crate) fn with<const N: usize>(&self, values: [Cow<'static, str>; N]) -> M {
        self.family.get_or_create_owned(&self.labelled(values))
    }

    /// The metric with these values, if it is there.
    pub(crate) fn find<const N: usize>(&self, values: [Cow<'static, str>; N]) -> Option<M> {
        self.family.get(&self.labelled(values)).map(|metric| metric.clone())
    }

    pub(crate) fn clear(&self) {
        self.family.clear();
    }

    fn labelled<const N: usize>(&self, values: [Cow<'static, str>; N]) -> Labels {
        debug_assert_eq!(N, self.labels.len(), "one value for each of {:?}", self.labels);
        let mut labels: Labels = self.labels.iter().copied().zip(values).collect();
        if let Some(allowed) = &self.allowed {
            for ((_, value), allowed_values) in labels.iter_mut().zip(&allowed.values) {
                if allowed_values
                    .as_ref()
                    .is_some_and(|values| !values.contains(value.as_ref()))
                {
                    *value = Cow::Borrowed("unexpected");
                    allowed.unexpected.inc();
                }
            }
        }
        labels
    }
}
