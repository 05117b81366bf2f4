use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use plimsoll_config::{FeatureGates, PluginArgs, ProfileExtras};
use serde::de::DeserializeOwned;

use crate::{Extensions, guarded};

/// What a plugin may look at when it is made.
#[derive(Debug, Clone, Copy)]
pub struct Construction<'a> {
    /// Its arguments in the profile: typed for in-tree plugins, as written for others; none when it has none.
    pub args: Option<&'a PluginArgs>,
    /// Which optional behaviour is on.
    pub gates: &'a FeatureGates,
    /// The profile it is made for.
    pub scheduler_name: &'a str,
    /// What that profile has beyond what kube-scheduler's have.
    pub extras: &'a ProfileExtras,
}

impl Construction<'_> {
    /// The arguments of a plugin that is not in the tree, as a type of its own; that type's default when the profile has
    /// none for it. `Err` says what is wrong with them.
    pub fn raw_args<T: DeserializeOwned + Default>(&self) -> Result<T, String> {
        match self.args {
            None => Ok(T::default()),
            Some(PluginArgs::Raw(args)) => T::deserialize(args).map_err(|error| format!("decoding args: {error}")),
            Some(_) => Err("args are those of an in-tree plugin".to_owned()),
        }
    }
}

/// Makes one instance of a plugin for one profile; `Err` says what is wrong with its arguments.
pub type PluginConstructor = Box<dyn Fn(&Construction<'_>) -> Result<Extensions, String> + Send + Sync>;

/// The plugins that profiles may name. Out-of-tree plugins are added before profiles are assembled.
#[derive(Default)]
pub struct Registry {
    constructors: BTreeMap<&'static str, PluginConstructor>,
    placeholders: BTreeSet<&'static str>,
    guards: BTreeSet<&'static str>,
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
        self.placeholders.remove(name);
        self.guards.remove(name);
        self.constructors.insert(name, Box::new(constructor));
    }

    /// Adds what stands for a plugin that is not there yet. Profiles may keep it as a default; one that enables it by
    /// name cannot be assembled.
    pub fn add_placeholder(
        &mut self,
        name: &'static str,
        constructor: impl Fn(&Construction<'_>) -> Result<Extensions, String> + Send + Sync + 'static,
    ) {
        self.add(name, constructor);
        self.placeholders.insert(name);
    }

    /// Adds a placeholder that stands in every profile, also in one that does not name it: what it holds back must never be
    /// placed as if the plugin were not needed.
    pub fn add_guard(
        &mut self,
        name: &'static str,
        constructor: impl Fn(&Construction<'_>) -> Result<Extensions, String> + Send + Sync + 'static,
    ) {
        self.add_placeholder(name, constructor);
        self.guards.insert(name);
    }

    /// Names of the placeholders that stand in every profile, in order.
    pub(crate) fn guards<'a>(&self) -> impl Iterator<Item = &'a str> {
        self.guards.iter().map(|name| -> &'a str { name })
    }

    /// Names in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.constructors.keys().copied()
    }

    /// Whether the name is that of a plugin that is not there yet.
    pub fn is_placeholder(&self, name: &str) -> bool {
        self.placeholders.contains(name)
    }

    /// A constructor that panics at its arguments has failed: a running scheduler goes on with what it has.
    pub(crate) fn construct(&self, name: &str, with: &Construction<'_>) -> Option<Result<Extensions, String>> {
        let constructor = self.constructors.get(name)?;
        let constructed = guarded(|| constructor(with));
        Some(constructed.unwrap_or_else(|panic| Err(format!("panicked: {panic}"))))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_config::InterPodAffinityArgs;
    use serde::Deserialize;

    use super::*;

    fn with<'a>(args: Option<&'a PluginArgs>, gates: &'a FeatureGates, extras: &'a ProfileExtras) -> Construction<'a> {
        Construction {
            args,
            gates,
            scheduler_name: "mine",
            extras,
        }
    }

    #[test]
    fn a_later_plugin_of_the_same_name_replaces_the_earlier() {
        let mut registry = Registry::new();
        registry.add_placeholder("Twice", |_| Err("earlier".to_owned()));
        registry.add_placeholder("Other", |_| Ok(Extensions::new()));
        registry.add("Twice", |_| Err("later".to_owned()));
        assert_eq!(registry.names().collect::<Vec<_>>(), ["Other", "Twice"]);
        let (gates, extras) = (FeatureGates::default(), ProfileExtras::default());
        let with = with(None, &gates, &extras);
        assert_eq!(registry.construct("Twice", &with).unwrap().unwrap_err(), "later");
        assert!(registry.construct("Other", &with).unwrap().is_ok());
        assert!(registry.construct("Unknown", &with).is_none());
        assert!(registry.is_placeholder("Other") && !registry.is_placeholder("Twice"));
    }

    #[test]
    fn a_constructor_that_panics_has_failed() {
        let mut registry = Registry::new();
        registry.add("Rash", |_| panic!("no such number"));
        let (gates, extras) = (FeatureGates::default(), ProfileExtras::default());
        let constructed = registry.construct("Rash", &with(None, &gates, &extras));
        assert_eq!(constructed.unwrap().unwrap_err(), "panicked: no such number");
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, rename_all = "camelCase", deny_unknown_fields)]
    struct Args {
        seed_of_luck: u64,
    }

    #[test]
    fn args_of_other_plugins_are_decoded_into_a_type_of_their_own() {
        let (gates, extras) = (FeatureGates::default(), ProfileExtras::default());
        let decode = |args: Option<PluginArgs>| with(args.as_ref(), &gates, &extras).raw_args::<Args>();
        assert_eq!(decode(None), Ok(Args::default()));
        let raw = |json| PluginArgs::Raw(serde_json::from_str(json).unwrap());
        assert_eq!(decode(Some(raw(r#"{"seedOfLuck": 7}"#))), Ok(Args { seed_of_luck: 7 }));
        let error = decode(Some(raw(r#"{"seed": 7}"#))).unwrap_err();
        assert!(error.starts_with("decoding args: unknown field `seed`"), "{error}");
        let other = PluginArgs::InterPodAffinity(InterPodAffinityArgs::default());
        assert_eq!(decode(Some(other)).unwrap_err(), "args are those of an in-tree plugin");
    }
}
