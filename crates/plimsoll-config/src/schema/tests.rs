//! The schemas hold for what the decoder takes, and no longer than it takes it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;
use crate::{FeatureGates, decode, load};

/// Of the keywords these schemas use, those that can fail; the first reason.
fn fault(root: &Value, schema: &Value, value: &Value, path: &str) -> Option<String> {
    let keywords = schema.as_object()?;
    let below = |schema: &Value, value: &Value, path: &str| fault(root, schema, value, path);
    keywords.iter().find_map(|(keyword, wanted)| match keyword.as_str() {
        "$ref" => {
            let pointer = wanted.as_str()?.strip_prefix('#')?;
            below(root.pointer(pointer)?, value, path)
        }
        "type" => (!is_of_type(value, wanted.as_str()?)).then(|| format!("{path}: not of type {wanted}")),
        "const" => (value != wanted).then(|| format!("{path}: not {wanted}")),
        "enum" => (!wanted.as_array()?.contains(value)).then(|| format!("{path}: none of {wanted}")),
        "minimum" => (value.as_f64()? < wanted.as_f64()?).then(|| format!("{path}: below {wanted}")),
        "maximum" => (value.as_f64()? > wanted.as_f64()?).then(|| format!("{path}: above {wanted}")),
        "minProperties" => ((value.as_object()?.len() as u64) < wanted.as_u64()?).then(|| format!("{path}: empty")),
        "pattern" => {
            assert_eq!(wanted, DURATION);
            let text = value.as_str()?;
            text.parse::<crate::GoDuration>()
                .err()
                .map(|error| format!("{path}: {error}"))
        }
        "required" => {
            let object = value.as_object()?;
            let missing = wanted
                .as_array()?
                .iter()
                .find(|name| !object.contains_key(name.as_str().unwrap_or_default()));
            missing.map(|name| format!("{path}: without {name}"))
        }
        "items" => {
            let items = value.as_array()?.iter().enumerate();
            items
                .into_iter()
                .find_map(|(at, item)| below(wanted, item, &format!("{path}[{at}]")))
        }
        "properties" => {
            let fields = wanted.as_object()?.iter();
            fields
                .into_iter()
                .find_map(|(name, schema)| below(schema, value.get(name)?, &format!("{path}.{name}")))
        }
        "additionalProperties" => {
            let known = schema.get("properties");
            let others = value
                .as_object()?
                .iter()
                .filter(|(name, _)| known.is_none_or(|known| known.get(name).is_none()));
            others.into_iter().find_map(|(name, value)| match wanted {
                Value::Bool(false) => Some(format!("{path}: unknown {name}")),
                wanted => below(wanted, value, &format!("{path}.{name}")),
            })
        }
        "allOf" => wanted.as_array()?.iter().find_map(|schema| below(schema, value, path)),
        "anyOf" => {
            let mut ways = wanted.as_array()?.iter();
            (!ways.any(|schema| below(schema, value, path).is_none())).then(|| format!("{path}: in no way"))
        }
        "then" => {
            let holds = below(schema.get("if")?, value, path).is_none();
            holds.then(|| below(wanted, value, path)).flatten()
        }
        _ => None,
    })
}

fn is_of_type(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => unreachable!("{other}"),
    }
}

fn parsed(kind: ConfigKind) -> Value {
    serde_json::from_str(&schema(kind)).unwrap_or_default()
}

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

#[test]
fn shipped_schemas_are_up_to_date() {
    let files = [
        (ConfigKind::KubeScheduler, "docs/schema/kubescheduler-v1.json"),
        (ConfigKind::Plimsoll, "docs/schema/plimsoll-v1alpha1.json"),
    ];
    for (kind, file) in files {
        let file = folder(file);
        if std::env::var_os("WRITE_SCHEMAS").is_some() {
            fs::write(&file, schema(kind)).unwrap();
        }
        let shipped = fs::read_to_string(&file).unwrap();
        assert_eq!(
            shipped,
            schema(kind),
            "run this test with WRITE_SCHEMAS=1 to bring {file:?} up to date"
        );
    }
}

