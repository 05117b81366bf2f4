//! What two problems have in common when they differ in names and numbers only.

/// A problem without names and numbers: every word with a digit or a hyphen in it is one.
pub fn kind_of(problem: &str) -> String {
    let first = problem.lines().next().unwrap_or_default();
    let words = first.split_whitespace().map(|word| {
        let named = word.contains(|c: char| c.is_ascii_digit() || c == '-');
        if named { "#" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Whether both lists have a problem of one kind.
pub fn share_a_kind(some: &[String], others: &[String]) -> bool {
    some.iter()
        .any(|problem| others.iter().any(|other| kind_of(problem) == kind_of(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_make_no_other_kind() {
        let waits = |pod: &str, node: &str| format!("pod {pod} would fit on node {node} and is not placed");
        assert_eq!(kind_of(&waits("p3-1", "n9-2")), kind_of(&waits("p60-2", "last-a")));
        assert_ne!(
            kind_of(&waits("p3-1", "n9-2")),
            kind_of("pod p3-1 was bound to n1 and again to n2")
        );
    }
}
