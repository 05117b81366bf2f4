//! `--vmodule`: levels of single files.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use tracing::Metadata;

/// Why `--vmodule` cannot be followed. The words are kube-scheduler's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VModuleError {
    /// Not `pattern=N`.
    #[error("{0:?} does not have the pattern=N format")]
    Format(String),
    /// No level behind the pattern.
    #[error("parsing verbosity in {item:?}: strconv.ParseUint: parsing {level:?}: {}", if *.too_large { "value out of range" } else { "invalid syntax" })]
    Level {
        /// The whole.
        item: String,
        /// What should be a level.
        level: String,
        /// Whether it is a number all the same.
        too_large: bool,
    },
}

/// Patterns with levels; the first that fits decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VModule {
    items: Vec<(String, u32)>,
}

impl VModule {
    /// The highest level of all.
    pub(super) fn highest(&self) -> u32 {
        self.items.iter().map(|(_, level)| *level).max().unwrap_or(0)
    }

    /// The level for what stands at this place; 0 when no pattern fits. What is not `ours` is meant only by patterns for Rust
    /// modules: a file called `client` is in many libraries.
    pub(super) fn level_of(&self, place: &Metadata<'_>, ours: bool) -> u32 {
        if self.items.is_empty() {
            return 0;
        }
        let (file, module) = (
            place.file().unwrap_or_default(),
            place.module_path().unwrap_or_default(),
        );
        let fits = |pattern: &str| {
            if pattern.contains("::") {
                fits(pattern.as_bytes(), module.as_bytes())
            } else {
                ours && is_file(pattern, file)
            }
        };
        let item = self.items.iter().find(|(pattern, _)| fits(pattern));
        item.map_or(0, |(_, level)| *level)
    }
}

/// A pattern with a slash means the path, and any other the file's name; both without `.rs`.
fn is_file(pattern: &str, file: &str) -> bool {
    let path = Path::new(file).with_extension("");
    let Some(path) = path.to_str() else { return false };
    if pattern.contains('/') {
        return fits(pattern.as_bytes(), path.as_bytes());
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    fits(pattern.as_bytes(), name.as_bytes())
}

/// `*` stands for any bytes, `?` for one.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => (0..=text.len()).any(|skipped| fits(rest, &text[skipped..])),
        (Some((b'?', rest)), Some((_, others))) => fits(rest, others),
        (Some((wanted, rest)), Some((found, others))) => wanted == found && fits(rest, others),
        _ => false,
    }
}

impl FromIterator<VModule> for VModule {
    /// One after the other.
    fn from_iter<I: IntoIterator<Item = VModule>>(parts: I) -> Self {
        Self {
            items: parts.into_iter().flat_map(|part| part.items).collect(),
        }
    }
}

impl FromStr for VModule {
    type Err = VModuleError;

    fn from_str(text: &str) -> Result<Self, VModuleError> {
        let items = text.split(',').filter(|item| !item.is_empty()).map(|item| {
            let parts = item.split_once('=');
            let (pattern, level) = parts
                .filter(|(pattern, level)| !pattern.is_empty() && !level.is_empty() && !level.contains('='))
                .ok_or_else(|| VModuleError::Format(item.to_owned()))?;
            let digits = level.bytes().all(|byte| byte.is_ascii_digit());
            let number = level
                .parse::<u32>()
                .ok()
                .filter(|number| digits && i32::try_from(*number).is_ok());
            let number = number.ok_or_else(|| VModuleError::Level {
                item: item.to_owned(),
                level: level.to_owned(),
                too_large: digits,
            })?;
            Ok((pattern.to_owned(), number))
        });
        Ok(Self {
            items: items.collect::<Result<_, _>>()?,
        })
    }
}

impl fmt::Display for VModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (pattern, level)) in self.items.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{pattern}={level}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_names_of_files_or_paths() {
        let cases = [
            ("elector", "crates/plimsoll-actors/src/elector.rs", true),
            ("elector", "crates/plimsoll-actors/src/elector/terms.rs", false),
            ("elect*", "crates/plimsoll-actors/src/elector.rs", true),
            ("e?ector", "src/elector.rs", true),
            ("*", "src/elector.rs", true),
            ("elector.rs", "src/elector.rs", false),
            ("*/elector/*", "crates/plimsoll-actors/src/elector/terms.rs", true),
            ("elector/*", "crates/plimsoll-actors/src/elector/terms.rs", false),
        ];
        for (pattern, file, expected) in cases {
            assert_eq!(is_file(pattern, file), expected, "{pattern} {file}");
        }
    }

    #[test]
    fn the_flag_is_read_and_refused_in_kube_schedulers_words() {
        let read: VModule = "elector=4,,term*=2,".parse().expect("it can be read");
        assert_eq!((read.to_string().as_str(), read.highest()), ("elector=4,term*=2", 4));
        for (text, words) in [
            ("elector", "\"elector\" does not have the pattern=N format"),
            ("=2", "\"=2\" does not have the pattern=N format"),
            ("a=1=2", "\"a=1=2\" does not have the pattern=N format"),
            (
                "a=x",
                "parsing verbosity in \"a=x\": strconv.ParseUint: parsing \"x\": invalid syntax",
            ),
            (
                "a=-1",
                "parsing verbosity in \"a=-1\": strconv.ParseUint: parsing \"-1\": invalid syntax",
            ),
            (
                "a=9999999999",
                "parsing verbosity in \"a=9999999999\": strconv.ParseUint: parsing \"9999999999\": value out of range",
            ),
        ] {
            assert_eq!(text.parse::<VModule>().expect_err(text).to_string(), words);
        }
    }
}
