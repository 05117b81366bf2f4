//! What source files name.

use std::path::{Path, PathBuf};

/// Names of the standard library that bring I/O, the clock, threads or randomness, as module and name; an empty name
/// forbids the whole module.
const FORBIDDEN: [(&str, &str); 11] = [
    ("time", "Instant"),
    ("time", "SystemTime"),
    ("thread", ""),
    ("net", ""),
    ("fs", ""),
    ("env", ""),
    ("process", ""),
    ("io", ""),
    ("os", ""),
    ("collections", "HashMap"),
    ("collections", "HashSet"),
];

/// All files below `dir`, build folders and hidden ones left out.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = entry.path();
            if name.starts_with('.') || name == "target" {
                continue;
            }
            if path.is_dir() {
                dirs.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Names in `source` that a core crate may not use, for example `std::time::Instant`. Comments and what follows the
/// first `#[cfg(test)]` are not looked at.
pub fn forbidden_in_core(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let code: String = code
        .lines()
        .filter_map(|line| line.split("//").next())
        .flat_map(|line| [line, "\n"])
        .collect();
    let code: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let mut found = Vec::new();
    for (module, name) in FORBIDDEN {
        let hit = if name.is_empty() {
            imports(&code, "").any(|tree| names(tree, module)) || code.contains(&format!("std::{module}::"))
        } else {
            imports(&code, module).any(|tree| names(tree, name)) || code.contains(&format!("std::{module}::{name}"))
        };
        if hit {
            found.push(format!("std::{module}::{}", if name.is_empty() { "*" } else { name }));
        }
    }
    for clock in ["Timestamp::now(", "Zoned::now(", "Utc::now(", "RandomState"] {
        if code.contains(clock) {
            found.push(clock.trim_end_matches('(').to_owned());
        }
    }
    found
}

/// The braces of `std::<module>::{…}` imports, or of `std::{…}` ones for no module.
fn imports<'a>(code: &'a str, module: &str) -> impl Iterator<Item = &'a str> {
    let start = if module.is_empty() {
        "std::{".to_owned()
    } else {
        format!("std::{module}::{{")
    };
    let mut rest = code;
    std::iter::from_fn(move || {
        let at = rest.find(&start)?;
        rest = &rest[at + start.len()..];
        rest.find(';').map(|end| &rest[..end])
    })
}

/// True when `tree`, an import tree without spaces, names `name` as a whole word.
fn names(tree: &str, name: &str) -> bool {
    tree.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_name_the_clock_is_found() {
        for source in [
            "use std::time::Instant;",
            "use std::time::{Duration, Instant};",
            "let now = std::time::Instant::now();",
            "use std::time::{\n    Duration,\n    SystemTime,\n};",
            "let now = jiff::Timestamp::now();",
        ] {
            assert_eq!(forbidden_in_core(source).len(), 1, "{source}");
        }
    }

    #[test]
    fn every_way_to_name_a_module_is_found() {
        for source in ["use std::{fs, sync::Arc};", "use std::fs::File;", "std::fs::read(path)"] {
            assert_eq!(forbidden_in_core(source), ["std::fs::*"], "{source}");
        }
    }

    #[test]
    fn durations_comments_and_tests_are_not_the_clock() {
        let source = "use std::time::Duration; // not Instant\n/// like std::fs::read\nstruct Instant;\n\
                      #[cfg(test)]\nmod tests { use std::time::Instant; }";
        assert_eq!(forbidden_in_core(source), [""; 0]);
    }
}
