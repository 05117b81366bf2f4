//! The flag `--feature-gates`.

use std::collections::BTreeMap;
use std::fmt;

use super::{FeatureGates, Gate, Stage};
use crate::suggest::closest;

/// The component whose gates are meant when none is named, and the only one there is.
const KUBE: &str = "kube";
const ALL_ALPHA: &str = "AllAlpha";
const ALL_BETA: &str = "AllBeta";

/// Why gates cannot be set so; the texts are kube-scheduler's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FeatureGateError {
    /// A gate without a value.
    #[error("missing bool value for {0}")]
    MissingValue(String),
    /// A value that is none.
    #[error("invalid value of {name}={value}, err: strconv.ParseBool: parsing {value:?}: invalid syntax")]
    NotBool {
        /// The gate.
        name: String,
        /// The value.
        value: String,
    },
    /// Gates of a component that is not there.
    #[error("component not registered: {0}")]
    Component(String),
    /// `kube:` written before some gates and not before others.
    #[error("set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use")]
    MixedPrefix,
    /// No such gate.
    #[error("unrecognized feature gate: {0}")]
    Unknown(String),
    /// Gates that are locked, or that need others: all of them.
    #[error("{}", joined(.0))]
    Several(Vec<String>),
}

impl FeatureGateError {
    /// What may have been meant.
    pub fn hint(&self) -> Option<String> {
        let Self::Unknown(name) = self else { return None };
        let names: Vec<&str> = Gate::ALL.iter().map(|gate| gate.spec().name).collect();
        closest(name, &names).map(|near| format!("did you mean {near:?}?"))
    }
}

/// One alone, several in brackets.
fn joined(texts: &[String]) -> String {
    match texts {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// A gate was set that will not be there for long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateWarning {
    /// The gate.
    pub gate: Gate,
    /// What it was set to.
    pub value: bool,
}

impl fmt::Display for GateWarning {
    /// As kube-scheduler logs it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.gate.spec().stage {
            Stage::Deprecated => "deprecated",
            stage => stage.name(),
        };
        write!(
            f,
            "Warning: setting {stage} feature gate. It will be removed in a future release."
        )
    }
}

/// Gates as the command line sets them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedGates {
    /// Which are on.
    pub gates: FeatureGates,
    /// Gates that were set and will not be there for long, in order of names.
    pub warnings: Vec<GateWarning>,
}

impl FeatureGates {
    /// Reads the values of `--feature-gates`, which may be given several times: lists of `[component:]Name=bool`.
    /// `AllAlpha` and `AllBeta` set every gate of that stage that is not set by itself.
    ///
    /// # Errors
    /// In kube-scheduler's words: unknown and locked gates, and gates that are on while what they need is off.
    pub fn parse<'t>(flags: impl IntoIterator<Item = &'t str>) -> Result<ParsedGates, FeatureGateError> {
        set(&values(flags)?)
    }

    /// The gates that can be set, as kube-scheduler lists them in its help.
    pub fn help() -> Vec<String> {
        let stands_for_many = [
            format!("{KUBE}:{ALL_ALPHA}=true|false (ALPHA - default=false)"),
            format!("{KUBE}:{ALL_BETA}=true|false (BETA - default=false)"),
        ];
        let specs = Gate::ALL.iter().map(|gate| gate.spec());
        let settable = specs.filter(|spec| matches!(spec.stage, Stage::Alpha | Stage::Beta));
        let lines = settable.map(|spec| {
            let (name, stage, default) = (spec.name, spec.stage.name(), spec.default);
            format!("{KUBE}:{name}=true|false ({stage} - default={default})")
        });
        let mut lines: Vec<String> = stands_for_many.into_iter().chain(lines).collect();
        lines.sort_unstable();
        lines
    }
}

/// Names and values; of a name that is there twice the last counts.
fn values<'t>(flags: impl IntoIterator<Item = &'t str>) -> Result<BTreeMap<String, bool>, FeatureGateError> {
    let pairs = flags.into_iter().flat_map(|flag| flag.split(','));
    let pairs: Vec<(&str, &str)> = pairs
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once(':').unwrap_or(("", pair)))
        .map(|(component, pair)| (component.trim(), pair.trim()))
        .collect();
    let has = |wanted: &str| pairs.iter().any(|(component, _)| *component == wanted);
    if has("") && has(KUBE) {
        return Err(FeatureGateError::MixedPrefix);
    }
    if let Some((other, _)) = pairs.iter().find(|(component, _)| !matches!(*component, "" | KUBE)) {
        return Err(FeatureGateError::Component((*other).to_owned()));
    }
    let mut values = BTreeMap::new();
    for (_, pair) in pairs.into_iter().filter(|(_, pair)| !pair.is_empty()) {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(FeatureGateError::MissingValue(pair.to_owned()));
        };
        let (name, value) = (name.trim(), value.trim());
        let on = go_bool(value).ok_or_else(|| FeatureGateError::NotBool {
            name: name.to_owned(),
            value: value.to_owned(),
        })?;
        values.insert(name.to_owned(), on);
    }
    Ok(values)
}

/// As Go's `strconv.ParseBool`.
fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

