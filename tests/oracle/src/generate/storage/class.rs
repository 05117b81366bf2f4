use serde_json::{Value, json};

use super::{Class, DRIVERS, Habits, IN_TREE, Store, metadata};
use crate::dice::Dice;
use crate::generate::node::{HOSTNAME, REGION, ZONE};

/// Nobody makes volumes of such a class.
const NOBODY: &str = "kubernetes.io/no-provisioner";

impl Store<'_> {
    pub(super) fn add_classes(&mut self, dice: &mut Dice) {
        for number in 0..dice.between(1, 4) {
            let name = format!("class-{number}");
            let waits = self.habits == Habits::Contended || dice.percent(if number == 0 { 94 } else { 70 });
            let provisioner = if self.scores_room && dice.percent(50) {
                DRIVERS[0]
            } else {
                provisioner(dice)
            };
            let class = class(dice, &name, waits, provisioner);
            self.case.storage_classes.push(class);
            self.classes.push(Class {
                name,
                waits,
                by_hand: provisioner == NOBODY,
            });
        }
    }

    /// The name of a class whose claims wait for a pod, or do not; of any if there is none.
    pub(super) fn class_that(&self, dice: &mut Dice, waits: bool) -> String {
        let such: Vec<&Class> = self.classes.iter().filter(|class| class.waits == waits).collect();
        match such.as_slice() {
            [] => self.classes[dice.below(self.classes.len())].name.clone(),
            such => such[dice.below(such.len())].name.clone(),
        }
    }
}

fn provisioner(dice: &mut Dice) -> &'static str {
    match dice.below(100) {
        0..42 => NOBODY,
        42..70 => "disk.csi.example.com",
        70..78 => "file.csi.example.com",
        78..82 => "example.com/external",
        82..86 => "ebs.csi.aws.com",
        _ => dice.pick(&IN_TREE),
    }
}

fn class(dice: &mut Dice, name: &str, waits: bool, provisioner: &str) -> Value {
    let mode = if waits { "WaitForFirstConsumer" } else { "Immediate" };
    let mut class = json!({ "metadata": metadata(name), "provisioner": provisioner });
    // The API server fills it in; what is said without one is compared all the same.
    if dice.percent(99) {
        class["volumeBindingMode"] = json!(mode);
    }
    if dice.percent(30) {
        class["allowedTopologies"] = topologies(dice);
    }
    class
}

/// A class, whatever its name.
pub(crate) fn any_class(dice: &mut Dice) -> Value {
    let waits = dice.percent(60);
    let name = format!("class-{}", dice.below(3));
    let provisioner = provisioner(dice);
    class(dice, &name, waits, provisioner)
}

/// Where volumes of a class may be made. No two terms may be the same.
pub(crate) fn topologies(dice: &mut Dice) -> Value {
    let mut terms: Vec<Value> = Vec::new();
    for _ in 0..dice.one_of(&[1, 1, 2]) {
        let mut expressions = vec![expression(dice, ZONE, &["z1", "z2", "z3"])];
        match dice.below(10) {
            0..3 => expressions = vec![expression(dice, HOSTNAME, &["n0", "n1", "n2", "n3", "n4"])],
            3 => expressions.push(expression(dice, REGION, &["r1", "r2"])),
            4 => expressions.push(expression(dice, "disk", &["ssd", "hdd", ""])),
            _ => {}
        }
        let term = json!({ "matchLabelExpressions": expressions });
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    json!(terms)
}

fn expression(dice: &mut Dice, key: &str, values: &[&str]) -> Value {
    let mut chosen = dice.some(3, values);
    if chosen.is_empty() {
        chosen.push(dice.pick(values));
    }
    json!({ "key": key, "values": chosen })
}
