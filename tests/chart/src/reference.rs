//! What is made from the comments of `values.yaml`: the table in the chart's README and the schema's descriptions.

use std::fmt::Write as _;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::values_page::ValuesPage;

const BEGIN: &str = "<!-- values: made from values.yaml, with WRITE_CHART=1 make chart -->\n";
const END: &str = "<!-- end of values -->\n";

/// The README with the table of values between its two marks.
pub fn readme_with_table(readme: &str, page: &ValuesPage) -> anyhow::Result<String> {
    let (before, rest) = readme.split_once(BEGIN).context("no place for the table begins")?;
    let (_, after) = rest.split_once(END).context("no place for the table ends")?;
    Ok(format!("{before}{BEGIN}{}{END}{after}", table(page)))
}

fn table(page: &ValuesPage) -> String {
    let mut text = String::new();
    let mut section = "";
    for entry in &page.entries {
        if entry.section != section {
            section = &entry.section;
            let _ = write!(
                text,
                "\n### {section}\n\n| value | default | what it is |\n|---|---|---|\n"
            );
        }
        // A bar would end the cell.
        let comment = entry.comment.replace('|', "\\|");
        let _ = writeln!(text, "| `{}` | {} | {comment} |", entry.name(), cell(&entry.default));
    }
    text.push('\n');
    text
}

fn cell(default: &Value) -> String {
    match default {
        Value::Array(items) if items.is_empty() => "`[]`".to_owned(),
        Value::Object(fields) if fields.is_empty() => "`{}`".to_owned(),
        Value::Array(_) | Value::Object(_) => "see [values.yaml](values.yaml)".to_owned(),
        Value::String(text) if text.is_empty() => "`\"\"`".to_owned(),
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

/// The values' schema with the comments as descriptions, and with profiles as the schema of configuration files has them.
///
/// # Errors
/// When a value has no schema, or the schema has a value that the chart has not.
pub fn described_schema(schema: &Value, configuration: &Value, page: &ValuesPage) -> anyhow::Result<Value> {
    let mut schema = schema.clone();
    schema["$defs"] = configuration["$defs"].clone();
    for entry in &page.entries {
        let path = entry.path.join("/properties/");
        let of_value = schema.pointer_mut(&format!("/properties/{path}"));
        let of_value = of_value.with_context(|| format!("{} has no schema", entry.name()))?;
        of_value["description"] = json!(entry.comment);
    }
    ensure_known(&schema, page, &mut Vec::new())?;
    Ok(schema)
}

/// Helm itself allows `global` in every chart.
const GLOBAL: &str = "global";

fn ensure_known(schema: &Value, page: &ValuesPage, path: &mut Vec<String>) -> anyhow::Result<()> {
    let is_entry = page.entries.iter().any(|entry| entry.path == *path);
    if is_entry || path.first().is_some_and(|first| first == GLOBAL) {
        return Ok(());
    }
    let leads = page.entries.iter().any(|entry| entry.path.starts_with(path));
    ensure!(leads, "{} is no value of the chart", path.join("."));
    ensure!(
        schema["additionalProperties"] == json!(false),
        "{} takes anything",
        path.join(".")
    );
    let properties = schema["properties"].as_object().context("no properties")?;
    for (key, child) in properties {
        path.push(key.clone());
        ensure_known(child, page, path)?;
        path.pop();
    }
    Ok(())
}
