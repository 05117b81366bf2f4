//! Making nodes and namespaces.

use serde_json::{Value, json};

use super::Run;
use crate::object::Objects;
use crate::workload::{CreateNamespaces, CreateNodes, Preparation};

/// The label with the node's own name.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// Where a `CSINode` says which plug-ins' volumes are its drivers'.
const MIGRATED: &str = "storage.alpha.kubernetes.io/migrated-plugins";

impl Run<'_> {
    pub(super) async fn create_nodes(&mut self, number: usize, nodes: &CreateNodes) -> anyhow::Result<()> {
        let objects = Objects::nodes(nodes.template.as_ref(), nodes.count)?;
        let loader = &self.loader;
        let create = |index: usize| {
            let objects = &objects;
            async move {
                let mut node = objects.object(index)?;
                let plain = nodes.template.is_none();
                if plain {
                    node["metadata"]["generateName"] = json!(format!("node-{number}-"));
                }
                let name = loader.name(&mut node)?;
                prepare(&mut node, &name, index, &nodes.preparation);
                loader.create(None, node).await?;
                if let Some(csi_node) = csi_node(&name, &nodes.preparation) {
                    loader.create(None, csi_node).await?;
                }
                Ok(())
            }
        };
        loader.all(nodes.count, create).await?;
        self.nodes += nodes.count;
        Ok(())
    }

    pub(super) async fn create_namespaces(&mut self, namespaces: &CreateNamespaces) -> anyhow::Result<()> {
        for index in 0..namespaces.count {
            let mut namespace = match &namespaces.template {
                Some(template) => Objects::any(template, namespaces.count)?.object(index)?,
                None => json!({ "apiVersion": "v1", "kind": "Namespace" }),
            };
            let name = format!("{}-{index}", namespaces.prefix);
            namespace["metadata"]["name"] = json!(name);
            self.loader.create_unless_there(namespace).await?;
        }
        Ok(())
    }
}

/// What the node has beside its template when it is made, where upstream's loader patches it afterwards.
fn prepare(node: &mut Value, name: &str, index: usize, preparation: &Preparation) {
    let labels = &mut node["metadata"]["labels"];
    if labels.is_null() {
        *labels = json!({});
    }
    labels[HOSTNAME] = json!(name);
    match preparation {
        Preparation::None => {}
        Preparation::Label { key, values } => labels[key] = json!(values[index % values.len()]),
        Preparation::UniqueLabel { key } => labels[key] = json!(format!("value-of-{name}")),
        Preparation::Allocatable { resources, .. } => {
            for (resource, amount) in resources {
                node["status"]["allocatable"][resource] = json!(amount);
            }
        }
    }
}

fn csi_node(name: &str, preparation: &Preparation) -> Option<Value> {
    let Preparation::Allocatable { drivers, migrated, .. } = preparation else {
        return None;
    };
    let driver = |(driver, count): (&String, &Option<usize>)| {
        let mut driver = json!({ "name": driver, "nodeID": name });
        if let Some(count) = count {
            driver["allocatable"] = json!({ "count": count });
        }
        driver
    };
    Some(json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": { "name": name, "annotations": { MIGRATED: migrated.join(",") } },
        "spec": { "drivers": drivers.iter().map(driver).collect::<Vec<_>>() },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_go_round_and_every_node_has_its_name_as_a_label() {
        let preparation = Preparation::Label {
            key: "zone".to_owned(),
            values: vec!["a".to_owned(), "b".to_owned()],
        };
        let zone = |index| {
            let mut node = json!({ "metadata": {} });
            prepare(&mut node, "n", index, &preparation);
            assert_eq!(node["metadata"]["labels"][HOSTNAME], "n");
            node["metadata"]["labels"]["zone"].clone()
        };
        assert_eq!([zone(0), zone(1), zone(2)], ["a", "b", "a"]);
        assert_eq!(csi_node("n", &preparation), None);
    }

    #[test]
    fn more_that_can_be_allocated_is_added_and_told_by_the_csi_node() {
        let preparation = Preparation::Allocatable {
            resources: [("attachable".to_owned(), "39".to_owned())].into(),
            drivers: [("d".to_owned(), Some(39))].into(),
            migrated: vec!["p".to_owned()],
        };
        let mut node = json!({ "metadata": {}, "status": { "allocatable": { "cpu": "4" } } });
        prepare(&mut node, "n", 0, &preparation);
        assert_eq!(node["status"]["allocatable"], json!({ "cpu": "4", "attachable": "39" }));
        let csi_node = csi_node("n", &preparation).unwrap();
        assert_eq!(
            csi_node["spec"]["drivers"][0],
            json!({ "name": "d", "nodeID": "n", "allocatable": { "count": 39 } })
        );
        assert_eq!(csi_node["metadata"]["annotations"][MIGRATED], "p");
    }
}
