//! The worst moments: a hand-over while pods are placed that who takes over has not seen, and room that comes while pods are
//! judged for which there was none.

use std::time::Duration;

use super::Chaos;

impl Chaos {
    /// Pods come, then the connections stand still through which the others hear of pods, and some of the new pods are
    /// placed before the leader is gone. It releases its lease or not.
    pub(super) async fn hand_over_unseen(&mut self) {
        let leader = self.world.leader();
        let leads = self.replicas.iter().position(|(machine, _)| machine.name() == leader);
        let Some(at) = leads.filter(|_| self.replicas.len() > 1) else {
            self.add_pods();
            return;
        };
        self.add_pods();
        self.add_pods();
        self.pause(40).await;
        for (machine, _) in &self.replicas {
            if machine.name() != leader {
                machine.link().hold_pods();
            }
        }
        self.note("the others hear nothing of pods");
        self.pause(250).await;
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
    }

    /// Pods come, and room for them while they are judged. Nothing that happens afterwards may be needed to place them.
    pub(super) async fn make_room_late(&mut self) {
        self.add_pods();
        self.pause(120).await;
        self.add_node();
        self.delete_pod();
        self.pause(600).await;
    }

    async fn pause(&mut self, most: u64) {
        let millis = self.dice.below(most);
        self.world.pass_with_kubelets(Duration::from_millis(millis)).await;
    }
}
