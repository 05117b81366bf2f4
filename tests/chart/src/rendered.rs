//! What Helm makes of the chart and a set of values.

use std::fmt::Write as _;

use anyhow::{Context, bail};
use serde_json::Value;

/// Manifests, in Helm's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    documents: Vec<String>,
}

impl Rendered {
    pub(crate) fn new(text: &str) -> Self {
        let documents = text.split("---\n").map(str::trim_end).filter(|text| !text.is_empty());
        Self {
            documents: documents.map(str::to_owned).collect(),
        }
    }

    /// All of it.
    pub fn text(&self) -> String {
        joined(self.documents.iter())
    }

    /// The documents that another rendering has not, and the names of those that only the other one has.
    pub fn unlike(&self, other: &Self) -> String {
        let mut text = joined(
            self.documents
                .iter()
                .filter(|document| !other.documents.contains(document)),
        );
        for document in &other.documents {
            if !self.documents.iter().any(|mine| name(mine) == name(document)) {
                let _ = writeln!(text, "---\n# gone: {}", name(document));
            }
        }
        text
    }

    /// All objects.
    pub fn all(&self) -> anyhow::Result<Vec<Value>> {
        let object = |text: &String| serde_saphyr::from_str(text).with_context(|| text.clone());
        self.documents.iter().map(object).collect()
    }

    /// The objects of a kind.
    pub fn objects(&self, kind: &str) -> anyhow::Result<Vec<Value>> {
        Ok(self
            .all()?
            .into_iter()
            .filter(|object| object["kind"] == kind)
            .collect())
    }

    /// The only object of a kind.
    pub fn object(&self, kind: &str) -> anyhow::Result<Value> {
        let mut objects = self.objects(kind)?;
        match (objects.pop(), objects.pop()) {
            (Some(object), None) => Ok(object),
            (None, _) => bail!("no {kind}"),
            _ => bail!("several of the kind {kind}"),
        }
    }

    /// The scheduler's configuration file, if the chart writes it.
    pub fn configuration(&self) -> anyhow::Result<Option<String>> {
        let of = |map: &Value| map["data"]["config.yaml"].as_str().map(str::to_owned);
        Ok(self.objects("ConfigMap")?.iter().find_map(of))
    }

    /// The scheduler's command line.
    pub fn arguments(&self) -> anyhow::Result<Vec<String>> {
        let deployment = self.object("Deployment")?;
        let arguments = deployment.pointer("/spec/template/spec/containers/0/args");
        Ok(serde_json::from_value(arguments.context("no arguments")?.clone())?)
    }
}

fn joined<'a>(documents: impl Iterator<Item = &'a String>) -> String {
    documents.fold(String::new(), |mut text, document| {
        let _ = writeln!(text, "---\n{document}");
        text
    })
}

/// Kind and name, without a look at the rest.
fn name(document: &str) -> String {
    let value = |field: &str| {
        document
            .lines()
            .find_map(|line| line.strip_prefix(field))
            .unwrap_or_default()
    };
    format!("{} {}", value("kind: "), value("  name: "))
}
