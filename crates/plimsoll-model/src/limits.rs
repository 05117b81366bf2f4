use crate::requests::is_pod_level_resource;
use crate::{Pod, PodSpec, RequestOptions, ResourceList, requests};

/// What a container may use at most.
pub(crate) struct ContainerLimits {
    pub(crate) limits: ResourceList,
    /// Of an init container: it goes on running.
    pub(crate) sidecar: bool,
}

/// What a pod may use at most, by the rules by which requests are added up; overhead is added where there is a limit. None
/// when nothing of it is limited.
pub(crate) fn pod_limits(
    containers: &[ContainerLimits],
    init_containers: &[ContainerLimits],
    pod_level: &ResourceList,
    overhead: &ResourceList,
) -> Option<Box<ResourceList>> {
    let mut running = ResourceList::new();
    for container in containers {
        running.add(&container.limits);
    }
    let (mut sidecars, mut starting) = (ResourceList::new(), ResourceList::new());
    for container in init_containers {
        if container.sidecar {
            running.add(&container.limits);
            sidecars.add(&container.limits);
        } else {
            let mut alone = container.limits.clone();
            alone.add(&sidecars);
            starting.raise_to(&alone);
        }
    }
    running.raise_to(&starting);
    for (name, quantity) in pod_level.iter().filter(|(name, _)| is_pod_level_resource(name)) {
        running.set(name, quantity.clone());
    }
    let limited = |name: &str| running.get(name).is_some_and(|limit| !limit.is_zero());
    let counts = overhead.iter().filter(|(name, _)| limited(name));
    let overhead: ResourceList = counts.map(|(name, quantity)| (name, quantity.clone())).collect();
    running.add(&overhead);
    (!running.is_empty()).then(|| Box::new(running))
}

/// What a pod asks for, by its spec alone and to the last digit, as `/metrics/resources` tells it.
pub fn requested_resources(pod: &Pod) -> ResourceList {
    requests::total(pod, RequestOptions::INCOMING, &ResourceList::new())
}

impl PodSpec {
    /// What the pod may use at most.
    pub fn limited_resources(&self) -> impl Iterator<Item = (&str, &crate::Quantity)> {
        self.limits.iter().flat_map(|limits| limits.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quantity;

    fn list(amounts: &[(&str, &str)]) -> ResourceList {
        let parsed = amounts
            .iter()
            .map(|(name, text)| (*name, Quantity::parse(text).unwrap()));
        parsed.collect()
    }

    fn container(sidecar: bool, amounts: &[(&str, &str)]) -> ContainerLimits {
        ContainerLimits {
            limits: list(amounts),
            sidecar,
        }
    }

    #[test]
    fn limits_add_up_as_requests_do_and_overhead_counts_where_there_is_one() {
        let containers = [
            container(false, &[("cpu", "1"), ("memory", "1Gi")]),
            container(false, &[("cpu", "500m")]),
        ];
        let init = [
            container(true, &[("cpu", "250m")]),
            container(false, &[("cpu", "3"), ("example.com/x", "2")]),
        ];
        let overhead = list(&[("cpu", "100m"), ("ephemeral-storage", "1")]);
        let limits = pod_limits(&containers, &init, &ResourceList::new(), &overhead).unwrap();
        assert_eq!(
            *limits,
            list(&[("cpu", "3350m"), ("memory", "1Gi"), ("example.com/x", "2")])
        );
        let pod_level = list(&[("cpu", "2"), ("example.com/x", "9")]);
        let limits = pod_limits(&containers, &[], &pod_level, &overhead).unwrap();
        assert_eq!(*limits, list(&[("cpu", "2100m"), ("memory", "1Gi")]));
        assert_eq!(
            pod_limits(&[container(false, &[])], &[], &ResourceList::new(), &overhead),
            None
        );
    }
}
