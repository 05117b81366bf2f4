use std::fmt;

use compact_str::CompactString;
use serde::Deserialize;

use crate::decode::or_default;

/// What a taint does to pods that don't tolerate it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(from = "CompactString")]
pub enum Effect {
    /// Keeps new pods away.
    NoSchedule,
    /// Makes the node less attractive to new pods.
    PreferNoSchedule,
    /// Keeps new pods away and evicts those that run.
    NoExecute,
    /// Anything else, kept as it is written; the scheduler ignores it.
    Other(CompactString),
}

impl From<CompactString> for Effect {
    fn from(text: CompactString) -> Self {
        match text.as_str() {
            "NoSchedule" => Self::NoSchedule,
            "PreferNoSchedule" => Self::PreferNoSchedule,
            "NoExecute" => Self::NoExecute,
            _ => Self::Other(text),
        }
    }
}

impl Default for Effect {
    /// None given: the taint does nothing.
    fn default() -> Self {
        Self::Other(CompactString::default())
    }
}

impl Effect {
    /// Whether an untolerated taint of this effect rules the node out.
    pub fn rules_out(&self) -> bool {
        matches!(self, Self::NoSchedule | Self::NoExecute)
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
            Self::Other(text) => text,
        })
    }
}

/// A mark on a node that repels pods which don't tolerate it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
pub struct Taint {
    /// Name of the mark.
    #[serde(default, deserialize_with = "or_default")]
    pub key: CompactString,
    /// Value of the mark; may be empty.
    #[serde(default, deserialize_with = "or_default")]
    pub value: CompactString,
    /// What it does.
    #[serde(default, deserialize_with = "or_default")]
    pub effect: Effect,
}

impl Taint {
    /// A taint.
    pub fn new(key: impl Into<CompactString>, value: impl Into<CompactString>, effect: Effect) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
            effect,
        }
    }
}

impl fmt::Display for Taint {
    /// `key=value:Effect`, as kubectl writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        if !self.value.is_empty() {
            write!(f, "={}", self.value)?;
        }
        write!(f, ":{}", self.effect)
    }
}

/// How a toleration compares its value with the taint's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(from = "CompactString")]
pub enum TolerationOperator {
    /// Same value; what an empty operator means.
    #[default]
    Equal,
    /// Any value.
    Exists,
    /// The taint's number is smaller.
    Lt,
    /// The taint's number is larger.
    Gt,
    /// Anything else, which tolerates nothing.
    Other(CompactString),
}

impl From<CompactString> for TolerationOperator {
    fn from(text: CompactString) -> Self {
        match text.as_str() {
            "" | "Equal" => Self::Equal,
            "Exists" => Self::Exists,
            "Lt" => Self::Lt,
            "Gt" => Self::Gt,
            _ => Self::Other(text),
        }
    }
}

/// A pod's consent to a kind of taint.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
pub struct Toleration {
    /// Key of the taint; empty means every key.
    #[serde(default, deserialize_with = "or_default")]
    pub key: CompactString,
    /// How values compare.
    #[serde(default, deserialize_with = "or_default")]
    pub operator: TolerationOperator,
    /// Value to compare with.
    #[serde(default, deserialize_with = "or_default")]
    pub value: CompactString,
    /// Effect tolerated; none means every effect.
    #[serde(default, deserialize_with = "effect_or_none")]
    pub effect: Option<Effect>,
}

impl Toleration {
    /// Tolerates every taint with this key and value.
    pub fn equal(key: impl Into<CompactString>, value: impl Into<CompactString>, effect: Option<Effect>) -> Self {
        Self {
            key: key.into(),
            operator: TolerationOperator::Equal,
            value: value.into(),
            effect,
        }
    }

    /// Tolerates every taint with this key; an empty key means all taints.
    pub fn exists(key: impl Into<CompactString>, effect: Option<Effect>) -> Self {
        Self {
            key: key.into(),
            operator: TolerationOperator::Exists,
            value: CompactString::default(),
            effect,
        }
    }

