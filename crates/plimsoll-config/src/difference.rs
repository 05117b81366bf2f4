//! What changes from one configuration to another.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::{ConfigKind, SchedulerConfig};

/// A field that is not the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Which, such as `profiles[batch].plugins.score.enabled[NodeAffinity].weight`: what has a name goes by it.
    pub path: String,
    /// What it was, as JSON; none when it was not there.
    pub from: Option<String>,
    /// What it is, as JSON; none when it is not there.
    pub to: Option<String>,
}

/// Everything that differs once all defaults are spelled out, in order of the fields' names. Where the order of a list
/// is all that differs, its names are told in both orders.
pub fn diff(from: &SchedulerConfig, to: &SchedulerConfig) -> Vec<Difference> {
    let mut found = Vec::new();
    let (from, to) = (from.to_value(ConfigKind::Plimsoll), to.to_value(ConfigKind::Plimsoll));
    values("", &from, &to, &mut found);
    found
}

fn note(path: &str, from: Option<&Value>, to: Option<&Value>, found: &mut Vec<Difference>) {
    found.push(Difference {
        path: path.to_owned(),
        from: from.map(Value::to_string),
        to: to.map(Value::to_string),
    });
}

fn values(path: &str, from: &Value, to: &Value, found: &mut Vec<Difference>) {
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => objects(path, from, to, found),
        (Value::Array(from_items), Value::Array(to_items)) => match (names(from_items), names(to_items)) {
            (Some(from), Some(to)) => named(path, (from_items, &from), (to_items, &to), found),
            _ if from == to => {}
            _ => note(path, Some(from), Some(to), found),
        },
        _ if from == to => {}
        _ => note(path, Some(from), Some(to), found),
    }
}

fn objects(path: &str, from: &Map<String, Value>, to: &Map<String, Value>, found: &mut Vec<Difference>) {
    let fields: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    for field in fields {
        let separator = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{separator}{field}");
        pair(&path, from.get(field), to.get(field), found);
    }
}

/// A list that is there on one side only is told name by name, as if the other had been empty.
fn pair(path: &str, from: Option<&Value>, to: Option<&Value>, found: &mut Vec<Difference>) {
    let nothing = Value::Array(Vec::new());
    match (from, to) {
        (Some(from), Some(to)) => values(path, from, to, found),
        (Some(Value::Array(items)), None) if names(items).is_some() => {
            values(path, &Value::from(items.clone()), &nothing, found);
        }
        (None, Some(Value::Array(items))) if names(items).is_some() => {
            values(path, &nothing, &Value::from(items.clone()), found);
        }
        _ => note(path, from, to, found),
    }
}

/// The names of a list's objects, if all have one of their own.
fn names(items: &[Value]) -> Option<Vec<&str>> {
    let names: Vec<&str> = items.iter().map(name).collect::<Option<_>>()?;
    let own: BTreeSet<&str> = names.iter().copied().collect();
    (own.len() == names.len()).then_some(names)
}

fn name(item: &Value) -> Option<&str> {
    let mut fields = ["schedulerName", "name", "urlPrefix"].iter();
    fields.find_map(|field| item.get(field))?.as_str()
}

type Named<'v> = (&'v [Value], &'v [&'v str]);

fn named(path: &str, (from_items, from): Named<'_>, (to_items, to): Named<'_>, found: &mut Vec<Difference>) {
    let added = to.iter().filter(|name| !from.contains(name));
    for name in from.iter().chain(added) {
        let path = format!("{path}[{name}]");
        pair(&path, item((from_items, from), name), item((to_items, to), name), found);
    }
    let kept = |names: &[&str], other: &[&str]| -> Vec<Value> {
        let common = names.iter().filter(|name| other.contains(name));
        common.map(|name| Value::from(*name)).collect()
    };
    let (before, after) = (kept(from, to), kept(to, from));
    if before != after {
        note(
            &format!("{path} (order)"),
            Some(&before.into()),
            Some(&after.into()),
            found,
        );
    }
}

fn item<'v>((items, names): Named<'v>, name: &str) -> Option<&'v Value> {
    let at = names.iter().position(|own| *own == name)?;
    items.get(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FeatureGates, load};

    const HEAD: &str = "apiVersion: plimsoll.dev/v1alpha1\nkind: SchedulerConfiguration\n";

    fn differences(from: &str, to: &str) -> Vec<String> {
        let read = |text: &str| load(&format!("{HEAD}{text}"), &FeatureGates::default()).unwrap();
        let text = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let found = diff(&read(from), &read(to)).into_iter();
        found
            .map(|difference| {
                format!(
                    "{}: {} -> {}",
                    difference.path,
                    text(difference.from),
                    text(difference.to)
                )
            })
            .collect()
    }

    #[test]
    fn what_is_the_same_after_defaulting_is_no_difference() {
        assert!(differences("", "parallelism: 16\nprofiles: [{schedulerName: default-scheduler}]\n").is_empty());
    }

    #[test]
    fn fields_are_told_by_path_and_what_has_a_name_by_its_name() {
        let from = "podMaxBackoffSeconds: 20\nprofiles:\n- schedulerName: a\n  pluginConfig: [{name: X, args: {b: [1, 2]}}]\n  plugins: {filter: {enabled: [{name: X}]}}\n- schedulerName: b\n";
        let to = "percentageOfNodesToScore: 5\nprofiles:\n- schedulerName: b\n- schedulerName: a\n  plugins: {filter: {enabled: [{name: X}, {name: Z, weight: 2}]}, multiPoint: {enabled: [{name: NodeAffinity, weight: 9}]}}\n  pluginConfig: [{name: X, args: {b: [2]}}]\n";
        let expected = [
            "percentageOfNodesToScore: - -> 5",
            "podMaxBackoffSeconds: 20 -> 10",
            "profiles[a].pluginConfig[X].args.b: [1,2] -> [2]",
            r#"profiles[a].plugins.filter.enabled[Z]: - -> {"name":"Z","weight":2}"#,
            "profiles[a].plugins.multiPoint.enabled[NodeAffinity].weight: 2 -> 9",
            r#"profiles (order): ["a","b"] -> ["b","a"]"#,
        ];
        assert_eq!(differences(from, to), expected);
    }

    #[test]
    fn lists_that_appear_and_vanish_are_told_name_by_name() {
        let extenders = "extenders: [{urlPrefix: http://a}, {urlPrefix: http://b}]\n";
        let found = differences("", extenders);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("extenders[http://a]: - -> {"), "{found:?}");
        let repeated = "profiles:\n- plugins: {filter: {enabled: [{name: X}, {name: X}]}}\n";
        let found = differences("", repeated);
        assert_eq!(
            found,
            [
                r#"profiles[default-scheduler].plugins.filter.enabled: - -> [{"name":"X","weight":0},{"name":"X","weight":0}]"#
            ]
        );
    }
}
