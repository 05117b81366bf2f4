use std::cmp::Ordering;
use std::fmt;

use compact_str::CompactString;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use smallvec::SmallVec;

use crate::{Quantity, is_label_key};

/// Quantities by resource name, sorted by name; every name given is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ResourceList(SmallVec<[(CompactString, Quantity); 2]>);

impl ResourceList {
    /// No resources.
    pub fn new() -> Self {
        Self::default()
    }

    /// The quantity of a resource, if it is named.
    pub fn get(&self, name: &str) -> Option<&Quantity> {
        self.position(name).ok().map(|at| &self.0[at].1)
    }

    /// Sets a resource, whether it was named before or not.
    pub fn set(&mut self, name: impl Into<CompactString>, quantity: Quantity) {
        let name = name.into();
        match self.position(&name) {
            Ok(at) => self.0[at].1 = quantity,
            Err(at) => self.0.insert(at, (name, quantity)),
        }
    }

    /// Names and quantities in order of the names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Quantity)> {
        self.0.iter().map(|(name, quantity)| (name.as_str(), quantity))
    }

    /// Whether no resource is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds every quantity of `other`.
    pub(crate) fn add(&mut self, other: &Self) {
        for (name, quantity) in &other.0 {
            match self.position(name) {
                Ok(at) => self.0[at].1.add(quantity),
                Err(at) => self.0.insert(at, (name.clone(), quantity.clone())),
            }
        }
    }

    /// Raises every quantity to that of `other`, where that is larger.
    pub(crate) fn raise_to(&mut self, other: &Self) {
        for (name, quantity) in &other.0 {
            match self.position(name) {
                Ok(at) if self.0[at].1.cmp(quantity) == Ordering::Less => self.0[at].1 = quantity.clone(),
                Ok(_) => {}
                Err(at) => self.0.insert(at, (name.clone(), quantity.clone())),
            }
        }
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| own.as_str().cmp(name))
    }
}

impl<K: Into<CompactString>> FromIterator<(K, Quantity)> for ResourceList {
    fn from_iter<I: IntoIterator<Item = (K, Quantity)>>(pairs: I) -> Self {
        let mut list = Self::new();
        for (name, quantity) in pairs {
            list.set(name, quantity);
        }
        list
    }
}

impl<'de> Deserialize<'de> for ResourceList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = ResourceList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of quantities")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ResourceList, A::Error> {
                let mut list = ResourceList::new();
                while let Some((name, quantity)) = map.next_entry::<CompactString, Option<Quantity>>()? {
                    list.set(name, quantity.unwrap_or_default());
                }
                Ok(list)
            }
        }

        deserializer.deserialize_map(Pairs)
    }
}

/// Whether the scheduler accounts for a resource beyond cpu, memory, ephemeral storage and pods; others are ignored.
pub fn is_scalar_resource(name: &str) -> bool {
    is_extended_resource(name)
        || name.contains("kubernetes.io/")
        || name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
}

/// Whether it is a resource that a cluster's operator made up, such as `example.com/gpu`.
pub fn is_extended_resource(name: &str) -> bool {
    let native = !name.contains('/') || name.contains("kubernetes.io/");
    !native && !name.starts_with("requests.") && is_label_key(&format!("requests.{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalar_resources_are_those_kube_scheduler_counts() {
        let cases = [
            ("example.com/gpu", true, true),
            ("requests.example.com/gpu", false, false),
            ("example.com/", false, false),
            ("a/b/c", false, false),
            ("kubernetes.io/batch", false, true),
            ("hugepages-2Mi", false, true),
            ("attachable-volumes-csi", false, true),
            ("gpu", false, false),
            ("cpu", false, false),
        ];
        for (name, extended, scalar) in cases {
            assert_eq!(is_extended_resource(name), extended, "{name}");
            assert_eq!(is_scalar_resource(name), scalar, "{name}");
        }
    }
}
