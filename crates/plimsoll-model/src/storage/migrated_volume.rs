use super::{InTreePlugin, PersistentVolume, Topology, translated_node_affinity};

/// An in-tree volume as nodes see it where its plugin has moved to a CSI driver.
///
/// Of the plugins that have, only those are looked at that kube-scheduler asks about when it binds volumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigratedVolume {
    /// The in-tree plugin, as nodes list it among those that have moved.
    pub plugin: &'static str,
    /// From where it is reached in the driver's terms; or why it cannot be translated.
    pub topology: Result<Topology, String>,
}

impl MigratedVolume {
    /// The volume as those nodes see it; none when it is the same everywhere.
    pub fn of(volume: &PersistentVolume) -> Option<Self> {
        let plugin = InTreePlugin::of_source(&volume.source).filter(|plugin| plugin.is_counted())?;
        let topology = match translated_node_affinity(volume) {
            Ok(required) => Ok(Topology::of_affinity(required.as_deref())),
            Err(error) => Err(error.to_string()),
        };
        let same = Topology::of_affinity(volume.node_affinity.as_deref());
        (topology.as_ref() != Ok(&same)).then(|| Self {
            plugin: plugin.name(),
            topology,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use crate::storage::VolumeSource;
    use crate::testing::{VolumeBuilder, volume};

    fn migrated(volume: VolumeBuilder) -> Option<MigratedVolume> {
        MigratedVolume::of(&volume.build())
    }

    #[test]
    fn only_volumes_that_are_reached_from_elsewhere_once_their_plugin_has_moved_are_told_apart() {
        let zone = "topology.kubernetes.io/zone";
        let disk = |volume: VolumeBuilder| volume.source(VolumeSource::GcePersistentDisk { pd_name: "d".into() });
        let moved = migrated(disk(volume("v").reachable(zone, &["a"]))).unwrap();
        assert_eq!(moved.plugin, "kubernetes.io/gce-pd");
        let includes = |key: &str| {
            let labels: Labels = [(key, "a")].into_iter().collect();
            moved.topology.as_ref().unwrap().includes(&labels)
        };
        assert!(includes("topology.gke.io/zone") && !includes(zone));
        assert_eq!(migrated(disk(volume("v"))), None);
        assert_eq!(migrated(volume("v").reachable(zone, &["a"])), None);
        let portworx = VolumeSource::Portworx { volume_id: "v".into() };
        assert_eq!(migrated(volume("v").reachable(zone, &["a"]).source(portworx)), None);
        let lost = migrated(disk(volume("v").label(zone, "us-a-1__eu-a-1"))).unwrap();
        assert!(lost.topology.is_err());
    }
}
