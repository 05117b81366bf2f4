//! A claim against every behaviour of an API server that may lose, delay and repeat, and of an extender that binds, fails,
//! lies and falls silent: an exhaustive search over the orders of sending, applying, answering, watching, foreign binds,
//! deletion, relists and the end of the term.

use std::collections::HashSet;

use super::*;

/// How long after sending the server may still apply a request.
const SERVER_TIMEOUT: u64 = 2;
const LAST_SECOND: u64 = 5;
const MOST_REQUESTS: u8 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truth {
    Unbound,
    Ours,
    /// Bound where we want it, by somebody else.
    Alike,
    Other,
    /// Unbound, and marked for deletion.
    Going,
    Gone,
}

/// A binding on its way. The client waits for the answer until it gives up; the server may apply it until its time is up.
#[derive(Debug, Clone, Copy)]
struct Request {
    /// Sent to an extender, which binds the pod in turn.
    delegated: bool,
    settled_by: u64,
    awaited: bool,
    result: Option<Truth>,
}

#[derive(Debug, Clone, Copy)]
enum Read {
    Asked,
    Taken(Truth),
}

/// Takes in a change that leads to another world.
type Branch<'a> = dyn FnMut(&dyn Fn(&mut World)) + 'a;

#[derive(Clone)]
struct World {
    claim: Claim,
    now: u64,
    truth: Truth,
    ever_ours: bool,
    /// Some answer left open whether we have bound the pod.
    doubtful: bool,
    requests: Vec<Request>,
    read: Option<Read>,
    /// What the watch has still to tell, in order.
    unseen: Vec<Truth>,
    /// What the watch has told.
    seen: Truth,
    asked: u8,
    bound: u32,
    over: bool,
    ending: Option<Ending>,
}

impl World {
    fn new(carrier: Carrier) -> Self {
        let mut world = Self {
            claim: claim(),
            now: 0,
            truth: Truth::Unbound,
            ever_ours: false,
            doubtful: false,
            requests: Vec::new(),
            read: None,
            unseen: Vec::new(),
            seen: Truth::Unbound,
            asked: 0,
            bound: 0,
            over: false,
            ending: None,
        };
        world.tell(Input::Cleared(carrier));
        world
    }

    fn key(&self) -> String {
        format!(
            "{:?} {:?} {:?} {} {:?} {:?} {:?} {:?} {:?} {} {} {} {} {}",
            self.claim.state,
            self.claim.carrier,
            self.claim.open_until,
            self.claim.failures,
            self.now,
            self.truth,
            self.requests,
            self.read,
            self.unseen,
            self.asked,
            self.bound,
            self.over,
            self.ever_ours,
            self.doubtful
        )
    }

    fn tell(&mut self, input: Input<'_>) {
        let reaction = self.claim.on(input, at(self.now));
        self.bound += u32::from(reaction.bound);
        if let Some(ending) = reaction.ending {
            assert_eq!(self.ending.replace(ending), None, "a claim ends once");
        }
        if let Some(ask) = reaction.ask {
            assert!(!self.over, "nothing is asked after the term");
            self.asked += 1;
            let settled_by = self.now + SERVER_TIMEOUT;
            match ask {
                Ask::Send | Ask::Delegate => self.requests.push(Request {
                    delegated: ask == Ask::Delegate,
                    settled_by,
                    awaited: true,
                    result: None,
                }),
                Ask::Read => self.read = Some(Read::Asked),
            }
        }
        let delegated = self.requests.iter().filter(|request| request.delegated).count();
        assert!(delegated <= 1, "an extender is asked once");
        self.check();
    }

    fn set_truth(&mut self, truth: Truth) {
        self.truth = truth;
        self.ever_ours |= truth == Truth::Ours;
        self.unseen.push(truth);
    }

    /// What a request meets at the server.
    fn serve(&mut self, at: usize) {
        let met = self.truth;
        if met == Truth::Unbound {
            self.set_truth(Truth::Ours);
        }
        self.requests[at].result = Some(met);
    }

