//! Elections on machines whose clocks are apart and drift, over a network that delays, loses and repeats nothing, against a
//! naive model of one lease. Never may two of them hold, each by its own clock, the right to write.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clocks that drift, for minutes"
)]

use std::collections::BTreeMap;

use super::*;

/// True time in milliseconds, which no machine knows.
type Millis = u64;

const FAULTS_END: Millis = 150_000;
const END: Millis = 230_000;

/// How a run is made.
#[derive(Clone)]
struct Setting {
    config: ElectionConfig,
    /// Clocks run so much faster or slower than true time, at most.
    drift: f64,
    machines: usize,
}

enum Event {
    Try,
    Arrives {
        request: Request,
        reply_at: Option<Millis>,
    },
    Answered(Answer),
    Deadline,
    /// Killed, or asked to end.
    Crash,
    Shutdown,
    /// Stands still for so long.
    Pause(Millis),
    /// A process of another identity is there in its place.
    Restart,
}

struct Machine {
    election: Election,
    rate: f64,
    offset: f64,
    wall_skew: i64,
    /// Until when it may write, by its own clock.
    token: Option<Moment>,
    alive: bool,
    releasing: bool,
    paused_until: Millis,
    /// Events of an earlier process, or answers to earlier requests, do not reach it.
    attempt: u64,
    processes: u64,
}

impl Machine {
    fn own(&self, now: Millis) -> Moment {
        let nanos = now as f64 * 1e6 * self.rate + self.offset;
        Moment::from_nanos(nanos as u64)
    }

    /// The first millisecond at which its clock shows `at`.
    fn when(&self, at: Moment) -> Millis {
        ((at.as_nanos() as f64 - self.offset) / self.rate / 1e6).ceil().max(0.0) as Millis
    }

    fn wall(&self, now: Millis) -> jiff::Timestamp {
        let skewed = i64::try_from(now).unwrap() + self.wall_skew;
        jiff::Timestamp::from_millisecond(skewed).unwrap()
    }

    fn may_write(&self, now: Millis) -> bool {
        self.token.is_some_and(|deadline| self.own(now) < deadline)
    }
}

/// Whose, of which process and attempt, and what.
struct Planned {
    number: usize,
    process: u64,
    attempt: Option<u64>,
    event: Event,
}

struct Model {
    setting: Setting,
    random: ChaCha8Rng,
    machines: Vec<Machine>,
    lease: Option<LeaseRecord>,
    version: u64,
    renewed: Millis,
    now: Millis,
    /// By time and order of planning.
    planned: BTreeMap<(Millis, u64), Planned>,
    plans: u64,
    terms: u64,
    broken: Option<String>,
}

impl Model {
    fn new(seed: u64, setting: Setting) -> Self {
        let mut model = Self {
            random: ChaCha8Rng::seed_from_u64(seed),
            machines: Vec::new(),
            lease: None,
            version: 0,
            renewed: 0,
            now: 0,
            planned: BTreeMap::new(),
            plans: 0,
            terms: 0,
            broken: None,
            setting,
        };
        for number in 0..model.setting.machines {
            let machine = model.machine(number, 0);
            model.machines.push(machine);
            let first = model.up_to(3_000);
            model.plan(number, first, None, Event::Try);
            model.plan_mishap(number);
        }
        model
    }

    fn up_to(&mut self, limit: u64) -> u64 {
        self.random.next_u64() % (limit + 1)
    }

    fn one_in(&mut self, chances: u64) -> bool {
        self.now < FAULTS_END && self.up_to(chances - 1) == 0
    }

    fn machine(&mut self, number: usize, processes: u64) -> Machine {
        let unit = self.up_to(2_000_000) as f64 / 1e6 - 1.0;
        let random = ChaCha8Rng::seed_from_u64(self.random.next_u64());
        let config = self.setting.config.clone();
        Machine {
            election: Election::new(format!("m{number}-{processes}"), config, random),
            rate: 1.0 + unit * self.setting.drift,
            offset: self.up_to(1_000_000) as f64 * 1e9,
            wall_skew: i64::try_from(self.up_to(7_200_000)).unwrap() - 3_600_000,
            token: None,
            alive: true,
            releasing: false,
            paused_until: 0,
            attempt: 0,
            processes,
        }
    }

    fn plan(&mut self, number: usize, at: Millis, attempt: Option<u64>, event: Event) {
        self.plans += 1;
        let process = self.machines[number].processes;
        let planned = Planned {
            number,
            process,
            attempt,
            event,
        };
        self.planned.insert((at, self.plans), planned);
    }

    fn plan_mishap(&mut self, number: usize) {
        let at = self.now + 5_000 + self.up_to(40_000);
        if at >= FAULTS_END {
            return;
        }
        let event = match self.up_to(3) {
            0 => Event::Crash,
            1 => Event::Shutdown,
            _ => Event::Pause(self.up_to(30_000)),
        };
        self.plan(number, at, None, event);
    }

