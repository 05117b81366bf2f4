//! The families that a scheduler shows of itself, as whoever builds dashboards sees them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;

/// One reading of a page in the Prometheus text format, by names of families.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exposition {
    /// What is told of each family.
    pub families: BTreeMap<String, Family>,
}

/// One family, without its values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Family {
    /// `counter`, `gauge`, …
    pub kind: String,
    /// What it is about.
    pub help: String,
    /// The names of the labels of all its series, without `le` of buckets.
    pub labels: BTreeSet<String>,
    /// The upper bounds of its buckets, as they are written.
    pub buckets: BTreeSet<String>,
    /// Its series with their values, as they are written.
    pub series: BTreeMap<String, f64>,
}

impl Exposition {
    /// Reads a page. A comma or a brace in a label's value is not understood.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let mut families: BTreeMap<String, Family> = BTreeMap::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').unwrap_or((help, ""));
                help.clone_into(&mut families.entry(name.to_owned()).or_default().help);
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').context("a family without a type")?;
                kind.clone_into(&mut families.entry(name.to_owned()).or_default().kind);
            } else if !line.starts_with('#') {
                series(line, &mut families).with_context(|| format!("no series: {line}"))?;
            }
        }
        Ok(Self { families })
    }
}

fn series(line: &str, families: &mut BTreeMap<String, Family>) -> anyhow::Result<()> {
    let (series, value) = line.rsplit_once(' ').context("without a value")?;
    let (name, labels) = series.split_once('{').unwrap_or((series, ""));
    let of_histogram = ["_bucket", "_sum", "_count"]
        .iter()
        .filter_map(|ending| name.strip_suffix(ending))
        .find(|name| families.contains_key(*name));
    let family = families.get_mut(of_histogram.unwrap_or(name)).context("of no family")?;
    for label in labels
        .trim_end_matches('}')
        .split(',')
        .filter(|label| !label.is_empty())
    {
        let (key, value) = label.split_once('=').context("a label without a value")?;
        if key == "le" {
            family.buckets.insert(value.trim_matches('"').to_owned());
        } else {
            family.labels.insert(key.to_owned());
        }
    }
    family.series.insert(series.to_owned(), value.parse()?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_and_labels_of_all_series_belong_to_their_family() -> anyhow::Result<()> {
        let text = "# HELP a [ALPHA] What it is.\n# TYPE a histogram\na_bucket{x=\"1\",le=\"0.5\"} 1\n\
                    a_bucket{x=\"1\",le=\"+Inf\"} 2\na_sum{x=\"1\"} 3e-05\na_count{x=\"1\"} 2\n# HELP b_count\n\
                    # TYPE b_count gauge\nb_count 7\n";
        let read = Exposition::parse(text)?;
        let a = &read.families["a"];
        assert_eq!((a.kind.as_str(), a.help.as_str()), ("histogram", "[ALPHA] What it is."));
        assert_eq!(a.labels, ["x".to_owned()].into());
        assert_eq!(a.buckets, ["+Inf".to_owned(), "0.5".to_owned()].into());
        assert_eq!(read.families["b_count"].series["b_count"].to_string(), "7");
        Ok(())
    }
}
