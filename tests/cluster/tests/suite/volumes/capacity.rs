//! Room for volumes: what a driver says of it, and what happens when there is none.

use plimsoll_cluster::fixtures::{claim, pod, storage_class};
use plimsoll_cluster::provisioner::driver;
use plimsoll_cluster::suite;

use super::{ZONE, node_in};

#[test]
fn a_pod_waits_while_no_zone_has_room_for_its_volume_and_goes_where_room_is_made() -> anyhow::Result<()> {
    suite::run(async |cluster| {
        cluster.create_nodes([node_in("a", "a1"), node_in("b", "b1")]).await?;
        cluster.create_csi_driver(true).await?;
        cluster.create_classes([storage_class("made").provisioned()]).await?;
        cluster.start_volume_controllers().await?;
        let room = driver(ZONE).room("a", 10).room("b", 10).tells_room_of("made");
        let _driver = cluster.start_provisioner(room).await?;
        cluster.start_kubelets();
        cluster.start_scheduler()?;
        // One after the other: two at once may both be sent where there is room for one.
        for name in ["first", "second"] {
            cluster.create_claims([claim(name).class("made").size("8Gi")]).await?;
            cluster.create_pods([pod(name).volume_claim(name)]).await?;
            cluster.bound(name).await?;
        }
        cluster
            .create_claims([claim("third").class("made").size("8Gi")])
            .await?;
        cluster.create_pods([pod("third").volume_claim("third")]).await?;
        let why = "0/2 nodes are available: 2 node(s) did not have enough free storage.";
        cluster.pending_because("third", why).await?;
        let freed = cluster.bound("first").await?;
        cluster.delete_pod("first").await?;
        cluster.delete_claim_for_good("first").await?;
        assert_eq!(cluster.bound("third").await?, freed);
        assert_ne!(cluster.bound("second").await?, freed);
        Ok(())
    })
}
