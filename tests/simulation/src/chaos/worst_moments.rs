//! The worst moments: a hand-over while pods are placed that who takes over has not seen, a leader that does not notice that its
//! lease runs out, and room that comes while pods are judged for which there was none.

use std::time::Duration;

use plimsoll_apiserver::fault::{Action, Failure, Rule, RuleId};
use serde_json::json;

use super::Chaos;
use crate::{rules, workload};

/// What a node has that is made for one pod.
const NEEDED_BY: &str = "needed-by";

impl Chaos {
    /// Two pods come which the leader does not get bound. Then the connections stand still through which the others hear of
    /// pods; more pods come, and some of them are placed before the leader is gone. It releases its lease or not. The next
    /// one has the two to place, and has not seen what became of the rest.
    pub(super) async fn hand_over_unseen(&mut self) {
        let leader = self.world.leader();
        let leads = self.replicas.iter().position(|(machine, _)| machine.name() == leader);
        let Some(at) = leads.filter(|_| self.replicas.len() > 1) else {
            self.add_pods();
            return;
        };
        let left = self.add_pods_that_are_not_bound();
        self.pause(40).await;
        for (machine, _) in &self.replicas {
            if machine.name() != leader {
                machine.link().hold_pods();
            }
        }
        self.note("the others hear nothing of pods");
        self.add_pods();
        self.add_pods();
        self.pause(400).await;
        let (machine, replica) = self.replicas.remove(at);
        if self.dice.percent(50) {
            self.note(&format!("kill {leader}"));
            replica.kill();
            self.world.terms().died(&leader);
            self.counters.kills += 1;
        } else {
            self.note(&format!("shut down {leader}"));
            replica.shutdown();
            self.leaving.push((machine, replica));
        }
        for rule in left {
            self.world.server().faults().remove(rule);
        }
    }

    /// The API server is in trouble whenever these are to be bound.
    fn add_pods_that_are_not_bound(&mut self) -> [RuleId; 2] {
        [(); 2].map(|()| {
            let name = self.new_name("left-");
            let trouble = Action::Fail {
                failure: Failure::code(503),
            };
            let rule = Rule::new(rules::bindings().name(&name), trouble);
            let rule = self.world.server().faults().add(rule);
            self.note(&format!("create pod {name} that is not bound"));
            self.world.add_pod(workload::pod(&name, 400, 10));
            rule
        })
    }

    /// The leader's elector gets no turn while everything else of the replica goes on, longer than the lease in most cases:
    /// nobody renews it, and nobody tells the term that it is over. Pods come all the time.
    pub(super) fn stall_the_elector(&mut self) {
        let leader = self.world.leader();
        let leads = self.replicas.iter().position(|(machine, _)| machine.name() == leader);
        self.add_pods();
        let Some(at) = leads else { return };
        let lease = self.climate.lease();
        let lateness = Duration::from_millis(self.dice.below(5_000)) + lease.mul_f64(1.2);
        self.note(&format!("stall the elector of {leader} for {lateness:?}"));
        self.replicas[at].0.post().stall("Elector", lateness);
        self.counters.stalls += 1;
    }

    /// Pods come, and room for them while they are judged. Nothing that happens afterwards may be needed to place them.
    pub(super) async fn make_room_late(&mut self) {
        self.add_pods();
        self.pause(120).await;
        self.add_node();
        self.delete_pod();
        self.pause(600).await;
        self.make_a_node_late().await;
    }

    /// A pod comes that needs a node of its own; the node comes while the pod is on its way to the cycle, which is busy.
    async fn make_a_node_late(&mut self) {
        let millis = 300 + self.dice.below(700);
        for (machine, _) in &self.replicas {
            machine.post().stall("SchedulingCycle", Duration::from_millis(millis));
        }
        self.note(&format!("stall the cycles for {millis}ms"));
        let pod = self.new_name("late-");
        let mut object = workload::pod(&pod, 100, 10);
        object["spec"]["nodeSelector"] = json!({ NEEDED_BY: pod });
        self.note(&format!("create pod {pod} that needs its own node"));
        self.world.add_pod(object);
        let halfway = Duration::from_millis(millis / 2);
        self.world.pass_with_kubelets(halfway).await;
        let mut node = workload::node(&format!("for-{pod}"), 100, 10, 1);
        node["metadata"]["labels"][NEEDED_BY] = json!(pod);
        node["metadata"]["labels"]["zone"] = json!("a");
        self.note(&format!("create node for-{pod}"));
        self.world.add_node(node);
        self.world.pass_with_kubelets(halfway).await;
    }

    pub(super) async fn pause(&mut self, most: u64) {
        let millis = self.dice.below(most);
        self.world.pass_with_kubelets(Duration::from_millis(millis)).await;
    }
}
