//! What befalls replicas and the machines they run on.

use std::time::Duration;

use super::Chaos;
use super::telling::Telling;
use crate::link::Delays;
use crate::post::Pace;

impl Chaos {
    pub(super) async fn start_replica(&mut self) {
        if self.replicas.len() as u64 >= self.climate.replicas {
            return;
        }
        let name = self.new_name("replica-");
        self.note(&format!("start {name}"));
        let fault = self.climate.clock(&mut self.dice);
        let machine = self.world.machine_with(&name, fault);
        let mut setup = self.climate.setup();
        if self.climate.is_cold(&mut self.dice) {
            self.note("it stands by cold");
            setup.config.delay_cache_until_active = true;
        }
        if let Some(extender) = &self.extender {
            extender.serve(&mut setup, &machine);
        }
        setup.traces = self.telling.as_ref().map(Telling::traces);
        let replica = self.world.start_on(&machine, setup).await;
        self.replicas.push((machine, replica));
        self.expose(self.replicas.len() - 1);
    }

    fn pick_replica(&mut self) -> Option<usize> {
        self.dice.index(self.replicas.len())
    }

    /// The leader more often than not: that is where it hurts.
    pub(super) fn pick_leader_rather(&mut self) -> Option<usize> {
        let leader = self.world.leader();
        let leads = self.replicas.iter().position(|(machine, _)| machine.name() == leader);
        let any = self.pick_replica();
        if self.dice.percent(70) { leads.or(any) } else { any }
    }

    pub(super) fn kill_leader(&mut self) {
        let leader = self.world.leader();
        self.kill_replica_named(&leader);
    }

    pub(super) fn kill_replica_named(&mut self, name: &str) {
        if let Some(at) = self.position(name) {
            self.kill_replica_at(at);
        }
    }

    pub(super) fn shut_down_replica_named(&mut self, name: &str) {
        if let Some(at) = self.position(name) {
            self.shut_down_replica_at(at);
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.replicas.iter().position(|(machine, _)| machine.name() == name)
    }

    pub(super) fn kill_replica(&mut self) {
        if let Some(at) = self.pick_leader_rather() {
            self.kill_replica_at(at);
        }
    }

    fn kill_replica_at(&mut self, at: usize) {
        let (machine, replica) = self.replicas.remove(at);
        self.note(&format!("kill {}", machine.name()));
        replica.kill();
        self.world.terms().died(machine.name());
        if let Some(telling) = &self.telling {
            telling.died(machine.name());
        }
        self.counters.kills += 1;
        self.counters.delayed_messages += machine.post().delayed();
    }

    pub(super) fn shut_down_replica(&mut self) {
        if let Some(at) = self.pick_replica() {
            self.shut_down_replica_at(at);
        }
    }

    fn shut_down_replica_at(&mut self, at: usize) {
        let (machine, replica) = self.replicas.remove(at);
        self.note(&format!("shut down {}", machine.name()));
        replica.shutdown();
        self.leaving.push((machine, replica));
    }

    pub(super) fn cut_or_mend(&mut self) {
        let Some(at) = self.pick_leader_rather() else { return };
        let machine = &self.replicas[at].0;
        let (name, link) = (machine.name().to_owned(), machine.link().clone());
        if !link.is_open() {
            self.note(&format!("reconnect {name}"));
            link.mend();
            return;
        }
        self.counters.cuts += 1;
        if self.dice.percent(40) {
            self.note(&format!("cut off answers to {name}"));
            link.cut_answers();
        } else {
            self.note(&format!("cut off {name}"));
            link.cut();
        }
    }

    /// The clock of the machine goes on and its timers do not; often with pods waiting. What it has sent is decided while it
    /// sleeps, since the API server does not.
    pub(super) async fn suspend(&mut self) {
        let Some(at) = self.pick_leader_rather() else { return };
        if self.dice.percent(50) {
            self.add_pods();
        }
        let asleep = Duration::from_millis(self.dice.below(30_000));
        let name = self.replicas[at].0.name().to_owned();
        self.note(&format!("suspend {name} for {asleep:?}"));
        self.counters.suspensions += 1;
        let decided = asleep.min(self.climate.time_to_decide());
        let was_stopped = self.replicas[at].0.is_stopped();
        self.replicas[at].0.stop();
        self.world.pass_with_kubelets(decided).await;
        self.replicas[at].0.clock().suspend(asleep.saturating_sub(decided));
        if !was_stopped {
            self.replicas[at].0.resume();
        }
    }

    /// As by SIGSTOP, and SIGCONT in a later step.
    pub(super) fn stop_or_resume(&mut self) {
        let stopped = self.replicas.iter().position(|(machine, _)| machine.is_stopped());
        if let Some(at) = stopped {
            let name = self.replicas[at].0.name().to_owned();
            self.note(&format!("resume {name}"));
            self.replicas[at].0.resume();
            return;
        }
        let Some(at) = self.pick_leader_rather() else { return };
        if self.dice.percent(50) {
            self.add_pods();
        }
        let name = self.replicas[at].0.name().to_owned();
        self.note(&format!("stop {name}"));
        self.replicas[at].0.stop();
        self.counters.stops += 1;
    }

    /// The machine becomes slow, or quick again.
    pub(super) fn slow_down_or_expose(&mut self) {
        let Some(at) = self.pick_replica() else { return };
        let name = self.replicas[at].0.name().to_owned();
        if self.dice.percent(40) {
            self.note(&format!("slow down {name}"));
            let delays = Delays {
                of_answers: Duration::from_millis(self.dice.below(1_500)),
                ..Delays::default()
            };
            self.replicas[at].0.slow_down(Pace::Slow, delays);
        } else {
            self.note(&format!("expose {name}"));
            self.expose(at);
        }
    }

    /// The same configuration is read again, or one that makes pods wait longer.
    pub(super) fn reload(&mut self) {
        let Some(at) = self.pick_replica() else { return };
        let name = self.replicas[at].0.name().to_owned();
        self.note(&format!("reload {name}"));
        let mut setup = self.climate.setup();
        setup.config.pod_max_backoff = Duration::from_secs(2 + self.dice.below(9));
        let note = "loaded another configuration".to_owned();
        self.replicas[at].1.reconfigurer().reconfigure(setup.assembled(), note);
    }

    /// No more faults, every machine connected and quick, and at least one replica.
    pub(super) async fn calm_down(&mut self) {
        self.end_faults();
        if self.replicas.is_empty() {
            self.start_replica().await;
        }
    }

    pub(super) fn end_faults(&mut self) {
        self.note("calm");
        self.end_rules();
        self.calm_collector();
        if let Some(extender) = &self.extender {
            extender.recover();
        }
        if let Some(storage) = &self.storage {
            storage.recover();
        }
        for (machine, _) in self.replicas.iter_mut().chain(&mut self.leaving) {
            machine.link().mend();
            machine.resume();
            machine.slow_down(Pace::Instant, Delays::default());
        }
    }
}
