//! Which columns each kind has, and the function that fills them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{pod, rows};
use crate::resource::Resource;

/// One column of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    name: &'static str,
    kind: &'static str,
    wide: bool,
}

impl Column {
    const fn text(name: &'static str) -> Self {
        Self {
            name,
            kind: "string",
            wide: false,
        }
    }

    const fn number(name: &'static str) -> Self {
        Self {
            name,
            kind: "integer",
            wide: false,
        }
    }

    /// Shown with `-o wide` only.
    const fn wide(name: &'static str) -> Self {
        Self {
            name,
            kind: "string",
            wide: true,
        }
    }

    /// The entry of `columnDefinitions`.
    pub(super) fn to_value(self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": if self.name == "Name" { "name" } else { "" },
            "description": format!("{} of the object, as kubectl shows it.", self.name),
            "priority": i32::from(self.wide),
        })
    }
}

/// Fills the cells of one object.
pub(super) type Cells = fn(&Value, Timestamp) -> Vec<Value>;

const NAME: Column = Column::text("Name");
const AGE: Column = Column::text("Age");

const POD: &[Column] = &[
    NAME,
    Column::text("Ready"),
    Column::text("Status"),
    Column::text("Restarts"),
    AGE,
    Column::wide("IP"),
    Column::wide("Node"),
    Column::wide("Nominated Node"),
    Column::wide("Readiness Gates"),
];
const NODE: &[Column] = &[
    NAME,
    Column::text("Status"),
    Column::text("Roles"),
    AGE,
    Column::text("Version"),
    Column::wide("Internal-IP"),
    Column::wide("External-IP"),
    Column::wide("OS-Image"),
    Column::wide("Kernel-Version"),
    Column::wide("Container-Runtime"),
];
const NAMESPACE: &[Column] = &[NAME, Column::text("Status"), AGE];
const EVENT: &[Column] = &[
    Column::text("Last Seen"),
    Column::text("Type"),
    Column::text("Reason"),
    Column::text("Object"),
    Column::wide("Subobject"),
    Column::wide("Source"),
    Column::text("Message"),
    Column::wide("First Seen"),
    Column::wide("Count"),
    Column::wide("Name"),
];
const LEASE: &[Column] = &[NAME, Column::text("Holder"), AGE];
const SERVICE: &[Column] = &[
    NAME,
    Column::text("Type"),
    Column::text("Cluster-IP"),
    Column::text("External-IP"),
    Column::text("Port(s)"),
    AGE,
    Column::wide("Selector"),
];
const DEPLOYMENT: &[Column] = &[
    NAME,
    Column::text("Ready"),
    Column::text("Up-to-date"),
    Column::text("Available"),
    AGE,
    Column::wide("Containers"),
    Column::wide("Images"),
    Column::wide("Selector"),
];
const REPLICA_SET: &[Column] = &[
    NAME,
    Column::number("Desired"),
    Column::number("Current"),
    Column::number("Ready"),
    AGE,
    Column::wide("Containers"),
    Column::wide("Images"),
    Column::wide("Selector"),
];
const CONFIG_MAP: &[Column] = &[NAME, Column::text("Data"), AGE];
const OTHER: &[Column] = &[NAME, AGE];

/// Columns of a kind and the function that fills them.
pub(super) fn of(res: &Resource) -> (&'static [Column], Cells) {
    match (res.group, res.kind) {
        ("", "Pod") => (POD, pod::cells),
        ("", "Node") => (NODE, rows::node),
        ("", "Namespace") => (NAMESPACE, rows::namespace),
        ("" | "events.k8s.io", "Event") => (EVENT, rows::event),
        ("coordination.k8s.io", "Lease") => (LEASE, rows::lease),
        ("", "Service") => (SERVICE, rows::service),
        ("apps", "Deployment") => (DEPLOYMENT, rows::deployment),
        ("apps", "ReplicaSet") => (REPLICA_SET, rows::replica_set),
        ("", "ConfigMap") => (CONFIG_MAP, rows::config_map),
        _ => (OTHER, rows::other),
    }
}
