use plimsoll_model::RawPolicy;
use tokio::sync::watch::{Receiver, Sender, channel};

/// Where the owner of a cache says of which objects its watches are to keep the whole JSON. It can only ask for more:
/// whatever was asked for is kept as long as the watches live, so that a list once read so stays whole.
#[derive(Debug)]
pub struct RawDemand(Sender<RawPolicy>);

/// Where watches look what to keep.
#[derive(Debug, Clone)]
pub struct RawPolicies(Receiver<RawPolicy>);

impl RawDemand {
    /// Begins with this.
    pub fn new(policy: RawPolicy) -> Self {
        Self(channel(policy).0)
    }

    /// What is asked for.
    pub fn policy(&self) -> RawPolicy {
        *self.0.borrow()
    }

    /// Asks for this too. Watches of kinds of which more is wanted than before list them anew.
    pub fn ask(&self, more: RawPolicy) {
        self.0.send_if_modified(|policy| {
            let before = std::mem::replace(policy, policy.or(more));
            before != *policy
        });
    }

    /// For the watches.
    pub fn policies(&self) -> RawPolicies {
        RawPolicies(self.0.subscribe())
    }
}

impl RawPolicies {
    /// Nothing, for ever.
    pub fn nothing() -> Self {
        RawDemand::new(RawPolicy::NOTHING).policies()
    }

    pub(super) fn now(&self) -> RawPolicy {
        *self.0.borrow()
    }

    /// Waits until more is wanted than this, as far as `part` of a policy is concerned.
    pub(super) async fn exceed(&mut self, kept: RawPolicy, part: fn(RawPolicy) -> RawPolicy) {
        let nobody_asks = self.0.wait_for(|policy| !kept.covers(part(*policy))).await.is_err();
        if nobody_asks {
            // Nobody is left who could ask for more.
            std::future::pending::<()>().await;
        }
    }
}
