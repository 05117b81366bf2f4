//! The scheduler on a real control plane. Each test is one promise; the judge's promises (no pod bound twice, no node
//! past its allocatable at any moment, every pending pod explained, nothing found by audits) hold in every one of them.

mod churn;
mod command_line;
mod configuration;
mod deployment;
mod election;
mod explained;
mod extenders;
mod failover;
mod fencing;
mod helping_changes;
mod measurement;
mod outages;
mod placement;
mod preemption;
mod races;
mod reload;
mod scrape;
mod serving;
mod unbuilt;
mod volumes;
mod waiting;
mod waking;
