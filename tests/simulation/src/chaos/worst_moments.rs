//! The worst moments: a hand-over while pods are placed that who takes over has not seen, a leader that does not notice that its
//! lease runs out, and room that comes while pods are judged for which there was none.

use std::time::Duration;

use plimsoll_apiserver::fault::{Action, Failure, Rule};
use serde_json::json;

use super::Chaos;
use crate::{rules, workload};

/// What a node has that is made for one pod.
const NEEDED_BY: &str = "needed-by";

impl Chaos {
    /// Two nodes have room for one pod each. One comes which the leader does not get bound; the connections stand still through
    /// which the others hear of pods; another comes, and is placed beside the first before the leader is gone. It releases its
    /// lease or not. The next one has the first to place, and has not seen where the second is.
    pub(super) async fn hand_over_unseen(&mut self) {
        let leader = self.world.leader();
        let leads = self.replicas.iter().any(|(machine, _)| machine.name() == leader);
        if !leads || self.replicas.len() < 2 {
            self.add_pods();
            return;
        }
        let first = self.new_name("left-");
        for side in ["a", "b"] {
            self.add_node_for(&first, &format!("{side}-for-{first}"), 1_000);
        }
        self.pause(200).await;
        let trouble = Action::Fail {
            failure: Failure::code(503),
        };
        let rule = Rule::new(rules::bindings().name(&first), trouble);
        let rule = self.world.server().faults().add(rule);
        self.note(&format!("create pod {first} that is not bound"));
        self.add_pod_for(&first, &first, 600);
        self.pause(100).await;
        for (machine, _) in &self.replicas {
            if machine.name() != leader {
                machine.link().hold_pods();
            }
        }
        self.note("the others hear nothing of pods");
        let second = self.new_name("beside-");
        self.note(&format!("create pod {second}"));
        self.add_pod_for(&first, &second, 600);
        self.add_pods();
        self.pause(400).await;
        if self.dice.percent(50) {
            self.kill_replica_named(&leader);
        } else {
            self.shut_down_replica_named(&leader);
        }
        self.world.server().faults().remove(rule);
    }

    /// A node that takes the pods that were made for it.
    fn add_node_for(&mut self, pod: &str, name: &str, milli_cpu: i64) {
        let mut node = workload::node(name, milli_cpu, 100, 2);
        node["metadata"]["labels"][NEEDED_BY] = json!(pod);
        node["metadata"]["labels"]["zone"] = json!("a");
        self.note(&format!("create node {name}"));
        self.world.add_node(node);
    }

    /// A pod that needs the nodes that were made for one.
    fn add_pod_for(&mut self, whom: &str, name: &str, milli_cpu: i64) {
        let mut pod = workload::pod(name, milli_cpu, 10);
        pod["spec"]["nodeSelector"] = json!({ NEEDED_BY: whom });
        self.world.add_pod(pod);
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
        self.note(&format!("create pod {pod} that needs its own node"));
        self.add_pod_for(&pod, &pod, 100);
        let halfway = Duration::from_millis(millis / 2);
        self.world.pass_with_kubelets(halfway).await;
        self.add_node_for(&pod, &format!("for-{pod}"), 100);
        self.world.pass_with_kubelets(halfway).await;
    }

    pub(super) async fn pause(&mut self, most: u64) {
        let millis = self.dice.below(most);
        self.world.pass_with_kubelets(Duration::from_millis(millis)).await;
    }
}
