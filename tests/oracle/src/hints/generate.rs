//! Changes of pods, nodes and storage, biased to those that could matter to the pod that waits.

use serde_json::{Value, json};

use super::HintCase;
use crate::dice::Dice;
use crate::generate::{give_volumes, has_storage, surroundings};

mod node;
mod pod;
mod storage;

/// The case with this number among those of a seed; the same each time.
pub(super) fn case(seed: u64, number: u64) -> HintCase {
    let mut dice = Dice::new(seed, number);
    let dice = &mut dice;
    let mut case = HintCase {
        cluster: surroundings(dice),
        ..HintCase::default()
    };
    if dice.percent(12) {
        case.cluster.pod["spec"]["schedulingGates"] = json!([{ "name": "example.com/wait" }]);
    }
    if dice.percent(4) {
        case.cluster.pod["status"]["nominatedNodeName"] = json!("n0");
    }
    if dice.percent(10) {
        pod::use_port(dice, &mut case.cluster.pod);
    }
    if has_storage(number) {
        give_volumes(dice, &mut case.cluster.pod);
        if dice.percent(60) {
            storage::change(dice, &mut case);
            return case;
        }
    }
    if dice.percent(60) {
        pod::change(dice, &mut case);
    } else {
        node::change(dice, &mut case);
    }
    case
}

/// How many things of one object change.
fn how_many(dice: &mut Dice) -> usize {
    dice.one_of(&[0, 1, 1, 1, 1, 2, 2, 3])
}

/// The value of a field, if it is there and no empty one.
fn elements<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    object
        .pointer(path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
