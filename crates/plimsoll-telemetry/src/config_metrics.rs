//! What is told of the configuration file.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

use crate::registrar::{Fraction, Registrar, plain};
use crate::vector::Vector;

/// `plimsoll_config_*`.
#[derive(Debug)]
pub struct ConfigMetrics {
    reloads: Vector<Counter>,
    info: Vector<Gauge>,
    loaded_at: Fraction,
    restart_needed: Gauge,
}

impl ConfigMetrics {
    /// Registers everything, at zero.
    pub(crate) fn new(registrar: &mut Registrar<'_>) -> Self {
        let metrics = Self {
            reloads: registrar.many(
                plain(
                    "plimsoll_config_reloads_total",
                    "Changes of the configuration file that were taken over or refused.",
                ),
                &["result"],
                Counter::default,
            ),
            info: registrar.many(
                plain(
                    "plimsoll_config_info",
                    "1 for the SHA-256 of the configuration file in use.",
                ),
                &["hash"],
                Gauge::default,
            ),
            loaded_at: registrar.one(
                plain(
                    "plimsoll_config_last_success_timestamp_seconds",
                    "When the configuration in use was loaded, in seconds since 1970.",
                ),
                Fraction::default(),
            ),
            restart_needed: registrar.one(
                plain(
                    "plimsoll_config_restart_needed",
                    "1 while the configuration file asks for something that only a restart brings.",
                ),
                Gauge::default(),
            ),
        };
        for result in ["success", "failure"] {
            metrics.reloads.with([result.into()]);
        }
        metrics
    }

    /// The file with this hash is in use, since a time in seconds since 1970.
    pub fn loaded(&self, hash: &str, at: f64) {
        self.info.clear();
        self.info.with([hash.to_owned().into()]).set(1);
        self.loaded_at.set(at);
    }

    /// A changed file was taken over; whether all of it, or some of it needs a restart.
    pub fn reloaded(&self, restart_needed: bool) {
        self.reloads.with(["success".into()]).inc();
        self.restart_needed.set(i64::from(restart_needed));
    }

    /// A changed file was refused.
    pub fn refused(&self) {
        self.reloads.with(["failure".into()]).inc();
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
