use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_client::{NotSent, VolumeReply};
use plimsoll_engine::ClaimId;
use plimsoll_model::storage::{VolumeWrite, VolumeWritten};
use plimsoll_model::{Moment, Pod, Uid};

use crate::binding_workers::{WriteJob, written_object};
use crate::trace_context::TraceContext;

/// As often as client-go a write is tried that the API server has put off.
const TRIES: u32 = 10;
/// Between two tries to reach an API server that takes no connection.
const RECONNECT: Duration = Duration::from_secs(1);

/// Writes to volumes and claims that have no answer yet, at most one for each claim. Those that certainly did nothing, since
/// the API server was busy or not to be reached, are made again later, and meanwhile keep no worker busy.
#[derive(Debug, Default)]
pub(super) struct VolumeWrites {
    writes: BTreeMap<ClaimId, Write>,
}

#[derive(Debug)]
struct Write {
    uid: Uid,
    trace: TraceContext,
    what: VolumeWrite,
    tries: u32,
    /// When it is made again; none while it is under way.
    again_at: Option<Moment>,
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
}

impl VolumeWrites {
    /// The claim's next write.
    pub(super) fn submit(&mut self, claim: ClaimId, pod: &Pod, write: VolumeWrite) -> WriteJob {
        let write = Write {
            uid: pod.uid.clone(),
            trace: TraceContext::of(pod),
            what: write,
            tries: 1,
            again_at: None,
        };
        let job = write.job(claim);
        self.writes.insert(claim, write);
        job
    }

    /// What the claim's write under way writes to.
    pub(super) fn object_of(&self, claim: ClaimId) -> Option<String> {
        self.writes.get(&claim).map(|write| written_object(&write.what))
    }

    /// What the answer means to the claim; nothing yet when the write is made again.
    pub(super) fn answered(&mut self, claim: ClaimId, reply: VolumeReply, now: Moment) -> Option<VolumeWritten> {
        let write = self.writes.get_mut(&claim).filter(|write| write.again_at.is_none())?;
        let (wait, message) = match reply {
            VolumeReply::Throttled { retry_after, message } => (retry_after, message),
            VolumeReply::NotSent(NotSent::NoConnection(error)) => (RECONNECT, error),
            decided => {
                self.writes.remove(&claim);
                return Some(written(decided));
            }
        };
        if write.tries < TRIES {
            write.tries += 1;
            write.again_at = Some(now + wait);
            return None;
        }
        self.writes.remove(&claim);
        Some(VolumeWritten::Refused(message))
    }

    /// Nobody waits for an answer about the claim any more.
    pub(super) fn forget(&mut self, claim: ClaimId) {
        self.writes.remove(&claim);
    }

    /// Writes whose turn has come again; those of claims that want none any more are forgotten.
    pub(super) fn due(&mut self, now: Moment, is_wanted: impl Fn(ClaimId) -> bool) -> Vec<WriteJob> {
        self.writes
            .retain(|claim, write| write.again_at.is_none() || is_wanted(*claim));
        let due = self.writes.iter_mut();
        let due = due.filter(|(_, write)| write.again_at.is_some_and(|at| at <= now));
        due.map(|(claim, write)| {
            write.again_at = None;
            write.job(*claim)
        })
        .collect()
    }

    /// When a write is to be made again.
    pub(super) fn next_deadline(&self) -> Option<Moment> {
        self.writes.values().filter_map(|write| write.again_at).min()
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
    use plimsoll_model::{ObjectName, ResourceVersion};

    use super::*;

    const CLAIM: ClaimId = ClaimId::new(1);

    fn writes() -> VolumeWrites {
        let mut writes = VolumeWrites::default();
        let write = VolumeWrite::SelectNode {
            claim: ObjectName::new("default", "claim"),
            uid: Uid::from("uid"),
            version: ResourceVersion::new(1),
            node: "n1".into(),
        };
        writes.submit(CLAIM, &plimsoll_model::testing::pod("pod").build(), write);
        writes
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
                assert_eq!(writes.due(at(now - 1), |_| true).len(), 0);
                assert_eq!(writes.due(at(now), |_| true).len(), 1);
                assert_eq!(writes.next_deadline(), None);
            }
            let last = writes.answered(CLAIM, reply, at(now));
            assert_eq!(last, Some(VolumeWritten::Refused(message.to_owned())));
        }
    }

    #[test]
    fn a_write_whose_claim_is_over_is_not_made_again() {
        let mut writes = writes();
        writes.answered(CLAIM, throttled(), at(0));
        assert_eq!(writes.due(at(3), |_| false).len(), 0);
        assert_eq!(writes.next_deadline(), None);
    }
}
