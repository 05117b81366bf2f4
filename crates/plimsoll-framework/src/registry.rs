use std::collections::BTreeMap;
use std::fmt;

use plimsoll_config::{FeatureGates, PluginArgs};

use crate::Extensions;

/// What a plugin may look at when it is made.
#[derive(Debug, Clone, Copy)]
pub struct Construction<'a> {
    /// Its arguments in the profile: typed for in-tree plugins, as written for others; none when it has none.
    pub args: Option<&'a PluginArgs>,
    /// Which optional behaviour is on.
    pub gates: &'a FeatureGates,
    /// The profile it is made for.
    pub scheduler_name: &'a str,
}

/// Makes one instance of a plugin for one profile; `Err` says what is wrong with its arguments.
pub type PluginConstructor = Box<dyn Fn(&Construction<'_>) -> Result<Extensions, String> + Send + Sync>;

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
        constructor: impl Fn(&Construction<'_>) -> Result<Extensions, String> + Send + Sync + 'static,
    ) {
        self.constructors.insert(name, Box::new(constructor));
    }

    /// Names in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.constructors.keys().copied()
    }

    pub(crate) fn construct(&self, name: &str, with: &Construction<'_>) -> Option<Result<Extensions, String>> {
        self.constructors.get(name).map(|constructor| constructor(with))
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
        registry.add("Twice", |_| Err("earlier".to_owned()));
        registry.add("Other", |_| Ok(Extensions::new()));
        registry.add("Twice", |_| Err("later".to_owned()));
        assert_eq!(registry.names().collect::<Vec<_>>(), ["Other", "Twice"]);
        let with = Construction {
            args: None,
            gates: &FeatureGates::default(),
            scheduler_name: "mine",
        };
        assert_eq!(registry.construct("Twice", &with).unwrap().unwrap_err(), "later");
        assert!(registry.construct("Other", &with).unwrap().is_ok());
        assert!(registry.construct("Unknown", &with).is_none());
    }
}
