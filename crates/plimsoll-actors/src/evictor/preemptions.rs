use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use plimsoll_engine::PreemptionPlan;
use plimsoll_model::{Moment, Pod, Timestamp, Uid};

use super::eviction::{Eviction, Finding, Stage};
use super::request::{Answer, Request};
use crate::log_subject::trace_of;

/// A preemption that was refused, or that the API server says has nobody to evict, is not tried again at once: what made it
/// so has not changed yet.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// What the columns show of a pod that preemptions have to do with.
#[derive(Debug, Clone)]
pub enum Sight {
    /// It is there, or changed.
    There {
        /// As it was before.
        old: Option<Arc<Pod>>,
        /// As it is.
        new: Arc<Pod>,
    },
    /// It is gone.
    Gone(Uid),
    /// It is no pod of ours any more: no profile takes it.
    Foreign(Uid),
}

/// How a preemption ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Every victim is gone.
    Done,
    /// A victim stays. What had not been sent was not sent.
    Failed,
    /// The preemptor is gone, has a node, is no longer meant for this one, or is ours no more. What had not been sent was not sent.
    NotNeeded,
    /// Another preemption for the same pod has taken its place.
    Replaced,
}

impl Ending {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::NotNeeded => "not_needed",
            Self::Replaced => "replaced",
        }
    }
}

/// What the actor has to do or to tell.
#[derive(Debug)]
pub(crate) enum Said {
    /// A victim has been told to go.
    Preempted {
        victim: Arc<Pod>,
        preemptor: Arc<Pod>,
        node: CompactString,
        /// Its claim was given up; the pod itself waits on.
        in_memory: bool,
    },
    /// Every request of a preemption has been answered, or one failed for good.
    Executed {
        preemptor: Uid,
        asynchronous: bool,
        result: Result<(), String>,
        took: Duration,
    },
    /// Every victim is seen on its way out: the preemptor may be tried.
    Going(Uid),
    /// A preemption is over.
    Over(Over),
}

/// What is left of a preemption that is over.
#[derive(Debug)]
pub(crate) struct Over {
    pub(crate) preemptor: Uid,
    pub(crate) asynchronous: bool,
    pub(crate) ending: Ending,
    /// Every pod that its plan named.
    pub(crate) named: Vec<Uid>,
    /// Victims that were not told to go.
    pub(crate) spared: Vec<Uid>,
}

#[derive(Debug)]
struct Preemption {
    preemptor: Arc<Pod>,
    node: CompactString,
    asynchronous: bool,
    begun: Moment,
    /// Victims that are not gone, the most important first.
    victims: Vec<Uid>,
    named: Vec<Uid>,
    /// Victims that were not told to go before it failed.
    spared: Vec<Uid>,
    executed: bool,
    /// The preemptor may be tried.
    opened: bool,
    /// It has failed, and is over then.
    failed_until: Option<Moment>,
}

/// Every preemption from its plan until its victims are gone; time comes in with each call, requests and news go out.
///
/// **Order.** All victims of a plan but the last are told to go at once, the last when the others have been told: as long as
/// it stands, its preemptor is not tried, and what fails before costs one pod less.
///
/// **Once each.** A victim that several preemptions want gone is asked once, and stays only if nobody wants it gone any more
/// before it has been asked.
///
/// **No longer needed.** Nothing is sent for a preemptor that is gone or going, has a node, or whose nomination to the node
/// was taken away. That is looked at as late as it can be: when the request has got its turn behind the rate limit.
#[derive(Debug, Default)]
pub(crate) struct Preemptions {
    open: BTreeMap<Uid, Preemption>,
    evictions: BTreeMap<Uid, Eviction>,
    /// In the order in which their turns came.
    queue: VecDeque<Uid>,
    due: BTreeSet<(Moment, Uid)>,
    stopped: bool,
}

impl Preemptions {
    /// Begins a preemption. `rejected` are its victims that were turned away in memory and need no request.
    pub(crate) fn open(&mut self, plan: &PreemptionPlan, rejected: &[Uid], now: Moment, said: &mut Vec<Said>) {
        self.begin(plan, rejected, false, now, said);
    }

