//! What kube-scheduler does not allow, in its words and order.

mod affinity;
mod args;
mod extenders;
mod profiles;

#[cfg(test)]
mod tests;

use crate::draft::{Draft, DraftElection};
use crate::tracing::MILLION;
use crate::{ConfigKind, FeatureGates, FieldError, FieldErrors, GoDuration, PluginArgs, SchedulerConfig};

pub(crate) use self::affinity::operator_name;
pub(crate) use self::profiles::REMOVED_PLUGINS;

/// Everything that is not allowed.
pub(crate) fn draft(draft: &Draft, kind: ConfigKind, gates: &FeatureGates) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if draft.client.burst < 0 {
        errors.push(FieldError::invalid(
            "clientConnection.burst",
            draft.client.burst,
            "must be non-negative",
        ));
    }
    if draft.election.leader_elect {
        election(&draft.election, &mut errors);
    }
    if draft.parallelism <= 0 {
        let detail = "should be an integer value greater than zero";
        errors.push(FieldError::invalid("parallelism", draft.parallelism, detail));
    }
    profiles::validate(&draft.profiles, kind, gates, &mut errors);
    errors.extend(percentage(
        "percentageOfNodesToScore",
        draft.percentage_of_nodes_to_score,
    ));
    let (initial, max) = (draft.pod_initial_backoff_seconds, draft.pod_max_backoff_seconds);
    if initial <= 0 {
        errors.push(FieldError::invalid(
            "podInitialBackoffSeconds",
            initial,
            "must be greater than 0",
        ));
    }
    if max < initial {
        let detail = "must be greater than or equal to PodInitialBackoffSeconds";
        errors.push(FieldError::invalid("podMaxBackoffSeconds", max, detail));
    }
    extenders::validate(draft, &mut errors);
    let rate = draft.tracing.sampling_rate_per_million;
    if let Some(rate) = rate.filter(|rate| !(0..=MILLION).contains(rate)) {
        errors.push(FieldError::invalid(
            "tracing.samplingRatePerMillion",
            rate,
            "sampling rate must be less than or equal to one million and not negative",
        ));
    }
    errors
}

fn election(election: &DraftElection, errors: &mut Vec<FieldError>) {
    let durations = [
        ("leaderElection.leaseDuration", election.lease_duration),
        ("leaderElection.renewDeadline", election.renew_deadline),
        ("leaderElection.retryPeriod", election.retry_period),
    ];
    for (field, duration) in durations {
        if duration <= GoDuration::ZERO {
            errors.push(FieldError::invalid(
                field,
                duration.to_string(),
                "must be greater than zero",
            ));
        }
    }
    if election.lease_duration <= election.renew_deadline {
        errors.push(FieldError::invalid(
            "leaderElection.leaseDuration",
            // The other duration is what kube-scheduler shows here.
            election.renew_deadline.to_string(),
            "must be greater than `RenewDeadline`",
        ));
    }
    let texts = [
        ("leaderElection.resourceLock", &election.resource_lock),
        ("leaderElection.resourceNamespace", &election.resource_namespace),
        ("leaderElection.resourceName", &election.resource_name),
    ];
    let empty = texts.into_iter().filter(|(_, text)| text.is_empty());
    errors.extend(empty.map(|(field, _)| FieldError::required(field, "")));
    if election.resource_lock != "leases" {
        let lock = election.resource_lock.as_str();
        let detail = "resourceLock value must be \"leases\"";
        errors.push(FieldError::invalid("leaderElection.resourceLock", lock, detail));
    }
}

fn percentage(field: &str, percentage: Option<i32>) -> Option<FieldError> {
    let outside = percentage.filter(|percentage| !(0..=100).contains(percentage))?;
    Some(FieldError::invalid(field, outside, "not in valid range [0-100]"))
}

impl PluginArgs {
    /// Checks arguments as the plugin's constructor does: paths begin within the arguments.
    ///
    /// # Errors
    /// With everything that is not allowed.
    pub fn validate(&self, gates: &FeatureGates) -> Result<(), FieldErrors> {
        FieldErrors::none_of(args::validate("", self, gates))
    }
}

impl SchedulerConfig {
    /// Checks a configuration that did not come from a file of these kinds.
    ///
    /// # Errors
    /// With everything that is not allowed.
    pub fn validate(&self, kind: ConfigKind) -> Result<(), FieldErrors> {
        FieldErrors::none_of(draft(&Draft::of(self), kind, &self.feature_gates))
    }
}

/// A path below another.
fn below(path: &str, field: &str) -> String {
    if path.is_empty() {
        field.to_owned()
    } else {
        format!("{path}.{field}")
    }
}