    fn may_still_bind(&self) -> bool {
        let open = |request: &Request| request.result.is_none() && self.now < request.settled_by;
        self.truth == Truth::Unbound && self.requests.iter().any(open)
    }

    fn check(&self) {
        assert!(self.bound <= 1, "bound is said once");
        let may_be_ours = self.ever_ours || self.doubtful;
        assert!(self.bound == 0 || may_be_ours, "bound is true: {}", self.key());
        match self.ending {
            Some(Ending::Refused) => {
                assert_ne!(
                    self.truth,
                    Truth::Ours,
                    "a refused pod is not bound by us: {}",
                    self.key()
                );
                assert!(!self.may_still_bind(), "nor will it be: {}", self.key());
            }
            Some(Ending::Confirmed) => assert!(self.truth == Truth::Gone || self.bound == 1 || self.claim.is_moved()),
            Some(Ending::Gone) => {
                assert!(matches!(self.truth, Truth::Going | Truth::Gone) || self.seen == Truth::Gone);
            }
            Some(Ending::Elsewhere) => assert!(matches!(self.seen, Truth::Other | Truth::Alike)),
            None => self.check_alive(),
        }
    }

    /// It counts where the pod is, and something will move it on.
    fn check_alive(&self) {
        let is_here = matches!(self.truth, Truth::Ours | Truth::Alike);
        if is_here {
            assert_eq!(self.claim.node(), OURS);
        }
        match self.claim.state() {
            ClaimState::Sent | ClaimState::Seen => assert!(self.requests.iter().any(|request| request.awaited)),
            ClaimState::Checking { .. } => assert!(self.read.is_some()),
            ClaimState::Bound => assert!(is_here || !self.unseen.is_empty()),
            ClaimState::Moved => assert!(self.truth == Truth::Other || !self.unseen.is_empty()),
            ClaimState::Unknown { .. } | ClaimState::Doubtful { .. } => assert!(!self.over),
            ClaimState::Stopped => assert!(self.over),
            ClaimState::Waiting | ClaimState::Ended => panic!("{}", self.key()),
        }
    }

    fn successors(&self) -> Vec<Self> {
        let mut next = Vec::new();
        if self.ending.is_some() || self.asked > MOST_REQUESTS {
            return next;
        }
        let mut branch = |change: &dyn Fn(&mut Self)| {
            let mut world = self.clone();
            change(&mut world);
            next.push(world);
        };
        for at in 0..self.requests.len() {
            self.request_branches(at, &mut branch);
        }
        self.read_branches(&mut branch);
        if let Some(told) = self.unseen.first().copied() {
            branch(&|world| world.watch(told));
        }
        // A relist tells the newest state alone.
        if self.unseen.len() > 1 {
            branch(&|world| {
                world.unseen = vec![world.truth];
                world.watch(world.truth);
            });
        }
        if self.truth == Truth::Unbound {
            branch(&|world| world.set_truth(Truth::Other));
            branch(&|world| world.set_truth(Truth::Alike));
            branch(&|world| world.set_truth(Truth::Going));
        }
        if self.truth != Truth::Gone {
            branch(&|world| world.set_truth(Truth::Gone));
        }
        if self.now < LAST_SECOND {
            branch(&|world| {
                world.now += 1;
                world.tell(Input::Due);
            });
        }
        if !self.over {
            branch(&|world| {
                world.over = true;
                world.tell(Input::TermOver);
            });
        }
        next
    }

