//! Lists of faults in texts of bounded length: a hostile file has a fault in every line, and logs and events carry them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

/// As many faults are told one by one; those beyond are counted.
pub const MOST_FAULTS: usize = 100;

/// Of the text of one fault no more bytes than these are told.
const MOST_BYTES: usize = 2048;

/// The beginning of a text, with an ellipsis if there is more of it.
pub fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= MOST_BYTES {
        return text.into();
    }
    format!("{}\u{2026}", &text[..text.floor_char_boundary(MOST_BYTES)]).into()
}

/// The first of many, and what to say of the others if there are any.
pub fn first_of<T>(all: &[T]) -> (&[T], Option<String>) {
    let told = &all[..all.len().min(MOST_FAULTS)];
    let others = all.len() - told.len();
    (told, (others > 0).then(|| format!("and {others} more")))
}

/// Errors in one line as Kubernetes aggregates them: one alone, several in brackets, equal ones once.
pub(crate) fn aggregate<E: fmt::Display>(errors: impl Iterator<Item = E>) -> String {
    let mut seen = BTreeSet::new();
    let texts = errors.map(|error| shortened(&error.to_string()).into_owned());
    let texts: Vec<String> = texts.filter(|text| seen.insert(text.clone())).collect();
    match texts.as_slice() {
        [only] => only.clone(),
        several => {
            let (told, others) = first_of(several);
            let others = others.map(|others| format!(", {others}")).unwrap_or_default();
            format!("[{}{others}]", told.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_once_each_and_counted_when_there_are_too_many() {
        assert_eq!(aggregate(["one"].iter()), "one");
        assert_eq!(aggregate(["one", "two", "one"].iter()), "[one, two]");
        let all = aggregate(0..100);
        assert!(all.starts_with("[0, 1, ") && all.ends_with(", 98, 99]"), "{all}");
        let some = aggregate((0..100_000).chain(0..7));
        assert!(some.ends_with(", 98, 99, and 99900 more]"), "{some}");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = "\u{fc}".repeat(5000);
        let cut = shortened(&long);
        assert_eq!(cut.chars().count(), 1025);
        assert!(cut.ends_with("\u{fc}\u{2026}"));
        assert_eq!(aggregate([long.as_str()].iter()), cut);
        assert_eq!(shortened("short"), "short");
    }
}
