use std::sync::Arc;

use super::TopologySelectorTerm;
use crate::{LabelSelector, Labels, NodeSelectorTerm, Operator, Requirement};

/// From where something of storage can be reached: a condition on the labels of nodes, the same for a volume's node affinity,
/// a class's allowed topologies and the topology of a storage capacity.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Topology(Option<Arc<[NodeSelectorTerm]>>);

impl Topology {
    /// From every node.
    pub const EVERYWHERE: Self = Self(None);

    /// From where a volume with this required node affinity can be reached. As in kube-scheduler, fields are not looked at: a
    /// term that is about a node's name alone allows every node.
    pub fn of_affinity(required: Option<&[NodeSelectorTerm]>) -> Self {
        let Some(terms) = required else {
            return Self::EVERYWHERE;
        };
        let usable = terms.iter().filter(|term| !term.is_empty() && term.is_valid());
        Self::any_of(usable.map(|term| term.match_expressions.clone()))
    }

    /// Where a class makes volumes; everywhere when it names nothing.
    pub fn of_allowed(allowed: &[TopologySelectorTerm]) -> Self {
        if allowed.is_empty() {
            return Self::EVERYWHERE;
        }
        let named = allowed.iter().filter(|term| !term.expressions.is_empty());
        let requirements = named.map(|term| -> Vec<_> {
            let expressions = term.expressions.iter();
            expressions
                .map(|(key, values)| Requirement::new(key.clone(), Operator::In, values.iter().cloned()))
                .collect()
        });
        Self::any_of(requirements.filter(|requirements| requirements.iter().all(Requirement::is_valid)))
    }

    /// The nodes that a selector selects; an empty one selects every node, an invalid one none.
    pub fn of_selector(selector: &LabelSelector) -> Self {
        let labels = selector.match_labels.iter();
        let labels = labels.map(|(key, value)| Requirement::new(key, Operator::In, [value]));
        let requirements = labels.chain(selector.match_expressions.iter().cloned()).collect();
        Self::any_of(selector.is_valid().then_some(requirements))
    }

    /// Terms without a requirement hold everywhere.
    fn any_of(alternatives: impl IntoIterator<Item = Vec<Requirement>>) -> Self {
        let mut terms = Vec::new();
        for match_expressions in alternatives {
            if match_expressions.is_empty() {
                return Self::EVERYWHERE;
            }
            terms.push(NodeSelectorTerm {
                match_expressions,
                match_fields: Vec::new(),
            });
        }
        Self(Some(terms.into()))
    }

    /// Whether it can be reached from a node with these labels.
    pub fn includes(&self, labels: &Labels) -> bool {
        let holds = |term: &NodeSelectorTerm| {
            let mut wanted = term.match_expressions.iter();
            wanted.all(|wanted| wanted.matches_value(labels.get(&wanted.key)))
        };
        self.terms().is_none_or(|terms| terms.iter().any(holds))
    }

    /// The terms, of which one must hold; none when it is everywhere.
    pub(crate) fn terms(&self) -> Option<&[NodeSelectorTerm]> {
        self.0.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &[(&str, &str)]) -> Labels {
        text.iter().copied().collect()
    }

    fn term(expressions: &[(&str, Operator, &[&str])], fields: &[&str]) -> NodeSelectorTerm {
        let requirement = |key: &str, operator: &Operator, values: &[&str]| {
            Requirement::new(key, operator.clone(), values.iter().copied())
        };
        NodeSelectorTerm {
            match_expressions: expressions
                .iter()
                .map(|(key, operator, values)| requirement(key, operator, values))
                .collect(),
            match_fields: fields
                .iter()
                .map(|name| requirement("metadata.name", &Operator::In, &[name]))
                .collect(),
        }
    }

    #[test]
    fn an_affinity_is_about_labels_alone() {
        let zone = |zone: &'static str| term(&[("zone", Operator::In, &[zone])], &[]);
        let here = labels(&[("zone", "a")]);
        let cases: Vec<(Option<Vec<NodeSelectorTerm>>, bool)> = vec![
            (None, true),
            (Some(vec![]), false),
            (Some(vec![NodeSelectorTerm::default()]), false),
            (Some(vec![zone("a")]), true),
            (Some(vec![zone("b")]), false),
            (Some(vec![zone("b"), zone("a")]), true),
            (Some(vec![term(&[], &["elsewhere"])]), true),
            (
                Some(vec![term(&[("zone", Operator::In, &["b"])], &["elsewhere"])]),
                false,
            ),
            (Some(vec![term(&[("zone", Operator::In, &[])], &[])]), false),
            (Some(vec![term(&[("rack", Operator::DoesNotExist, &[])], &[])]), true),
        ];
        for (terms, expected) in cases {
            let topology = Topology::of_affinity(terms.as_deref());
            assert_eq!(topology.includes(&here), expected, "{terms:?}");
        }
    }

    #[test]
    fn allowed_topologies_and_selectors_mean_what_they_mean_to_kube_scheduler() {
        let here = labels(&[("zone", "a"), ("rack", "1")]);
        let allowed = |terms: &[&[(&str, &[&str])]]| {
            let term = |expressions: &&[(&str, &[&str])]| TopologySelectorTerm {
                expressions: expressions
                    .iter()
                    .map(|(key, values)| ((*key).into(), values.iter().map(|value| (*value).into()).collect()))
                    .collect(),
            };
            Topology::of_allowed(&terms.iter().map(term).collect::<Vec<_>>()).includes(&here)
        };
        assert!(allowed(&[]));
        assert!(!allowed(&[&[]]));
        assert!(allowed(&[&[], &[("zone", &["b", "a"])]]));
        assert!(!allowed(&[&[("zone", &["a"]), ("rack", &["2"])]]));
        assert!(!allowed(&[&[("zone", &[])]]));
        assert!(!allowed(&[&[("zone", &["not a value"])]]));

        let selected = |selector: &LabelSelector| Topology::of_selector(selector).includes(&here);
        assert!(selected(&LabelSelector::default()));
        assert!(selected(&LabelSelector::of_labels(labels(&[("zone", "a")]))));
        assert!(!selected(&LabelSelector::of_labels(labels(&[("zone", "b")]))));
        let with = |operator| LabelSelector {
            match_expressions: vec![Requirement::new("disk", operator, Vec::<String>::new())],
            ..LabelSelector::default()
        };
        assert!(selected(&with(Operator::DoesNotExist)));
        assert!(!selected(&with(Operator::In)));
    }
}
