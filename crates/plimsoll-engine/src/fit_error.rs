use std::borrow::Cow;
use std::collections::BTreeMap;

use plimsoll_framework::Status;

/// How many nodes gave each reason.
#[derive(Debug, Default)]
pub(crate) struct Histogram<'a> {
    counts: BTreeMap<Cow<'a, str>, usize>,
}

impl<'a> Histogram<'a> {
    pub(crate) fn add(&mut self, reason: Cow<'a, str>, nodes: usize) {
        *self.counts.entry(reason).or_default() += nodes;
    }

    /// kube-scheduler's text: counts and reasons in the order of the whole strings, so `10 x` before `2 x`.
    pub(crate) fn message(&self, nodes: usize) -> String {
        let mut reasons: Vec<String> = self
            .counts
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        reasons.sort_unstable();
        let mut message = format!("0/{nodes} nodes are available:");
        if !reasons.is_empty() {
            message.push(' ');
            message.push_str(&reasons.join(", "));
            message.push('.');
        }
        message
    }
}

/// The text when a pre-filter turned the pod away as a whole, for a reason that it gave or without one.
pub(crate) fn pre_filter_message(nodes: usize, message: &str) -> String {
    if message.is_empty() {
        return Histogram::default().message(nodes);
    }
    format!("0/{nodes} nodes are available: {message}.")
}

/// The text when the one chosen node was turned away afterwards, by reserve or permit.
pub(crate) fn chosen_node_message(status: &Status) -> String {
    let mut histogram = Histogram::default();
    for reason in &status.reasons {
        histogram.add(Cow::Borrowed(reason), 1);
    }
    histogram.message(1)
}

#[cfg(test)]
mod tests {
    use plimsoll_framework::Code;

    use super::*;

    #[test]
    fn reasons_are_sorted_as_whole_strings() {
        let mut histogram = Histogram::default();
        histogram.add(Cow::Borrowed("Insufficient cpu"), 2);
        histogram.add(Cow::Borrowed("node(s) were unschedulable"), 7);
        histogram.add(Cow::Borrowed("node(s) were unschedulable"), 3);
        assert_eq!(
            histogram.message(12),
            "0/12 nodes are available: 10 node(s) were unschedulable, 2 Insufficient cpu."
        );
    }

    #[test]
    fn without_reasons_the_text_ends_at_the_colon() {
        assert_eq!(Histogram::default().message(3), "0/3 nodes are available:");
    }

    #[test]
    fn other_texts() {
        assert_eq!(
            pre_filter_message(3, "no volume"),
            "0/3 nodes are available: no volume."
        );
        assert_eq!(pre_filter_message(3, ""), "0/3 nodes are available:");
        let status = Status::new(Code::Unschedulable, "Gate", "not now");
        assert_eq!(chosen_node_message(&status), "0/1 nodes are available: 1 not now.");
    }
}