fn set(values: &BTreeMap<String, bool>) -> Result<ParsedGates, FeatureGateError> {
    let mut gates = FeatureGates::default();
    for (name, stage) in [(ALL_ALPHA, Stage::Alpha), (ALL_BETA, Stage::Beta)] {
        if let Some(on) = values.get(name) {
            let of_stage = Gate::ALL.iter().filter(|gate| gate.spec().stage == stage);
            gates = of_stage.fold(gates, |gates, gate| gates.with(*gate, *on));
        }
    }
    let mut warnings = Vec::new();
    let mut faults = Vec::new();
    for (name, value) in values
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), ALL_ALPHA | ALL_BETA))
    {
        let gate = Gate::by_name(name).ok_or_else(|| FeatureGateError::Unknown(name.clone()))?;
        let spec = gate.spec();
        if spec.locked && *value != spec.default {
            let locked = spec.default;
            faults.push(format!(
                "cannot set feature gate {name} to {value}, feature is locked to {locked}"
            ));
            continue;
        }
        gates = gates.with(gate, *value);
        if matches!(spec.stage, Stage::Stable | Stage::Deprecated) {
            warnings.push(GateWarning { gate, value: *value });
        }
    }
    if faults.is_empty() {
        faults = unmet(&gates);
    }
    if faults.is_empty() {
        Ok(ParsedGates { gates, warnings })
    } else {
        Err(FeatureGateError::Several(faults))
    }
}

/// The gates that are on while what they need is off.
fn unmet(gates: &FeatureGates) -> Vec<String> {
    let on = Gate::ALL.iter().filter(|gate| gates.enabled(**gate));
    let missing = on.filter_map(|gate| {
        let off = gate.needs().iter().filter(|needed| !gates.enabled(**needed));
        let off: Vec<&str> = off.map(|needed| needed.spec().name).collect();
        let (name, list) = (gate.spec().name, off.join(" "));
        (!off.is_empty()).then(|| format!("{name} is enabled, but depends on features that are disabled: [{list}]"))
    });
    missing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(flags: &[&str]) -> String {
        FeatureGates::parse(flags.iter().copied()).unwrap_err().to_string()
    }

    #[test]
    fn gates_are_refused_in_kube_schedulers_words() {
        let cases: [(&[&str], &str); 10] = [
            (&["Foo=true"], "unrecognized feature gate: Foo"),
            (
                &["A=b"],
                r#"invalid value of A=b, err: strconv.ParseBool: parsing "b": invalid syntax"#,
            ),
            (&["Foo"], "missing bool value for Foo"),
            (
                &["SidecarContainers=false"],
                "cannot set feature gate SidecarContainers to false, feature is locked to true",
            ),
            (
                &["SidecarContainers=false", "PodSchedulingReadiness=0"],
                "[cannot set feature gate PodSchedulingReadiness to false, feature is locked to true, cannot set feature \
                 gate SidecarContainers to false, feature is locked to true]",
            ),
            (
                &["GangScheduling=true"],
                "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]",
            ),
            (
                &["PodLevelResources=false"],
                "InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are disabled: \
                 [PodLevelResources]",
            ),
            (&["foo:Bar=true"], "component not registered: foo"),
            (
                &["kube:GangScheduling=true,GenericWorkload=true"],
                "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use",
            ),
            (&["ImageVolume=true,Foo=1"], "unrecognized feature gate: Foo"),
        ];
        for (flags, expected) in cases {
            assert_eq!(error(flags), expected, "{flags:?}");
        }
    }

    #[test]
    fn gates_that_do_not_concern_scheduling_are_accepted() {
        let parsed = FeatureGates::parse(["NodeLogQuery=false,NodeLogQuery=True", ""]).unwrap();
        assert!(parsed.gates.enabled(Gate::NodeLogQuery));
    }

    #[test]
    fn whole_stages_are_set_where_nothing_else_is() {
        let parsed = FeatureGates::parse(["AllAlpha=true,VolumeLimitScaling=false"])
            .unwrap()
            .gates;
        assert!(parsed.enabled(Gate::GangScheduling));
        assert!(!parsed.enabled(Gate::VolumeLimitScaling));
        let parsed = FeatureGates::parse(["AllBeta=false"]).unwrap().gates;
        assert!(!parsed.enabled(Gate::OpportunisticBatching));
        assert!(parsed.enabled(Gate::SidecarContainers));
    }

    #[test]
    fn gates_on_their_way_out_are_warned_of() {
        let parsed = FeatureGates::parse(["ImageVolume=true,AllowDNSOnlyNodeCSR=true,GenericWorkload=true"]).unwrap();
        let texts: Vec<_> = parsed
            .warnings
            .iter()
            .map(|warning| (warning.gate, warning.to_string()))
            .collect();
        let text =
            |kind: &str| format!("Warning: setting {kind} feature gate. It will be removed in a future release.");
        let expected = [
            (Gate::AllowDNSOnlyNodeCSR, text("deprecated")),
            (Gate::ImageVolume, text("GA")),
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn help_lists_what_can_be_set() {
        let lines = FeatureGates::help();
        assert_eq!(lines.len(), 149);
        assert!(lines.contains(&"kube:GangScheduling=true|false (ALPHA - default=false)".to_owned()));
        assert!(lines.contains(&"kube:AllBeta=true|false (BETA - default=false)".to_owned()));
        assert!(!lines.iter().any(|line| line.contains("SidecarContainers")));
    }

    #[test]
    fn a_slip_is_explained() {
        let error = FeatureGates::parse(["GangSchedulng=true"]).unwrap_err();
        assert_eq!(error.hint().as_deref(), Some(r#"did you mean "GangScheduling"?"#));
    }
}
