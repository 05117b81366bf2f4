//! Feature gates: which optional behaviour is on.

mod flag;
mod known;

pub use flag::{FeatureGateError, GateWarning, ParsedGates};
pub use known::Gate;

/// How far a gated feature has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Off unless asked for.
    Alpha,
    /// Mostly on.
    Beta,
    /// On.
    Stable,
    /// On its way out.
    Deprecated,
}

impl Stage {
    /// As kube-scheduler writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alpha => "ALPHA",
            Self::Beta => "BETA",
            Self::Stable => "GA",
            Self::Deprecated => "DEPRECATED",
        }
    }
}

/// A default, and whether it can be left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    On,
    Off,
    LockedOn,
    LockedOff,
}

/// A feature gate as kube-scheduler 1.36 knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateSpec {
    /// Its name on the command line.
    pub name: &'static str,
    /// How far it has come.
    pub stage: Stage,
    /// Whether it is on unless set.
    pub default: bool,
    /// Whether it cannot be set to anything but its default.
    pub locked: bool,
}

impl GateSpec {
    fn new(name: &'static str, stage: Stage, setting: Setting) -> Self {
        Self {
            name,
            stage,
            default: matches!(setting, Setting::On | Setting::LockedOn),
            locked: matches!(setting, Setting::LockedOn | Setting::LockedOff),
        }
    }
}

/// Which gates are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureGates {
    on: Vec<bool>,
}

impl Default for FeatureGates {
    fn default() -> Self {
        Self {
            on: Gate::ALL.iter().map(|gate| gate.spec().default).collect(),
        }
    }
}

impl FeatureGates {
    /// Whether a gate is on.
    pub fn enabled(&self, gate: Gate) -> bool {
        self.on.get(gate as usize).copied().unwrap_or(false)
    }

    /// Switches a gate, locked or not: for tests, and for a caller that has checked.
    #[must_use]
    pub fn with(mut self, gate: Gate, on: bool) -> Self {
        if let Some(slot) = self.on.get_mut(gate as usize) {
            *slot = on;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_found_by_name_and_stand_in_order() {
        let names: Vec<_> = Gate::ALL.iter().map(|gate| gate.spec().name).collect();
        assert!(names.is_sorted());
        // As many as kube-scheduler 1.36.3 counts in its metrics, save the two that stand for many.
        assert_eq!(names.len(), 239);
        for gate in Gate::ALL {
            assert_eq!(Gate::by_name(gate.spec().name), Some(*gate));
        }
        assert_eq!(Gate::by_name("Nothing"), None);
    }

    #[test]
    fn a_gate_can_be_switched() {
        let gates = FeatureGates::default();
        assert!(!gates.enabled(Gate::GangScheduling));
        assert!(gates.with(Gate::GangScheduling, true).enabled(Gate::GangScheduling));
    }
}
