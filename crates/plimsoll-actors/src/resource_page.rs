use std::sync::Arc;

use plimsoll_model::{Pod, PodPhase, requested_resources};
use plimsoll_telemetry::{PodResource, ResourcePage};

/// What all pods ask for and may use at most, as `/metrics/resources` shows it. Pods that came to their end on a node use
/// nothing any more.
pub(crate) fn resource_page(pods: &[Arc<Pod>]) -> String {
    let mut page = ResourcePage::default();
    for pod in pods.iter().filter(|pod| !is_over(pod)) {
        let requested = requested_resources(pod);
        let resource = |resource, amount| PodResource {
            namespace: &pod.name.namespace,
            pod: &pod.name.name,
            node: pod.node_name().unwrap_or_default(),
            scheduler: &pod.spec.scheduler_name,
            priority: pod.spec.priority,
            resource,
            amount,
        };
        for (name, amount) in requested.iter() {
            page.request(&resource(name, amount.approximate()));
        }
        for (name, amount) in pod.spec.limited_resources() {
            page.limit(&resource(name, amount.approximate()));
        }
    }
    page.finish()
}

fn is_over(pod: &Pod) -> bool {
    pod.node_name().is_some() && matches!(pod.status.phase, PodPhase::Succeeded | PodPhase::Failed)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::testing::pod;

    use super::*;

    #[test]
    fn pods_that_came_to_their_end_on_a_node_are_left_out() {
        let over = |mut pod: Pod| {
            pod.status.phase = PodPhase::Succeeded;
            Arc::new(pod)
        };
        let pods = [
            Arc::new(pod("runs").cpu("250m").on("n1").build()),
            over(pod("over").cpu("1").on("n1").build()),
            over(pod("never-began").cpu("2").build()),
        ];
        let page = resource_page(&pods);
        assert!(
            page.contains(r#"node="n1",pod="runs""#) && page.contains("} 0.25\n"),
            "{page}"
        );
        assert!(
            page.contains("never-began") && !page.contains(r#"pod="over""#),
            "{page}"
        );
    }
}
