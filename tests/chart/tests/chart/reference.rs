//! The comments of `values.yaml` are the only place where values are described.

use std::fs;

use plimsoll_chart::{ValuesPage, chart, described_schema, readme_with_table, top, writes};
use serde_json::Value;

fn page() -> anyhow::Result<ValuesPage> {
    ValuesPage::read(&fs::read_to_string(chart().join("values.yaml"))?)
}

#[test]
fn the_readme_lists_every_value_with_its_comment_and_default() -> anyhow::Result<()> {
    let file = chart().join("README.md");
    let readme = fs::read_to_string(&file)?;
    let expected = readme_with_table(&readme, &page()?)?;
    if writes() {
        fs::write(&file, &expected)?;
    }
    assert_eq!(
        fs::read_to_string(&file)?,
        expected,
        "WRITE_CHART=1 make chart writes it anew"
    );
    Ok(())
}

#[test]
fn the_schema_knows_exactly_the_values_and_describes_them_by_their_comments() -> anyhow::Result<()> {
    let file = chart().join("values.schema.json");
    let read = || anyhow::Ok(serde_json::from_str::<Value>(&fs::read_to_string(&file)?)?);
    let configuration = fs::read_to_string(top().join("docs/schema/plimsoll-v1alpha1.json"))?;
    let expected = described_schema(&read()?, &serde_json::from_str(&configuration)?, &page()?)?;
    if writes() {
        fs::write(&file, format!("{expected:#}\n"))?;
    }
    assert_eq!(read()?, expected, "WRITE_CHART=1 make chart writes it anew");
    Ok(())
}
