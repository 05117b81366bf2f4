//! Flags of kube-scheduler 1.36 that are not there yet: naming one is an error that says so, since to ignore it would be
//! to do something else than the operator asked for.

pub(super) const NOT_YET: [&str; 4] = [
    "allow-metric-labels",
    "allow-metric-labels-manifest",
    "disabled-metrics",
    "show-hidden-metrics-for-version",
];

/// Whether kube-scheduler has a flag of this name (without dashes) that Plimsoll lacks.
pub(super) fn is_not_there_yet(name: &str) -> bool {
    NOT_YET.contains(&name)
}
