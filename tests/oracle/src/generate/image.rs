//! Images on nodes and in pods: with and without tags, digests, registries with ports.

use serde_json::{Value, json};

use crate::dice::Dice;

const MIB: u64 = 1024 * 1024;

/// Names as nodes report them, and the size in MiB.
const ON_NODES: [(&[&str], u64); 7] = [
    (&["small:latest"], 10),
    (
        &["registry.example:5000/web:latest", "registry.example:5000/web:v1"],
        300,
    ),
    (&["big:v2"], 950),
    (&["big@sha256:0123456789abcdef", "big:latest"], 1400),
    (&["huge:latest"], 5000),
    (&["edge:latest"], 23),
    (&["none:latest"], 0),
];

const IN_PODS: [&str; 10] = [
    "small",
    "registry.example:5000/web",
    "registry.example:5000/web:v1",
    "big",
    "big:v2",
    "big@sha256:0123456789abcdef",
    "huge:latest",
    "edge",
    "unknown:v9",
    "none",
];

pub(super) fn on_node(dice: &mut Dice) -> Vec<Value> {
    if dice.percent(40) {
        return Vec::new();
    }
    let mut images = Vec::new();
    for (names, mib) in ON_NODES {
        if dice.percent(40) {
            images.push(json!({ "names": names, "sizeBytes": mib * MIB }));
        }
    }
    if dice.percent(3) {
        images.push(json!({ "sizeBytes": 7 }));
    }
    images
}

pub(super) fn in_pod(dice: &mut Dice) -> &'static str {
    dice.pick(&IN_PODS)
}
