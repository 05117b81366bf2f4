//! Whole replicas on virtual time against the embedded API server.
//!
//! One thread, paused time and one seed decide everything: the same seed gives the same messages in the same order and
//! the same placements. What must always hold is read from the API server's own history, never from a scheduler.

pub mod campaign;
pub mod chaos;
pub mod collector;
pub mod coordinator;
pub mod extender;
pub mod invariants;
pub mod link;
pub mod post;
pub mod problem_kind;
pub mod regressions;
pub mod rules;
pub mod seed_run;
pub mod shrink;
pub mod slow_plugins;
pub mod storage;
pub mod terms;
pub mod trace;
pub mod volume_writer;
pub mod wire;
pub mod workload;
pub mod world;

/// Runs a simulation on a runtime of its own: one thread, time that passes only when everything waits.
///
/// # Panics
/// When the runtime cannot be built, which is the machine's fault.
pub fn run<T>(simulation: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    #[expect(clippy::expect_used, reason = "without a runtime there is no test")]
    runtime.expect("a runtime").block_on(simulation)
}
