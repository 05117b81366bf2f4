//! The flags that bound what metrics show.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use plimsoll_telemetry::MetricsPolicy;

use super::{FlagError, given};
use crate::version;

const METRIC: &str = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL: &str = "[a-zA-Z_][a-zA-Z0-9_]*";

/// Values that labels may have, by `metric,label`.
type Mapping = BTreeMap<String, String>;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Metrics")]
pub(super) struct MetricsFlags {
    /// Values that a label of a metric may show, as metric,label=value,value; others show as `unexpected`
    #[arg(long, value_name = "METRIC,LABEL=VALUE,…")]
    allow_metric_labels: Vec<String>,
    /// File with such a mapping; not together with --allow-metric-labels
    #[arg(long, value_name = "FILE", default_value = "")]
    allow_metric_labels_manifest: String,
    /// Metrics that are not shown, by their full names
    #[arg(long, value_name = "METRIC,…", value_delimiter = ',')]
    disabled_metrics: Vec<String>,
    /// Show metrics that this version hides; only the minor version before it can be given, and there are none
    #[arg(long, value_name = "VERSION", default_value = "")]
    show_hidden_metrics_for_version: String,
}

impl MetricsFlags {
    pub(super) fn policy(self) -> Result<MetricsPolicy, FlagError> {
        let before = previous(version::KUBE_SCHEDULER);
        let hidden = &self.show_hidden_metrics_for_version;
        if !hidden.is_empty() && *hidden != before {
            return Err(invalid(
                "showHiddenMetricsForVersion",
                &format!("{hidden:?}"),
                &format!("must be omitted or have the value '{before}'; only the previous minor version is allowed"),
            ));
        }
        for name in &self.disabled_metrics {
            if !is_metric(name) {
                return Err(invalid(
                    "disabledMetrics",
                    &format!("{:?}", self.disabled_metrics),
                    &format!("must be fully qualified metric names matching \"^{METRIC}$\", got {name:?}"),
                ));
            }
        }
        let mut mapping = Mapping::new();
        for text in &self.allow_metric_labels {
            mapping.extend(pairs(text)?);
        }
        check(&mapping, "allowListMapping", &format!("{mapping:?}"))?;
        if let Some(path) = given(self.allow_metric_labels_manifest) {
            if !mapping.is_empty() {
                return Err(FlagError::Usage(
                    "metrics: cannot specify both allowListMapping and allowListMappingManifest".to_owned(),
                ));
            }
            mapping = manifest(&path)?;
        }
        Ok(MetricsPolicy {
            allowed_labels: mapping
                .iter()
                .filter_map(|(key, values)| allowed(key, values))
                .collect(),
            disabled: self.disabled_metrics.into_iter().collect(),
        })
    }
}

fn previous(version: &str) -> String {
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    let minor: u32 = minor.parse().unwrap_or(0);
    format!("{major}.{}", minor.saturating_sub(1))
}

fn allowed(key: &str, values: &str) -> Option<((String, String), BTreeSet<String>)> {
    let (metric, label) = key.split_once(',')?;
    let values = values.split(',').map(str::to_owned).collect();
    Some(((metric.to_owned(), label.to_owned()), values))
}

/// `key=value`, or several in double quotes with commas between them, as pflag reads a map.
fn pairs(text: &str) -> Result<Vec<(String, String)>, FlagError> {
    let parts = match text.matches('=').count() {
        0 | 1 => vec![text.trim_matches('"').to_owned()],
        _ => fields(text),
    };
    let pair = |part: String| {
        let (key, value) = part.split_once('=').ok_or_else(|| {
            FlagError::Usage(format!(
                "invalid argument {text:?} for \"--allow-metric-labels\" flag: {part} must be formatted as key=value"
            ))
        })?;
        Ok((key.to_owned(), value.to_owned()))
    };
    parts.into_iter().map(pair).collect()
}

/// A line of comma-separated values; commas in double quotes part nothing.
fn fields(text: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for character in text.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => {
                if let Some(last) = fields.last_mut() {
                    last.push(other);
                }
            }
        }
    }
    fields
}

fn manifest(path: &str) -> Result<Mapping, FlagError> {
    let failed = |what: &str, cause: &dyn std::fmt::Display| {
        let told = format!("failed to {what} allow list manifest: {cause}");
        invalid("allowListMappingManifest", &format!("{path:?}"), &told)
    };
    let text = std::fs::read_to_string(path).map_err(|cause| failed("read", &cause))?;
    let mapping: Mapping = serde_saphyr::from_str(&text).map_err(|cause| failed("parse", &cause))?;
    check(&mapping, "allowListMappingManifest", &format!("{path:?}"))?;
    Ok(mapping)
}

