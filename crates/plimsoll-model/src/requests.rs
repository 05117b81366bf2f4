use std::borrow::Cow;

use compact_str::CompactString;
use smallvec::SmallVec;

use crate::{Container, Pod, Quantity, ResourceList, is_scalar_resource};

/// What a container that names no cpu counts for in non-zero requests, in thousandths of a core.
pub const DEFAULT_MILLI_CPU_REQUEST: i64 = 100;
/// What a container that names no memory counts for in non-zero requests, in bytes.
pub const DEFAULT_MEMORY_REQUEST: i64 = 200 * 1024 * 1024;

const CPU: &str = "cpu";
const MEMORY: &str = "memory";
const EPHEMERAL_STORAGE: &str = "ephemeral-storage";

/// Amounts of extended and other scalar resources, sorted by name. A name may be there with amount 0.
pub type ScalarAmounts = SmallVec<[(CompactString, i64); 2]>;

/// Amounts of the resources that the scheduler accounts for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Amounts {
    /// Thousandths of a core.
    pub milli_cpu: i64,
    /// Bytes.
    pub memory: i64,
    /// Bytes.
    pub ephemeral_storage: i64,
    /// Whole units by name.
    pub scalars: ScalarAmounts,
}

impl Amounts {
    /// The amounts of the resources in a list that are accounted for; cpu in thousandths, others in whole units, each
    /// rounded up.
    pub fn of(list: &ResourceList) -> Self {
        let mut amounts = Self::default();
        for (name, quantity) in list.iter() {
            match name {
                CPU => amounts.milli_cpu = quantity.milli_value(),
                MEMORY => amounts.memory = quantity.value(),
                EPHEMERAL_STORAGE => amounts.ephemeral_storage = quantity.value(),
                // A resource list is sorted, so these stay sorted.
                _ if is_scalar_resource(name) => amounts.scalars.push((name.into(), quantity.value())),
                _ => {}
            }
        }
        amounts
    }

    /// The amount of a scalar resource; 0 when it is not named.
    pub fn scalar(&self, name: &str) -> i64 {
        self.scalars
            .iter()
            .find(|(own, _)| own == name)
            .map_or(0, |(_, amount)| *amount)
    }

    /// Adds each amount of `other`; at the ends of `i64` it stays there.
    pub fn add(&mut self, other: &Self) {
        self.milli_cpu = self.milli_cpu.saturating_add(other.milli_cpu);
        self.memory = self.memory.saturating_add(other.memory);
        self.ephemeral_storage = self.ephemeral_storage.saturating_add(other.ephemeral_storage);
        for (name, amount) in &other.scalars {
            match self.scalars.binary_search_by(|(own, _)| own.cmp(name)) {
                Ok(at) => self.scalars[at].1 = self.scalars[at].1.saturating_add(*amount),
                Err(at) => self.scalars.insert(at, (name.clone(), *amount)),
            }
        }
    }
}

/// Which of a pod's figures are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RequestOptions {
    /// Use what the kubelet has allocated and put into effect where that is more than what the spec asks for.
    pub status_aware: bool,
    /// Let pod-level requests replace the sum over containers.
    pub pod_level: bool,
    /// Count [`DEFAULT_MILLI_CPU_REQUEST`] and [`DEFAULT_MEMORY_REQUEST`] for containers that don't name them.
    pub non_zero: bool,
}

impl RequestOptions {
    /// What a pod on a node occupies.
    pub const ON_NODE: Self = Self {
        status_aware: true,
        pod_level: true,
        non_zero: false,
    };
    /// What a pod asks for before it has a node.
    pub const INCOMING: Self = Self {
        status_aware: false,
        pod_level: true,
        non_zero: false,
    };
}

/// Everything a pod requests: containers, init containers, sidecars, pod-level requests and overhead, as
/// kube-scheduler 1.36 adds them up.
pub fn pod_requests(pod: &Pod, options: RequestOptions) -> Amounts {
    let requests = total(pod, options, &ResourceList::new());
    if !options.non_zero {
        return Amounts::of(&requests);
    }
    let defaults = defaults(pod, options, &requests);
    if defaults.is_empty() {
        Amounts::of(&requests)
    } else {
        Amounts::of(&total(pod, options, &defaults))
    }
}

/// Plain requests, and cpu and memory with defaults, in one go.
pub(crate) fn requests_and_non_zero(pod: &Pod, options: RequestOptions) -> (Amounts, i64, i64) {
    let requests = total(pod, options, &ResourceList::new());
    let amounts = Amounts::of(&requests);
    let defaults = defaults(pod, options, &requests);
    if defaults.is_empty() || every_container_names(pod, &defaults) {
        return (amounts.clone(), amounts.milli_cpu, amounts.memory);
    }
    let non_zero = Amounts::of(&total(pod, options, &defaults));
    (amounts, non_zero.milli_cpu, non_zero.memory)
}

