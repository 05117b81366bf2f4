//! Log lines in the shapes of Kubernetes' own components: klog's text, or JSON with component-base's keys, at klog's
//! levels, so that whatever reads kube-scheduler's log reads Plimsoll's.
//!
//! A line's level on that scale is the name of its event, which is known before anything is computed:
//! `tracing::info!(name: V2, …)`. A place that is not to be heard costs one load, whatever stands in it. Without a name, errors,
//! warnings and infos are told always, `debug!` from level 4 on and `trace!` from level 6.

mod fields;
mod json;
mod line;
mod lines;
mod quantity;
mod repeats;
mod secrets;
mod streams;
mod text;
mod verbosity;
mod vmodule;

use std::sync::{Arc, Weak};
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use self::lines::Lines;
pub use self::quantity::{QuantityError, parse_buffer_size};
use self::streams::Streams;
pub use self::streams::flush;
pub use self::verbosity::{SetVerbosityError, Verbosity, parse_level, verbosity};
pub use self::vmodule::{VModule, VModuleError};

/// Level 1 of klog.
pub const V1: &str = "V1";
/// Level 2 of klog: what a production cluster should tell. With `info!`.
pub const V2: &str = "V2";
/// Level 3 of klog: the steps of each attempt. With `debug!`.
pub const V3: &str = "V3";
/// Level 4 of klog. With `debug!`.
pub const V4: &str = "V4";
/// Level 5 of klog. With `trace!`.
pub const V5: &str = "V5";
/// Level 10 of klog: every score of every node. With `trace!`.
pub const V10: &str = "V10";

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// klog's text.
    #[default]
    Text,
    /// One JSON object a line, with component-base's keys.
    Json,
}

/// Where lines go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Routing {
    /// Errors go to standard error and everything else to standard output; otherwise everything to standard error.
    pub split: bool,
    /// Bytes of what goes to standard output that may wait to be written; 0 for none.
    pub info_buffer: usize,
}

/// What is logged, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOptions {
    /// How a line looks.
    pub format: LogFormat,
    /// `-v`, on klog's scale.
    pub verbosity: u32,
    /// Levels of single files.
    pub vmodule: VModule,
    /// Where lines go.
    pub routing: Routing,
    /// Lines that wait are written this often.
    pub flush_frequency: Duration,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            format: LogFormat::default(),
            verbosity: 0,
            vmodule: VModule::default(),
            routing: Routing::default(),
            flush_frequency: Duration::from_secs(5),
        }
    }
}

/// Starts logging for the whole process. A second call changes nothing. `RUST_LOG`, when set, decides what is logged in
/// place of the levels, for whoever looks into one module.
///
/// # Errors
/// When `RUST_LOG` is set and cannot be read.
pub fn install(options: &LogOptions) -> Result<(), ParseError> {
    let directives = std::env::var("RUST_LOG").ok().filter(|text| !text.is_empty());
    let filter: Option<EnvFilter> = directives.map(|directives| directives.parse()).transpose()?;
    let streams = Arc::new(Streams::of_process(options.routing));
    let lines = Lines::new(options.format, Arc::clone(&streams));
    let repeats = Arc::downgrade(lines.repeats());
    let installed = if let Some(filter) = filter {
        verbosity().give_way_to_directives();
        tracing_subscriber::registry().with(filter).with(lines).try_init()
    } else {
        verbosity().begin(options.verbosity, options.vmodule.clone());
        tracing_subscriber::registry().with(verbosity()).with(lines).try_init()
    };
    // An error says that there is a subscriber already.
    if installed.is_ok() {
        streams::remember(&streams);
        flush_from_time_to_time(repeats, options.flush_frequency);
    }
    Ok(())
}

/// Writes what waits and tells of lines that were left out, as long as there is a log.
fn flush_from_time_to_time(repeats: Weak<lines::Omissions>, frequency: Duration) {
    let run = move || {
        while let Some(repeats) = repeats.upgrade() {
            repeats.tell();
            drop(repeats);
            flush();
            std::thread::sleep(frequency);
        }
    };
    // Without the thread lines are written all the same, some of them late.
    let _ = std::thread::Builder::new().name("log-flush".to_owned()).spawn(run);
}
