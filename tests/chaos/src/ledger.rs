//! Who asked for what, from the audit logs of all API servers.

use std::collections::BTreeMap;

use plimsoll_controlplane::{Asked, Request, User};

/// A write by which a replica took, kept or gave up the lease, as far as the API server says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseWrite {
    /// Which replica, by its audit group.
    pub(crate) group: String,
    /// Whom the lease names from then on; empty when it is released.
    pub(crate) holder: String,
    /// When it was answered, in microseconds since 1970.
    pub(crate) at: i64,
}

/// A Binding that was applied, as the API server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// Which replica, by its audit group.
    pub(crate) group: String,
    /// The pod's UID.
    pub(crate) uid: String,
    /// When it was answered, in microseconds since 1970.
    pub(crate) at: i64,
}

/// For so many rounds an unanswered request may still take effect: longer than an API server works on any.
const UNANSWERED: u64 = 20;

/// Requests by what they are about.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Those about pods, by `namespace/name`, then by their number in the logs.
    by_pod: BTreeMap<String, BTreeMap<String, Kept>>,
    /// Which replica writes which identity into the lease.
    groups: BTreeMap<String, String>,
    /// This round's, in the order of their answers once [`sort`](Self::sort)ed.
    pub(crate) lease_writes: Vec<LeaseWrite>,
    /// This round's, likewise.
    pub(crate) bound: Vec<Bound>,
    round: u64,
}

#[derive(Debug)]
struct Kept {
    request: Request,
    round: u64,
}

impl Ledger {
    /// Begins the next round. A request that was answered before the last one can have no effect that is not judged yet.
    pub(crate) fn begin_round(&mut self) {
        self.round += 1;
        self.lease_writes.clear();
        self.bound.clear();
        let round = self.round;
        for requests in self.by_pod.values_mut() {
            requests.retain(|_, kept| {
                let rounds = if kept.request.answered.is_some() { 1 } else { UNANSWERED };
                kept.round + rounds >= round
            });
        }
        self.by_pod.retain(|_, requests| !requests.is_empty());
    }

    /// Takes what the logs say next.
    pub(crate) fn take(&mut self, news: Vec<Request>) {
        for request in news {
            match &request.asked {
                Asked::Lease(holder) => self.take_lease_write(holder.clone(), &request),
                Asked::Bind(_) | Asked::Pod(_) => self.take_pod_write(request),
            }
        }
        self.lease_writes.sort_by_key(|write| write.at);
        self.bound.sort_by_key(|bound| bound.at);
    }

    fn take_lease_write(&mut self, holder: String, request: &Request) {
        if !is_scheduler(&request.group) {
            return;
        }
        if !holder.is_empty() {
            // Whatever the answer was: nobody writes another's identity.
            self.groups.insert(holder.clone(), request.group.clone());
        }
        if let Some(answered) = request.answered.as_ref().filter(|_| request.is_done()) {
            self.lease_writes.push(LeaseWrite {
                group: request.group.clone(),
                holder,
                at: answered.at,
            });
        }
    }

    fn take_pod_write(&mut self, request: Request) {
        if let (Asked::Bind(_), Some(answered), true) = (&request.asked, &request.answered, request.is_done()) {
            self.bound.push(Bound {
                group: request.group.clone(),
                uid: request.uid.clone(),
                at: answered.at,
            });
        }
        let round = self.round;
        let key = format!("{}/{}", request.namespace, request.name);
        let of_pod = self.by_pod.entry(key).or_default();
        // The answer of a request takes the place of its arrival, never the other way round.
        if request.answered.is_some() || !of_pod.contains_key(&request.id) {
            of_pod.insert(request.id.clone(), Kept { request, round });
        }
    }

    /// The replica that writes this identity into the lease; `None` when the logs do not say yet.
    pub(crate) fn group_of(&self, identity: &str) -> Option<&str> {
        self.groups.get(identity).map(String::as_str)
    }

    /// What was asked about a pod of that name and, where the request says so, that UID.
    pub(crate) fn about<'a>(&'a self, key: &str, uid: &'a str) -> impl Iterator<Item = &'a Request> {
        let requests = self.by_pod.get(key).into_iter().flat_map(BTreeMap::values);
        requests
            .map(|kept| &kept.request)
            .filter(move |request| request.uid.is_empty() || request.uid == uid)
    }

    /// How many requests of this round have no answer.
    pub(crate) fn unanswered(&self) -> usize {
        let kept = self.by_pod.values().flat_map(BTreeMap::values);
        kept.filter(|kept| kept.round == self.round && kept.request.answered.is_none())
            .count()
    }
}

/// Whether that audit group is a scheduler's.
pub(crate) fn is_scheduler(group: &str) -> bool {
    group.starts_with(User::REPLICA_GROUP)
}
