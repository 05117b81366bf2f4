//! Amounts of resources, read independently of the scheduler under test: the judge must not share its arithmetic.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use k8s_openapi::api::core::v1::{Container, Pod, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// Amounts by resource name, in thousandths: of a core, a byte, a piece.
pub type Amounts = BTreeMap<String, i128>;

/// Reads a Kubernetes quantity into thousandths, rounded up.
pub fn thousandths(text: &str) -> anyhow::Result<i128> {
    let digits_end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits_end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let scaled: i128 = format!("{whole}{fraction}")
        .parse()
        .with_context(|| format!("quantity {text:?}"))?;
    let (multiplier, divisor) = match suffix {
        "m" => (1, 1),
        "" => (1000, 1),
        "k" => (1_000_000, 1),
        "M" => (1_000_000_000, 1),
        "G" => (1_000_000_000_000, 1),
        "T" => (1_000_000_000_000_000, 1),
        "Ki" => (1000 << 10, 1),
        "Mi" => (1000 << 20, 1),
        "Gi" => (1000 << 30, 1),
        "Ti" => (1000 << 40, 1),
        "u" => (1, 1000),
        "n" => (1, 1_000_000),
        other => bail!("quantity {text:?} has the suffix {other:?}"),
    };
    let divisor = divisor * 10_i128.pow(u32::try_from(fraction.len())?);
    Ok((scaled * multiplier + divisor - 1) / divisor)
}

/// Those of a list of resources; nothing where there is none.
pub fn amounts(list: Option<&BTreeMap<String, Quantity>>) -> anyhow::Result<Amounts> {
    list.into_iter()
        .flatten()
        .map(|(name, quantity)| Ok((name.clone(), thousandths(&quantity.0)?)))
        .collect()
}

/// What a pod takes of its node: containers and sidecars together, or more while it initialises, plus the overhead; one
/// place in the pod count. Amounts given for the pod as a whole replace the sum.
pub fn pod_requests(pod: &Pod) -> anyhow::Result<Amounts> {
    let spec = pod.spec.as_ref().context("a pod without a spec")?;
    let mut total = Amounts::new();
    for container in &spec.containers {
        add(&mut total, &container_requests(container)?);
    }
    let mut sidecars = Amounts::new();
    let mut peak = Amounts::new();
    for container in spec.init_containers.iter().flatten() {
        let mut needed = container_requests(container)?;
        if container.restart_policy.as_deref() == Some("Always") {
            add(&mut total, &needed);
            add(&mut sidecars, &needed);
            raise(&mut peak, &sidecars);
        } else {
            add(&mut needed, &sidecars);
            raise(&mut peak, &needed);
        }
    }
    raise(&mut total, &peak);
    total.extend(requests(spec.resources.as_ref())?);
    add(&mut total, &amounts(spec.overhead.as_ref())?);
    add(&mut total, &Amounts::from([("pods".to_owned(), 1000)]));
    Ok(total)
}

/// Adds what is more.
pub fn add(total: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        *total.entry(name.clone()).or_default() += amount;
    }
}

fn raise(total: &mut Amounts, floor: &Amounts) {
    for (name, amount) in floor {
        let entry = total.entry(name.clone()).or_default();
        *entry = (*entry).max(*amount);
    }
}

fn container_requests(container: &Container) -> anyhow::Result<Amounts> {
    requests(container.resources.as_ref())
}

fn requests(resources: Option<&ResourceRequirements>) -> anyhow::Result<Amounts> {
    amounts(resources.and_then(|resources| resources.requests.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantities_are_read_in_thousandths_rounded_up() {
        let table = [
            ("1", 1000),
            ("250m", 250),
            ("1.5", 1500),
            ("0.0001", 1),
            ("2k", 2_000_000),
            ("1Ki", 1_024_000),
            ("1.5Gi", 1_610_612_736_000),
            ("1u", 1),
        ];
        for (text, expected) in table {
            assert_eq!(thousandths(text).unwrap(), expected, "{text}");
        }
        assert!(thousandths("1x").is_err());
    }

    #[test]
    fn a_pod_takes_its_containers_and_sidecars_or_its_largest_initialisation() {
        let cpu = |amount: &str| json!({ "requests": { "cpu": amount } });
        let pod: Pod = serde_json::from_value(json!({ "spec": {
            "containers": [{ "name": "a", "resources": cpu("1") }, { "name": "b", "resources": cpu("500m") }],
            "initContainers": [
                { "name": "i", "resources": cpu("1") },
                { "name": "s", "restartPolicy": "Always", "resources": cpu("300m") },
                { "name": "j", "resources": cpu("2") },
            ],
            "overhead": { "cpu": "10m" },
        }}))
        .unwrap();
        let expected = Amounts::from([("cpu".to_owned(), 2310), ("pods".to_owned(), 1000)]);
        assert_eq!(pod_requests(&pod).unwrap(), expected);
    }
}
