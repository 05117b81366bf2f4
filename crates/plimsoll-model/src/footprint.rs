use std::fmt;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use crate::requests::requests_and_non_zero;
use crate::{Amounts, HostPort, KnownClass, Pod, PodClass, PodVolumes, RequestOptions};

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
    pub class: KnownClass,
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
            class: PodClass::of(pod).into(),
            volumes: PodVolumes::of(pod).map(Arc::new),
        }
    }
}

/// The footprint of the pod that it is a part of, worked out when somebody first asks for it. It follows from the rest of the
/// pod, so it takes no part in equality, and a clone of the pod, in which something else may be changed, has none yet.
#[derive(Default)]
pub struct LazyFootprint(OnceLock<Arc<Footprint>>);

impl From<Arc<Footprint>> for LazyFootprint {
    fn from(known: Arc<Footprint>) -> Self {
        Self(OnceLock::from(known))
    }
}

impl Clone for LazyFootprint {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for LazyFootprint {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for LazyFootprint {}

impl fmt::Debug for LazyFootprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "known" } else { "unknown" })
    }
}

impl Pod {
    /// What it adds to the node it is on: [`Footprint::of`], worked out once.
    pub fn footprint(&self) -> &Arc<Footprint> {
        self.footprint.0.get_or_init(|| Arc::new(Footprint::of(self)))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::pod;

    #[test]
    fn a_changed_clone_of_a_pod_has_a_footprint_of_its_own() {
        let first = pod("p").cpu("1").build();
        assert_eq!(first.footprint().requests.milli_cpu, 1000);
        let mut second = first.clone();
        second.spec = pod("p").cpu("2").build().spec;
        assert_eq!(second.footprint().requests.milli_cpu, 2000);
        assert_eq!(first.footprint().requests.milli_cpu, 1000);
        assert_eq!(first, first.clone());
    }
}
