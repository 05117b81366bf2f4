use proptest::prelude::*;

use super::filter::FilterReply;
use super::*;
use crate::json::Scanner;

fn names(names: &[&str]) -> Vec<compact_str::CompactString> {
    names.iter().map(|name| (*name).into()).collect()
}

fn filtered(json: &str) -> FilterReply {
    filter_reply(json.as_bytes()).unwrap()
}

/// What Go's decoder says about each of these, as measured with `encoding/json` of Go 1.26 over the types of
/// kube-scheduler 1.36.
#[test]
fn values_of_the_wrong_kind_in_a_filters_reply_are_told_in_the_words_of_go() {
    let filter = |json: &str| filter_reply(json.as_bytes()).unwrap_err().to_string();
    let cases = [
        (filter("[]"), "array into Go value of type v1.ExtenderFilterResult"),
        (filter(" 1"), "number into Go value of type v1.ExtenderFilterResult"),
        (filter("true"), "bool into Go value of type v1.ExtenderFilterResult"),
        (filter(r#""x""#), "string into Go value of type v1.ExtenderFilterResult"),
        (
            filter(r#"{"NodeNames":"x"}"#),
            "string into Go struct field ExtenderFilterResult.NodeNames of type []string",
        ),
        (
            filter(r#"{"nodenames":[1]}"#),
            "number into Go struct field ExtenderFilterResult.NodeNames of type string",
        ),
        (
            filter(r#"{"Error":{"a":1}}"#),
            "object into Go struct field ExtenderFilterResult.Error of type string",
        ),
        (
            filter(r#"{"FailedNodes":[]}"#),
            "array into Go struct field ExtenderFilterResult.FailedNodes of type v1.FailedNodesMap",
        ),
        (
            filter(r#"{"FailedAndUnresolvableNodes":{"a":["x"]}}"#),
            "array into Go struct field ExtenderFilterResult.FailedAndUnresolvableNodes of type string",
        ),
        (
            filter(r#"{"Nodes":[]}"#),
            "array into Go struct field ExtenderFilterResult.Nodes of type v1.NodeList",
        ),
        (
            filter(r#"{"Nodes":{"items":{}}}"#),
            "object into Go struct field NodeList.Nodes.items of type []v1.Node",
        ),
        (
            filter(r#"{"Nodes":{"items":["x"]}}"#),
            "string into Go struct field NodeList.Nodes.items of type v1.Node",
        ),
        (
            filter(r#"{"Nodes":{"items":[{"metadata":"x"}]}}"#),
            "string into Go struct field Node.Nodes.items.metadata of type v1.ObjectMeta",
        ),
        (
            filter(r#"{"Nodes":{"items":[{"metadata":{"name":1}}]}}"#),
            "number into Go struct field ObjectMeta.Nodes.items.metadata.name of type string",
        ),
    ];
    for (error, expected) in cases {
        assert_eq!(error, format!("json: cannot unmarshal {expected}"));
    }
}

#[test]
fn values_of_the_wrong_kind_in_other_replies_are_told_in_the_words_of_go() {
    let error = |error: Result<(), ReplyError>| error.unwrap_err().to_string();
    let priorities = |json: &str| error(host_priorities(json.as_bytes()).map(drop));
    let binding = |json: &str| error(binding_error(json.as_bytes()).map(drop));
    let preemption = |json: &str| error(preemption_reply(json.as_bytes()).map(drop));
    let cases = [
        (priorities("{}"), "object into Go value of type v1.HostPriorityList"),
        (priorities("[[]]"), "array into Go value of type v1.HostPriority"),
        (
            priorities(r#"[{"Host":1}]"#),
            "number into Go struct field HostPriority.Host of type string",
        ),
        (
            priorities(r#"[{"Score":"1"}]"#),
            "string into Go struct field HostPriority.Score of type int64",
        ),
        (
            priorities(r#"[{"score":1.0}]"#),
            "number 1.0 into Go struct field HostPriority.Score of type int64",
        ),
        (
            priorities(r#"[{"score":9223372036854775808}]"#),
            "number 9223372036854775808 into Go struct field HostPriority.Score of type int64",
        ),
        (binding("[]"), "array into Go value of type v1.ExtenderBindingResult"),
        (
            binding(r#"{"Error":true}"#),
            "bool into Go struct field ExtenderBindingResult.Error of type string",
        ),
        (
            preemption("[]"),
            "array into Go value of type v1.ExtenderPreemptionResult",
        ),
        (
            preemption(r#"{"NodeNameToMetaVictims":[]}"#),
            "array into Go struct field ExtenderPreemptionResult.NodeNameToMetaVictims of type map[string]*v1.MetaVictims",
        ),
        (
            preemption(r#"{"NodeNameToMetaVictims":{"n":[]}}"#),
            "array into Go struct field ExtenderPreemptionResult.NodeNameToMetaVictims of type v1.MetaVictims",
        ),
        (
            preemption(r#"{"NodeNameToMetaVictims":{"n":{"Pods":{}}}}"#),
            "object into Go struct field MetaVictims.NodeNameToMetaVictims.Pods of type []*v1.MetaPod",
        ),
        (
            preemption(r#"{"NodeNameToMetaVictims":{"n":{"Pods":["u"]}}}"#),
            "string into Go struct field MetaVictims.NodeNameToMetaVictims.Pods of type v1.MetaPod",
        ),
        (
            preemption(r#"{"NodeNameToMetaVictims":{"n":{"Pods":[{"UID":1}]}}}"#),
            "number into Go struct field MetaPod.NodeNameToMetaVictims.Pods.UID of type string",
        ),
        (
            preemption(r#"{"NodeNameToMetaVictims":{"n":{"NumPDBViolations":"1"}}}"#),
            "string into Go struct field MetaVictims.NodeNameToMetaVictims.NumPDBViolations of type int64",
        ),
    ];
    for (error, expected) in cases {
        assert_eq!(error, format!("json: cannot unmarshal {expected}"));
    }
}

#[test]
fn a_filters_reply_is_read_as_go_reads_it() {
    assert_eq!(filtered("null"), FilterReply::default());
    assert_eq!(
        filtered(r#"{"x":[{}],"Error":null,"Nodes":null}"#),
        FilterReply::default()
    );
    let all = filtered(
        r#"{"nodes":{"Items":[{"Metadata":{"Name":"a"}},null,{"metadata":null,"spec":{"name":"x"}}],"metadata":{"items":[]}},
            "NODENAMES":["b",null],"failednodes":{"c":"no","d":null},"FailedAndUnresolvableNodes":{"e":"never"},"error":"e"}"#,
    );
    assert_eq!(all.nodes, Some(names(&["a", "", ""])));
    assert_eq!(all.node_names, Some(names(&["b", ""])));
    let failed: Vec<_> = all
        .failed
        .iter()
        .map(|(node, text)| (node.as_str(), text.as_str()))
        .collect();
    assert_eq!(failed, [("c", "no"), ("d", "")]);
    assert_eq!(all.unresolvable["e"], "never");
    assert_eq!(all.error, "e");
}

#[test]
fn the_last_of_equal_keys_wins_and_maps_add_up() {
    assert_eq!(
        filtered(r#"{"NodeNames":["a"],"nodenames":["b"]}"#).node_names,
        Some(names(&["b"]))
    );
    assert_eq!(filtered(r#"{"NodeNames":["a"],"nodenames":null}"#).node_names, None);
    assert_eq!(filtered(r#"{"Error":"e","error":"f","ERROR":null}"#).error, "f");
    assert_eq!(
        filtered(r#"{"FailedNodes":{"a":"x"},"failednodes":{"b":"y"}}"#)
            .failed
            .len(),
        2
    );
    assert_eq!(
        filtered(r#"{"FailedNodes":{"a":"x"},"failednodes":null}"#).failed.len(),
        0
    );
    let choices = preemption_reply(
        br#"{"NodeNameToMetaVictims":{"n":{"Pods":[{"UID":"u"}],"NumPDBViolations":1},"n":{"Pods":[{"UID":"v"}]}}}"#,
    );
    let choice = &choices.unwrap()[0];
    assert_eq!((choice.pods[0].as_str(), choice.violations), ("v", 0));
}

#[test]
fn names_count_for_an_extender_that_was_sent_names() {
    let both = r#"{"Nodes":{"items":[{"metadata":{"name":"a"}}]},"NodeNames":["b"]}"#;
    assert_eq!(filtered(both).passing(true), ["b"]);
    assert_eq!(filtered(both).passing(false), ["a"]);
    let objects = r#"{"Nodes":{"items":[{"metadata":{"name":"a"}}]}}"#;
    assert_eq!(filtered(objects).passing(true), ["a"]);
    assert!(filtered(r#"{"NodeNames":["b"]}"#).passing(false).is_empty());
}

#[test]
fn priorities_and_bindings_are_read_as_go_reads_them() {
    let read = |json: &str| host_priorities(json.as_bytes()).unwrap();
    assert_eq!(read("null"), []);
    let scores = read(r#"[{"host":"a","SCORE":-9223372036854775808},null,{"Host":null,"Score":-0,"x":{}}]"#);
    assert_eq!(scores, [("a".into(), i64::MIN), ("".into(), 0), ("".into(), 0)]);
    for json in ["null", "{}", r#"{"Error":null,"x":1}"#] {
        assert_eq!(binding_error(json.as_bytes()).unwrap(), "", "{json}");
    }
    assert_eq!(binding_error(br#"{"error":"no"}"#).unwrap(), "no");
}

#[test]
fn a_preemptions_reply_is_read_by_name_of_the_node_and_null_kills_nobody() {
    let json = r#"{"nodenametometavictims":{"z":{"pods":[{"uid":"u"},null],"numpdbviolations":2},"b":null,"a":{"Pods":null}}}"#;
    let choices = preemption_reply(json.as_bytes()).unwrap();
    let shown: Vec<_> = choices
        .iter()
        .map(|choice| {
            let pods: Vec<_> = choice.pods.iter().map(plimsoll_model::Uid::as_str).collect();
            (choice.node.as_str(), pods, choice.violations)
        })
        .collect();
    assert_eq!(shown, [("a", vec![], 0), ("b", vec![], 0), ("z", vec!["u", ""], 2)]);
    assert_eq!(preemption_reply(b"null").unwrap(), []);
}

#[test]
fn a_reply_of_many_small_entries_is_refused() {
    let list = |entry: &str, count: usize| format!("[{}{entry}]", format!("{entry},").repeat(count - 1));
    assert!(host_priorities(list("{}", ENTRY_LIMIT).as_bytes()).is_ok());
    assert_eq!(
        host_priorities(list("{}", ENTRY_LIMIT + 1).as_bytes()),
        Err(ReplyError::TooMany)
    );
    let names = format!(r#"{{"NodeNames":{}}}"#, list("null", ENTRY_LIMIT + 1));
    assert_eq!(filter_reply(names.as_bytes()), Err(ReplyError::TooMany));
}

#[test]
fn long_texts_are_cut_between_characters() {
    let json = format!(r#"{{"Error":"{}"}}"#, "é".repeat(TEXT_LIMIT));
    let error = filtered(&json).error;
    assert!(
        error.len() <= TEXT_LIMIT + "…".len() && error.ends_with("é…"),
        "{}",
        error.len()
    );
}

/// Text close to replies: what fields are called, in objects and lists of any kind.
fn nearly_a_reply() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        4 => prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"", "null", "1", "1.5", "true", "\"Nodes\":", "\"items\":[", "\"metadata\":{",
            "\"name\":\"n\"", "\"NodeNames\":[", "\"FailedNodes\":{", "\"Error\":", "\"Host\":", "\"Score\":",
            "\"NodeNameToMetaVictims\":{", "\"Pods\":[", "\"UID\":", "\"n\"", "\"\\ud800\"", "\\",
        ]).prop_map(|token| token.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(token, 0..32).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn any_bytes_are_a_reply_or_an_error(bytes in nearly_a_reply(), raw in prop::collection::vec(any::<u8>(), 0..200)) {
        for bytes in [&bytes, &raw] {
            let mut scanner = Scanner::new();
            let _ = scanner.feed(bytes);
            // Not only what the scanner lets through: the readers stand on their own.
            let _ = filter_reply(bytes);
            let _ = host_priorities(bytes);
            let _ = binding_error(bytes);
            let _ = preemption_reply(bytes);
        }
    }
}
