//! No text makes the reader panic or take long, and what it accepts it can write and read again.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use plimsoll_config::{ConfigKind, FeatureGates, SchedulerConfig, decode, diff, load};
use proptest::prelude::*;
use proptest::sample::Index;

/// The example files.
static EXAMPLES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/config");
    let entries = fs::read_dir(folder).expect("the folder is there").flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let texts = paths
        .iter()
        .map(|path| fs::read_to_string(path).expect("the file can be read"));
    texts.collect()
});

/// Reads the text to the end, or tells why not: both must work out.
fn exercise(text: &str) -> Result<(), TestCaseError> {
    let gates = FeatureGates::default();
    match decode(text, &gates).and_then(plimsoll_config::Loaded::validate) {
        Ok(config) => survives_writing(&config),
        Err(error) => {
            let told = error.to_string();
            prop_assert!(!told.is_empty());
            // A text may be quoted; what is added to it has an end.
            prop_assert!(told.len() < 100_000, "{}", told.len());
            prop_assert!(!error.problems().is_empty());
            Ok(())
        }
    }
}

/// Whether a set names a plugin twice. Merging that anew gives another order, also in kube-scheduler; neither starts
/// with it.
fn names_a_plugin_twice(config: &SchedulerConfig) -> bool {
    let mut sets = config.profiles.iter().flat_map(|profile| profile.plugins.sets());
    sets.any(|(_, set)| {
        let names: BTreeSet<_> = set.enabled.iter().map(|plugin| &plugin.name).collect();
        names.len() < set.enabled.len()
    })
}

fn survives_writing(config: &SchedulerConfig) -> Result<(), TestCaseError> {
    if names_a_plugin_twice(config) {
        return Ok(());
    }
    let gates = FeatureGates::default();
    let text = config.to_yaml(ConfigKind::Plimsoll);
    let again = load(&text, &gates).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
    prop_assert_eq!(diff(config, &again), vec![], "{}", text);
    let upstream = config.to_yaml(ConfigKind::KubeScheduler);
    let names = config.profiles.iter().map(|profile| &profile.scheduler_name);
    let mut names: Vec<_> = names.collect();
    names.sort();
    names.dedup();
    // Only Plimsoll's own kind lets profiles share a name.
    if names.len() == config.profiles.len() {
        let again = load(&upstream, &gates).map_err(|error| TestCaseError::fail(format!("{error}\n{upstream}")))?;
        prop_assert_eq!(again.to_yaml(ConfigKind::KubeScheduler), upstream);
    }
    Ok(())
}

/// One change of a text.
#[derive(Debug, Clone)]
enum Edit {
    RemoveLine(Index),
    RepeatLine(Index),
    SwapLines(Index, Index),
    Indent(Index, usize),
    Replace(Index, String),
    Insert(Index, String),
}

fn edit() -> impl Strategy<Value = Edit> {
    let snippet = prop_oneof![
        prop::sample::select(vec![
            "0",
            "-1",
            "101",
            "null",
            "true",
            "[]",
            "{}",
            "\"\"",
            "1e9",
            "9223372036854775808",
            "&a",
            "*a",
            "<<: *a",
            "- ",
            "? ",
            ": ",
            "|",
            ">-",
            "!!str",
            "!!binary x",
            "---\n",
            "...\n",
            "#",
            "'",
            "\"",
            "15x",
            "-5s",
            ".nan",
            "name: A\n",
            "weight: 3\n",
            "\t",
            "\u{feff}",
            "\u{0}",
            "%YAML 1.2\n",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,8}",
    ];
    prop_oneof![
        any::<Index>().prop_map(Edit::RemoveLine),
        any::<Index>().prop_map(Edit::RepeatLine),
        (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Edit::SwapLines(a, b)),
        (any::<Index>(), 0..6_usize).prop_map(|(at, by)| Edit::Indent(at, by)),
        (any::<Index>(), snippet.clone()).prop_map(|(at, with)| Edit::Replace(at, with)),
        (any::<Index>(), snippet).prop_map(|(at, with)| Edit::Insert(at, with)),
    ]
}

fn apply(text: &str, edit: &Edit) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    if lines.is_empty() {
        return text.to_owned();
    }
    let count = lines.len();
    match edit {
        Edit::RemoveLine(at) => {
            lines.remove(at.index(count));
        }
        Edit::RepeatLine(at) => {
            let line = lines[at.index(count)].clone();
            lines.insert(at.index(count), line);
        }
        Edit::SwapLines(a, b) => lines.swap(a.index(count), b.index(count)),
        Edit::Indent(at, by) => {
            let line = &mut lines[at.index(count)];
            *line = format!("{}{}", " ".repeat(*by), line.trim_start_matches(' '));
        }
        Edit::Replace(at, with) => {
            let line = &mut lines[at.index(count)];
            let key = line.find(':').map_or(0, |colon| colon + 1);
            *line = format!("{} {with}\n", &line[..key]);
        }
        Edit::Insert(at, with) => {
            let whole = lines.concat();
            let mut place = at.index(whole.len() + 1);
            while !whole.is_char_boundary(place) {
                place -= 1;
            }
            return format!("{}{with}{}", &whole[..place], &whole[place..]);
        }
    }
    lines.concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_end_in_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        exercise(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn random_yaml_below_a_valid_head_ends_somehow(rest in "[-a-z0-9:{}\\[\\],&*!|>'\" \n#]{0,120}") {
        exercise(&format!("apiVersion: plimsoll.dev/v1alpha1\nkind: SchedulerConfiguration\n{rest}"))?;
    }

    #[test]
    fn changed_examples_end_somehow(which in any::<Index>(), edits in prop::collection::vec(edit(), 0..5)) {
        let text = which.get(&EXAMPLES).clone();
        exercise(&edits.iter().fold(text, |text, edit| apply(&text, edit)))?;
    }
}

#[test]
fn long_texts_with_many_faults_end_soon_and_in_short() {
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    let unknown: String = (0..100_000)
        .map(|number| format!("f{number}: 1\n"))
        .collect::<Vec<_>>()
        .concat();
    let profiles = format!("profiles:\n{}", "- {}\n".repeat(50_000));
    let nested = format!("profiles: {}", "[".repeat(1 << 20));
    let plugins = format!(
        "profiles: [{{plugins: {{multiPoint: {{enabled: [{}]}}}}}}]\n",
        "{name: A},".repeat(20_000)
    );
    // Keys may be long, and stand in the path of everything below them.
    let key = "k".repeat(1 << 20);
    let below_long_key = format!(
        "? {key}\n: [{}, {}]\n",
        "1,".repeat(100_000),
        "{a: 1, a: 2},".repeat(100)
    );
    for rest in [unknown, profiles, nested, plugins, "x".repeat(10 << 20), below_long_key] {
        match load(&format!("{head}{rest}"), &FeatureGates::default()) {
            Ok(config) => assert_eq!(config.profiles.len(), 1),
            Err(error) => assert!(error.to_string().len() < 10_000_000, "{}", error.to_string().len()),
        }
    }
}
