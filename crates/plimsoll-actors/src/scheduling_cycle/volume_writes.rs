use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_client::{NotSent, VolumeReply};
use plimsoll_engine::ClaimId;
use plimsoll_model::storage::{VolumeWrite, VolumeWritten};
use plimsoll_model::{Moment, ObjectName, Pod, Uid};
use plimsoll_telemetry::logs::V2;

use crate::binding_workers::{WriteJob, written_object};
use crate::trace_context::TraceContext;

/// As often as client-go a write is tried that the API server has put off.
const TRIES: u32 = 10;
/// Between two tries to reach an API server that takes no connection.
const RECONNECT: Duration = Duration::from_secs(1);
/// As long as a pod waits for its volumes unless its profile says otherwise: the node's room is kept for it meanwhile, so that
/// a write which would have to wait longer is given up.
const PATIENCE: Duration = Duration::from_mins(10);

/// Writes to volumes and claims that have no answer yet, at most one for each claim. Those that certainly did nothing, since
/// the API server was busy or not to be reached, are wanted again later, by the objects as they are then, and meanwhile keep no
/// worker busy.
#[derive(Debug, Default)]
pub(super) struct VolumeWrites {
    writes: BTreeMap<ClaimId, Write>,
}

#[derive(Debug)]
struct Write {
    uid: Uid,
    pod: ObjectName,
    trace: TraceContext,
    what: VolumeWrite,
    tries: u32,
    /// When it was first wanted.
    since: Moment,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has been sent, or will be by a worker.
    UnderWay,
    /// It has been put off until then.
    PutOff(Moment),
    /// Whoever wanted it has been told to say anew what is to be written.
    Due,
}

impl Write {
    fn job(&self, claim: ClaimId) -> WriteJob {
        WriteJob::Volume {
            claim,
            uid: self.uid.clone(),
            write: Box::new(self.what.clone()),
            trace: self.trace,
        }
    }

    fn put_off_until(&self) -> Option<Moment> {
        match self.state {
            State::PutOff(until) => Some(until),
            State::UnderWay | State::Due => None,
        }
    }

    /// A line of the log, in kube-scheduler's words.
    fn tell(&self, reply: &VolumeReply) {
        if let (VolumeReply::Done(_), VolumeWrite::BindVolume { volume, claim, .. }) = (reply, &self.what) {
            tracing::info!(
                name: V2, pod = %self.pod, PV = volume.as_str(), PVC = %claim, trace_id = %self.trace,
                "Updated PersistentVolume with claim. Waiting for binding to complete"
            );
        }
    }
}

impl VolumeWrites {
    /// The claim's next write, or the last one again.
    pub(super) fn submit(&mut self, claim: ClaimId, pod: &Pod, write: VolumeWrite, now: Moment) -> WriteJob {
        let again = self.writes.get(&claim).filter(|last| last.state == State::Due);
        let write = Write {
            uid: pod.uid.clone(),
            pod: pod.name.clone(),
            trace: TraceContext::of(pod),
            what: write,
            tries: again.map_or(0, |last| last.tries) + 1,
            since: again.map_or(now, |last| last.since),
            state: State::UnderWay,
        };
        let job = write.job(claim);
        self.writes.insert(claim, write);
        job
    }

    /// What the claim's write under way writes to.
    pub(super) fn object_of(&self, claim: ClaimId) -> Option<String> {
        self.writes.get(&claim).map(|write| written_object(&write.what))
    }

    /// Whether the claim's write has been put off, so that no answer is to come.
    pub(super) fn is_put_off(&self, claim: ClaimId) -> bool {
        let write = self.writes.get(&claim);
        write.is_some_and(|write| write.state != State::UnderWay)
    }

    /// What the answer means to the claim; nothing yet when the write is put off.
    pub(super) fn answered(&mut self, claim: ClaimId, reply: VolumeReply, now: Moment) -> Option<VolumeWritten> {
        let write = self
            .writes
            .get_mut(&claim)
            .filter(|write| write.state == State::UnderWay)?;
        let (wait, message) = match reply {
            VolumeReply::Throttled { retry_after, message } => (retry_after, message),
            VolumeReply::NotSent(NotSent::NoConnection(error)) => (RECONNECT, error),
            decided => {
                write.tell(&decided);
                self.writes.remove(&claim);
                return Some(written(decided));
            }
        };
        let again_at = now + wait;
        if write.tries < TRIES && again_at.since(write.since) <= PATIENCE {
            write.state = State::PutOff(again_at);
            return None;
        }
        self.writes.remove(&claim);
        Some(VolumeWritten::Refused(message))
    }

    /// Nobody waits for an answer about the claim any more.
    pub(super) fn forget(&mut self, claim: ClaimId) {
        self.writes.remove(&claim);
    }

    /// Claims whose writes may be made now that were put off; those of claims that are over are forgotten.
    pub(super) fn due(&mut self, now: Moment, is_open: impl Fn(ClaimId) -> bool) -> Vec<ClaimId> {
        self.writes
            .retain(|claim, write| write.state == State::UnderWay || is_open(*claim));
        let put_off = self.writes.iter_mut();
        let due = put_off.filter(|(_, write)| write.put_off_until().is_some_and(|at| at <= now));
        due.map(|(claim, write)| {
            write.state = State::Due;
            *claim
        })
        .collect()
    }