    fn begin(&mut self, plan: &PreemptionPlan, rejected: &[Uid], executed: bool, now: Moment, said: &mut Vec<Said>) {
        let uid = plan.preemptor.uid.clone();
        for lower in &plan.clear_nominations {
            self.close_if_on(&lower.uid, &plan.node, said);
        }
        self.close(&uid, Ending::Replaced, said);
        let wanted = || plan.victims.iter().filter(|victim| !rejected.contains(&victim.pod.uid));
        let victims: Vec<Uid> = wanted().map(|victim| victim.pod.uid.clone()).collect();
        let named = std::iter::once(&uid).chain(&victims).cloned().collect();
        for victim in plan.victims.iter().filter(|victim| rejected.contains(&victim.pod.uid)) {
            said.push(Said::Preempted {
                victim: Arc::clone(&victim.pod),
                preemptor: Arc::clone(&plan.preemptor),
                node: plan.node.clone(),
                in_memory: true,
            });
        }
        for victim in wanted() {
            let eviction = self.evictions.entry(victim.pod.uid.clone());
            let eviction = eviction.or_insert_with(|| Eviction::new(&victim.pod, plan));
            eviction.want(&uid);
        }
        let preemption = Preemption {
            preemptor: Arc::clone(&plan.preemptor),
            node: plan.node.clone(),
            asynchronous: plan.asynchronous,
            begun: now,
            victims,
            named,
            spared: Vec::new(),
            executed,
            opened: false,
            failed_until: None,
        };
        self.open.insert(uid.clone(), preemption);
        // Some may be on their way already, for another or by themselves.
        for victim in wanted() {
            self.see_victim(&victim.pod, said);
        }
        self.advance(&uid, now, said);
    }

    /// Waits for victims that an earlier leader has told to go: nothing is sent, and nobody is told of it again.
    pub(crate) fn adopt(&mut self, plan: &PreemptionPlan, now: Moment, said: &mut Vec<Said>) {
        self.begin(plan, &[], true, now, said);
    }

    /// The columns show a pod anew.
    pub(crate) fn see(&mut self, sight: &Sight, now: Moment, said: &mut Vec<Said>) {
        match sight {
            Sight::There { old, new } => {
                if self.is_served(old.as_deref(), new) {
                    self.close(&new.uid, Ending::NotNeeded, said);
                }
                self.see_victim(new, said);
                self.advance_all_that_want(&new.uid, now, said);
            }
            Sight::Foreign(uid) => self.close(uid, Ending::NotNeeded, said),
            Sight::Gone(uid) => {
                self.close(uid, Ending::NotNeeded, said);
                self.victim_gone(uid, now, said);
            }
        }
    }

    /// Whether a preemptor needs no room on its node any more.
    fn is_served(&self, old: Option<&Pod>, new: &Pod) -> bool {
        let Some(preemption) = self.open.get(&new.uid) else {
            return false;
        };
        let meant_for = |pod: &Pod| pod.status.nominated_node_name.as_ref() == Some(&preemption.node);
        new.node_name().is_some() || new.is_terminating() || (old.is_some_and(meant_for) && !meant_for(new))
    }

    fn see_victim(&mut self, pod: &Arc<Pod>, said: &mut Vec<Said>) {
        let Some(eviction) = self.evictions.get_mut(&pod.uid) else {
            return;
        };
        if eviction.see(pod) == Some(true) {
            tell(eviction, said);
        }
    }

    /// The answer to the request about a victim.
    pub(crate) fn answered(&mut self, uid: &Uid, answer: Answer, now: Moment, said: &mut Vec<Said>) {
        let Some(eviction) = self.evictions.get_mut(uid) else {
            return;
        };
        match eviction.answered(answer, now) {
            Finding::GoesOn => {
                let victim = Arc::clone(&eviction.victim);
                self.see_victim(&victim, said);
            }
            Finding::ToldToGo => tell(eviction, said),
            Finding::Gone { ours } => {
                if ours {
                    tell(eviction, said);
                }
                // The watch will show it; should it not, that it is gone is believed all the same, but not at once.
                eviction.believed_gone = Some(now + PAUSE);
                self.due.insert((now + PAUSE, uid.clone()));
            }
            Finding::Stays(why) => {
                for preemptor in eviction.wanted_by.clone() {
                    self.fail(&preemptor, &why, now, said);
                }
                return self.forget_unwanted(uid);
            }
            Finding::NotSent => {}
        }
        if let Some(eviction) = self.evictions.get_mut(uid).filter(|eviction| eviction.has_made_it_go()) {
            tell(eviction, said);
        }
        self.forget_unwanted(uid);
        self.schedule(uid);
        self.advance_all_that_want(uid, now, said);
    }

