use std::collections::BTreeMap;
use std::fmt;

use crate::Extensions;

/// Makes one instance of a plugin for one profile; `Err` says what is wrong with its arguments.
pub type PluginConstructor = Box<dyn Fn() -> Result<Extensions, String> + Send + Sync>;

/// The plugins that profiles may name. Out-of-tree plugins are added before profiles are assembled.
#[derive(Default)]
pub struct Registry {
    constructors: BTreeMap<&'static str, PluginConstructor>,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a plugin; a later one of the same name replaces the earlier.
    pub fn add(
        &mut self,
        name: &'static str,
        constructor: impl Fn() -> Result<Extensions, String> + Send + Sync + 'static,
    ) {
        self.constructors.insert(name, Box::new(constructor));
    }

    /// Names in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.constructors.keys().copied()
    }

    pub(crate) fn construct(&self, name: &str) -> Option<Result<Extensions, String>> {
        self.constructors.get(name).map(|constructor| constructor())
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_plugin_of_the_same_name_replaces_the_earlier() {
        let mut registry = Registry::new();
        registry.add("Twice", || Err("earlier".to_owned()));
        registry.add("Other", || Ok(Extensions::new()));
        registry.add("Twice", || Err("later".to_owned()));
        assert_eq!(registry.names().collect::<Vec<_>>(), ["Other", "Twice"]);
        assert_eq!(registry.construct("Twice").unwrap().unwrap_err(), "later");
        assert!(registry.construct("Other").unwrap().is_ok());
        assert!(registry.construct("Unknown").is_none());
    }
}
