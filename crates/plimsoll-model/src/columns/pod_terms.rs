use super::DomainCounts;
use super::counts::Counts;
use super::domain_counts::Spot;
use super::match_index::{Anchors, MatchIndex};
use super::numbered::Numbered;
use crate::{Labels, PodTerm, TermKind};

/// The terms of pods that are on nodes, each with who has it.
#[derive(Debug, Clone, Default)]
pub(super) struct PodTerms {
    terms: Numbered<PodTerm, Owners>,
    index: MatchIndex,
    /// How many there have been.
    begun: u64,
}

/// The pods that have one term; a pod that has it twice counts twice.
#[derive(Debug, Clone, Default)]
pub(super) struct Owners {
    classes: usize,
    by_node: Counts,
    by_domain: Counts,
    anchors: Anchors,
    born: u64,
}

/// A term that pods on nodes have. It is good until the last of them goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TermId {
    number: u32,
    /// Tells it from those that had the number before.
    born: u64,
}

impl TermId {
    /// Numbers that no other term ever has.
    pub fn numbers(self) -> [u64; 2] {
        [self.number.into(), self.born]
    }
}

/// A term of pods on nodes that matches some pod.
#[derive(Debug, Clone, Copy)]
pub struct MatchingTerm<'a> {
    /// Which it is.
    pub id: TermId,
    /// What the term means to the pod.
    pub kind: TermKind,
    /// Nodes with the same value of this label are near each other.
    pub topology_key: &'a str,
    /// The pods that have the term, by the values of that label on their nodes.
    pub owners: DomainCounts<'a>,
}

impl PodTerms {
    /// The term's number, for one more class that has it.
    pub(super) fn hold(&mut self, term: &PodTerm) -> u32 {
        let number = self.terms.find(term).unwrap_or_else(|| self.begin(term));
        if let Some(owners) = self.terms.value_mut(number) {
            owners.classes += 1;
        }
        number
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.terms.len() == 0 && self.index.is_empty()
    }

    fn begin(&mut self, term: &PodTerm) -> u32 {
        self.begun += 1;
        let number = self.terms.insert(term.clone(), Owners::default());
        let anchors = self.index.insert(number, &term.pattern);
        if let Some(owners) = self.terms.value_mut(number) {
            owners.anchors = anchors;
            owners.born = self.begun;
        }
        number
    }

    /// One class that has the term is gone.
    pub(super) fn let_go(&mut self, number: u32) {
        let Some(owners) = self.terms.value_mut(number) else {
            return;
        };
        owners.classes -= 1;
        if owners.classes == 0
            && let Some((_, owners)) = self.terms.remove(number)
        {
            self.index.remove(number, &owners.anchors);
        }
    }

    pub(super) fn add(&mut self, number: u32, spot: &Spot<'_>) {
        self.change(number, spot, Counts::add);
    }

    pub(super) fn subtract(&mut self, number: u32, spot: &Spot<'_>) {
        self.change(number, spot, Counts::subtract);
    }

    fn change(&mut self, number: u32, spot: &Spot<'_>, by_one: fn(&mut Counts, usize, u32)) {
        let Some(domain) = self.terms.get(number).map(|(term, _)| spot.domain(&term.topology_key)) else {
            return;
        };
        let Some(owners) = self.terms.value_mut(number) else {
            return;
        };
        by_one(&mut owners.by_node, spot.row.as_usize(), 1);
        if let Some(domain) = domain {
            by_one(&mut owners.by_domain, domain, 1);
        }
    }

    /// Takes the owners on a node out of their domains for these labels.
    pub(super) fn leave(&mut self, spot: &Spot<'_>, keys: &[&str]) {
        self.relabel(spot, keys, Counts::subtract);
    }

    /// Puts the owners on a node into their domains for these labels.
    pub(super) fn enter(&mut self, spot: &Spot<'_>, keys: &[&str]) {
        self.relabel(spot, keys, Counts::add);
    }

    fn relabel(&mut self, spot: &Spot<'_>, keys: &[&str], change: fn(&mut Counts, usize, u32)) {
        for (term, owners) in self.terms.values_mut() {
            if !keys.contains(&term.topology_key.as_str()) {
                continue;
            }
            let count = owners.by_node.get(spot.row.as_usize());
            if let Some(domain) = spot.domain(&term.topology_key).filter(|_| count > 0) {
                change(&mut owners.by_domain, domain, count);
            }
        }
    }

    /// The pods that have a term, by the values of its label.
    pub(super) fn owners(&self, id: TermId) -> Option<DomainCounts<'_>> {
        let (_, owners) = self.terms.get(id.number)?;
        (owners.born == id.born).then(|| DomainCounts::new(&owners.by_domain))
    }

    /// The terms that mean pods in this namespace with these labels.
    pub(super) fn matching<'a>(
        &'a self,
        namespace: &'a str,
        namespace_labels: Option<&'a Labels>,
        labels: &'a Labels,
    ) -> impl Iterator<Item = MatchingTerm<'a>> {
        let candidates = self.index.candidates(namespace, labels);
        let terms = candidates
            .into_iter()
            .filter_map(|number| Some((number, self.terms.get(number)?)));
        let matching = terms.filter(move |(_, (term, _))| term.pattern.holds_for(namespace, namespace_labels, labels));
        matching.map(|(number, (term, owners))| MatchingTerm {
            id: TermId {
                number,
                born: owners.born,
            },
            kind: term.kind,
            topology_key: &term.topology_key,
            owners: DomainCounts::new(&owners.by_domain),
        })
    }
}
