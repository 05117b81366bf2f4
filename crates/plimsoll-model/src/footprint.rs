use std::sync::Arc;

use smallvec::SmallVec;

use crate::requests::requests_and_non_zero;
use crate::{Amounts, HostPort, Pod, PodClass, PodVolumes, RequestOptions};

/// What a pod adds to the node it is on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Footprint {
    /// Requests, status-aware and with pod-level requests.
    pub requests: Amounts,
    /// Thousandths of a core, with defaults for containers that name none.
    pub non_zero_cpu: i64,
    /// Bytes, with defaults for containers that name none.
    pub non_zero_memory: i64,
    /// Host ports of containers and sidecars.
    pub host_ports: SmallVec<[HostPort; 1]>,
    /// Its priority: who may have it evicted.
    pub priority: i32,
    /// How other pods see it.
    pub class: PodClass,
    /// Its volumes; none when they matter to no other pod, as it is with most.
    pub volumes: Option<Arc<PodVolumes>>,
}

impl Footprint {
    /// The footprint of a pod. To take a pod off again, use the value with which it was put on.
    pub fn of(pod: &Pod) -> Self {
        let (requests, non_zero_cpu, non_zero_memory) = requests_and_non_zero(pod, RequestOptions::ON_NODE);
        Self {
            requests,
            non_zero_cpu,
            non_zero_memory,
            host_ports: pod.host_ports().cloned().collect(),
            priority: pod.priority(),
            class: PodClass::of(pod),
            volumes: PodVolumes::of(pod).map(Arc::new),
        }
    }
}
