use std::fmt;

/// What an extension point says of a pod; names are kube-scheduler's, since metrics carry them as labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// Go on.
    Success,
    /// Internal failure; the pod is retried with error backoff.
    Error,
    /// The pod does not fit now; preemption might help.
    Unschedulable,
    /// The pod does not fit and removing pods would not help.
    UnschedulableAndUnresolvable,
    /// Permit only: decide later.
    Wait,
    /// The plugin has nothing to do in this cycle.
    Skip,
    /// Rejected until something outside the scheduler happens.
    Pending,
}

impl Code {
    /// The name used in metrics and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "Success",
            Self::Error => "Error",
            Self::Unschedulable => "Unschedulable",
            Self::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
            Self::Wait => "Wait",
            Self::Skip => "Skip",
            Self::Pending => "Pending",
        }
    }

    /// Whether the pod was turned away by a plugin, as opposed to an internal failure.
    pub fn is_rejection(self) -> bool {
        matches!(
            self,
            Self::Unschedulable | Self::UnschedulableAndUnresolvable | Self::Pending
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An outcome that is not plain success: a code, the reasons that users read, and the plugin that gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// What happened.
    pub code: Code,
    /// Shown to users, joined by `, `.
    pub reasons: Vec<String>,
    /// Name of the plugin that produced it; empty when none did.
    pub plugin: &'static str,
}

impl Status {
    /// A status with one reason.
    pub fn new(code: Code, plugin: &'static str, reason: impl Into<String>) -> Self {
        Self {
            code,
            reasons: vec![reason.into()],
            plugin,
        }
    }

    /// Nothing is amiss.
    pub fn success() -> Self {
        Self {
            code: Code::Success,
            reasons: Vec::new(),
            plugin: "",
        }
    }

    /// An internal failure with its text.
    pub fn error(plugin: &'static str, reason: impl Into<String>) -> Self {
        Self::new(Code::Error, plugin, reason)
    }

    /// The text users read.
    pub fn message(&self) -> String {
        self.reasons.join(", ")
    }
}
