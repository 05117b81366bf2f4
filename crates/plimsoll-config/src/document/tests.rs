use super::*;

fn value(text: &str) -> Value {
    parse(text).unwrap().0.value
}

#[test]
fn plain_scalars_mean_what_they_mean_to_kube_scheduler() {
    let cases = [
        ("", Value::Null),
        ("~", Value::Null),
        ("yes", Value::Bool(true)),
        ("Off", Value::Bool(false)),
        ("n", Value::Bool(false)),
        ("'yes'", Value::Text("yes".into())),
        ("5", Value::Int(5)),
        ("-5", Value::Int(-5)),
        ("+5", Value::Int(5)),
        ("010", Value::Int(8)),
        ("0x1F", Value::Int(31)),
        ("0b101", Value::Int(5)),
        ("1_000", Value::Int(1000)),
        ("18446744073709551615", Value::UInt(u64::MAX)),
        ("18446744073709551616", Value::Float(18_446_744_073_709_551_616.0)),
        ("1.5", Value::Float(1.5)),
        (".5", Value::Float(0.5)),
        ("5.", Value::Float(5.0)),
        ("1e3", Value::Float(1000.0)),
        (".", Value::Text(".".into())),
        (
            "-",
            Value::List(vec![Node {
                at: Position { line: 1, column: 2 },
                value: Value::Null,
            }]),
        ),
        ("08", Value::Float(8.0)),
        ("0xZ", Value::Text("0xZ".into())),
        ("1.2.3", Value::Text("1.2.3".into())),
        ("2026-11-28", Value::Text("2026-11-28".into())),
        ("15s", Value::Text("15s".into())),
        ("190:20:30", Value::Text("190:20:30".into())),
        ("!!str 5", Value::Text("5".into())),
        ("!!float 5", Value::Int(5)),
        ("!!binary aGk=", Value::Text("hi".into())),
        ("!mine 5", Value::Text("5".into())),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn json_is_read_too() {
    let (root, _) = parse("{\t\"a\": [1, true, null,\n \"x\\u0041\\/\\ud83d\\ude00\"],\"b\":{}}").unwrap();
    assert_eq!(
        root.to_json(),
        serde_json::json!({"a": [1, true, null, "xA/\u{1f600}"], "b": {}})
    );
}

#[test]
fn places_are_known_by_path() {
    let (root, _) = parse("a:\n  - b: 1\n    c: {d: 2}\n").unwrap();
    let at = |path: &str| root.locate(path).to_string();
    assert_eq!(at("a[0].c.d"), "line 3, column 9");
    assert_eq!(at("a[0].c.nothing"), "line 3, column 5");
    assert_eq!(at("a[7]"), "line 1, column 1");
    assert_eq!(at(""), "line 1, column 1");
}

#[test]
fn a_key_that_is_there_twice_is_marked_and_the_last_counts() {
    let (root, _) = parse("a: 1\nb: 2\na: 3\n").unwrap();
    assert_eq!(root.get("a").map(|node| &node.value), Some(&Value::Int(3)));
    let Value::Map(entries) = &root.value else {
        unreachable!()
    };
    let repeated: Vec<_> = entries.iter().map(|entry| entry.repeated).collect();
    assert_eq!(repeated, [false, false, true]);
}

#[test]
fn merge_keys_add_what_is_not_there_and_override_nothing() {
    let text = "base: &base {a: 1, b: 2}\nmore: &more {b: 7, c: 3}\nout: {<<: *base, c: 9}\n";
    let (root, _) = parse(text).unwrap();
    assert_eq!(
        root.get("out").unwrap().to_json(),
        serde_json::json!({"a": 1, "b": 2, "c": 9})
    );
    let repeated = |out: &str| {
        let (root, _) = parse(&text.replace("{<<: *base, c: 9}", out)).unwrap();
        let Value::Map(entries) = &root.get("out").unwrap().value else {
            unreachable!()
        };
        let repeated = entries.iter().filter(|entry| entry.repeated);
        repeated.map(|entry| entry.key.clone()).collect::<String>()
    };
    for (out, expected) in [
        ("{<<: *base, c: 9}", ""),
        ("{<<: *base, a: 9}", "a"),
        ("{a: 9, <<: *base}", "a"),
        ("{<<: [*base, *more]}", "b"),
        ("{<<: [*base, {d: 4}], e: 5}", ""),
    ] {
        assert_eq!(repeated(out), expected, "{out}");
    }
}

#[test]
fn only_the_first_document_is_read() {
    let (root, second) = parse("---\na: 1\n---\nb: [\n").unwrap();
    assert_eq!(root.to_json(), serde_json::json!({"a": 1}));
    assert_eq!(second.map(|at| at.line), Some(3));
    assert_eq!(parse("a: 1\n...\n").unwrap().1, None);
}

#[test]
fn comments_change_nothing_wherever_they_stand() {
    let bare = parse("a:\n- b: 1\n- [c, d]\n").unwrap().0;
    let text = "# top\na: # behind a key\n# between\n- b: 1 # behind a value\n- [c, # in a list\n  d]\n# end\n";
    let (commented, second) = parse(text).unwrap();
    assert_eq!(commented.to_json(), bare.to_json());
    assert_eq!(second, None);
    assert_eq!(value("# nothing else\n"), Value::Null);
}

#[test]
fn syntax_errors_tell_where() {
    let error = parse("a: 1\nb: [1, 2\n").unwrap_err();
    assert!(error.at.line >= 2, "{error:?}");
    assert!(!error.text.is_empty());
}

#[test]
fn hostile_texts_end_in_an_error() {
    let deep_flow = "[".repeat(100_000);
    let deep_block: String = (0..300)
        .flat_map(|depth| [" ".repeat(depth), "a:\n".to_owned()])
        .collect();
    let bomb: String = (1..20)
        .map(|level| {
            let aliases = [format!("*a{}", level - 1).as_str(); 10].join(",");
            format!("a{level}: &a{level} [{aliases}]\n")
        })
        .fold("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, line| text + &line);
    let chain: String = (1..2000)
        .map(|level| format!("a{level}: &a{level} [*a{}]\n", level - 1))
        .fold("a0: &a0 [x]\n".to_owned(), |text, line| text + &line);
    let cases = [
        (deep_flow, ""),
        (deep_block, "more than 100 levels"),
        (bomb, "more than 250000 values"),
        (chain, "more than 100 levels"),
        ("x".repeat(10 << 20), "bytes long"),
        ("a: &a [*a]".to_owned(), "inside"),
        ("a: *b".to_owned(), ""),
        ("- x\n".repeat(600_000), "more than 250000 values"),
    ];
    for (text, expected) in cases {
        let error = parse(&text).unwrap_err();
        assert!(error.text.contains(expected), "{expected}: {error:?}");
        assert!(error.text.len() < 500, "{expected}");
    }
}
