//! What extenders make of the nodes. They reject under one number in verdicts; the code is the place of the text.

use std::collections::BTreeMap;

use compact_str::CompactString;
use plimsoll_framework::{Extender, MAX_NODE_SCORE, ReasonCode, Resolvability, Verdict, shortened};
use plimsoll_model::columns::{Columns, NodeIndex, NodeSet};

use super::{Cycle, Scope};

/// The best score that an extender is meant to give.
const MAX_EXTENDER_PRIORITY: i64 = 10;

/// What the extenders have said so far in one cycle.
#[derive(Debug, Default)]
pub(super) struct Extending {
    texts: Vec<String>,
    codes: BTreeMap<String, u32>,
    /// Whether they have taken nodes away from all that were left, with a word or without.
    shrunk: bool,
}

impl Extending {
    pub(super) fn clear(&mut self) {
        self.texts.clear();
        self.codes.clear();
        self.shrunk = false;
    }

    /// Whether the pod is one of those that extenders turned away.
    pub(super) fn has_rejected(&self) -> bool {
        self.shrunk
    }

    pub(super) fn text(&self, code: ReasonCode) -> Option<&str> {
        let place = usize::try_from(code.0).ok()?;
        self.texts.get(place).map(String::as_str)
    }

    fn code(&mut self, text: &str) -> ReasonCode {
        let text = shortened(text);
        if let Some(code) = self.codes.get(text.as_ref()) {
            return ReasonCode(*code);
        }
        // There are as many texts as nodes at most; should there ever be more than codes, the rest goes by the last.
        let code = u32::try_from(self.texts.len()).map_or(ReasonCode::MAX, |code| code.min(ReasonCode::MAX));
        self.texts.push(text.clone().into_owned());
        self.codes.insert(text.into_owned(), code);
        ReasonCode(code)
    }
}

impl Cycle {
    /// Leaves the nodes that the extender named. Of the others, those that it gave reasons for are rejected, and those that
    /// it left out without a word are as if nobody had looked at them.
    ///
    /// `Err` when it named a node that it was not asked about.
    pub(crate) fn narrow(
        &mut self,
        extender: &Extender,
        kept: &[CompactString],
        failed: &[(CompactString, String)],
        unresolvable: &[(CompactString, String)],
        columns: &Columns,
    ) -> Result<(), String> {
        let asked = self.verdicts.feasible();
        let asked_about = |name: &CompactString| columns.index_of(name).filter(|node| asked.contains(*node));
        let kept: NodeSet = kept
            .iter()
            .map(|name| asked_about(name).ok_or_else(|| unknown_node(extender, name)))
            .collect::<Result<_, String>>()?;
        let mut left_out = asked.clone();
        left_out.subtract(&kept);
        if left_out.is_empty() {
            return Ok(());
        }
        let by_whole_search = self.entered == Some(Scope::All);
        self.extending.shrunk |= by_whole_search;
        for (reasons, resolvability) in [
            (unresolvable, Resolvability::Unresolvable),
            (failed, Resolvability::Resolvable),
        ] {
            for (name, text) in reasons {
                let node = columns.index_of(name);
                if let Some(node) = node.filter(|node| left_out.remove(*node)) {
                    self.reject_by_extender(node, text, resolvability);
                }
            }
        }
        for node in &left_out {
            self.verdicts.forget(node);
        }
        if by_whole_search {
            self.evaluated = self.evaluated.saturating_sub(left_out.len());
        }
        Ok(())
    }

    fn reject_by_extender(&mut self, node: NodeIndex, text: &str, resolvability: Resolvability) {
        let code = self.extending.code(text);
        let number = u8::try_from(self.plan.extender_number()).unwrap_or(u8::MAX);
        self.verdicts
            .reject(node, Verdict::rejected(number, code, resolvability));
    }

    /// Adds an extender's scores to the sums. Those of nodes that were not scored are ignored; numbers too large go round as
    /// they do in Go.
    pub(crate) fn add_priorities(
        &mut self,
        extender: &Extender,
        priorities: &[(CompactString, i64)],
        columns: &Columns,
    ) {
        let factor = extender.weight().wrapping_mul(MAX_NODE_SCORE / MAX_EXTENDER_PRIORITY);
        for (name, score) in priorities {
            if let Some(total) = columns.index_of(name).and_then(|node| self.scoring.total_of(node)) {
                *total = total.wrapping_add(score.wrapping_mul(factor));
            }
        }
    }
}

fn unknown_node(extender: &Extender, node: &str) -> String {
    format!(
        "extender {:?} claims a filtered node {node:?} which is not found in the input node list",
        extender.url()
    )
}
