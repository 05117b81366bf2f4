//! What a place in the code says: a message and values with names.

use std::fmt::{self, Write};

use tracing::field::{Field, Visit};

/// A value as it will be written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// A text, to be quoted.
    Text(String),
    /// A whole number or a boolean, as it is.
    Plain(String),
    /// A number with a fraction.
    Real(f64),
}

/// The message and the values of one event or span.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Fields {
    pub(super) message: String,
    pub(super) values: Vec<(&'static str, Value)>,
}

impl Fields {
    fn add(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::Text(text)) => self.message = text,
            (name, value) => {
                // What kube-scheduler calls it.
                let name = if name == "error" { "err" } else { name };
                self.values.retain(|(other, _)| *other != name);
                self.values.push((name, value));
            }
        }
    }

    /// Adds what is not there yet.
    pub(super) fn complete(&mut self, others: &Self) {
        for (name, value) in &others.values {
            if !self.values.iter().any(|(known, _)| known == name) {
                self.values.push((name, value.clone()));
            }
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = String::new();
        // Writing to a string fails only when the value's own words do; what there is of them is kept.
        let _ = write!(text, "{value:?}");
        self.add(field, Value::Text(text));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, Value::Text(value.to_owned()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, Value::Plain(value.to_string()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, Value::Plain(value.to_string()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, Value::Plain(value.to_string()));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, Value::Real(value));
    }
}
