//! Asks the API server what the candidacy wants asked, and takes the answers.

use plimsoll_client::{CandidateReply, LeaseCandidateClient};
use plimsoll_model::Moment;
use tokio_util::sync::CancellationToken;

use super::candidacy::{Candidacy, CandidateRequest};
use super::{ElectorMessage, ElectorState, Phase};

/// This replica with its coordinator.
pub(super) struct Coordination {
    client: LeaseCandidateClient,
    candidacy: Candidacy,
    /// The last request; answers to earlier ones are of no use any more.
    asked: Option<CandidateRequest>,
    attempt: u64,
    /// Ends the last request, if it is a watch.
    watching: CancellationToken,
}

impl Coordination {
    pub(super) fn new(client: LeaseCandidateClient, candidacy: Candidacy) -> Self {
        Self {
            client,
            candidacy,
            asked: None,
            attempt: 0,
            watching: CancellationToken::new(),
        }
    }

    /// A try is made to lead.
    pub(super) fn stand(&mut self) {
        self.candidacy.stand();
    }

    /// Leadership is over, or will not be tried for.
    pub(super) fn withdraw(&mut self) {
        self.candidacy.withdraw();
    }

    /// Whether the API server has told us of our candidate.
    pub(super) fn is_known(&self) -> bool {
        self.candidacy.is_known()
    }

    /// When to look again.
    pub(super) fn due(&self) -> Option<Moment> {
        self.candidacy.due()
    }
}

impl ElectorState {
    /// Whether no candidate of ours stands in the way of the next leader.
    pub(super) fn candidate_is_gone(&self) -> bool {
        self.coordination
            .as_ref()
            .is_none_or(|coordination| coordination.candidacy.is_gone())
    }

    /// Asks what is to be asked about the candidate now.
    pub(super) fn keep_candidate(&mut self, now: Moment) {
        let Some(coordination) = &mut self.coordination else {
            return;
        };
        let Some(request) = coordination.candidacy.next(now) else {
            return;
        };
        coordination.watching.cancel();
        coordination.watching = self.cancelled.child_token();
        coordination.attempt += 1;
        coordination.asked = Some(request.clone());
        let attempt = coordination.attempt;
        let watching = coordination.watching.clone();
        let client = coordination.client.clone();
        let mailbox = self.mailbox.clone();
        let wall = self.clock.wall();
        self.tasks.spawn(async move {
            let asking = async {
                match request {
                    CandidateRequest::Get => client.get().await,
                    CandidateRequest::Create => client.create(wall).await,
                    CandidateRequest::Renew(stored) => client.renew(&stored, wall).await,
                    CandidateRequest::Watch(stored) => client.changed(&stored).await,
                    CandidateRequest::Delete => client.delete().await,
                }
            };
            if let Some(reply) = watching.run_until_cancelled(asking).await {
                mailbox.tell(ElectorMessage::CandidateAnswered { attempt, reply });
            }
        });
    }

    pub(super) fn take_candidate_answer(&mut self, attempt: u64, reply: CandidateReply, now: Moment) {
        let Some(coordination) = &mut self.coordination else {
            return;
        };
        if attempt != coordination.attempt {
            return;
        }
        if let Some(asked) = coordination.asked.take() {
            coordination.candidacy.answer(&asked, reply, now);
        }
        if self.phase == Phase::Releasing && !self.asking && self.candidate_is_gone() {
            self.release_when_decided(now);
        }
    }
}
