//! A configuration file that changes under a running scheduler.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use plimsoll_actors::assembled_config::AssembledConfig;
use plimsoll_actors::supervisor::Reconfigurer;
use plimsoll_client::Clock;
use plimsoll_config::SchedulerConfig;
use plimsoll_model::Moment;
use plimsoll_telemetry::Metrics;

use super::RunError;
use super::config_file::{ConfigFile, Content};
use super::loading::Loader;
use super::restart::keep_what_needs_a_restart;
use crate::config_source::ConfigSourceError;

/// As many digits of a hash tell files apart.
const SHORT: usize = 12;

/// Takes changes of the file over: all of a file or nothing of it.
pub(super) struct Reloads {
    pub(super) file: ConfigFile,
    pub(super) loader: Loader,
    /// What the process was started with.
    pub(super) started: SchedulerConfig,
    pub(super) replica: Reconfigurer,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) metrics: Arc<Metrics>,
}

impl Reloads {
    /// Does so for ever.
    pub(super) async fn run(mut self) -> Infallible {
        loop {
            let read = self.file.changed().await;
            self.take(read).await;
        }
    }

    async fn take(&self, read: io::Result<Content>) {
        let found = self.clock.now();
        let cause = |cause| ConfigSourceError::Read {
            path: self.file.path().to_owned(),
            cause,
        };
        let loaded = async {
            let content = read.map_err(|error| RunError::from(cause(error)))?;
            let loaded = self.loader.load(&content.text).await?;
            Ok::<_, RunError>((loaded, content.hash))
        };
        match loaded.await {
            Ok(((loaded, profiles), hash)) => {
                self.loader.tell_notes(&loaded);
                let mut config = loaded.config;
                let restart = keep_what_needs_a_restart(&self.started, &mut config);
                self.accept(AssembledConfig { config, profiles }, &hash, &restart, found);
            }
            Err(error) => self.refuse(&error.to_string(), found),
        }
    }

    fn accept(&self, assembled: AssembledConfig, hash: &str, restart: &[&'static str], found: Moment) {
        let mut note = format!(
            "loaded the configuration {} with the profiles {}",
            &hash[..SHORT.min(hash.len())],
            assembled.scheduler_names()
        );
        if !restart.is_empty() {
            note = format!(
                "{note}; changes of {} need a restart and are not in use",
                restart.join(", ")
            );
        }
        tracing::info!(file = %self.file.path().display(), hash, "Another configuration: {note}");
        self.metrics
            .config()
            .loaded(hash, self.clock.wall().as_duration().as_secs_f64());
        self.metrics.config().reloaded(!restart.is_empty());
        self.replica.found(found).reconfigure(assembled, note);
    }

    fn refuse(&self, why: &str, found: Moment) {
        tracing::error!(
            file = %self.file.path().display(),
            error = why,
            "The changed configuration cannot be used; the last one stays in use"
        );
        self.metrics.config().refused();
        let told = format!("keeps its configuration, the changed one cannot be used: {why}");
        self.replica.found(found).reject(told);
    }
}
