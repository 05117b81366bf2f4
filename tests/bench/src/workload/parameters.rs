//! The values that a workload gives to the parameters of its case's operations.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Map, Value};

use super::fields::Fields;

/// The parameters of one workload, and which of them were asked for.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    values: Map<String, Value>,
    used: BTreeSet<String>,
}

impl Parameters {
    pub(crate) fn new(values: Map<String, Value>) -> Self {
        Self {
            values,
            used: BTreeSet::new(),
        }
    }

    /// The parameter that the field `<name>Param` names, if the operation has one.
    fn named(&mut self, fields: &mut Fields, name: &str) -> anyhow::Result<Option<Value>> {
        let field = format!("{name}Param");
        let Some(reference) = fields.text(&field)?.filter(|reference| !reference.is_empty()) else {
            return Ok(None);
        };
        let key = reference.strip_prefix('$');
        let key = key.with_context(|| format!("{}: {field} must be $ and a name, not {reference:?}", fields.at()))?;
        self.used.insert(key.to_owned());
        let value = self.values.get(key).cloned();
        value
            .map(Some)
            .with_context(|| format!("{}: the parameter {key} has no value", fields.at()))
    }

    /// The field itself, or the parameter, which goes before it. A parameter's fraction is cut off.
    pub(crate) fn count(&mut self, fields: &mut Fields, name: &str) -> anyhow::Result<Option<usize>> {
        let fixed = fields.count(name)?;
        let Some(value) = self.named(fields, name)? else {
            return Ok(fixed);
        };
        #[expect(clippy::cast_possible_truncation, reason = "counts of objects; upstream cuts so")]
        let count = value.as_f64().map(|number| number as i64);
        let count = count.and_then(|count| usize::try_from(count).ok());
        count
            .map(Some)
            .with_context(|| format!("{}: the parameter for {name} is {value}, no count", fields.at()))
    }

    pub(crate) fn flag(&mut self, fields: &mut Fields, name: &str) -> anyhow::Result<bool> {
        let fixed = fields.flag(name)?;
        match self.named(fields, name)? {
            None => Ok(fixed.unwrap_or(false)),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => bail!(
                "{}: the parameter for {name} is {other}, not true or false",
                fields.at()
            ),
        }
    }

    pub(crate) fn duration(&mut self, fields: &mut Fields, name: &str) -> anyhow::Result<Duration> {
        let fixed = fields.text(name)?;
        let text = match self.named(fields, name)? {
            None => fixed,
            Some(Value::String(text)) => Some(text),
            Some(other) => bail!("{}: the parameter for {name} is {other}, no duration", fields.at()),
        };
        let read = |text: String| duration(&text).with_context(|| format!("{}: {name}", fields.at()));
        text.map_or(Ok(Duration::ZERO), read)
    }

    /// A parameter that no operation asks for, but the program around upstream's workloads does.
    pub(crate) fn takes(&mut self, name: &str) -> bool {
        self.used.insert(name.to_owned());
        self.values.contains_key(name)
    }

    /// An error when there are parameters that nothing asked for: most likely a misspelling.
    pub(crate) fn finish(&self) -> anyhow::Result<()> {
        let unused: Vec<&str> = self
            .values
            .keys()
            .filter(|name| !self.used.contains(*name))
            .map(String::as_str)
            .collect();
        ensure!(unused.is_empty(), "parameters that nothing uses: {}", unused.join(", "));
        Ok(())
    }
}

/// A duration as Go writes it, such as `1m30s`.
fn duration(text: &str) -> anyhow::Result<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    if rest == "0" {
        return Ok(total);
    }
    ensure!(!rest.is_empty(), "a duration without a number");
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .with_context(|| format!("{text:?} has a number without a unit"))?;
        let number: f64 = rest[..digits]
            .parse()
            .with_context(|| format!("{text:?} is no duration"))?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let seconds = match &rest[..unit] {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            other => bail!("{text:?} has the unit {other:?}"),
        };
        total += Duration::try_from_secs_f64(number * seconds)?;
        rest = &rest[unit..];
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parameters(values: Value) -> Parameters {
        let Value::Object(values) = values else {
            panic!("no map")
        };
        Parameters::new(values)
    }

    fn fields(value: Value) -> Fields {
        Fields::of("op 0", value).unwrap()
    }

    #[test]
    fn a_parameter_goes_before_the_field_and_one_without_a_value_is_an_error() {
        let mut given = parameters(json!({ "n": 7, "part": 2.9, "steady": true, "for": "10s" }));
        let count = |given: &mut Parameters, value| given.count(&mut fields(value), "count");
        assert_eq!(count(&mut given, json!({ "count": 3 })).unwrap(), Some(3));
        assert_eq!(
            count(&mut given, json!({ "count": 3, "countParam": "$n" })).unwrap(),
            Some(7)
        );
        assert_eq!(count(&mut given, json!({ "countParam": "$part" })).unwrap(), Some(2));
        assert_eq!(count(&mut given, json!({})).unwrap(), None);
        for wrong in ["n", "$missing", "$steady"] {
            assert!(count(&mut given, json!({ "countParam": wrong })).is_err(), "{wrong}");
        }
        assert!(
            given
                .flag(&mut fields(json!({ "steadyStateParam": "$steady" })), "steadyState")
                .unwrap()
        );
        assert!(!given.flag(&mut fields(json!({})), "steadyState").unwrap());
        let lasts = given.duration(&mut fields(json!({ "durationParam": "$for" })), "duration");
        assert_eq!(lasts.unwrap(), Duration::from_secs(10));
    }

    #[test]
    fn a_parameter_that_nothing_uses_is_named() {
        let mut given = parameters(json!({ "n": 1, "pods": 2 }));
        let error = given.finish().unwrap_err().to_string();
        assert_eq!(error, "parameters that nothing uses: n, pods");
        given
            .count(&mut fields(json!({ "countParam": "$n" })), "count")
            .unwrap();
        assert!(given.takes("pods") && !given.takes("others"));
        given.finish().unwrap();
    }

    #[test]
    fn durations_are_read_as_go_writes_them() {
        let table = [
            ("10s", 10_000),
            ("1m30s", 90_000),
            ("250ms", 250),
            ("1.5s", 1500),
            ("2h", 7_200_000),
            ("0", 0),
        ];
        for (text, milliseconds) in table {
            assert_eq!(duration(text).unwrap(), Duration::from_millis(milliseconds), "{text}");
        }
        for text in ["", "10", "s", "3d", "1.2.3s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
