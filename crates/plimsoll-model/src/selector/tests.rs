use super::*;

fn labels() -> Labels {
    [("zone", "a"), ("size", "10"), ("empty", ""), ("text", "x1")]
        .into_iter()
        .collect()
}

fn requirement(key: &str, operator: &str, values: &[&str]) -> Requirement {
    Requirement::new(key, CompactString::from(operator).into(), values.iter().copied())
}

fn term(expressions: &[Requirement], fields: &[Requirement]) -> NodeSelectorTerm {
    NodeSelectorTerm {
        match_expressions: expressions.to_vec(),
        match_fields: fields.to_vec(),
    }
}

#[test]
fn each_operator_compares_as_kubernetes_does() {
    let cases: [(&str, &str, &[&str], bool); 27] = [
        ("zone", "In", &["a", "b"], true),
        ("zone", "In", &["b"], false),
        ("absent", "In", &["a"], false),
        ("empty", "In", &[""], true),
        ("absent", "In", &[""], false),
        ("zone", "NotIn", &["b"], true),
        ("zone", "NotIn", &["a"], false),
        ("absent", "NotIn", &["a"], true),
        ("empty", "Exists", &[], true),
        ("absent", "Exists", &[], false),
        ("zone", "DoesNotExist", &[], false),
        ("absent", "DoesNotExist", &[], true),
        ("size", "Gt", &["9"], true),
        ("size", "Gt", &["10"], false),
        ("size", "Lt", &["11"], true),
        ("size", "Lt", &["10"], false),
        ("text", "Gt", &["0"], false),
        ("absent", "Lt", &["5"], false),
        // Invalid: match nothing, whatever the labels.
        ("size", "Gt", &["-5"], false),
        ("size", "Gt", &["x"], false),
        ("size", "Gt", &[], false),
        ("size", "Lt", &["11", "12"], false),
        ("zone", "In", &[], false),
        ("absent", "NotIn", &[], false),
        ("zone", "Exists", &["a"], false),
        ("zone", "Is", &["a"], false),
        ("-zone", "DoesNotExist", &[], false),
    ];
    for (key, operator, values, expected) in cases {
        let term = term(&[requirement(key, operator, values)], &[]);
        assert_eq!(term.matches("n1", &labels()), expected, "{key} {operator} {values:?}");
    }
}

#[test]
fn a_term_needs_all_its_parts_and_an_empty_one_matches_nothing() {
    let zone = || requirement("zone", "In", &["a"]);
    let name = |operator, names: &[&str]| requirement("metadata.name", operator, names);
    let cases = [
        (term(&[], &[]), false),
        (term(&[zone(), requirement("size", "Exists", &[])], &[]), true),
        (term(&[zone(), requirement("size", "DoesNotExist", &[])], &[]), false),
        (term(&[], &[name("In", &["n1"])]), true),
        (term(&[], &[name("In", &["n2"])]), false),
        (term(&[], &[name("NotIn", &["n2"])]), true),
        (term(&[], &[name("In", &["n1", "n2"])]), false),
        (term(&[], &[name("Exists", &[])]), false),
        (term(&[zone()], &[name("In", &["n1"])]), true),
        (term(&[zone()], &[name("In", &["n2"])]), false),
        (term(&[], &[requirement("metadata.uid", "In", &["n1"])]), false),
        (term(&[], &[requirement("metadata.uid", "NotIn", &["n1"])]), true),
    ];
    for (term, expected) in cases {
        assert_eq!(term.matches("n1", &labels()), expected, "{term:?}");
    }
}

#[test]
fn a_label_selector_needs_all_its_parts_and_an_empty_one_matches_everything() {
    let of = |pairs: &[(&str, &str)], expressions: &[Requirement]| LabelSelector {
        match_labels: pairs.iter().copied().collect(),
        match_expressions: expressions.to_vec(),
    };
    let cases = [
        (of(&[], &[]), true),
        (of(&[("zone", "a")], &[]), true),
        (of(&[("zone", "b")], &[]), false),
        (of(&[("zone", "a"), ("absent", "")], &[]), false),
        (of(&[("zone", "a")], &[requirement("size", "NotIn", &["10"])]), false),
        (of(&[], &[requirement("absent", "DoesNotExist", &[])]), true),
        (of(&[], &[requirement("size", "Gt", &["1"])]), false),
        (of(&[("zone", "a b")], &[]), false),
    ];
    for (selector, expected) in cases {
        assert_eq!(selector.matches(&labels()), expected, "{selector:?}");
    }
}
