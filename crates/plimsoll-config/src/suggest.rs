//! What somebody may have meant.

/// Of these names the one that is nearest to a mistyped one, if any is near.
pub(crate) fn closest<'n>(typed: &str, names: &[&'n str]) -> Option<&'n str> {
    // Longer ones are no slips of the finger, and comparing them takes long.
    if typed.len() > 64 {
        return None;
    }
    let allowed = 1 + typed.len() / 4;
    let distances = names
        .iter()
        .map(|name| (distance(&typed.to_lowercase(), &name.to_lowercase()), *name));
    let near = distances.filter(|(distance, _)| *distance <= allowed);
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// How many letters must be added, dropped, changed or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(last[j] + 1).min(row[j - 1] + 1);
            let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if swapped {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_what_was_meant_and_other_words_nothing() {
        let names = ["parallelism", "profiles", "leaderElection"];
        let cases = [
            ("paralelism", Some("parallelism")),
            ("profile", Some("profiles")),
            ("porfiles", Some("profiles")),
            ("leaderelection", Some("leaderElection")),
            ("LeaderElect", Some("leaderElection")),
            ("banana", None),
            ("", None),
        ];
        for (typed, meant) in cases {
            assert_eq!(closest(typed, &names), meant, "{typed}");
        }
        assert_eq!(closest(&"p".repeat(100_000), &names), None);
    }
}
