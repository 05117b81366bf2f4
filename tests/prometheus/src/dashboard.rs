//! The queries of the dashboard, as Grafana would send them.

use anyhow::Context;
use serde_json::Value;

use crate::{shipped, text};

/// How Grafana fills in what the user chooses: everything, and a range of some scrapes.
const CHOSEN: [(&str, &str); 3] = [("$job", ".+"), ("$namespace", ".*"), ("$__rate_interval", "1m")];

/// Each query with the title of its panel.
///
/// # Errors
/// When the file cannot be read, or a panel is none.
pub fn queries() -> anyhow::Result<Vec<(String, String)>> {
    let dashboard: Value = serde_json::from_str(&text(&shipped("dashboard.json"))?)?;
    let panels = dashboard["panels"].as_array().context("no panels")?;
    let mut queries = Vec::new();
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        let title = panel["title"].as_str().context("a panel without a title")?;
        let targets = panel["targets"].as_array().context("a panel without queries")?;
        for target in targets {
            let mut query = target["expr"].as_str().context("a target without a query")?.to_owned();
            for (variable, value) in CHOSEN {
                query = query.replace(variable, value);
            }
            queries.push((title.to_owned(), query));
        }
    }
    Ok(queries)
}
