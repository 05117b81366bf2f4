use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use compact_str::CompactString;
use foldhash::fast::FixedState;

use crate::{Affinity, Labels, Pod, PodAffinity, PodAffinityTerm, PodPattern};

/// All that other pods' rules, and its own towards them, see of a pod. Pods that are equal in this are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PodClass {
    /// Its namespace.
    pub namespace: CompactString,
    /// Its labels.
    pub labels: Labels,
    /// Whether it has been told to go.
    pub terminating: bool,
    /// Its terms towards other pods. Of a list (required or preferred, affinity or anti-affinity) in which a term can't be
    /// parsed there are none, as in kube-scheduler; nor are there terms that match no pod.
    pub terms: Arc<[PodTerm]>,
}

/// A term of a pod that is on a node, towards others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PodTerm {
    /// What it means to those who match.
    pub kind: TermKind,
    /// Who is meant.
    pub pattern: PodPattern,
    /// Nodes with the same value of this label are near each other.
    pub topology_key: CompactString,
}

/// What a term of a pod means to those it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TermKind {
    /// It must be near them.
    RequiredAffinity,
    /// They must not come near.
    RequiredAntiAffinity,
    /// It likes to be near them, this much.
    PreferredAffinity(i32),
    /// It would rather not be near them, this much.
    PreferredAntiAffinity(i32),
}

impl PodClass {
    /// The class of a pod.
    pub fn of(pod: &Pod) -> Self {
        let terms = pod
            .spec
            .affinity
            .as_deref()
            .map_or_else(Arc::default, |affinity| terms_of(affinity, &pod.name.namespace));
        Self {
            namespace: pod.name.namespace.clone(),
            labels: pod.labels.clone(),
            terminating: pod.is_terminating(),
            terms,
        }
    }
}

/// A class with its hash, which the counts of all pods of the class are found by: worked out once for a pod, when its watch
/// tells of it, instead of each time it comes or goes.
#[derive(Clone, PartialEq, Eq)]
pub struct KnownClass {
    hash: u64,
    class: PodClass,
}

impl From<PodClass> for KnownClass {
    fn from(class: PodClass) -> Self {
        let hash = FixedState::default().hash_one(&class);
        Self { hash, class }
    }
}

impl Default for KnownClass {
    fn default() -> Self {
        PodClass::default().into()
    }
}

impl Deref for KnownClass {
    type Target = PodClass;

    fn deref(&self) -> &PodClass {
        &self.class
    }
}

impl Hash for KnownClass {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl fmt::Debug for KnownClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.class.fmt(f)
    }
}

fn terms_of(affinity: &Affinity, namespace: &str) -> Arc<[PodTerm]> {
    let mut terms = Vec::new();
    if let Some(affinity) = &affinity.pod_affinity {
        push_required(&mut terms, affinity, TermKind::RequiredAffinity, namespace);
        push_preferred(&mut terms, affinity, TermKind::PreferredAffinity, namespace);
    }
    if let Some(anti_affinity) = &affinity.pod_anti_affinity {
        push_required(&mut terms, anti_affinity, TermKind::RequiredAntiAffinity, namespace);
        push_preferred(&mut terms, anti_affinity, TermKind::PreferredAntiAffinity, namespace);
    }
    terms.into()
}

fn push_required(terms: &mut Vec<PodTerm>, affinity: &PodAffinity, kind: TermKind, namespace: &str) {
    let required = affinity.required.iter();
    push(terms, required.map(|term| (kind, term)), namespace);
}

fn push_preferred(terms: &mut Vec<PodTerm>, affinity: &PodAffinity, kind: fn(i32) -> TermKind, namespace: &str) {
    let preferred = affinity.preferred.iter();
    push(
        terms,
        preferred.map(|wish| (kind(wish.weight), &wish.pod_affinity_term)),
        namespace,
    );
}

fn push<'a>(
    terms: &mut Vec<PodTerm>,
    list: impl Iterator<Item = (TermKind, &'a PodAffinityTerm)> + Clone,
    namespace: &str,
) {
    let parsable = list.clone().all(|(_, term)| term.check().is_ok());
    let list = list.filter(|(_, term)| parsable && term.label_selector.is_some());
    terms.extend(list.map(|(kind, term)| PodTerm {
        kind,
        pattern: PodPattern::of_term(term, namespace),
        topology_key: term.topology_key.clone(),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode_pod;

    fn class(affinity: &str) -> PodClass {
        let metadata = r#"{"namespace":"own","name":"p","uid":"u","resourceVersion":"1","labels":{"app":"web"}}"#;
        let pod = format!(r#"{{"metadata":{metadata},"spec":{{"affinity":{affinity}}}}}"#);
        PodClass::of(&decode_pod(pod.as_bytes()).unwrap())
    }

    #[test]
    fn terms_keep_their_kind_and_weight() {
        let required =
            r#""requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{},"topologyKey":"zone"}]"#;
        let preferred = |weight: i32| {
            format!(
                r#""preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":{weight},
                   "podAffinityTerm":{{"labelSelector":{{}},"namespaces":["a"],"topologyKey":"host"}}}}]"#
            )
        };
        let class = class(&format!(
            r#"{{"podAffinity":{{{required},{}}},"podAntiAffinity":{{{required},{}}}}}"#,
            preferred(3),
            preferred(7)
        ));
        let terms: Vec<_> = class
            .terms
            .iter()
            .map(|term| {
                (
                    term.kind,
                    term.topology_key.as_str(),
                    term.pattern.namespaces[0].as_str(),
                )
            })
            .collect();
        assert_eq!(
            terms,
            [
                (TermKind::RequiredAffinity, "zone", "own"),
                (TermKind::PreferredAffinity(3), "host", "a"),
                (TermKind::RequiredAntiAffinity, "zone", "own"),
                (TermKind::PreferredAntiAffinity(7), "host", "a"),
            ]
        );
        assert_eq!(
            (class.namespace.as_str(), class.labels.get("app")),
            ("own", Some("web"))
        );
    }

    #[test]
    fn a_list_with_a_term_that_cannot_be_parsed_is_as_good_as_empty() {
        let good = r#"{"labelSelector":{},"topologyKey":"zone"}"#;
        let bad = r#"{"labelSelector":{"matchLabels":{"not a key":"x"}},"topologyKey":"zone"}"#;
        let bad_namespaces = r#"{"labelSelector":{},"namespaceSelector":{"matchExpressions":[{"key":"a","operator":"Gt",
            "values":["1"]}]},"topologyKey":"zone"}"#;
        let nothing = r#"{"topologyKey":"zone"}"#;
        let count = |terms: &str, others: &str| {
            class(&format!(
                r#"{{"podAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[{terms}]}},
                    "podAntiAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[{others}]}}}}"#
            ))
            .terms
            .len()
        };
        assert_eq!(count(&format!("{good},{good}"), ""), 2);
        assert_eq!(count(&format!("{good},{bad}"), good), 1);
        assert_eq!(count(bad_namespaces, good), 1);
        assert_eq!(count(&format!("{good},{nothing}"), good), 2);
    }
}
