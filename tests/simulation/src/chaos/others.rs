//! Another scheduler, which places pods of its own and sometimes takes one of ours, and whoever sets disruption budgets.

use serde_json::{Value, json};

use super::{Chaos, verdict};
use crate::storage::claim_names;
use crate::workload;

/// The budgets of a run, by the label that they select.
pub(super) const BUDGETS: [&str; 2] = ["a", "b"];

impl Chaos {
    /// It looks at the API server's objects and knows nothing of bindings under way.
    pub(super) fn let_others_bind(&mut self) {
        if !self.climate.others {
            return;
        }
        if self.dice.percent(35) {
            // It knows nothing of volumes.
            let pod = self.pick_pod(|pod| verdict::waits(pod) && claim_names(pod).is_empty());
            if let Some(name) = pod {
                self.bind_by_others(&name);
            }
            return;
        }
        for _ in 0..=self.dice.below(3) {
            let name = self.new_name("other-");
            let cpu = 100 + 100 * self.dice.below(8);
            let mut pod = workload::pod(&name, i64::try_from(cpu).unwrap_or(100), 10);
            pod["spec"]["schedulerName"] = json!("other-scheduler");
            self.note(&format!("create foreign pod {name} of {cpu}m"));
            self.world.add_pod(pod);
            self.bind_by_others(&name);
        }
    }

    fn bind_by_others(&mut self, name: &str) {
        let Some(pod) = self.world.pod(name) else { return };
        let Some(node) = verdict::room_for(&self.world, &pod) else {
            return;
        };
        self.note(&format!("bind {name} to {node} by another scheduler"));
        if self.world.server().bind("default", name, &node).is_ok() {
            self.counters.foreign_binds += 1;
        }
    }

    pub(super) fn change_budgets(&mut self) {
        let allowed = i32::try_from(self.dice.below(3)).unwrap_or(0);
        if let Some(budget) = self.dice.pick(&BUDGETS).copied() {
            self.note(&format!("allow {allowed} disruptions of {budget}"));
            self.world.allow_disruptions(budget, allowed);
        }
    }

    /// Somebody resizes a running pod in place, without asking whether it fits.
    pub(super) fn resize_pod(&mut self) {
        let running = |pod: &Value| pod["spec"]["nodeName"].is_string() && pod["status"]["phase"] != "Succeeded";
        let Some(name) = self.pick_pod(running) else { return };
        let cpu = format!("{}m", 100 + 100 * self.dice.below(8));
        self.note(&format!("resize pod {name} to {cpu}"));
        let resize = |pod: &mut Value| pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!(cpu);
        // One that goes meanwhile cannot be resized, which is as well.
        let _ = self.world.server().resize("default", &name, resize);
    }
}