    fn run(mut self) -> Self {
        while let Some(((at, _), planned)) = self.planned.pop_first() {
            if at > END || self.broken.is_some() {
                break;
            }
            self.now = at;
            self.happen(planned);
            self.look();
        }
        self
    }

    fn look(&mut self) {
        let writers: Vec<&str> = (self.machines.iter())
            .filter(|machine| machine.may_write(self.now))
            .map(|machine| machine.election.identity())
            .collect();
        if writers.len() > 1 {
            self.broken = Some(format!("at {} ms {writers:?} may write", self.now));
        }
    }

    fn happen(&mut self, planned: Planned) {
        let Planned {
            number,
            process,
            attempt,
            event,
        } = planned;
        if let Event::Arrives { request, reply_at } = event {
            let answer = self.apply(request);
            return self.reply(number, process, attempt, answer, reply_at);
        }
        let machine = &mut self.machines[number];
        if process != machine.processes {
            return;
        }
        if self.now < machine.paused_until {
            let at = machine.paused_until;
            return self.plan(number, at, attempt, event);
        }
        let (own, wall) = (machine.own(self.now), machine.wall(self.now));
        match event {
            Event::Restart => self.restart(number),
            _ if !machine.alive => {}
            Event::Try if machine.releasing => {}
            Event::Try => {
                let request = machine.election.begin(own, wall);
                self.send(number, request);
            }
            Event::Answered(answer) if attempt == Some(machine.attempt) => {
                if machine.releasing {
                    self.continue_release(number, answer);
                } else {
                    let next = machine.election.answer(answer, own, wall);
                    self.follow(number, next);
                }
            }
            Event::Deadline => {
                if machine.election.expire(own) {
                    self.lose(number);
                }
            }
            Event::Crash => {
                machine.alive = false;
                machine.token = None;
                let at = self.now + self.up_to(20_000);
                self.plan(number, at, None, Event::Restart);
            }
            Event::Shutdown => self.shut_down(number),
            Event::Pause(time) => {
                machine.paused_until = self.now + time;
                self.plan_mishap(number);
            }
            Event::Answered(_) | Event::Arrives { .. } => {}
        }
    }

    fn restart(&mut self, number: usize) {
        let processes = self.machines[number].processes + 1;
        self.machines[number] = self.machine(number, processes);
        self.plan(number, self.now, None, Event::Try);
        self.plan_mishap(number);
    }

    fn shut_down(&mut self, number: usize) {
        let machine = &mut self.machines[number];
        let led = machine.token.take().is_some();
        machine.election.resign();
        machine.releasing = true;
        if led {
            self.send(number, Request::Get);
        } else {
            self.end(number);
        }
    }

    fn continue_release(&mut self, number: usize, answer: Answer) {
        let machine = &self.machines[number];
        let wall = machine.wall(self.now);
        match answer {
            Answer::Lease(stored) => match machine.election.release(&stored, wall) {
                Some(request) => self.send(number, request),
                None => self.end(number),
            },
            Answer::NotFound | Answer::Failed(_) => self.end(number),
        }
    }

    fn end(&mut self, number: usize) {
        self.machines[number].alive = false;
        let at = self.now + self.up_to(10_000);
        self.plan(number, at, None, Event::Restart);
    }

    fn lose(&mut self, number: usize) {
        let machine = &mut self.machines[number];
        machine.token = None;
        machine.attempt += 1;
        // The term takes a while to stop.
        let at = self.now + self.up_to(3_000);
        self.plan(number, at, None, Event::Try);
    }

    fn follow(&mut self, number: usize, next: Next) {
        match next {
            Next::Ask(request) => self.send(number, request),
            Next::Held { won, sent_at, retry_at } => {
                self.terms += u64::from(won);
                let deadline = sent_at + self.setting.config.renew_deadline;
                let machine = &mut self.machines[number];
                machine.token = machine.token.max(Some(deadline));
                let (over, again) = (machine.when(deadline), machine.when(retry_at));
                self.plan(number, over, None, Event::Deadline);
                self.plan(number, again, None, Event::Try);
            }
            Next::NotHeld { retry_at } => {
                let again = self.machines[number].when(retry_at);
                self.plan(number, again, None, Event::Try);
            }
            Next::Lost { .. } => self.lose(number),
            Next::EndOfTerm { .. } => self.broken = Some("there is no coordinator".to_owned()),
        }
    }