    fn request_branches(&self, at: usize, branch: &mut Branch<'_>) {
        let request = self.requests[at];
        if request.result.is_none() && self.now < request.settled_by {
            branch(&|world| world.serve(at));
        }
        if !request.awaited {
            return;
        }
        let settle = |world: &mut Self, input: ClaimInput| {
            world.requests[at].awaited = false;
            world.doubtful |= super::super::leaves_open(&input);
            world.tell(answer(input));
        };
        branch(&|world| settle(world, unknown(request.settled_by)));
        if request.delegated {
            branch(&|world| settle(world, extender_failed(request.settled_by)));
            // It says that it has done with the call, which may be a lie about what it did and not about what it will do.
            branch(&|world| {
                world.requests[at].result.get_or_insert(Truth::Gone);
                settle(world, extender_failed(world.now));
            });
            if request.result == Some(Truth::Unbound) {
                branch(&|world| settle(world, ClaimInput::Bound));
            }
            return;
        }
        match request.result {
            Some(Truth::Unbound) => branch(&|world| settle(world, ClaimInput::Bound)),
            Some(Truth::Gone) => {
                branch(&|world| settle(world, ClaimInput::NotFound { message: String::new() }));
            }
            Some(_) => branch(&|world| settle(world, conflict())),
            None => {
                let unapplied = [
                    refused(""),
                    ClaimInput::Throttled {
                        retry_after: Duration::from_secs(1),
                    },
                    conflict(),
                    ClaimInput::NotSent { message: String::new() },
                ];
                for input in unapplied {
                    branch(&|world| {
                        world.requests[at].result = Some(Truth::Gone);
                        settle(world, input.clone());
                    });
                }
            }
        }
    }

    fn read_branches(&self, branch: &mut Branch<'_>) {
        match self.read {
            Some(Read::Asked) => {
                branch(&|world| world.read = Some(Read::Taken(world.truth)));
                branch(&|world| world.finish_read(ReadResult::Failed));
            }
            Some(Read::Taken(truth)) => {
                let result = match truth {
                    Truth::Unbound => ReadResult::Unassigned,
                    Truth::Ours | Truth::Alike => ReadResult::Assigned { node: OURS.into() },
                    Truth::Other => ReadResult::Assigned { node: OTHER.into() },
                    Truth::Going => ReadResult::Deleting,
                    Truth::Gone => ReadResult::Gone,
                };
                branch(&|world| world.finish_read(result.clone()));
            }
            None => {}
        }
    }

    fn finish_read(&mut self, result: ReadResult) {
        self.read = None;
        self.tell(answer(ClaimInput::Read(result)));
    }

    fn watch(&mut self, told: Truth) {
        self.unseen.remove(0);
        self.seen = told;
        self.tell(Input::Sight(match told {
            Truth::Unbound => Sight::Unassigned { terminating: false },
            Truth::Going => Sight::Unassigned { terminating: true },
            Truth::Ours | Truth::Alike => Sight::Assigned(OURS),
            Truth::Other => Sight::Assigned(OTHER),
            Truth::Gone => Sight::Deleted,
        }));
    }
}

/// Meets every world that there is; how many, and the endings.
fn explore(carrier: Carrier) -> (usize, HashSet<String>) {
    let mut seen = HashSet::new();
    let mut open = vec![World::new(carrier)];
    let mut endings = HashSet::new();
    while let Some(world) = open.pop() {
        if !seen.insert(world.key()) {
            continue;
        }
        endings.extend(world.ending.map(|ending| format!("{ending:?}")));
        open.extend(world.successors());
    }
    (seen.len(), endings)
}

#[test]
fn against_every_behaviour_of_the_server_no_claim_is_given_up_that_is_or_will_be_bound() {
    let (worlds, endings) = explore(Carrier::Api);
    assert_eq!(endings.len(), 4, "every ending is reached");
    assert!(worlds > 10_000, "the search is not empty: {worlds}");
}

#[test]
fn against_every_behaviour_of_an_extender_no_claim_is_given_up_that_is_or_will_be_bound() {
    for fallback in [false, true] {
        let (worlds, endings) = explore(Carrier::Extender { fallback });
        assert_eq!(endings.len(), 4, "every ending is reached");
        assert!(worlds > 1_000, "the search is not empty: {worlds}");
    }
}