/// With pod-level requests only what is missing from the total is filled in.
fn defaults(pod: &Pod, options: RequestOptions, requests: &ResourceList) -> ResourceList {
    let whole_pod = options.pod_level && has_pod_level_requests(pod);
    let all = [
        (CPU, Quantity::from_milli(DEFAULT_MILLI_CPU_REQUEST)),
        (MEMORY, Quantity::from_value(DEFAULT_MEMORY_REQUEST)),
    ];
    all.into_iter()
        .filter(|(name, _)| !whole_pod || requests.get(name).is_none())
        .collect()
}

/// Then filling in changes nothing, whatever the status says.
fn every_container_names(pod: &Pod, defaults: &ResourceList) -> bool {
    let no_status = pod.status.container_statuses.is_empty();
    no_status
        && pod
            .spec
            .containers
            .iter()
            .chain(&pod.spec.init_containers)
            .all(|container| defaults.iter().all(|(name, _)| container.requests.get(name).is_some()))
}

pub(crate) fn total(pod: &Pod, options: RequestOptions, defaults: &ResourceList) -> ResourceList {
    let mut requests = containers_total(pod, options, defaults);
    if options.pod_level && has_pod_level_requests(pod) {
        replace_by_pod_level(pod, options, &mut requests);
    }
    requests.add(&pod.spec.overhead);
    requests
}

/// What runs at once: all regular containers and sidecars, or one init container with the sidecars before it.
fn containers_total(pod: &Pod, options: RequestOptions, defaults: &ResourceList) -> ResourceList {
    let mut running = ResourceList::new();
    for container in &pod.spec.containers {
        running.add(&container_requests(pod, container, options.status_aware, defaults));
    }
    let mut sidecars = ResourceList::new();
    let mut starting = ResourceList::new();
    for container in &pod.spec.init_containers {
        let sidecar = container.restart_policy_always;
        let requests = container_requests(pod, container, options.status_aware && sidecar, defaults);
        if sidecar {
            running.add(&requests);
            // Sidecars alone never need more than all that runs in the end.
            sidecars.add(&requests);
        } else {
            let mut alone = requests.into_owned();
            alone.add(&sidecars);
            starting.raise_to(&alone);
        }
    }
    running.raise_to(&starting);
    running
}

/// Borrowed in the usual case: no resize, and nothing to fill in.
fn container_requests<'a>(
    pod: &Pod,
    container: &'a Container,
    status_aware: bool,
    defaults: &ResourceList,
) -> Cow<'a, ResourceList> {
    let infeasible = pod.status.resize_is_infeasible();
    let status = pod
        .status
        .container_statuses
        .iter()
        .rev()
        .find(|status| status.name == container.name);
    let mut requests = match status {
        Some(status) if status_aware => Cow::Owned(effective(
            infeasible,
            &container.requests,
            &status.requests,
            &status.allocated,
        )),
        _ => Cow::Borrowed(&container.requests),
    };
    for (name, quantity) in defaults.iter() {
        if requests.get(name).is_none() {
            requests.to_mut().set(name, quantity.clone());
        }
    }
    requests
}

fn replace_by_pod_level(pod: &Pod, options: RequestOptions, requests: &mut ResourceList) {
    let wanted = &pod.spec.pod_level_requests;
    let effective = match &pod.status.pod_level {
        Some(status) if options.status_aware => Some(effective(
            pod.status.resize_is_infeasible(),
            wanted,
            &status.requests,
            &status.allocated,
        )),
        _ => None,
    };
    for (name, quantity) in wanted.iter().filter(|(name, _)| is_pod_level_resource(name)) {
        let quantity = match &effective {
            Some(effective) => effective.get(name).cloned().unwrap_or_default(),
            None => quantity.clone(),
        };
        requests.set(name, quantity);
    }
}

/// During an in-place resize the largest of wanted, in effect and allocated counts; a resize that can never be granted
/// does not count.
pub(crate) fn effective(
    infeasible: bool,
    wanted: &ResourceList,
    in_effect: &ResourceList,
    allocated: &ResourceList,
) -> ResourceList {
    let mut requests = if infeasible {
        ResourceList::new()
    } else {
        wanted.clone()
    };
    requests.raise_to(in_effect);
    requests.raise_to(allocated);
    requests
}

fn has_pod_level_requests(pod: &Pod) -> bool {
    pod.spec
        .pod_level_requests
        .iter()
        .any(|(name, _)| is_pod_level_resource(name))
}

pub(crate) fn is_pod_level_resource(name: &str) -> bool {
    name == CPU || name == MEMORY || name.starts_with("hugepages-")
}

#[cfg(test)]
mod tests;
