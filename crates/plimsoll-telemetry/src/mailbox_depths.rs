use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

type Depth = Box<dyn Fn() -> i64 + Send + Sync>;

/// Asks each mailbox for its depth when somebody scrapes.
#[derive(Default)]
pub(crate) struct MailboxDepths {
    depths: Mutex<BTreeMap<&'static str, Depth>>,
}

impl MailboxDepths {
    pub(crate) fn watch(&self, name: &'static str, depth: Depth) {
        self.depths
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name, depth);
    }
}

impl fmt::Debug for MailboxDepths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailboxDepths").finish_non_exhaustive()
    }
}

impl Collector for MailboxDepths {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let depths = self.depths.lock().unwrap_or_else(PoisonError::into_inner);
        let help = "Messages waiting in an actor's mailbox..";
        let mut family = encoder.encode_descriptor("plimsoll_mailbox_depth", help, None, MetricType::Gauge)?;
        for (name, depth) in depths.iter() {
            let labels = [("actor", *name)];
            ConstGauge::new(depth()).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
