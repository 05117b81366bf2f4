//! Traces on a real control plane, received by Jaeger, and what becomes of pods when nobody receives them.

mod backend;
mod documented;
mod outage;
mod shipped;

use std::sync::Once;

use k8s_openapi::api::core::v1::Pod;
use plimsoll_cluster::fixtures::PodFixture;
use plimsoll_cluster::{Cluster, suite};
use plimsoll_observability::{Availability, Program};

/// Jaeger, or nothing and a banner.
fn jaeger() -> anyhow::Result<Option<Program>> {
    static BANNER: Once = Once::new();
    Ok(match Availability::find()? {
        Availability::Ready(program) => Some(program),
        Availability::Skip(reason) => {
            let line = "*".repeat(100);
            BANNER.call_once(|| suite::say(&format!("\n{line}\n*  TRACES ARE NOT TESTED: {reason}\n{line}\n")));
            None
        }
    })
}

/// Creates the pod and tells its trace: its UID, as 32 digits.
async fn create(cluster: &Cluster<'_>, pod: PodFixture) -> anyhow::Result<String> {
    create_annotated(cluster, pod, None).await
}

/// The same, with a `traceparent`.
async fn create_annotated(
    cluster: &Cluster<'_>,
    pod: PodFixture,
    trace_parent: Option<&str>,
) -> anyhow::Result<String> {
    let mut pod: Pod = pod.build();
    if let Some(parent) = trace_parent {
        let annotations = pod.metadata.annotations.get_or_insert_default();
        annotations.insert("traceparent".to_owned(), parent.to_owned());
    }
    let created = cluster.pods().create(&kube::api::PostParams::default(), &pod).await?;
    Ok(created.metadata.uid.unwrap_or_default().replace('-', ""))
}