    /// Whether the taint is tolerated, as kube-scheduler decides with its default gates: `Lt` and `Gt` match nothing.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        match self.operator {
            TolerationOperator::Lt | TolerationOperator::Gt => false,
            _ => self.tolerates_with_comparison(taint),
        }
    }

    /// As [`Toleration::tolerates`], with the gate `TaintTolerationComparisonOperators` on.
    pub fn tolerates_with_comparison(&self, taint: &Taint) -> bool {
        if self.effect.as_ref().is_some_and(|effect| *effect != taint.effect) {
            return false;
        }
        if !self.key.is_empty() && self.key != taint.key {
            return false;
        }
        match self.operator {
            TolerationOperator::Equal => self.value == taint.value,
            TolerationOperator::Exists => true,
            TolerationOperator::Lt => decimals(&taint.value, &self.value).is_some_and(|(taint, own)| taint < own),
            TolerationOperator::Gt => decimals(&taint.value, &self.value).is_some_and(|(taint, own)| taint > own),
            TolerationOperator::Other(_) => false,
        }
    }
}

/// The first taint of the wanted kind that none of the tolerations covers.
pub fn first_untolerated<'a>(
    taints: &'a [Taint],
    tolerations: &[Toleration],
    mut wanted: impl FnMut(&Taint) -> bool,
) -> Option<&'a Taint> {
    taints
        .iter()
        .find(|taint| wanted(taint) && !tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}

fn decimals(taint: &str, own: &str) -> Option<(i64, i64)> {
    Some((strict_decimal(taint)?, strict_decimal(own)?))
}

/// A decimal integer without plus sign, leading zeros or minus zero.
fn strict_decimal(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical = digits.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !digits.starts_with('0'));
    canonical.then_some(number)
}

fn effect_or_none<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Effect>, D::Error> {
    let text = Option::<CompactString>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()).map(Effect::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> Toleration {
        let json = serde_json::json!({"key": key, "operator": operator, "value": value, "effect": effect});
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_toleration_covers_a_taint_as_kubernetes_says() {
        let taint = Taint::new("k", "v", Effect::NoSchedule);
        let cases = [
            (toleration("k", "", "v", ""), true),
            (toleration("k", "Equal", "v", "NoSchedule"), true),
            (toleration("k", "Equal", "w", "NoSchedule"), false),
            (toleration("k", "Equal", "v", "NoExecute"), false),
            (toleration("k", "Exists", "", ""), true),
            (toleration("l", "Exists", "", ""), false),
            (toleration("", "Exists", "", ""), true),
            (toleration("", "Equal", "v", ""), true),
            (toleration("", "Equal", "", ""), false),
            (toleration("k", "Like", "v", ""), false),
        ];
        for (toleration, expected) in cases {
            assert_eq!(toleration.tolerates(&taint), expected, "{toleration:?}");
        }
    }

    #[test]
    fn numbers_are_compared_only_when_asked_and_only_when_plain() {
        let cases = [
            ("5", "Gt", "4", true),
            ("5", "Gt", "5", false),
            ("5", "Lt", "6", true),
            ("-5", "Lt", "0", true),
            ("05", "Gt", "4", false),
            ("+5", "Gt", "4", false),
            ("5", "Gt", "-0", false),
            ("x", "Lt", "4", false),
        ];
        for (value, operator, own, expected) in cases {
            let taint = Taint::new("k", value, Effect::NoSchedule);
            let toleration = toleration("k", operator, own, "");
            assert_eq!(
                toleration.tolerates_with_comparison(&taint),
                expected,
                "{value} {operator} {own}"
            );
            assert!(!toleration.tolerates(&taint));
        }
    }

    #[test]
    fn the_first_untolerated_taint_of_the_wanted_kind_is_found() {
        let taints = [
            Taint::new("soft", "", Effect::PreferNoSchedule),
            Taint::new("a", "", Effect::NoSchedule),
            Taint::new("b", "", Effect::NoExecute),
        ];
        let find = |tolerations: &[Toleration]| {
            first_untolerated(&taints, tolerations, |taint| taint.effect.rules_out()).map(|taint| taint.key.as_str())
        };
        assert_eq!(find(&[]), Some("a"));
        assert_eq!(find(&[Toleration::exists("a", None)]), Some("b"));
        assert_eq!(find(&[Toleration::exists("", None)]), None);
    }
}