    /// Sends a request that may be lost, applied with its answer lost, or applied after the client has given it up.
    fn send(&mut self, number: usize, request: Request) {
        let timeout = (self.setting.config.renew_deadline / 2).max(SECOND);
        let timeout = Millis::try_from(timeout.as_millis()).unwrap();
        let machine = &mut self.machines[number];
        machine.attempt += 1;
        let attempt = Some(machine.attempt);
        let slow = if self.one_in(4) { timeout } else { 100 };
        let mut arrives = self.now + self.up_to(slow);
        let answered = arrives + self.up_to(slow);
        let mut reply_at = (answered < self.now + timeout).then_some(answered);
        if self.one_in(12) {
            reply_at = None;
        }
        if self.one_in(20) {
            arrives = self.now + timeout + self.up_to(2 * timeout);
            reply_at = None;
        }
        if self.one_in(12) {
            reply_at = None;
        } else {
            self.plan(number, arrives, attempt, Event::Arrives { request, reply_at });
        }
        if reply_at.is_none() {
            let failed = Answer::Failed("no answer in time".to_owned());
            self.plan(number, self.now + timeout, attempt, Event::Answered(failed));
        }
    }

    fn reply(&mut self, number: usize, process: u64, attempt: Option<u64>, answer: Answer, at: Option<Millis>) {
        if let Some(at) = at
            && process == self.machines[number].processes
        {
            self.plan(number, at, attempt, Event::Answered(answer));
        }
    }

    /// What the API server does.
    fn apply(&mut self, request: Request) -> Answer {
        let conflict = Answer::Failed("409".to_owned());
        match (request, self.lease.clone()) {
            (Request::Get | Request::Update { .. }, None) => return Answer::NotFound,
            (Request::Get, Some(_)) => {}
            (Request::Create(_), Some(_)) => return conflict,
            (Request::Update { stored, .. }, _) if stored.resource_version != self.version.to_string() => {
                return conflict;
            }
            (Request::Create(record), None) | (Request::Update { record, .. }, Some(_)) => self.accept(record),
        }
        match &self.lease {
            Some(record) => Answer::Lease(stored(record, self.version)),
            None => Answer::NotFound,
        }
    }

    fn accept(&mut self, record: LeaseRecord) {
        if let Err(why) = self.judge(&record) {
            self.broken = Some(format!("at {} ms: {why}: {record:?} after {:?}", self.now, self.lease));
        }
        self.lease = Some(record);
        self.version += 1;
        self.renewed = self.now;
    }

    /// Whether a record may follow the present one.
    fn judge(&self, record: &LeaseRecord) -> Result<(), &'static str> {
        let Some(present) = &self.lease else {
            return (record.transitions == 0)
                .then_some(())
                .ok_or("a first holder counts none");
        };
        if record.holder.is_empty() {
            let same = record.transitions == present.transitions;
            return same.then_some(()).ok_or("a release counts none");
        }
        if record.holder == present.holder {
            let same = (record.transitions, record.acquire_time) == (present.transitions, present.acquire_time);
            return same.then_some(()).ok_or("a renewal is no acquisition");
        }
        if record.transitions != present.transitions + 1 || record.acquire_time != record.renew_time {
            return Err("an acquisition is counted and timed");
        }
        let kept = self.setting.config.lease_duration.as_millis() as f64 / (1.0 + self.setting.drift);
        let early = !present.holder.is_empty() && ((self.now - self.renewed) as f64) < kept.floor() - 1.0;
        if early { Err("taken before it ran out") } else { Ok(()) }
    }
}

fn seconds(lease: u64, renew: u64, retry_millis: u64) -> ElectionConfig {
    ElectionConfig {
        lease_duration: SECOND * u32::try_from(lease).unwrap(),
        renew_deadline: SECOND * u32::try_from(renew).unwrap(),
        retry_period: Duration::from_millis(retry_millis),
        ..ElectionConfig::default()
    }
}

#[test]
fn never_may_two_write_whatever_clocks_and_network_do() {
    let mut terms = 0;
    for seed in 0..300 {
        let config = match seed % 3 {
            0 => ElectionConfig::default(),
            1 => seconds(6, 4, 1_000),
            _ => seconds(3, 2, 500),
        };
        let setting = Setting {
            config,
            drift: 0.15,
            machines: 2 + usize::try_from(seed % 2).unwrap(),
        };
        let model = Model::new(seed, setting).run();
        assert_eq!(model.broken, None, "seed {seed}");
        let leaders = model.machines.iter().filter(|machine| machine.may_write(END)).count();
        assert_eq!(leaders, 1, "nobody leads in the end, seed {seed}");
        terms += model.terms;
    }
    assert!(terms > 1_000, "only {terms} terms: the model is too tame");
}

#[test]
fn the_model_sees_two_writers_where_clocks_drift_further_than_the_durations_allow() {
    let setting = Setting {
        config: seconds(15, 14, 1_000),
        drift: 0.3,
        machines: 3,
    };
    let broken = (0..200).find_map(|seed| Model::new(seed, setting.clone()).run().broken);
    assert!(
        broken.as_deref().is_some_and(|why| why.contains("may write")),
        "{broken:?}"
    );
}
