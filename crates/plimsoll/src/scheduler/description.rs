//! What the process says of itself.

use plimsoll_client::{Clock, SystemClock};
use plimsoll_config::{FeatureGates, Gate, SchedulerConfig, Stage};
use plimsoll_telemetry::{About, Build, BuildMetrics};

use crate::flags::GivenFlags;
use crate::version;

/// Tells by metrics which build this is and what it has on.
pub(super) fn tell_build(metrics: &BuildMetrics, version: &str, gates: &FeatureGates) {
    metrics.is(&Build {
        version,
        stands_in_for: version::KUBE_SCHEDULER,
        min_compatible: version::KUBE_SCHEDULER,
        platform: &version::platform(),
    });
    for gate in Gate::ALL {
        let spec = gate.spec();
        let stage = match spec.stage {
            Stage::Stable => "",
            stage => stage.name(),
        };
        metrics.feature(spec.name, stage, gates.enabled(*gate));
    }
}

/// For the pages about the process.
pub(super) fn about(config: &SchedulerConfig, version: &str, flags: GivenFlags, clock: SystemClock) -> About {
    let gates = &config.feature_gates;
    About {
        component: "kube-scheduler",
        version: version.trim_start_matches('v').to_owned(),
        built_with: concat!("none; Rust ", env!("CARGO_PKG_RUST_VERSION"), " or later").to_owned(),
        emulation_version: version::KUBE_SCHEDULER.to_owned(),
        started: clock.wall(),
        began: tokio::time::Instant::now(),
        flags: gates
            .enabled(Gate::ComponentFlagz)
            .then(|| flags.values.into_iter().collect()),
        statusz: gates.enabled(Gate::ComponentStatusz),
    }
}
