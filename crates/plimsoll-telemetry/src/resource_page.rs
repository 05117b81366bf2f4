//! What `/metrics/resources` shows of pods.

use std::fmt::{self, Write};

/// One kind of resource of one pod.
#[derive(Debug, Clone, PartialEq)]
pub struct PodResource<'a> {
    /// The pod's namespace.
    pub namespace: &'a str,
    /// The pod's name.
    pub pod: &'a str,
    /// Its node; empty when it has none.
    pub node: &'a str,
    /// Its `schedulerName`.
    pub scheduler: &'a str,
    /// Its priority, if it is set.
    pub priority: Option<i32>,
    /// The name of the resource.
    pub resource: &'a str,
    /// How much.
    pub amount: f64,
}

/// The page, family by family.
#[derive(Debug, Default)]
pub struct ResourcePage {
    requests: String,
    limits: String,
}

const REQUEST: &str = "kube_pod_resource_request";
const LIMIT: &str = "kube_pod_resource_limit";

impl ResourcePage {
    /// A pod requests this. Nothing is told of nothing.
    pub fn request(&mut self, resource: &PodResource<'_>) {
        line(&mut self.requests, REQUEST, resource);
    }

    /// A pod may use this at most.
    pub fn limit(&mut self, resource: &PodResource<'_>) {
        line(&mut self.limits, LIMIT, resource);
    }

    /// The text: Prometheus' format, version 0.0.4.
    pub fn finish(self) -> String {
        let families = [
            (LIMIT, "Resources limit for", self.limits),
            (REQUEST, "Resources requested by", self.requests),
        ];
        let mut text = String::new();
        for (name, what, lines) in families.into_iter().filter(|(_, _, lines)| !lines.is_empty()) {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "# HELP {name} [STABLE] {what} workloads on the cluster, broken down by pod. This shows the resource usage \
                 the scheduler and kubelet expect per pod for resources along with the unit for the resource if any.\n\
                 # TYPE {name} gauge\n{lines}"
            );
        }
        text
    }
}

fn line(text: &mut String, family: &str, resource: &PodResource<'_>) {
    if resource.amount == 0.0 {
        return;
    }
    let PodResource {
        namespace,
        pod,
        node,
        scheduler,
        priority,
        resource,
        amount,
    } = *resource;
    let priority = priority.map(|priority| priority.to_string()).unwrap_or_default();
    let labels = [
        ("namespace", namespace),
        ("node", node),
        ("pod", pod),
        ("priority", &priority),
        ("resource", resource),
        ("scheduler", scheduler),
        ("unit", unit(resource)),
    ];
    text.push_str(family);
    for (at, (name, value)) in labels.into_iter().enumerate() {
        let before = if at == 0 { '{' } else { ',' };
        let _ = write!(text, "{before}{name}=\"{}\"", Escaped(value));
    }
    let _ = writeln!(text, "}} {amount}");
}

fn unit(resource: &str) -> &'static str {
    match resource {
        "cpu" => "cores",
        "memory" | "storage" | "ephemeral-storage" => "bytes",
        _ if resource.starts_with("hugepages-") => "bytes",
        _ if resource.starts_with("attachable-volumes-") => "integer",
        _ => "",
    }
}

/// A label's value as the format wants it.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '\\' => f.write_str("\\\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str("\\n")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_told_with_their_units_and_nothing_of_none() {
        let pod = PodResource {
            namespace: "default",
            pod: "web",
            node: "",
            scheduler: "a \"b\"",
            priority: Some(-7),
            resource: "cpu",
            amount: 0.25,
        };
        let mut page = ResourcePage::default();
        page.request(&pod);
        page.request(&PodResource {
            resource: "example.com/x",
            amount: 0.0,
            ..pod.clone()
        });
        page.limit(&PodResource {
            resource: "hugepages-2Mi",
            amount: 134_217_728.0,
            priority: None,
            ..pod
        });
        let text = page.finish();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("# HELP")).collect();
        assert_eq!(
            lines,
            [
                "# TYPE kube_pod_resource_limit gauge",
                r#"kube_pod_resource_limit{namespace="default",node="",pod="web",priority="",resource="hugepages-2Mi",scheduler="a \"b\"",unit="bytes"} 134217728"#,
                "# TYPE kube_pod_resource_request gauge",
                r#"kube_pod_resource_request{namespace="default",node="",pod="web",priority="-7",resource="cpu",scheduler="a \"b\"",unit="cores"} 0.25"#,
            ]
        );
    }
}
