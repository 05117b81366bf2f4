//! What is told of the build, and of which features it has on.

use prometheus_client::metrics::gauge::Gauge;

use crate::registrar::{Registrar, alpha, beta};
use crate::vector::Vector;

/// What this process is, in the terms of Kubernetes' components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Build<'a> {
    /// Its version, such as `v0.1.0`.
    pub version: &'a str,
    /// The version of kube-scheduler that it stands in for, such as `1.36`.
    pub stands_in_for: &'a str,
    /// The oldest version that it can be set to behave as.
    pub min_compatible: &'a str,
    /// Operating system and architecture, by Go's names, such as `linux/amd64`.
    pub platform: &'a str,
}

/// `kubernetes_build_info`, `kubernetes_feature_enabled` and `version_info`.
#[derive(Debug)]
pub struct BuildMetrics {
    build: Vector<Gauge>,
    features: Vector<Gauge>,
    version: Vector<Gauge>,
}

impl BuildMetrics {
    pub(crate) fn new(registrar: &mut Registrar<'_>) -> Self {
        Self {
            build: registrar.many(
                beta(
                    "kubernetes_build_info",
                    "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, \
                     build date, Go version, and compiler from which Kubernetes was built, and platform on which it is \
                     running.",
                ),
                &[
                    "build_date",
                    "compiler",
                    "git_commit",
                    "git_tree_state",
                    "git_version",
                    "go_version",
                    "major",
                    "minor",
                    "platform",
                ],
                Gauge::default,
            ),
            features: registrar.many(
                beta(
                    "kubernetes_feature_enabled",
                    "This metric records the data about the stage and enablement of a k8s feature.",
                ),
                &["name", "stage"],
                Gauge::default,
            ),
            version: registrar.many(
                alpha(
                    "version_info",
                    "Provides the compatibility version info of the component. The component label is the name of the \
                     component, usually kube, but is relevant for aggregated-apiservers.",
                ),
                &["binary", "component", "emulation", "min_compat"],
                Gauge::default,
            ),
        }
    }

    /// Which build this is. There is no Go compiler to name, and nothing of the tree that it was built from is known.
    pub fn is(&self, build: &Build<'_>) {
        let (major, minor) = build.stands_in_for.split_once('.').unwrap_or((build.stands_in_for, ""));
        let labels = ["", "rustc", "", "", build.version, "", major, minor, build.platform];
        self.build.with(labels.map(|value| value.to_owned().into())).set(1);
        let labels = [build.stands_in_for, "kube", build.stands_in_for, build.min_compatible];
        self.version.with(labels.map(|value| value.to_owned().into())).set(1);
    }

    /// A feature gate is on, or off. The stage is `ALPHA`, `BETA`, `DEPRECATED`, or nothing.
    pub fn feature(&self, name: &str, stage: &'static str, on: bool) {
        self.features
            .with([name.to_owned().into(), stage.into()])
            .set(i64::from(on));
    }
}
