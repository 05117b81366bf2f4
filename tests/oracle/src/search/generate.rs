use serde_json::json;

use super::SearchCase;
use crate::dice::Dice;
use crate::generate::{another, large};

/// The case with this number among those of a seed; the same each time.
pub(super) fn case(seed: u64, number: u64) -> SearchCase {
    let mut dice = Dice::new(seed, number);
    let dice = &mut dice;
    // Below a hundred nodes, all are looked for.
    let nodes = match dice.below(10) {
        0 => dice.between(95, 101),
        1..7 => dice.between(102, 170),
        _ => dice.between(171, 300),
    };
    let mut cluster = large(dice, nodes);
    share(dice, &mut cluster.config);
    let scheduler = cluster.pod["spec"]["schedulerName"].clone();
    let mut pods = vec![cluster.pod.clone()];
    for number in 1..dice.between(2, 5) {
        let mut pod = another(dice, &format!("pod-{number}"), nodes);
        if dice.percent(85) {
            pod["spec"]["schedulerName"] = scheduler.clone();
        }
        if dice.percent(15) {
            pod["status"]["nominatedNodeName"] = json!(format!("n{}", dice.below(nodes + 1)));
        }
        pods.push(pod);
    }
    SearchCase { cluster, pods }
}

/// What share is looked for: of the whole configuration, of a profile, or of both.
fn share(dice: &mut Dice, config: &mut serde_json::Value) {
    let of = |dice: &mut Dice| dice.one_of(&[0, 1, 5, 10, 40, 50, 70, 90, 99, 100]);
    config["percentageOfNodesToScore"] = json!(of(dice));
    for profile in config["profiles"].as_array_mut().into_iter().flatten() {
        if dice.percent(35) {
            profile["percentageOfNodesToScore"] = json!(of(dice));
        }
    }
}
