use std::sync::Arc;

use plimsoll_client::{ApiClient, PatchReply, PodRead, PodStatusPatch, RemovalReply, TermToken};
use plimsoll_model::Pod;
use tokio_util::sync::CancellationToken;

/// One request about a victim.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) victim: Arc<Pod>,
    pub(crate) what: What,
    /// Cancelled when nobody wants the victim gone any more: what has not been sent by then is not sent.
    pub(crate) withdrawn: CancellationToken,
}

/// What is asked for.
#[derive(Debug, PartialEq)]
pub(crate) enum What {
    /// PATCH its status: it says why the pod goes.
    Mark(Box<PodStatusPatch>),
    /// DELETE it.
    Delete,
    /// POST its eviction.
    Evict,
    /// GET it.
    Read,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To the patch.
    Marked(PatchReply),
    /// To deletion or eviction.
    Removed(RemovalReply),
    /// To the read.
    Read(PodRead),
}

impl Request {
    /// Stands for an answer that will not come.
    pub(crate) fn lost(what: &What) -> Answer {
        let error = "the request broke off".to_owned();
        match what {
            What::Mark(_) => Answer::Marked(PatchReply::Unknown { code: None, error }),
            What::Delete | What::Evict => Answer::Removed(RemovalReply::Unknown { error }),
            What::Read => Answer::Read(PodRead::Failed { error }),
        }
    }

    pub(crate) async fn perform(&self, client: &ApiClient, token: &Arc<TermToken>) -> Answer {
        let victim = &self.victim;
        match &self.what {
            What::Mark(patch) => {
                let patched = client.patch_wanted_pod_status(token, &self.withdrawn, &victim.name, patch);
                Answer::Marked(patched.await)
            }
            What::Delete => Answer::Removed(client.delete_pod(token, &self.withdrawn, victim).await),
            What::Evict => Answer::Removed(client.evict_pod(token, &self.withdrawn, victim).await),
            What::Read => Answer::Read(client.read_pod(&victim.name).await),
        }
    }
}