    /// When a write may be made that was put off.
    pub(super) fn next_deadline(&self) -> Option<Moment> {
        self.writes.values().filter_map(Write::put_off_until).min()
    }
}

/// What an answer means that is not about whether the write could be made at all.
fn written(reply: VolumeReply) -> VolumeWritten {
    match reply {
        VolumeReply::Done(version) => VolumeWritten::Done(version),
        VolumeReply::Refused { message } | VolumeReply::Throttled { message, .. } => VolumeWritten::Refused(message),
        VolumeReply::Unknown { error } => VolumeWritten::Unknown(error),
        VolumeReply::NotSent(NotSent::TermOver | NotSent::Withdrawn) => VolumeWritten::TermOver,
        VolumeReply::NotSent(NotSent::NoConnection(error)) => VolumeWritten::Refused(error),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::ResourceVersion;

    use super::*;

    const CLAIM: ClaimId = ClaimId::new(1);

    fn writes() -> VolumeWrites {
        let mut writes = VolumeWrites::default();
        submit(&mut writes, 0);
        writes
    }

    fn submit(writes: &mut VolumeWrites, now: u64) {
        let write = VolumeWrite::SelectNode {
            claim: ObjectName::new("default", "claim"),
            uid: Uid::from("uid"),
            version: ResourceVersion::new(1),
            node: "n1".into(),
        };
        writes.submit(CLAIM, &plimsoll_model::testing::pod("pod").build(), write, at(now));
    }

    fn at(seconds: u64) -> Moment {
        Moment::ZERO + Duration::from_secs(seconds)
    }

    fn throttled() -> VolumeReply {
        VolumeReply::Throttled {
            retry_after: Duration::from_secs(3),
            message: "slow".to_owned(),
        }
    }

    fn unreachable() -> VolumeReply {
        VolumeReply::NotSent(NotSent::NoConnection("refused".to_owned()))
    }

    #[test]
    fn what_is_decided_is_told_once() {
        let text = || "text".to_owned();
        let cases = [
            (
                VolumeReply::Done(ResourceVersion::new(5)),
                VolumeWritten::Done(ResourceVersion::new(5)),
            ),
            (VolumeReply::Refused { message: text() }, VolumeWritten::Refused(text())),
            (VolumeReply::Unknown { error: text() }, VolumeWritten::Unknown(text())),
            (VolumeReply::NotSent(NotSent::TermOver), VolumeWritten::TermOver),
        ];
        for (reply, written) in cases {
            let mut writes = writes();
            assert_eq!(writes.answered(CLAIM, reply.clone(), at(1)), Some(written));
            assert_eq!(writes.answered(CLAIM, reply, at(1)), None);
            assert_eq!(writes.next_deadline(), None);
        }
    }

    #[test]
    fn what_certainly_did_nothing_is_made_again_when_asked_to_and_not_for_ever() {
        for (reply, wait, message) in [(throttled(), 3, "slow"), (unreachable(), 1, "refused")] {
            let mut writes = writes();
            let mut now = 0;
            for _ in 1..TRIES {
                assert_eq!(writes.answered(CLAIM, reply.clone(), at(now)), None);
                now += wait;
                assert_eq!(writes.next_deadline(), Some(at(now)));
                assert_eq!(writes.due(at(now - 1), |_| true), []);
                assert!(writes.is_put_off(CLAIM));
                assert_eq!(writes.due(at(now), |_| true), [CLAIM]);
                assert_eq!(writes.next_deadline(), None);
                assert_eq!(writes.due(at(now), |_| true), []);
                submit(&mut writes, now);
                assert!(!writes.is_put_off(CLAIM));
            }
            let last = writes.answered(CLAIM, reply, at(now));
            assert_eq!(last, Some(VolumeWritten::Refused(message.to_owned())));
        }
    }

    #[test]
    fn a_write_whose_claim_is_over_is_not_made_again() {
        let mut writes = writes();
        writes.answered(CLAIM, throttled(), at(0));
        assert_eq!(writes.due(at(3), |_| false), []);
        assert_eq!(writes.next_deadline(), None);
        submit(&mut writes, 3);
        assert_eq!(writes.writes[&CLAIM].tries, 1);
    }

    #[test]
    fn a_write_that_would_be_put_off_for_longer_than_pods_wait_is_given_up() {
        let put_off = |seconds| VolumeReply::Throttled {
            retry_after: Duration::from_secs(seconds),
            message: "slow".to_owned(),
        };
        let mut writes = writes();
        assert_eq!(writes.answered(CLAIM, put_off(590), at(5)), None);
        writes.due(at(595), |_| true);
        submit(&mut writes, 595);
        let refused = Some(VolumeWritten::Refused("slow".to_owned()));
        assert_eq!(writes.answered(CLAIM, put_off(6), at(595)), refused);
    }
}
