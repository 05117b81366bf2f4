//! The scheduler on a real control plane. Each test is one promise; the judge's promises (no pod bound twice, no node
//! past its allocatable at any moment, every pending pod explained) hold in every one of them.

mod configuration;
mod deployment;
mod failover;
mod measurement;
mod outages;
mod placement;
mod races;
mod reload;
mod unbuilt;
mod waiting;
