//! Amounts of resources, read from objects without the scheduler's own arithmetic.

use std::collections::BTreeMap;

use plimsoll_model::Quantity;
use serde_json::Value;

use super::api::list;

/// Amounts by resource: thousandths of CPUs, bytes, pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Amounts(BTreeMap<String, i64>);

impl Amounts {
    /// What a node offers.
    pub(super) fn allocatable(node: &Value) -> Self {
        let mut amounts = Self::default();
        amounts.read(node.pointer("/status/allocatable"));
        amounts
    }

    /// What a pod takes: the sum over its containers, and one of the pods a node may have. The demo's pods have neither
    /// init containers nor overhead.
    pub(super) fn requests(pod: &Value) -> Self {
        let mut amounts = Self::default();
        for container in list(pod, "/spec/containers") {
            amounts.read(container.pointer("/resources/requests"));
        }
        amounts.0.insert("pods".to_owned(), 1);
        amounts
    }

    fn read(&mut self, quantities: Option<&Value>) {
        for (name, quantity) in quantities.and_then(Value::as_object).into_iter().flatten() {
            let Some(quantity) = quantity.as_str().and_then(|text| Quantity::parse(text).ok()) else {
                continue;
            };
            let amount = if name == "cpu" {
                quantity.milli_value()
            } else {
                quantity.value()
            };
            *self.0.entry(name.clone()).or_default() += amount;
        }
    }

    pub(super) fn of(&self, resource: &str) -> i64 {
        self.0.get(resource).copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            *self.0.entry(name.clone()).or_default() += amount;
        }
    }

    pub(super) fn subtract(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            *self.0.entry(name.clone()).or_default() -= amount;
        }
    }

    /// The resources of which this is more than `room`.
    pub(super) fn beyond<'a>(&'a self, room: &'a Self) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(|(name, amount)| **amount > room.of(name))
            .map(|(name, _)| name.as_str())
    }

    /// How full `room` is of a resource, in whole percent.
    pub(super) fn percent(&self, room: &Self, resource: &str) -> i64 {
        match room.of(resource) {
            0 => 0,
            room => (i128::from(self.of(resource)) * 100 / i128::from(room))
                .try_into()
                .unwrap_or(i64::MAX),
        }
    }
}