fn check(mapping: &Mapping, field: &str, value: &str) -> Result<(), FlagError> {
    let is_key = |key: &String| {
        key.split_once(',')
            .is_some_and(|(metric, label)| is_metric(metric) && is_label(label))
    };
    if mapping.keys().all(is_key) {
        return Ok(());
    }
    let told = format!(
        "must have keys with format `metricName,labelName` where metricName matches {METRIC:?} and labelName matches \
         {LABEL:?}"
    );
    Err(invalid(field, value, &told))
}

fn is_metric(name: &str) -> bool {
    is_word(name, |c| c == '_' || c == ':')
}

fn is_label(name: &str) -> bool {
    is_word(name, |c| c == '_')
}

fn is_word(name: &str, also: impl Fn(char) -> bool) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || also(c);
    name.chars().all(fits) && name.chars().next().is_some_and(|c| !c.is_ascii_digit())
}

fn invalid(field: &str, value: &str, told: &str) -> FlagError {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "metrics.{field}: Invalid value: {value}: {told}");
    FlagError::Usage(text)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        metrics: MetricsFlags,
    }

    fn policy(flags: &[&str]) -> Result<MetricsPolicy, String> {
        let program = std::iter::once("program").chain(flags.iter().copied());
        let program = Program::try_parse_from(program).map_err(|error| error.to_string())?;
        program.metrics.policy().map_err(|error| error.to_string())
    }

    fn values(policy: &MetricsPolicy, metric: &str, label: &str) -> Vec<String> {
        let allowed = policy.allowed_labels.get(&(metric.to_owned(), label.to_owned()));
        allowed.into_iter().flatten().cloned().collect()
    }

    #[test]
    fn labels_are_bounded_by_flags_and_by_files() {
        let one = policy(&["--allow-metric-labels", "a_total,profile=x,y"]).unwrap();
        assert_eq!(values(&one, "a_total", "profile"), ["x", "y"]);
        let two = policy(&["--allow-metric-labels", r#""a,l=x,y","b,m=""#]).unwrap();
        assert_eq!(values(&two, "a", "l"), ["x", "y"]);
        assert_eq!(values(&two, "b", "m"), [""]);
        let path = std::env::temp_dir().join(format!("plimsoll-labels-{}.yaml", std::process::id()));
        std::fs::write(&path, "\"a,l\": \"x,y\"\n").unwrap();
        let name = path.to_str().unwrap();
        let file = policy(&["--allow-metric-labels-manifest", name]).unwrap();
        assert_eq!(values(&file, "a", "l"), ["x", "y"]);
        let both = policy(&["--allow-metric-labels", "a,l=x", "--allow-metric-labels-manifest", name]);
        std::fs::remove_file(&path).unwrap();
        let told = "metrics: cannot specify both allowListMapping and allowListMappingManifest";
        assert_eq!(both.unwrap_err(), told);
    }

    #[test]
    fn metrics_are_disabled_by_their_full_names() {
        let policy_of = policy(&["--disabled-metrics=a_total,b", "--disabled-metrics=c"]).unwrap();
        assert_eq!(policy_of.disabled, ["a_total", "b", "c"].map(str::to_owned).into());
        let told = policy(&["--disabled-metrics=a,1b"]).unwrap_err();
        assert!(told.contains(r#"got "1b""#), "{told}");
    }

    #[test]
    fn only_the_minor_version_before_can_have_hidden_metrics() {
        assert!(policy(&["--show-hidden-metrics-for-version=1.35"]).is_ok());
        assert_eq!(
            policy(&["--show-hidden-metrics-for-version=1.30"]).unwrap_err(),
            "metrics.showHiddenMetricsForVersion: Invalid value: \"1.30\": must be omitted or have the value '1.35'; only \
             the previous minor version is allowed"
        );
    }

    #[test]
    fn what_is_no_metric_or_no_pair_is_refused() {
        assert!(
            policy(&["--allow-metric-labels", "a=b"])
                .unwrap_err()
                .contains("metricName,labelName")
        );
        let told = policy(&["--allow-metric-labels", "a,l"]).unwrap_err();
        assert!(told.ends_with("a,l must be formatted as key=value"), "{told}");
    }
}