#[test]
fn every_example_is_as_its_schema_says_as_written_and_defaulted() {
    let mut checked = 0;
    for entry in fs::read_dir(folder("examples/config")).unwrap().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap();
        let loaded = decode(&text, &FeatureGates::default()).unwrap();
        let kind = loaded.kind();
        let schema = parsed(kind);
        assert_eq!(
            fault(&schema, &schema, &loaded.root.to_json(), ""),
            None,
            "{:?}",
            entry.path()
        );
        let config = loaded.validate().unwrap();
        for kind in [kind, ConfigKind::Plimsoll] {
            let schema = parsed(kind);
            assert_eq!(
                fault(&schema, &schema, &config.to_value(kind), ""),
                None,
                "{:?}",
                entry.path()
            );
        }
        checked += 1;
    }
    assert!(checked >= 15, "{checked}");
}

#[test]
fn what_the_decoder_refuses_the_schema_refuses_too() {
    let cases = [
        "parallelism: 0\n",
        "parallelism: a\n",
        "paralelism: 3\n",
        "leaderElection: {leaseDuration: 15}\n",
        "leaderElection: {leaseDuration: 15x}\n",
        "profiles: [{plugins: {filters: {}}}]\n",
        "profiles: [{backoff: {initial: 1s}}]\n",
        "profiles: [{percentageOfNodesToScore: 101}]\n",
        "profiles: [{pluginConfig: [{name: NodeAffinity, args: {foo: 1}}]}]\n",
        "profiles: [{pluginConfig: [{name: NodeAffinity, args: {kind: NodeLabelArgs}}]}]\n",
        "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: Foo}}]}]\n",
        "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: -1}}]}]\n",
        "extenders: [{urlPrefix: a, tlsConfig: {certdata: ''}}]\n",
    ];
    let schema = parsed(ConfigKind::KubeScheduler);
    for rest in cases {
        let text = format!("apiVersion: {}\nkind: {}\n{rest}", crate::API_VERSION, crate::KIND);
        assert!(load(&text, &FeatureGates::default()).is_err(), "{rest}");
        let (root, _) = crate::document::parse(&text).unwrap();
        assert!(fault(&schema, &schema, &root.to_json(), "").is_some(), "{rest}");
    }
}

/// A value for each field that a schema knows; the decoder must know it too, whatever it says of the value.
fn every_field(root: &Value, schema: &Value) -> Value {
    if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
        let schema = root.pointer(pointer.trim_start_matches('#'));
        return schema.map(|schema| every_field(root, schema)).unwrap_or_default();
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    // Most words are read first and judged later; of Plimsoll's own only those that are known are read.
    if let Some(word) = schema.pointer("/enum/0") {
        return word.clone();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            let fields = schema.get("properties").and_then(Value::as_object);
            let fields = fields.into_iter().flatten();
            Value::Object(
                fields
                    .map(|(name, schema)| (name.clone(), every_field(root, schema)))
                    .collect(),
            )
        }
        Some("array") => Value::from(vec![every_field(root, &schema["items"])]),
        Some("integer" | "number") => 1.into(),
        Some("boolean") => true.into(),
        _ if schema.get("pattern").is_some() => "1s".into(),
        _ => "".into(),
    }
}

#[test]
fn the_decoder_knows_every_field_of_the_schemas() {
    for kind in [ConfigKind::KubeScheduler, ConfigKind::Plimsoll] {
        let schema = parsed(kind);
        let mut file = every_field(&schema, &schema);
        let entries: Vec<Value> = schema["$defs"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(name, args)| {
                let plugin = name.strip_suffix("Args")?;
                Some(json!({"name": plugin, "args": every_field(&schema, args)}))
            })
            .collect();
        assert_eq!(entries.len(), 10);
        file["profiles"][0]["pluginConfig"] = entries.into();
        let text = file.to_string();
        decode(&text, &FeatureGates::default()).unwrap_or_else(|error| unreachable!("{error}\n{text}"));
    }
}
