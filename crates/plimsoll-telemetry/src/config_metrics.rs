//! What is told of the configuration file.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Result {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Hash {
    hash: String,
}

/// `plimsoll_config_*`.
#[derive(Debug, Default)]
pub struct ConfigMetrics {
    reloads: Family<Result, Counter>,
    info: Family<Hash, Gauge>,
    loaded_at: Gauge<f64, AtomicU64>,
    restart_needed: Gauge,
}

const SUCCESS: Result = Result { result: "success" };
const FAILURE: Result = Result { result: "failure" };

impl ConfigMetrics {
    /// Registers everything, at zero.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "config_reloads",
            "Changes of the configuration file that were taken over or refused",
            self.reloads.clone(),
        );
        registry.register(
            "config_info",
            "1 for the SHA-256 of the configuration file in use",
            self.info.clone(),
        );
        registry.register(
            "config_last_success_timestamp_seconds",
            "When the configuration in use was loaded, in seconds since 1970",
            self.loaded_at.clone(),
        );
        registry.register(
            "config_restart_needed",
            "1 while the configuration file asks for something that only a restart brings",
            self.restart_needed.clone(),
        );
        for result in [SUCCESS, FAILURE] {
            drop(self.reloads.get_or_create(&result));
        }
    }

    /// The file with this hash is in use, since a time in seconds since 1970.
    pub fn loaded(&self, hash: &str, at: f64) {
        self.info.clear();
        self.info.get_or_create(&Hash { hash: hash.to_owned() }).set(1);
        self.loaded_at.set(at);
    }

    /// A changed file was taken over; whether all of it, or some of it needs a restart.
    pub fn reloaded(&self, restart_needed: bool) {
        self.reloads.get_or_create(&SUCCESS).inc();
        self.restart_needed.set(i64::from(restart_needed));
    }

    /// A changed file was refused.
    pub fn refused(&self) {
        self.reloads.get_or_create(&FAILURE).inc();
    }
}

#[cfg(test)]
mod tests {
    use crate::Metrics;

    #[test]
    fn only_the_file_in_use_is_named() {
        let metrics = Metrics::new();
        metrics.config().loaded("one", 1.0);
        metrics.config().loaded("two", 2.5);
        metrics.config().reloaded(true);
        metrics.config().refused();
        let text = metrics.text().unwrap();
        let ours: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("plimsoll_config_"))
            .collect();
        for line in [
            r#"plimsoll_config_info{hash="two"} 1"#,
            "plimsoll_config_last_success_timestamp_seconds 2.5",
            "plimsoll_config_restart_needed 1",
            r#"plimsoll_config_reloads_total{result="success"} 1"#,
            r#"plimsoll_config_reloads_total{result="failure"} 1"#,
        ] {
            assert!(ours.contains(&line), "{line} in {ours:#?}");
        }
        assert!(!text.contains("\"one\""));
    }
}