    /// What is due is done.
    pub(crate) fn tick(&mut self, now: Moment, said: &mut Vec<Said>) {
        while self.due.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, uid)) = self.due.pop_first() else { break };
            if let Some(eviction) = self.evictions.get_mut(&uid) {
                eviction.wake(now);
                if eviction.believed_gone.is_some_and(|at| at <= now) {
                    self.victim_gone(&uid, now, said);
                }
                self.schedule(&uid);
            }
            if self
                .open
                .get(&uid)
                .and_then(|open| open.failed_until)
                .is_some_and(|at| at <= now)
            {
                self.close(&uid, Ending::Failed, said);
            }
        }
    }

    /// When [`Self::tick`] is wanted.
    pub(crate) fn next_deadline(&self) -> Option<Moment> {
        self.due.first().map(|(at, _)| *at).filter(|_| !self.stopped)
    }

    /// The next request to send.
    pub(crate) fn next_request(&mut self, wall: &Timestamp) -> Option<(Uid, Request)> {
        while !self.stopped {
            let uid = self.queue.pop_front()?;
            let Some(eviction) = self.evictions.get_mut(&uid) else {
                continue;
            };
            eviction.in_line = false;
            if let Some(request) = eviction.request(wall) {
                return Some((uid, request));
            }
        }
        None
    }

    /// From now on nothing is sent: the term is about to end, and the next leader decides anew.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    /// How many are under way.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    fn victim_gone(&mut self, uid: &Uid, now: Moment, said: &mut Vec<Said>) {
        let Some(eviction) = self.evictions.get_mut(uid) else {
            return;
        };
        eviction.gone = true;
        let wanted_by = std::mem::take(&mut eviction.wanted_by);
        if !eviction.is_asked() {
            if eviction.has_made_it_go() {
                tell(eviction, said);
            }
            self.evictions.remove(uid);
        }
        for preemptor in wanted_by {
            if let Some(open) = self.open.get_mut(&preemptor) {
                open.victims.retain(|victim| victim != uid);
            }
            self.advance(&preemptor, now, said);
        }
    }

    fn advance_all_that_want(&mut self, uid: &Uid, now: Moment, said: &mut Vec<Said>) {
        let wanted_by = self.evictions.get(uid).map(|eviction| eviction.wanted_by.clone());
        for preemptor in wanted_by.into_iter().flatten() {
            self.advance(&preemptor, now, said);
        }
    }

    /// Takes the next step of a preemption, as far as its victims let it.
    fn advance(&mut self, uid: &Uid, now: Moment, said: &mut Vec<Said>) {
        let Some(open) = self.open.get_mut(uid).filter(|open| open.failed_until.is_none()) else {
            return;
        };
        let evictions = &self.evictions;
        let is = |victim: &Uid, holds: fn(&Eviction) -> bool| evictions.get(victim).is_none_or(holds);
        let told = |victim: &&Uid| is(victim, Eviction::is_told);
        let (last, others) = match open.victims.split_last() {
            Some((last, others)) => (Some(last), others),
            None => (None, &[][..]),
        };
        // In the synchronous mode all go at once, as in kube-scheduler.
        let turn_of_last = !open.asynchronous || others.iter().all(|victim| told(&victim));
        let starting: Vec<Uid> = others.iter().chain(last.filter(|_| turn_of_last)).cloned().collect();
        if !open.executed && open.victims.iter().all(|victim| told(&victim)) {
            open.executed = true;
            said.push(Said::Executed {
                preemptor: uid.clone(),
                asynchronous: open.asynchronous,
                result: Ok(()),
                took: now.since(open.begun),
            });
        }
        if open.asynchronous && !open.opened && open.victims.iter().all(|victim| is(victim, Eviction::is_seen_going)) {
            open.opened = true;
            if !open.victims.is_empty() {
                said.push(Said::Going(uid.clone()));
            }
        }
        let done = open.victims.is_empty();
        for victim in starting {
            if let Some(eviction) = self.evictions.get_mut(&victim) {
                eviction.start();
            }
            self.schedule(&victim);
        }
        if done {
            self.close(uid, Ending::Done, said);
        }
    }

    /// Puts a victim where its stage says.
    fn schedule(&mut self, uid: &Uid) {
        let Some(eviction) = self.evictions.get_mut(uid) else {
            return;
        };
        match eviction.stage {
            Stage::Queued(_) if !std::mem::replace(&mut eviction.in_line, true) => self.queue.push_back(uid.clone()),
            Stage::Later(at, _) => {
                self.due.insert((at, uid.clone()));
            }
            _ => {}
        }
    }

    fn fail(&mut self, uid: &Uid, why: &str, now: Moment, said: &mut Vec<Said>) {
        let Some(open) = self.open.get_mut(uid) else { return };
        let how = if open.asynchronous { "async " } else { "" };
        tracing::error!(
            preemptor = %open.preemptor.name, node = %open.node, err = why, trace_id = %trace_of(&open.preemptor),
            "Error occurred during {how}preemption"
        );
        if !open.executed {
            open.executed = true;
            said.push(Said::Executed {
                preemptor: uid.clone(),
                asynchronous: open.asynchronous,
                result: Err(why.to_owned()),
                took: now.since(open.begun),
            });
        }
        if !open.asynchronous {
            return self.close(uid, Ending::Failed, said);
        }
        let until = now + PAUSE;
        open.failed_until = Some(until);
        self.due.insert((until, uid.clone()));
        let victims = std::mem::take(&mut open.victims);
        let may_go = |victim: &&Uid| self.evictions.get(*victim).is_some_and(Eviction::may_go);
        open.spared = victims.iter().filter(|victim| !may_go(victim)).cloned().collect();
        self.let_go(uid, &victims);
    }

    /// Room on the node is not meant for this pod any more.
    fn close_if_on(&mut self, uid: &Uid, node: &str, said: &mut Vec<Said>) {
        if self.open.get(uid).is_some_and(|open| open.node == node) {
            self.close(uid, Ending::NotNeeded, said);
        }
    }

    fn close(&mut self, uid: &Uid, ending: Ending, said: &mut Vec<Said>) {
        let Some(open) = self.open.remove(uid) else { return };
        let may_go = |victim: &&Uid| self.evictions.get(*victim).is_some_and(Eviction::may_go);
        let mut spared = open.spared;
        spared.extend(open.victims.iter().filter(|victim| !may_go(victim)).cloned());
        self.let_go(uid, &open.victims);
        // Whoever waits for it in the synchronous mode must not wait for ever.
        if !open.executed && !open.asynchronous {
            said.push(Said::Executed {
                preemptor: uid.clone(),
                asynchronous: false,
                result: Ok(()),
                took: Duration::ZERO,
            });
        }
        said.push(Said::Over(Over {
            preemptor: uid.clone(),
            asynchronous: open.asynchronous,
            ending,
            named: open.named,
            spared,
        }));
    }

    /// One preemption does not want these any more.
    fn let_go(&mut self, preemptor: &Uid, victims: &[Uid]) {
        for victim in victims {
            if let Some(eviction) = self.evictions.get_mut(victim) {
                eviction.wanted_by.retain(|other| other != preemptor);
            }
            self.forget_unwanted(victim);
        }
    }

    /// Forgets a victim that nobody wants gone, but for a request that is under way: its answer is heard.
    fn forget_unwanted(&mut self, uid: &Uid) {
        let Some(eviction) = self.evictions.get(uid).filter(|eviction| eviction.wanted_by.is_empty()) else {
            return;
        };
        eviction.withdraw();
        if !eviction.is_asked() {
            self.evictions.remove(uid);
        }
    }
}

/// Users are told once of a victim that was told to go.
fn tell(eviction: &mut Eviction, said: &mut Vec<Said>) {
    if eviction.tell_of() {
        said.push(Said::Preempted {
            victim: Arc::clone(&eviction.victim),
            preemptor: Arc::clone(&eviction.preemptor),
            node: eviction.node.clone(),
            in_memory: false,
        });
    }
}

#[cfg(test)]
mod tests;
