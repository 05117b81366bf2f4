//! The files that a workload file names, each read once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use crate::template::Template;

/// Files by their path from the folder of the workload file.
#[derive(Debug)]
pub(crate) struct Files {
    folder: PathBuf,
    templates: BTreeMap<String, Arc<Template>>,
}

impl Files {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            templates: BTreeMap::new(),
        }
    }

    /// A file's text.
    pub(crate) fn text(&self, path: &str) -> anyhow::Result<String> {
        let path = self.folder.join(path);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    }

    /// A file as a template.
    pub(crate) fn template(&mut self, path: &str) -> anyhow::Result<Arc<Template>> {
        if let Some(known) = self.templates.get(path) {
            return Ok(Arc::clone(known));
        }
        let template = Template::parse(&self.text(path)?).with_context(|| path.to_owned())?;
        let template = Arc::new(template);
        self.templates.insert(path.to_owned(), Arc::clone(&template));
        Ok(template)
    }
}
